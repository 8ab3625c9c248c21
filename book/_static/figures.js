// A figure is a link to its full size. A large one scrolls on a narrow screen: see custom.css.
// Notebooks draw 200 dots an inch. Of these, 0.4 show letters of ten points as eleven pixels, and
// 0.55 as fifteen, the size of the text: no figure is larger than that. A picture with other dots
// states its width in its page.
document.addEventListener("DOMContentLoaded", () => {
  for (const image of document.querySelectorAll(".bd-article :is(figure, .cell_output) img")) {
    let link = image.closest("a"); // Sphinx makes one if the page states a width
    if (link && !link.classList.contains("image-reference")) continue;
    if (!link) {
      link = document.createElement("a");
      link.href = image.src;
      image.replaceWith(link);
      link.append(image);
    }
    link.classList.add("full-size");
    link.title = "Open in full size";
    const measure = () => {
      const stated = parseFloat(image.style.width);
      const legible = stated || 0.4 * image.naturalWidth;
      link.style.setProperty("--legible", `${legible}px`);
      link.style.setProperty("--largest", `${stated || 0.55 * image.naturalWidth}px`);
      link.classList.toggle("wide", legible > 520);
    };
    if (image.complete) measure();
    else image.addEventListener("load", measure);
  }
});
