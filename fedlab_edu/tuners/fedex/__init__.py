"""FedEx: the algorithm, its rules in plain Python, and the tuner with all options."""

from fedlab_edu.tuners.fedex.algorithm import Theta
from fedlab_edu.tuners.fedex.around import around
from fedlab_edu.tuners.fedex.rules import draw_row, entropy, exponentiate, gradient, step_size
from fedlab_edu.tuners.fedex.tuner import FedEx

__all__ = [
    "FedEx", "Theta", "around", "draw_row", "entropy", "exponentiate", "gradient", "step_size",
]  # fmt: skip
