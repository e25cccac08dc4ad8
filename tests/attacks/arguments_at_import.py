# The right answer, after a parser of arguments that finds none.
# fails: nothing
# says:
# ruff: noqa

import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--rounds", type=int, default=3)
assert parser.parse_args().rounds == 3
