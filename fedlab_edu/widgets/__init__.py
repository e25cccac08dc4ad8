"""Figures, quizzes and source listings for the book's chapters; needs the extra ``book``."""

try:
    from fedlab_edu.widgets.frames import frames
    from fedlab_edu.widgets.picture import (
        BLUE,
        COLOURS,
        GREEN,
        GREY,
        ORANGE,
        PURPLE,
        figure,
        picture,
    )
    from fedlab_edu.widgets.quiz import choice
    from fedlab_edu.widgets.show import show
except ModuleNotFoundError as error:
    package = (error.name or "").partition(".")[0]
    advice = f"{package} is missing: pip install 'fedlab_edu[book]'"
    raise ModuleNotFoundError(advice) from error

__all__ = [
    "BLUE", "COLOURS", "GREEN", "GREY", "ORANGE", "PURPLE",
    "choice", "figure", "frames", "picture", "show",
]  # fmt: skip
