"""FedPop: a population of runs that copy one another."""
