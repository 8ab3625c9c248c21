// Choices above tables: rows whose data fit every choice are shown. Without scripts all are.
document.addEventListener("DOMContentLoaded", () => {
  for (const form of document.querySelectorAll("form.filters")) {
    form.hidden = false;
    const rows = [...document.querySelectorAll(form.dataset.rows)];
    const choices = [...form.querySelectorAll("select")];
    const show = () => {
      for (const row of rows) {
        row.hidden = choices.some(({ name, value }) => value && (row.dataset[name] ?? row.id) !== value);
      }
      const size = (part) => part.reduce((sum, row) => sum + (row.querySelectorAll("dt").length || 1), 0);
      const count = size(rows.filter((row) => !row.hidden));
      form.querySelector("output").textContent = `${count} of ${size(rows)} ${form.dataset.unit} shown`;
      // Folded tables open while a choice is made, and a part without a row steps aside.
      const chosen = choices.some(({ value }) => value);
      for (const fold of document.querySelectorAll(".ledger details")) {
        if (fold.querySelector("tr[data-verdict]")) fold.open = chosen && !!fold.querySelector("tbody tr:not([hidden])");
      }
      for (const part of new Set(rows.map((row) => row.closest("section[id]")))) {
        if (part) part.classList.toggle("empty", rows.every((row) => row.hidden || !part.contains(row)));
      }
    };
    form.addEventListener("input", show);
    form.addEventListener("submit", (event) => event.preventDefault());
    show();
  }
});
