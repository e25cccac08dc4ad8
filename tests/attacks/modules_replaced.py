# Functions of modules replaced at import.
# fails: q1
# says:
# ruff: noqa

import json
import os
import socket
import struct

json.dumps = json.loads = json.JSONEncoder.encode = lambda *a, **k: ""
os.write = os.read = socket.socket.sendall = socket.socket.recv = lambda *a, **k: b""
struct.pack = struct.unpack = lambda *a: b""


def fedavg(states, weights):
    return {k: v * 0 for k, v in states[0].items()}
