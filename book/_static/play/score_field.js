// A field of scores: the kernel estimate against the truth, for a penalty and a width.
document.addEventListener("DOMContentLoaded", () => {
  const place = document.querySelector("#fig-score-field");
  if (!place) return;
  const { planes, penalties, widths, grid } = play.scoreField;
  const stage = play.stage(place, "Arrows of the estimated score over arrows of the true score.", draw);
  const plane = play.choice(stage.controls, "Distribution", Object.entries(planes).map(([k, v]) => [k, v.label]), "mixture");
  const penalty = play.slider(stage.controls, "Penalty λ", penalties, 2, (value) => `λ = ${value}`);
  const width = play.slider(stage.controls, "Kernel width", widths, 1, (value) => `${value} × median distance`);

  function draw(picture, room, numbers) {
    const size = Math.min(room - 64, 520);
    const { box, points, truth, fields } = planes[plane.value];
    const field = fields[penalty.value][width.value];
    const at = (k) => box[0] + (k * (box[1] - box[0])) / (grid - 1);
    const margin = at(2) - at(0); // for the arrows at the edge
    const range = [box[0] - margin, box[1] + margin];
    const { group, x, y } = play.panel(picture, { left: 52, top: 12, width: size, height: size }, {
      xRange: range, yRange: range, xName: "x₁", yName: "x₂",
    });
    for (let k = 0; k < points.length; k += 2) {
      const [a, b] = [points[k] / 100, points[k + 1] / 100];
      if (Math.min(a, b) < box[0] || Math.max(a, b) > box[1]) continue;
      play.svg(group, "circle", { class: "point", cx: x(a), cy: y(b), r: 1.6 });
    }
    // The longest true arrow is two steps of the grid long; estimates are cut at three.
    const step = x(at(1)) - x(at(0));
    const lengths = truth.filter((_, k) => k % 2 === 0).map((a, k) => Math.hypot(a, truth[2 * k + 1]));
    const unit = (2 * step) / Math.max(...lengths);
    for (const [values, style] of [[truth, "true-arrow"], [field.arrows, "series-0"]]) {
      for (let k = 0; k < grid * grid; k += 1) {
        const [u, v] = [unit * values[2 * k], unit * values[2 * k + 1]];
        const length = Math.hypot(u, v);
        if (length < 1) continue;
        const cut = Math.min(1, (3 * step) / length);
        const [x1, y1] = [x(at(k % grid)), y(at(Math.floor(k / grid)))];
        const [x2, y2] = [x1 + cut * u, y1 - cut * v];
        const [dx, dy] = [u / length, v / length];
        const head = cut === 1 ? `M${x2 - 4 * dx + 2.5 * dy} ${y2 + 4 * dy + 2.5 * dx}L${x2} ${y2}L${x2 - 4 * dx - 2.5 * dy} ${y2 + 4 * dy - 2.5 * dx}` : "";
        play.svg(group, "path", { class: `${style} arrow`, d: `M${x1} ${y1}L${x2} ${y2}${head}` });
      }
    }
    const error = field.error >= 100 ? "more than 100" : field.error.toPrecision(2);
    numbers.textContent =
      `Relative error ${error} with λ = ${penalties[penalty.value]} and a width of ${widths[width.value]} median distances: ` +
      "the mean squared error of the estimate over the mean square of the true score, at new observations. " +
      "An estimate of zero has error 1.";
    return size + 56;
  }
  stage.redraw();
});
