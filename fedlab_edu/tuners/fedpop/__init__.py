"""FedPop: a population of runs; its rules in plain Python; and a clock for members that wait."""

from fedlab_edu.tuners.fedpop.evolution import Evolution, box_corners, clip_to_box
from fedlab_edu.tuners.fedpop.local import FedPopL, Local
from fedlab_edu.tuners.fedpop.population import Birth, FedPop, fedpop
from fedlab_edu.tuners.fedpop.rules import anneal, discounted_score, pair_parents, ranked

__all__ = [
    "Birth", "Evolution", "FedPop", "FedPopL", "Local", "anneal", "box_corners", "clip_to_box",
    "discounted_score", "fedpop", "pair_parents", "ranked",
]  # fmt: skip
