# All modules are gone from sys.modules.
# fails: nothing
# says:
# ruff: noqa

import sys

for name in [n for n in sys.modules if n.split(".")[0] not in ("sys", "builtins", "__main__")]:
    if not name.startswith(("torch", "numpy")):
        del sys.modules[name]
