"""Local training of many clients at once, and the scores of their models."""
