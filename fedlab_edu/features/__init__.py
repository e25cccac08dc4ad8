"""Feature maps for a linear model, and weight-sharing to select one of them."""
