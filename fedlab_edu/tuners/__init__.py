"""The tuners: which configurations are tried, for how long, and which one is kept."""
