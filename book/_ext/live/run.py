"""The Python side of live cells, run by MicroPython in the page's worker."""

import builtins
import collections
import json
import sys

_data = {}
_zip = zip


def _strict_zip(*several, strict=False):
    """MicroPython's zip has no keyword."""
    if strict and len({len(one) for one in several}) > 1:
        raise ValueError(f"zip: lengths differ: {[len(one) for one in several]}")
    return _zip(*several)


def _pairwise(several):
    several = list(several)
    return _zip(several, several[1:])


def _takewhile(holds, several):
    for one in several:
        if not holds(one):
            return
        yield one


def _index(value):
    if not isinstance(value, int):
        raise TypeError(f"{value} is not a whole number")
    return int(value)


class _Name:
    """A name that only annotations use."""

    def __getitem__(self, key):
        return self

    def __call__(self, *args, **kwargs):
        return self


_OWN = {
    "NamedTuple": collections.namedtuple,
    "SupportsFloat": (int, float),
    "SupportsIndex": (int, float),
    "Integral": int,
    "import_module": __import__,
    "index": _index,
    "pairwise": _pairwise,
    "takewhile": _takewhile,
}


class _Module:
    """A module of the standard library: what MicroPython has of it, and stand-ins for the rest."""

    def __init__(self, name):
        try:
            self._real = __import__(name)
        except ImportError:
            self._real = None

    def __getattr__(self, name):
        if name in _OWN:
            return _OWN[name]
        return getattr(self._real, name) if hasattr(self._real, name) else _Name()


builtins.zip = _strict_zip


def _named(path):
    module, _, name = path.rpartition(".")
    __import__(module)
    return getattr(sys.modules[module], name)


def _live(text):
    r = json.loads(text)
    for name in [n for n in sys.modules if n.partition(".")[0] == "fedlab_edu"]:
        del sys.modules[name]
    for name in r["standard"]:
        if not isinstance(sys.modules.get(name), _Module):
            sys.modules[name] = _Module(name)
    if r["text"]:
        _replace(r["source"], r["text"])
    answer = {"picture": "", "checks": []}
    if r["data"]:
        if r["data"] not in _data:
            with open("/data/" + r["data"].rpartition("/")[2]) as file:
                _data[r["data"]] = json.load(file)
        r["values"]["data"] = _data[r["data"]]
    if r["view"]:
        answer["picture"] = _named(r["view"])(**r["values"])
    if r["check"]:
        for ok, sentence in _named(r["check"])(_named(r["source"])):
            answer["checks"].append([bool(ok), sentence])
    return json.dumps(answer)


def _replace(source, text):
    """Put the reader's function in the place of the module's."""
    before, (module, _, name) = _named(source), source.rpartition(".")
    space = sys.modules[module].__dict__
    exec(compile(text, "your code", "exec"), space)
    if space.get(name) is before:
        raise NameError(f"the cell must define the function {name}")
    if not callable(space[name]):
        raise TypeError(f"{name} must be a function")
