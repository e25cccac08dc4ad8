"""The experiments of the papers, their claims and published numbers, and code that reproduces them."""
