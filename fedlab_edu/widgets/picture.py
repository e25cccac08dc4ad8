"""Figures that follow the page's theme: black takes the text's colour, white the background's.

To keep black or white, as in a number on a heat map, use "#010101" or "#fefefe".
"""

import html
import io
import re
from typing import Any

import matplotlib.pyplot as plt
from cycler import cycler
from IPython.display import HTML
from matplotlib import rc_context
from matplotlib.figure import Figure

from fedlab_edu.validate import require

# Each has a contrast of at least 3 to a white and a dark background. Any two differ clearly, also
# with protanopia, deuteranopia and tritanopia.
COLOURS = BLUE, ORANGE, GREEN, PURPLE, GREY = "#3359fe", "#d18302", "#35a664", "#c175dc", "#6a6a73"

STYLE: Any = {
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.spines.top": False,
    "axes.spines.right": False,
}
LARGEST, SMALLEST = 1.1, 0.7  # scale limits: 10 pt text is 15 to 9 px
FONTS = "DejaVu Sans,Verdana,sans-serif"  # the first two have the widths that matplotlib assumes


def figure(
    width: float = 4.8, height: float = 2.9, rows: int = 1, columns: int = 1, **options: Any
) -> tuple[Figure, Any]:
    """Return ``plt.subplots`` in the book's colours; the default size, in inches, fits a phone.

    A wider figure scrolls sideways there, so that its text stays readable.
    """
    with rc_context(STYLE):
        return plt.subplots(rows, columns, figsize=(width, height), layout="constrained", **options)


def picture(fig: Figure, alt: str) -> HTML:
    """Return the figure as HTML for the page; alt describes it in words."""
    return HTML(svg(fig, alt))  # type: ignore[no-untyped-call]


def svg(fig: Figure, alt: str) -> str:
    """Close the figure and return it as inline SVG: the same bytes for the same figure."""
    require(isinstance(alt, str) and alt.strip(), "alt", alt, "a sentence on what there is to see")
    buffer = io.StringIO()
    # text stays text; the salt makes ids unique on the page
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": alt}):
        fig.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    plt.close(fig)
    width, height = 72 * fig.get_size_inches()
    style = (
        f"width:100%;max-width:{LARGEST * width:.0f}pt;min-width:{SMALLEST * width:.0f}pt;"
        f"height:auto;fill:currentColor;font-family:{FONTS};stroke-linejoin:round;"
        "--ground:var(--pst-color-background,var(--jp-layout-color0,#fff))"
    )
    return (
        '<div class="fedlab-picture" style="overflow-x:auto">'
        f'<svg role="img" aria-label="{html.escape(alt)}" viewBox="0 0 {width:g} {height:g}" '
        f'style="{style}">{_body(buffer.getvalue())}</svg></div>'
    )


def _body(drawn: str) -> str:
    """Return matplotlib's SVG without unnecessary parts, in the page's colours."""
    drawn = drawn[drawn.index(">", drawn.index("<svg")) + 1 : drawn.rindex("</svg>")]
    drawn = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", drawn, flags=re.S)
    # matplotlib's style sheet would apply to the whole page
    drawn = re.sub(r"<defs>\s*<style.*?</defs>", "", drawn, flags=re.S)
    drawn = re.sub(r"<[^>]*>", _tag, drawn)
    drawn = re.sub(r'<path d="[^"]*" style="fill:none"/>', "", drawn)
    return re.sub(r"\s*\n\s*", "", drawn)


def _tag(match: re.Match[str]) -> str:
    """Shorten one tag: round coordinates to a tenth of a point, drop unused ids."""
    tag = re.sub(r"\s*\n\s*", "" if "base64" in match[0] else " ", match[0])
    tag = re.sub(r'^<g id="[^"]*"', "<g", tag)
    tag = re.sub(r' (d|x|y|transform)="[^"]*"', lambda m: re.sub(r"\d+\.\d+", _round, m[0]), tag)
    tag = re.sub(r' transform="rotate\(-0 [^"]*"|;? ?font-family: [^;"]*', "", tag)
    tag = re.sub(r"(?<=[MLQCz]) | (?=[MLQCz\"])", "", tag) if tag.startswith("<path") else tag
    tag = re.sub(r"(?<=[;:]) ", "", tag)
    return tag.replace("#000000", "currentColor").replace("#ffffff", "var(--ground)")


def _round(number: re.Match[str]) -> str:
    return f"{float(number[0]):.1f}".removesuffix(".0")
