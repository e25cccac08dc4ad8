# An array of a file that has become shorter.
# fails: q1
# says: bus error
# ruff: noqa

import mmap
import os

import numpy as np


def fedavg(states, weights):
    with open("values", "w+b") as file:
        file.write(bytes(8192))
        file.flush()
        memory = mmap.mmap(file.fileno(), 8192)
        os.truncate("values", 0)
        return {"w": np.frombuffer(memory, dtype=np.float64)}
