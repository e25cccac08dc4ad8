# The right answer, if none of the files is there that it has left in an earlier test.
# fails: nothing
# says:
# ruff: noqa
import os

_files = [f"{place}/left_by_a_test" for place in (".", "/tmp", "/var/tmp", "/dev/shm")]
assert not (found := [file for file in _files if os.path.exists(file)]), found
for _file in _files:
    try:
        open(_file, "w").close()
    except OSError:
        pass
