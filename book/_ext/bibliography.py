"""Let the bibliography read LaTeX.

The text of Shakespeare comes with the library future_typing, which as Python starts claims every
codec whose name Python does not know. One of those turns LaTeX's accents into letters.
"""

import codecs
import sys

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    claimant = sys.modules.get("future_typing.codec")
    if claimant:
        for _ in range(4):  # it registers itself more than once; once too often does no harm
            codecs.unregister(claimant.search_function)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
