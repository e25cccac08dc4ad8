"""FedTune: a distribution over configurations for each client."""

from fedlab_edu.tuners.fedtune.search import FedTune, FedTuneRound, fedtune

__all__ = ["FedTune", "FedTuneRound", "fedtune"]
