"""Models: a network as a function of one vector."""
