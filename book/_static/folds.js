// Folds: an address that leads into one opens it, and on paper all are open.
const unfold = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const folds = [];
  for (let fold = target?.closest("details"); fold; fold = fold.parentElement.closest("details")) folds.push(fold);
  for (const fold of folds) fold.open = true;
  if (folds.length) target.scrollIntoView();
};
document.addEventListener("DOMContentLoaded", () => setTimeout(unfold)); // after the choices of filter.js
addEventListener("hashchange", unfold);

let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const fold of folded) fold.open = true;
});
addEventListener("afterprint", () => {
  for (const fold of folded) fold.open = false;
});
