// Mend for screen readers and keyboards what the theme leaves out.
document.addEventListener("DOMContentLoaded", () => {
  // a name of its own would hide what stands in the button
  for (const named of document.querySelectorAll("summary[aria-label], .search-button-field")) {
    named.removeAttribute("aria-label");
  }
  document.querySelector(".bd-sidebar-primary")?.setAttribute("role", "navigation");
  document.querySelector(".bd-sidebar-primary")?.setAttribute("aria-label", "Book");
  // the icon of each mode has a name, of which two are hidden
  window.addEventListener("load", () => {
    for (const icon of document.querySelectorAll(".theme-switch-button svg")) {
      icon.querySelector("title")?.remove();
      icon.setAttribute("aria-hidden", "true");
    }
  });
  window.MathJax?.startup.promise.then(reach);
  window.addEventListener("resize", reach);
});

// What scrolls sideways must be in reach of the keyboard.
function reach() {
  for (const part of document.querySelectorAll(
    "mjx-container[display], .fedlab-picture, .pst-scrollable-table-container, .output pre",
  )) {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  }
}
