"""Federated multiplicative weights: the rule in plain Python, and the tuner."""

from fedlab_edu.tuners.weights.rules import multiplicative_weights
from fedlab_edu.tuners.weights.tuner import MultiplicativeWeights

__all__ = ["MultiplicativeWeights", "multiplicative_weights"]
