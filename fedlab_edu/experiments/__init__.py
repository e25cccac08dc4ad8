"""What the exercises' experiments measure: one number for a setting and a seed."""
