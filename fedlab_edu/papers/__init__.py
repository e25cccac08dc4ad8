"""The experiments of each paper as data: settings, published numbers; and how to run them again."""
