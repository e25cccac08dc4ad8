// The theme's icons replace <i> elements, and the widgets' Play button then fails: keep the <i>,
// with the icon inside.
window.FontAwesomeConfig = { autoReplaceSvg: "nest" };
if (window.FontAwesome) window.FontAwesome.config.autoReplaceSvg = "nest";

document.addEventListener("DOMContentLoaded", () => {
  // Widgets ask version 2 of MathJax to set their formulas; the book has version 3.
  if (window.MathJax?.startup) window.MathJax.Hub = { Queue: ([, , element]) => typeset(element) };
  new MutationObserver(mendWidgets).observe(document.body, { childList: true, subtree: true });
});

function typeset(element) {
  const { startup } = window.MathJax;
  startup.promise = startup.promise.then(() => window.MathJax.typesetPromise([element]));
}

// What the widgets leave out: names for those who do not see the page, and formulas in answers.
function mendWidgets() {
  for (const slider of document.querySelectorAll(".widget-slider")) {
    const handle = slider.querySelector(".noUi-handle");
    handle?.setAttribute("aria-label", text(slider, ".widget-label"));
    handle?.setAttribute("aria-valuetext", text(slider, ".widget-readout"));
  }
  for (const button of document.querySelectorAll(".widget-toggle-button")) {
    button.setAttribute("aria-pressed", button.classList.contains("mod-active"));
  }
  for (const button of document.querySelectorAll(".widget-play .jupyter-button")) {
    button.title = button.previousElementSibling ? "stop" : "play or pause";
  }
  for (const [number, quiz] of document.querySelectorAll(".fedlab-quiz").entries()) {
    quiz.setAttribute("role", "group");
    quiz.setAttribute("aria-label", text(quiz, ".widget-html-content"));
    // answers of one name are one group: the arrow keys stay in it
    for (const answer of quiz.querySelectorAll("input")) answer.name = `quiz-${number}`;
  }
  for (const answers of document.querySelectorAll(
    ".fedlab-quiz .widget-radio-box:not([data-typeset])",
  )) {
    answers.dataset.typeset = "once";
    if (answers.textContent.includes("$")) typeset(answers);
  }
  for (const stack of document.querySelectorAll(".fedlab-frames, .fedlab-reply")) {
    stack.setAttribute("aria-live", "polite");
  }
}

function text(widget, selector) {
  return widget.querySelector(selector)?.textContent.replaceAll("$", "") ?? "";
}
