# The right answer, with warnings as errors, NumPy's too.
# fails: nothing
# says:
# ruff: noqa

import warnings

import numpy as np

warnings.simplefilter("error")
np.seterr(all="raise")
