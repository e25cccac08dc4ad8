# The right answer, and files whose names look like options, in folders that are closed.
# fails: nothing
# says:
# ruff: noqa

import os

for place in (b"/dev/shm", b"/tmp", b"."):
    for name in (b"-rf", b"--no-preserve-root", b"* ;id", b"\n", b"\xff\xfe", b"a" * 250):
        try:
            os.makedirs(place + b"/" + name + b"/inner")
            os.chmod(place + b"/" + name, 0)
        except OSError:
            pass
