# Imports a package that is not installed.
# fails: q1 q2 q3 q4
# says: ModuleNotFoundError
# ruff: noqa

import pandas_that_is_not_there
