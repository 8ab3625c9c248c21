// What is looked at inside a page. Each probe returns sentences, one for each defect it sees.

// Fractions of a pixel are no defects.
const SLACK = 2;
// WCAG 2.1, level AA: 4.5 to 1, or 3 to 1 for text of 24 px and for bold text of 18.66 px.
const CONTRAST = 4.5;
const CONTRAST_LARGE = 3;

const visible = (element) =>
  element.checkVisibility({ visibilityProperty: true, opacityProperty: true });

const excerpt = (text) => text.replace(/\s+/g, " ").trim().slice(0, 60);

// A name by which a person finds the element: tag, id or classes, and the beginning of its text.
function name(element) {
  const mark = element.id ? `#${element.id}` : [...element.classList].map((c) => `.${c}`).join("");
  const words = excerpt(element.textContent) || excerpt(element.getAttribute("src") ?? "");
  return element.tagName.toLowerCase() + mark + (words && ` "${words}"`);
}

// The page has come to rest: formulas set, pictures and fonts decided, nothing moving.
async function settled() {
  const style = document.createElement("style");
  style.textContent = "*, ::before, ::after { transition: none !important; animation: none !important }";
  document.head.append(style);
  if (window.MathJax?.startup) await window.MathJax.startup.promise;
  await document.fonts.ready;
  await Promise.all([...document.images].map((image) => image.decode().catch(() => {})));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}

// Text nodes that a reader is meant to read, each with its element.
function* texts() {
  const root = document.querySelector("main") ?? document.body;
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim()) continue;
    if (element.closest("script, style, noscript, template, mjx-container, svg")) continue;
    yield [walker.currentNode, element];
  }
}

// Run a probe with everything unfolded: what is hidden at first is read too.
function look(probe) {
  const folded = [...document.querySelectorAll("details:not([open])")];
  for (const details of folded) details.open = true;
  const found = PROBES[probe]();
  for (const details of folded) details.open = false;
  return found;
}

const PROBES = {
  // A page with a theme follows the reader's preference for light or dark.
  theme() {
    const { theme } = document.documentElement.dataset;
    const wanted = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    return theme === undefined || theme === wanted ? [] : [`theme ${theme}, not ${wanted}`];
  },

  // Every formula was set, without an error and without a macro that MathJax does not know.
  math() {
    const found = [];
    for (const element of document.querySelectorAll(".math")) {
      const count = element.querySelectorAll("mjx-container").length;
      if (count !== 1) found.push(`${count} formulas set, not one, in ${name(element)}`);
    }
    for (const formula of document.querySelectorAll("mjx-container")) {
      const wrong = formula.querySelector("[data-mjx-error], mjx-merror, [data-mml-node=merror]");
      const source = excerpt(formula.textContent);
      if (wrong) found.push(`a formula failed: ${wrong.dataset.mjxError ?? source}`);
      if (formula.querySelector("[fill=red]")) found.push(`an unknown macro: ${source}`);
      if (!visible(formula)) continue;
      const { width, height } = formula.getBoundingClientRect();
      if (width * height === 0) found.push(`an empty formula: ${source}`);
      const hidden = getComputedStyle(formula).overflowY === "hidden";
      if (hidden && formula.scrollHeight > formula.clientHeight + SLACK) {
        found.push(`a formula is cut off: ${source}`);
      }
    }
    return found;
  },

  // No TeX is left as text.
  rawTex() {
    return [...texts()]
      .filter(([node, element]) => /\\[([]|\\begin\{|\$\$/.test(node.data) && !element.closest("pre, code"))
      .map(([node]) => `TeX as text: ${excerpt(node.data)}`);
  },

  // Every picture was loaded, and no filter dims a figure.
  images() {
    const found = [];
    for (const image of document.images) {
      if (image.naturalWidth === 0) found.push(`a picture is not there: ${name(image)}`);
      const figure = image.closest("figure, .cell_output");
      if (figure && getComputedStyle(image).filter !== "none") found.push(`a filter dims ${name(image)}`);
    }
    return found;
  },

  // Nothing sticks out of the window, unless its own box scrolls.
  overflow() {
    const found = [];
    const width = document.documentElement.clientWidth;
    const page = document.scrollingElement.scrollWidth;
    if (page > width + SLACK) found.push(`the page is ${page} px wide, not ${width}`);
    const outside = (box) => Math.round(Math.max(box.right - width, -box.left));
    // Menus wait outside the window, and what is clipped to nothing is for screen readers.
    const held = (node) => {
      for (let at = node; at; at = at.parentElement) {
        if (at.nodeType === Node.TEXT_NODE) continue;
        const { position, clip, overflowX } = getComputedStyle(at);
        if (position === "fixed" || clip !== "auto") return true;
        if (at !== node && ["auto", "scroll"].includes(overflowX)) return true;
      }
      return false;
    };
    const range = document.createRange();
    const candidates = new Map();
    const shown = NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT;
    const walker = document.createTreeWalker(document.body, shown);
    while (walker.nextNode()) {
      // Words can stick out of an element that does not: they have a box of their own.
      const node = walker.currentNode;
      const words = node.nodeType === Node.TEXT_NODE;
      if (words) range.selectNodeContents(node);
      const box = (words ? range : node).getBoundingClientRect();
      const element = words ? node.parentElement : node;
      if (box.width * box.height === 0 || outside(box) <= SLACK) continue;
      if (visible(element) && !held(node)) candidates.set(element, outside(box));
    }
    // The innermost element is named, or the formula it belongs to.
    const named = new Map();
    for (const [element, out] of candidates) {
      if ([...candidates.keys()].some((other) => other !== element && element.contains(other))) continue;
      const where = element.closest("mjx-container") ?? element;
      named.set(where, Math.max(out, named.get(where) ?? 0));
    }
    for (const [element, out] of named) found.push(`${out} px outside the window: ${name(element)}`);
    return found;
  },

  // Text stands out from its ground, and is not thin.
  contrast() {
    const rgba = (color) => {
      const [r, g, b, a = 1] = color.match(/[\d.]+/g).map(Number);
      return [r, g, b, a];
    };
    const blend = ([r, g, b, a], ground) =>
      [r, g, b].map((value, k) => a * value + (1 - a) * ground[k]);
    const luminance = (color) => {
      const [r, g, b] = color
        .map((value) => value / 255)
        .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const grounds = new Map([[null, [255, 255, 255]]]);
    const ground = (element) => {
      if (!grounds.has(element)) {
        const below = ground(element.parentElement);
        grounds.set(element, blend(rgba(getComputedStyle(element).backgroundColor), below));
      }
      return grounds.get(element);
    };
    const found = [];
    for (const element of new Set([...texts()].map(([, element]) => element))) {
      if (!visible(element)) continue;
      const { color, fontSize, fontWeight } = getComputedStyle(element);
      const size = parseFloat(fontSize);
      const large = size >= 24 || (size >= 18.66 && fontWeight >= 700);
      const text = blend(rgba(color), ground(element));
      const [light, dark] = [text, ground(element)].map(luminance).sort((a, b) => b - a);
      if (fontWeight < 400) found.push(`too thin, weight ${fontWeight}: ${name(element)}`);
      const ratio = (light + 0.05) / (dark + 0.05);
      if (ratio < (large ? CONTRAST_LARGE : CONTRAST)) {
        found.push(`contrast ${ratio.toFixed(1)}, too little, of ${name(element)}`);
      }
    }
    return found;
  },
};
