# Prints for ever while the file is loaded.
# fails: q1 q2 q3 q4
# says: import of your file did not finish
# ruff: noqa

while True:
    print("x" * 100_000)
