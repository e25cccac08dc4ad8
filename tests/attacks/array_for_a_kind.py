# Sends on every descriptor, when it is loaded, a message with an array for its kind.
# fails: q1 q2 q3 q4
# says: The import of your file gave no sensible answer
# ruff: noqa
import os, struct

_keys = (b"function", b"named", b"arguments", b"value", b"names", b"after")
_items = b"".join(b', ["%s", 0]' % key for key in _keys)
_body = b'{"dict": [["kind", {"array": ["bool", [2]]}]%s]}' % _items
for _fd in range(3, 40):
    try:
        os.write(_fd, struct.pack(">II", len(_body), 2) + _body + bytes(2))
    except OSError:
        pass
