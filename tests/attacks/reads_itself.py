# The right answer, after reading its own source, name and place.
# fails: nothing
# says:
# ruff: noqa

import inspect
import os
import sys

assert "Weighted mean" in inspect.getsource(fedavg)
assert os.path.basename(__file__)
assert sys.modules[__name__].fedavg is fedavg
