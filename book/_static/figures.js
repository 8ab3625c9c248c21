// A figure is a link to its full size. A large one scrolls on a narrow screen: see custom.css.
// Notebooks draw 200 dots an inch, so that 0.4 of them show letters of ten points as eleven pixels.
document.addEventListener("DOMContentLoaded", () => {
  for (const image of document.querySelectorAll(".bd-article :is(figure, .cell_output) img")) {
    // Sphinx makes a link of its own of an image that has a width.
    const link = image.closest("a") ?? document.createElement("a");
    link.className = "full-size";
    link.href = image.src;
    link.title = "Open in full size";
    if (!link.contains(image)) {
      image.replaceWith(link);
      link.append(image);
    }
    const measure = () => {
      const legible = parseFloat(image.style.width) || 0.4 * image.naturalWidth;
      link.style.setProperty("--legible", `${legible}px`);
      link.classList.toggle("wide", legible > 520);
    };
    if (image.complete) measure();
    else image.addEventListener("load", measure);
  }
});
