// A figure is a link to its full size. A wide one scrolls on a narrow screen: see custom.css.
document.addEventListener("DOMContentLoaded", () => {
  for (const image of document.querySelectorAll(".bd-article :is(figure, .cell_output) img")) {
    if (image.closest("a")) continue;
    const link = document.createElement("a");
    link.className = "full-size";
    link.href = image.src;
    link.title = "Open in full size";
    image.replaceWith(link);
    link.append(image);
    const measure = () =>
      link.classList.toggle("wide", image.naturalWidth > 2 * image.naturalHeight);
    if (image.complete) measure();
    else image.addEventListener("load", measure);
  }
});
