"""FedTune: a distribution over configurations for each client."""
