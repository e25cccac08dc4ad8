# The right answer, after asking the streams what they are.
# fails: nothing
# says:
# ruff: noqa

import shutil
import sys

shutil.get_terminal_size()
assert not sys.stdin.isatty()
sys.stdout.isatty()
sys.stdout.fileno()
sys.stdout.buffer.write(b"bytes\n")
