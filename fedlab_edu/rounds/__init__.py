"""Communication rounds: a run, its tuner, and what happens in a round."""
