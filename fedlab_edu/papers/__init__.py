"""The experiments of the papers as data, and code that reproduces them."""
