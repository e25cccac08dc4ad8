# A crash while the file is loaded.
# fails: q1 q2 q3 q4
# says: import.*segmentation
# ruff: noqa

import ctypes

ctypes.string_at(0)
