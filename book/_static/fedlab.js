// Mend for screen readers and keyboards what the theme leaves out.
document.addEventListener("DOMContentLoaded", () => {
  // a name of its own would hide what stands in the button
  for (const named of document.querySelectorAll("summary[aria-label], .search-button-field")) {
    named.removeAttribute("aria-label");
  }
  for (const chapter of document.querySelectorAll("li.has-children > details > summary")) {
    const title = chapter.closest("li").querySelector("a").textContent.trim();
    chapter.setAttribute("aria-label", `Pages of ${title}`);
  }
  document.querySelector(".bd-sidebar-primary")?.setAttribute("role", "navigation");
  document.querySelector(".bd-sidebar-primary")?.setAttribute("aria-label", "Book");
  // the icon of each mode has a title, and what is seen in a button must be in its name
  const modes = document.querySelectorAll(".theme-switch-button");
  for (const button of modes) {
    const titles = [...button.querySelectorAll("[title], title")];
    const names = titles.map((icon) => icon.title || icon.textContent);
    button.setAttribute("aria-label", ["Color mode", ...names].join(", "));
  }
  window.MathJax?.startup.promise.then(reach);
  window.addEventListener("resize", reach);
});

// What scrolls sideways must be in reach of the keyboard.
function reach() {
  for (const part of document.querySelectorAll(
    "mjx-container[display], .fedlab-picture, .pst-scrollable-table-container, " +
      ".output.text_html, .output pre",
  )) {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  }
}

// On paper a fold cannot be opened.
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  for (const fold of closed) fold.open = true;
});
addEventListener("afterprint", () => {
  for (const fold of closed) fold.open = false;
});
