// The ledger's explorer: a cell's repetitions against the paper's mean and standard deviation.
document.addEventListener("DOMContentLoaded", () => {
  const place = document.querySelector("#ledger-explorer");
  if (!place) return;
  document.querySelector("#fig-ledger-entry :is(a.full-size, img)")?.replaceWith(place);
  const folder = place.dataset.folder;
  const titles = [["table1", "Table 1"], ["table2", "Table 2"], ["table3", "Table 3"]];
  const unique = (values) => [...new Set(values)].map((value) => [value, value]);
  play.ledger = {};
  let entry;
  const stage = play.stage(place, "Our repetitions, with the paper's mean and standard deviation.", draw);
  const table = play.choice(stage.controls, "Table", titles);
  const column = play.choice(stage.controls, "Column", []);
  const measure = play.choice(stage.controls, "Measure", []);
  const method = play.choice(stage.controls, "Method", []);
  const cause = play.html(stage.root, "p");
  const row = play.html(stage.root, "p", { class: "play-command" });
  const label = play.html(row, "label", {}, "Repetition ");
  const rep = play.html(label, "input", { type: "number", min: 0, value: 0 });
  const command = play.html(row, "code");
  const copy = play.html(row, "button", { type: "button" }, "Copy the command");
  const download = play.html(play.html(stage.root, "p"), "a");

  // A table's entries come as a script, since a page opened as a file may not fetch one.
  function load(name) {
    return new Promise((done, failed) => {
      if (play.ledger[name]) return done();
      const script = play.html(document.head, "script", { src: `${folder}/ledger.${name}.js` });
      script.onload = done;
      script.onerror = failed;
    });
  }

  function fill(select, options, value) {
    select.replaceChildren();
    for (const [key, name] of options) play.html(select, "option", { value: key }, name);
    if (options.some(([key]) => key === value)) select.value = value;
    select.parentElement.hidden = options.length < 2;
  }

  async function choose(wanted = {}) {
    await load(table.value);
    const entries = play.ledger[table.value];
    fill(column, unique(entries.map((one) => one.column)), wanted.column ?? column.value);
    fill(measure, unique(entries.map((one) => one.measure)), wanted.measure ?? measure.value);
    fill(method, unique(entries.map((one) => one.method)), wanted.method ?? method.value);
    pick();
  }

  function pick() {
    entry = play.ledger[table.value].find(
      (one) => one.column === column.value && one.measure === measure.value && one.method === method.value,
    );
    place.dataset.entry = entry.id;
    rep.max = entry.values.length - 1;
    cause.textContent = entry.cause ? `${entry.cause}.` : "";
    const lines = entry.values.flatMap((value, k) => (value === null ? [] : [`${k},${value}`]));
    download.href = `data:text/csv;charset=utf-8,${encodeURIComponent(["rep,value", ...lines].join("\n"))}`;
    download.download = `${entry.id}.csv`;
    download.textContent = `Download the ${lines.length} rows as CSV`;
    tell();
    stage.redraw();
  }

  function tell() {
    command.textContent = `${entry.command} ${rep.value}`;
  }

  function draw(picture, width, numbers) {
    if (!entry) return 0;
    const values = entry.values.filter((value) => value !== null);
    const count = values.length;
    const mean = values.reduce((a, b) => a + b, 0) / count;
    const sd = Math.sqrt(values.reduce((a, b) => a + (b - mean) ** 2, 0) / (count - 1));
    const [paperMean, paperSd] = entry.paper;
    const all = [...values, paperMean - 2 * paperSd, paperMean + 2 * paperSd];
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const pad = 0.06 * (high - low) || 0.5;
    const bins = 24;
    const range = [low - pad, high + pad];
    const size = (range[1] - range[0]) / bins;
    const counts = Array(bins).fill(0);
    for (const value of values) counts[Math.min(bins - 1, Math.floor((value - range[0]) / size))] += 1;
    const top = Math.max(1, ...counts) * 1.45;
    const box = { left: 52, top: 12, width: width - 72, height: 230 };
    const { group, x, y } = play.panel(picture, box, {
      xRange: range, yRange: [0, top], xName: entry.measure, yName: "repetitions",
      xTicks: play.ticks(...range, width < 560 ? 4 : 8),
    });
    counts.forEach((height, k) => {
      if (!height) return;
      const left = x(range[0] + k * size);
      play.svg(group, "rect", { class: "series-0 bar", x: left + 1, width: x(range[0] + size) - x(range[0]) - 2, y: y(height), height: y(0) - y(height) });
    });
    const spread = (name, center, wide, style, at) => {
      play.svg(group, "line", { class: style, x1: x(center - wide), x2: x(center + wide), y1: at, y2: at });
      play.svg(group, "circle", { class: `${style} mark`, cx: x(center), cy: at, r: 5 });
      const end = x(center + wide) > box.left + box.width - 60;
      play.svg(group, "text", { x: x(end ? center - wide : center + wide) + (end ? -6 : 6), y: at + 4, "text-anchor": end ? "end" : "start" }, name);
    };
    spread("paper", paperMean, paperSd, "series-1", 28);
    if (count > 1) spread("ours", mean, sd, "series-0", 50);
    const told = (a, b) => `${a.toFixed(3)} (sd ${b.toFixed(3)})`;
    const title = titles.find(([key]) => key === table.value)[1];
    numbers.textContent =
      `${title}, ${entry.column}, ${entry.method}. Paper: ${told(paperMean, paperSd)}. ` +
      (count > 1 ? `Ours: ${told(mean, sd)} over ${count} repetitions, z = ${entry.z}. ` : "") +
      `Verdict: ${entry.verdict}.`;
    return box.top + box.height + 44;
  }

  // The address names an entry: table1-ar1-n-300-TRE-sup.
  async function follow() {
    const name = decodeURIComponent(location.hash.slice(1));
    const part = titles.find(([key]) => name.startsWith(`${key}-`));
    if (!part) return choose();
    table.value = part[0];
    await load(table.value);
    await choose(play.ledger[table.value].find((one) => one.id === name));
    place.scrollIntoView();
  }

  stage.controls.addEventListener("input", async (event) => {
    if (event.target === table) await choose();
    else pick();
    history.replaceState(null, "", `#${entry.id}`);
  });
  rep.addEventListener("input", tell);
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(command.textContent);
      copy.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(command);
      copy.textContent = "Selected: press Ctrl+C";
    }
  });
  addEventListener("hashchange", follow);
  follow();
});
