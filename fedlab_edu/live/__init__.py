"""Live cells of the book: plain Python that also runs in a browser's MicroPython.

Views draw SVG from records and from the package's rules. `records` makes the records, and
needs PyTorch.
"""
