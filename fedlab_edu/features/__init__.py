"""Feature maps for a linear model, and how one fit that they share finds a good one of them."""
