"""Self-check questions that answer in the page, without a kernel."""

from collections.abc import Sequence

import ipywidgets as W  # type: ignore[import-untyped]

from fedlab_edu.validate import require


def choice(question: str, answers: Sequence[tuple[str, bool, str]]) -> W.VBox:
    """Return one question with answers to choose from, and a response to each.

    Args:
        question: HTML; ``$...$`` is mathematics, here and in the answers.
        answers: (answer, whether it is right, why), two or more, one of them right. The answer is
            plain text; why is HTML.
    """
    require(len(answers) >= 2, "answers", len(answers), "at least 2")
    right = sum(ok for _, ok, _ in answers)
    require(right == 1, "number of right answers", right, "1")
    wide = W.Layout(width="100%")
    options = [(text, i) for i, (text, _, _) in enumerate(answers)]
    buttons = W.RadioButtons(options=options, index=None, layout=wide)
    said = [
        W.HTMLMath(f"<p><strong>{'Right.' if ok else 'Not so.'}</strong> {why}</p>", layout=wide)
        for _, ok, why in answers
    ]
    reply = W.Stack(said, selected_index=None, layout=wide).add_class("fedlab-reply")
    W.jslink((buttons, "index"), (reply, "selected_index"))
    asked = W.HTMLMath(f"<p>{question}</p>", layout=wide)
    return W.VBox([asked, buttons, reply]).add_class("fedlab-quiz")
