// Keep the reader's answers in this browser, and show them on the page "Your progress".
// A question is known by its text, a warm-up by its function.
"use strict";
(() => {
  const KEY = "fedlab-progress";

  function all() {
    try { return JSON.parse(localStorage.getItem(KEY)) ?? {}; }
    catch { return {}; } // a browser may forbid storage: then nothing is kept
  }

  function note(name, entry) {
    const kept = all();
    kept[name] = { first: entry, ...kept[name], last: entry };
    try { localStorage.setItem(KEY, JSON.stringify(kept)); } catch { /* as above */ }
  }

  window.progress = { recall: (name) => all()[name], note };

  function draw() {
    const kept = all();
    const score = { right: 0, answered: 0, questions: 0, done: 0, warmUps: 0 };
    for (const item of document.querySelectorAll(".progress-chapter li")) {
      const entry = kept[item.dataset.name];
      const warmUp = item.dataset.name.startsWith("fedlab_edu.");
      item.lastElementChild.textContent = warmUp ? checked(entry) : guessed(entry);
      score[warmUp ? "warmUps" : "questions"] += 1;
      if (!entry) continue;
      if (warmUp) score.done += entry.last.held === entry.last.of;
      else Object.assign(score, { answered: score.answered + 1,
        right: score.right + entry.first.right });
    }
    document.querySelector(".progress-score").textContent =
      `${score.answered} of ${score.questions} questions answered, ${score.right} of them right ` +
      `at the first guess. ${score.done} of ${score.warmUps} warm-ups done.`;
    // Answers may hold formulas; MathJax may be before, at or behind them.
    window.MathJax?.startup?.promise?.then(
      () => MathJax.typesetPromise([...document.querySelectorAll(".progress-said")]));
  }

  function guessed(entry) {
    if (!entry) return "Not answered yet.";
    const { first, last } = entry;
    if (first.right) return `✓ Right at the first guess: ${first.answer}`;
    const now = last.right ? ` ✓ Right in the end: ${last.answer}` : "";
    return `✗ First guess: ${first.answer}.${now}`;
  }

  function checked(entry) {
    if (!entry) return "Not tried yet.";
    const { held, of } = entry.last;
    return held === of ? "✓ All checks hold." : `✗ ${held} of ${of} checks hold.`;
  }

  document.addEventListener("DOMContentLoaded", () => {
    const place = document.querySelector(".progress-score");
    if (!place) return;
    const forget = document.createElement("button");
    forget.type = "button";
    forget.textContent = "Forget my answers";
    forget.addEventListener("click", () => {
      if (!confirm("Forget all answers that this browser has kept?")) return;
      try { localStorage.removeItem(KEY); } catch { /* as above */ }
      draw();
    });
    place.after(forget);
    addEventListener("storage", draw); // another window has answered
    draw();
  });
})();
