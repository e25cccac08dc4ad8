"""Local training of many clients at once, and scores of their models."""
