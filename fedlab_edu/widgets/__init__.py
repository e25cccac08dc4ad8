"""Figures, quizzes and source listings for the book's chapters; needs the extra ``book``."""

from fedlab_edu.widgets.frames import frames
from fedlab_edu.widgets.picture import BLUE, COLOURS, GREEN, GREY, ORANGE, PURPLE, figure, picture
from fedlab_edu.widgets.quiz import choice
from fedlab_edu.widgets.show import show

__all__ = [
    "BLUE", "COLOURS", "GREEN", "GREY", "ORANGE", "PURPLE",
    "choice", "figure", "frames", "picture", "show",
]  # fmt: skip
