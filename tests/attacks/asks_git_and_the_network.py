# The right answer, after asking for a commit and a page, and doing without.
# fails: nothing
# says:
# ruff: noqa

import subprocess
import urllib.request

try:
    subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True)
except OSError:
    pass
try:
    urllib.request.urlopen("http://example.org", timeout=1)
except OSError:
    pass
