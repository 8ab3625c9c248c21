// The subspace emerges: loadings and distance as the number of observations grows.
document.addEventListener("DOMContentLoaded", () => {
  const place = document.querySelector("#fig-emerging");
  if (!place) return;
  const { sizes, chance, dataSets, laws } = play.emerging;
  const names = Object.keys(laws.ar1.methods);
  const styles = names.map((name) => ({ "the default": "series-3", "ridge regression": "series-4" })[name] ?? "series-0");
  const words = "Left: estimated against true loadings. Right: distance to the true subspace against n.";
  const stage = play.stage(place, words, draw);
  const n = play.slider(stage.controls, "Observations n", sizes, 2, (size) => `n = ${size}`);
  const law = play.choice(stage.controls, "Distribution", Object.entries(laws).map(([k, v]) => [k, v.label]), "ar1");
  const method = play.choice(stage.controls, "Method", names.map((name) => [name, name]), names[1]);

  function draw(picture, width, numbers) {
    const narrow = width < 560;
    const size = narrow ? width - 76 : (width - 165) / 2;
    const { truth, methods } = laws[law.value];
    const chosen = methods[method.value][n.value];
    const first = play.panel(picture, { left: 52, top: 30, width: size, height: size }, {
      xRange: [-0.4, 0.4], yRange: [-0.4, 0.4], xName: "true loading", yName: "estimated loading",
      title: "Loadings, one data set",
    });
    play.svg(first.group, "line", {
      class: "rule", x1: first.x(-0.4), y1: first.y(-0.4), x2: first.x(0.4), y2: first.y(0.4),
    });
    chosen.loadings.forEach((loading, k) => {
      const y = Math.max(-0.4, Math.min(0.4, loading / 1000));
      play.svg(first.group, "circle", { class: `${styles[names.indexOf(method.value)]} dot`, cx: first.x(truth[k] / 1000), cy: first.y(y), r: 2.5 });
    });
    const box = narrow
      ? { left: 52, top: size + 110, width: size, height: 0.75 * size }
      : { left: size + 130, top: 30, width: size, height: size };
    const second = play.panel(picture, box, {
      xRange: [sizes[0], sizes.at(-1)], yRange: [0, 2.4], logX: true, xTicks: [25, 50, 100, 200, 500, 1000],
      xName: "observations n", yName: "distance", title: `Distance, mean of ${dataSets} data sets`,
    });
    const line = (values, style) => play.svg(second.group, "polyline", {
      class: style, points: values.map((value, k) => `${second.x(sizes[k])},${second.y(value)}`).join(" "),
    });
    line(sizes.map(() => chance), "rule");
    play.svg(second.group, "text", { x: second.x(27), y: second.y(chance) - 5 }, "chance");
    names.forEach((name, k) => {
      line(methods[name].map((entry) => entry.mean), `${styles[k]}${name === method.value ? " chosen" : ""}`);
    });
    const at = second.x(sizes[n.value]);
    play.svg(second.group, "line", { class: "rule", x1: at, x2: at, y1: second.y(0), y2: second.y(2.4) });
    play.svg(second.group, "circle", { class: `${styles[names.indexOf(method.value)]} mark`, cx: at, cy: second.y(chosen.mean), r: 5 });
    names.forEach((name, k) => {
      const y = second.y(0) - 44 + 16 * k;
      play.svg(second.group, "line", { class: styles[k], x1: box.left + 8, x2: box.left + 28, y1: y - 4, y2: y - 4 });
      play.svg(second.group, "text", { x: box.left + 34, y }, name);
    });
    numbers.textContent =
      `With ${sizes[n.value]} observations, ${method.value} is ${chosen.distance.toFixed(2)} from the true subspace on this ` +
      `data set and ${chosen.mean.toFixed(2)} on average. Random subspaces are ${chance.toFixed(2)} apart.`;
    return box.top + box.height + 44;
  }
  stage.redraw();
});
