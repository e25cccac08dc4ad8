"""The experiments of the papers, their claims and numbers, and code that reproduces them."""
