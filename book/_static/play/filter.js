// Choices above a list: rows whose data, class or section fit every choice are shown; without scripts all.
document.addEventListener("DOMContentLoaded", () => {
  for (const form of document.querySelectorAll("form.filters")) {
    form.hidden = false;
    const rows = [...document.querySelectorAll(form.dataset.rows)];
    const choices = [...form.querySelectorAll("select")];
    const fits = (row, { name, value }) => !value || (name === "section" ? row.closest(`#${value}`) : row.dataset[name] === value || row.classList.contains(`${name}-${value}`));
    const show = () => {
      for (const row of rows) row.hidden = !choices.every((choice) => fits(row, choice));
      const count = rows.filter((row) => !row.hidden).length;
      form.querySelector("output").textContent = `${count} of ${rows.length} ${form.dataset.unit} shown`;
      // Folded tables open while a choice is made, and a part without a row steps aside.
      const chosen = choices.some(({ value }) => value);
      for (const fold of document.querySelectorAll(".ledger details")) {
        if (fold.querySelector("tr[data-verdict]")) fold.open = chosen && !!fold.querySelector("tbody tr:not([hidden])");
      }
      for (const row of rows) {
        for (let part = row.closest("section[id]"); part?.parentElement.closest("section[id]"); part = part.parentElement.closest("section[id]")) {
          part.classList.toggle("empty", rows.every((other) => other.hidden || !part.contains(other)));
        }
      }
    };
    const folds = rows.filter((row) => row.matches("details"));
    if (folds.length) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = "Open or close all";
      button.addEventListener("click", () => {
        const open = folds.some((fold) => !fold.hidden && !fold.open);
        for (const fold of folds) fold.open = open && !fold.hidden;
      });
      form.append(button);
    }
    form.addEventListener("input", show);
    form.addEventListener("submit", (event) => event.preventDefault());
    show();
  }
});
