# Asks the kernel for rights.
# fails: q1
# says: refused
# ruff: noqa


def fedavg(states, weights):
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    for call in (
        (libc.unshare, 0x10000000),
        (libc.mount, b"x", b"/", b"tmpfs", 0, None),
        (libc.ptrace, 16, 1, 0, 0),
        (libc.setuid, 0),
        (libc.syscall, 321, 0, 0, 0),
    ):
        if call[0](*call[1:]) == 0:
            return states[0]
    raise PermissionError("refused")
