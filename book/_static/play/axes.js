// Shared by the pictures to play with: controls, SVG elements, scales and axes. No library.
window.play ??= (() => {
  const NS = "http://www.w3.org/2000/svg";

  // An SVG element inside a parent; text may be given.
  function svg(parent, tag, attributes = {}, text) {
    const element = document.createElementNS(NS, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }

  function html(parent, tag, attributes = {}, text) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }

  // A choice with its label. Options are pairs of value and words.
  function choice(parent, words, options, value) {
    const label = html(parent, "label", {}, `${words} `);
    const select = html(label, "select");
    for (const [key, name] of options) html(select, "option", { value: key }, name);
    if (value !== undefined) select.value = value;
    return select;
  }

  // A slider over the positions of a list, which says the value there.
  function slider(parent, words, values, position, say = String) {
    const label = html(parent, "label", {}, `${words} `);
    const input = html(label, "input", { type: "range", min: 0, max: values.length - 1, step: 1 });
    const output = html(label, "output");
    input.value = position;
    const tell = () => {
      output.textContent = say(values[input.value]);
      input.setAttribute("aria-valuetext", say(values[input.value]));
    };
    input.addEventListener("input", tell);
    tell();
    return input;
  }

  // Maps [from, to] to pixels, on a logarithmic scale if asked.
  function scale([from, to], [begin, end], log = false) {
    const f = log ? Math.log : (value) => value;
    return (value) => begin + ((f(value) - f(from)) / (f(to) - f(from))) * (end - begin);
  }

  // Round steps for an axis.
  function ticks(from, to, count = 5) {
    const rough = (to - from) / count;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((k) => k * power).find((size) => size >= rough);
    const found = [];
    for (let k = Math.ceil(from / step); k * step <= to + 1e-9; k += 1) found.push(+(k * step).toFixed(9));
    return found;
  }

  // A panel of a picture: axes with ticks and names, and the scales x and y.
  function panel(parent, box, options) {
    const { left, top, width, height } = box;
    const { xRange, yRange, xName, yName, title, logX = false } = options;
    const x = scale(xRange, [left, left + width], logX);
    const y = scale(yRange, [top + height, top]);
    const group = svg(parent, "g");
    for (const at of options.xTicks ?? ticks(...xRange)) {
      svg(group, "line", { class: "grid", x1: x(at), x2: x(at), y1: top, y2: top + height });
      svg(group, "text", { x: x(at), y: top + height + 16, "text-anchor": "middle" }, at);
    }
    for (const at of options.yTicks ?? ticks(...yRange)) {
      svg(group, "line", { class: "grid", x1: left, x2: left + width, y1: y(at), y2: y(at) });
      svg(group, "text", { x: left - 6, y: y(at) + 4, "text-anchor": "end" }, at);
    }
    svg(group, "text", { x: left + width / 2, y: top + height + 34, "text-anchor": "middle" }, xName);
    const middle = `translate(${left - 40} ${top + height / 2}) rotate(-90)`;
    if (yName) svg(group, "text", { transform: middle, "text-anchor": "middle" }, yName);
    if (title) svg(group, "text", { class: "title", x: left, y: top - 10 }, title);
    return { group, x, y };
  }

  // A picture in place of a figure's static one, or in a given box: controls above, numbers below.
  function stage(place, label, draw) {
    const root = document.createElement("div");
    root.className = "play";
    const image = place.querySelector("a.full-size, img");
    if (image) image.replaceWith(root);
    else place.append(root);
    const controls = html(root, "div", { class: "play-controls" });
    const picture = svg(root, "svg", { role: "img", "aria-label": label });
    const numbers = html(root, "p", { class: "play-numbers", "aria-live": "polite" });
    let width = 0;
    const redraw = () => {
      if (!width) return;
      picture.replaceChildren();
      const height = draw(picture, width, numbers);
      picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
      picture.setAttribute("height", height);
    };
    new ResizeObserver(() => {
      const now = Math.floor(root.clientWidth);
      if (now === width) return;
      width = now;
      redraw();
    }).observe(root);
    controls.addEventListener("input", redraw);
    return { root, controls, numbers, redraw };
  }

  return { svg, html, choice, slider, scale, ticks, panel, stage };
})();
