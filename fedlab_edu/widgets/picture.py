"""Figures that follow the page: black is drawn in the text's colour, white in the page's ground.

Any matplotlib figure will do. A colour that must stay as it is, such as that of a number written
on a cell of a heat map, is taken a little off: "#010101" or "#fefefe".
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

# Each has a contrast of at least 3 to a white ground and to a dark one, and any two differ
# clearly for readers with protanopia, deuteranopia and tritanopia too.
COLOURS = BLUE, ORANGE, GREEN, PURPLE, GREY = "#3359fe", "#d18302", "#35a664", "#c175dc", "#6a6a73"

STYLE: Any = {
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.spines.top": False,
    "axes.spines.right": False,
}
LARGEST, SMALLEST = 1.1, 0.7  # times the size that it was drawn at: 10 pt is 15 to 9 px
FONTS = (
    "DejaVu Sans,Verdana,sans-serif"  # the first two have the widths that matplotlib reckons with
)


def figure(
    width: float = 4.8, height: float = 2.9, rows: int = 1, columns: int = 1, **options: Any
) -> tuple[Figure, Any]:
    """``plt.subplots`` in the book's colours; the default size, in inches, fits a phone.

    A wider figure scrolls sideways there, so that its text stays readable.
    """
    with rc_context(STYLE):
        return plt.subplots(rows, columns, figsize=(width, height), layout="constrained", **options)


def picture(fig: Figure, alt: str) -> HTML:
    """The figure as part of the page; alt says in words what there is to see.

    Raises:
        ValueError: no alternative text.
    """
    return HTML(svg(fig, alt))  # type: ignore[no-untyped-call]


def svg(fig: Figure, alt: str) -> str:
    """The figure as inline SVG, closed for matplotlib; the same bytes for the same figure.

    Raises:
        ValueError: no alternative text.
    """
    require(isinstance(alt, str) and alt.strip(), "alt", alt, "a sentence on what there is to see")
    buffer = io.StringIO()
    # text stays text; the salt keeps one figure's ids apart from another's on the page
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
    """What matplotlib drew, without what a page does not need, and in the page's colours."""
    drawn = drawn[drawn.index(">", drawn.index("<svg")) + 1 : drawn.rindex("</svg>")]
    drawn = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", drawn, flags=re.S)
    # matplotlib's style sheet would hold for the whole page
    drawn = re.sub(r"<defs>\s*<style.*?</defs>", "", drawn, flags=re.S)
    drawn = re.sub(r"<[^>]*>", _tag, drawn)
    drawn = re.sub(r'<path d="[^"]*" style="fill:none"/>', "", drawn)
    return re.sub(r"\s*\n\s*", "", drawn)


def _tag(match: re.Match[str]) -> str:
    """One tag, shorter: coordinates to a tenth of a point, no names that nothing refers to."""
    tag = re.sub(r"\s*\n\s*", "" if "base64" in match[0] else " ", match[0])
    tag = re.sub(r'^<g id="[^"]*"', "<g", tag)
    tag = re.sub(r' (d|x|y|transform)="[^"]*"', lambda m: re.sub(r"\d+\.\d+", _round, m[0]), tag)
    tag = re.sub(r' transform="rotate\(-0 [^"]*"|;? ?font-family: [^;"]*', "", tag)
    tag = re.sub(r"(?<=[MLQCz]) | (?=[MLQCz\"])", "", tag) if tag.startswith("<path") else tag
    tag = re.sub(r"(?<=[;:]) ", "", tag)
    return tag.replace("#000000", "currentColor").replace("#ffffff", "var(--ground)")


def _round(number: re.Match[str]) -> str:
    return f"{float(number[0]):.1f}".removesuffix(".0")
