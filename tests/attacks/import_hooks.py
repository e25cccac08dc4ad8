# Hooks exit at an import of the wire's or of a new module, and nothing is left on the path.
# fails: nothing
# says:
# ruff: noqa

import builtins
import sys


class Finder:
    def find_spec(self, name, path=None, target=None):
        raise SystemExit(name)


def imports(name, *a, _imports=builtins.__import__, **k):
    if name.startswith(("fedlab", "json", "struct")):
        raise SystemExit(name)
    return _imports(name, *a, **k)


sys.meta_path[:] = [Finder()]
sys.path.clear()
sys.path_hooks.clear()
builtins.__import__ = imports
