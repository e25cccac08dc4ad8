"""The measurements of the exercises' experiments: one number for a setting and a seed."""
