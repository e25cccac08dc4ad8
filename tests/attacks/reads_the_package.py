# Imports or reads the course's package in all ways that it can think of.
# fails: nothing
# says:
# ruff: noqa


def fedavg(states, weights):
    import importlib, importlib.machinery, os, sys

    def attempts():
        for name in ("methods", "aggregate", "tuners.fedex", "methods.fedavg"):
            yield lambda: importlib.import_module(f"fedlab_edu.{name}")
        yield lambda: __import__("fedlab_edu").aggregate
        yield lambda: exec("from fedlab_edu import aggregate")
        yield lambda: importlib.import_module("solutions.ex01_fedavg")

    def reads():
        grading = importlib.import_module("fedlab" + "_grade")
        for place in [*sys.path, *(f"{p}/.." for p in grading.__path__)]:
            for file in ("aggregate.py", "tuners/fedex.py", "methods/fedavg.py"):
                for way in ("fedlab_edu", "fedlab_grade/../fedlab_edu"):
                    yield lambda: open(f"{place}/{way}/{file}")

    def tries(acts):
        for act in acts:
            try:
                act()
            except (ImportError, AttributeError, OSError):
                continue
            raise RuntimeError("LEAKED")

    places = list(reads())
    tries(attempts())
    for name in [n for n in sys.modules if n.partition(".")[0] == "fedlab_edu"]:
        del sys.modules[name]
    importlib.invalidate_caches()
    tries(attempts())
    grading = importlib.import_module("fedlab" + "_grade")
    before = list(sys.meta_path), list(sys.path)
    for finder in list(sys.meta_path):
        if finder not in (importlib.machinery.BuiltinImporter, importlib.machinery.PathFinder):
            sys.meta_path.remove(finder)
    sys.path += [f"{place}/.." for place in grading.__path__]
    for name in [n for n in sys.modules if n.partition(".")[0] == "fedlab_edu"]:
        del sys.modules[name]
    importlib.invalidate_caches()
    tries(attempts())
    tries(places)
    sys.meta_path[:], sys.path[:] = before  # it may be called again
    total = float(sum(weights))
    return {k: sum(s[k] * (w / total) for s, w in zip(states, weights)) for k in states[0]}
