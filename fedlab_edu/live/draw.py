"""Charts as SVG: the same text at build time and in the reader's browser."""

from collections.abc import Sequence
from math import ceil, floor, log10

BLUE, ORANGE, GREEN, PURPLE, GREY = "#3359fe", "#d18302", "#35a664", "#c175dc", "#6a6a73"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE)
INK = "currentColor"


class Drawing:
    """Marks at pixels, as an SVG whose unit is a tenth of a pixel."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.parts: list[str] = []

    def path(
        self, points: Sequence[tuple[float, float]], colour: str, width: float = 2,
        dash: str = "", opacity: float = 1,
    ) -> None:  # fmt: skip
        """Draw a line through points; dash is as "4 3"."""
        places = " ".join([f"{tenths(a)},{tenths(b)}" for a, b in points])
        stroke = f'stroke="{colour}" stroke-width="{tenths(width)}" opacity="{opacity:g}"'
        if dash:
            dash = " ".join([f"{10 * int(part)}" for part in dash.split()])
            stroke = f'{stroke} stroke-dasharray="{dash}"'
        self.parts.append(f'<polyline points="{places}" fill="none" {stroke}/>')

    def disc(self, x: float, y: float, colour: str, radius: float) -> None:
        """Draw a disc around a point."""
        size = f'r="{tenths(radius)}" fill="{colour}"'
        self.parts.append(f'<circle cx="{tenths(x)}" cy="{tenths(y)}" {size}/>')

    def box(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        """Draw a rectangle with round corners, from its upper left point."""
        size = f'width="{tenths(width)}" height="{tenths(height)}"'
        place = f'x="{tenths(x)}" y="{tenths(y)}"'
        self.parts.append(f'<rect {place} {size} rx="40" fill="{colour}"/>')

    def text(self, x: float, y: float, text: str, anchor: str = "start", colour: str = "") -> None:
        """Write at a point."""
        fill = f' fill="{colour}"' if colour else ""
        place = f'x="{tenths(x)}" y="{tenths(y)}" text-anchor="{anchor}"'
        self.parts.append(f"<text{fill} {place}>{escaped(text)}</text>")

    def svg(self, alt: str) -> str:
        """Return the picture; alt describes it in words."""
        return (
            f'<svg role="img" aria-label="{escaped(alt)}" '
            f'viewBox="0 0 {self.width}0 {self.height}0" font-size="130" fill="{INK}" '
            f'stroke-linejoin="round">{"".join(self.parts)}</svg>'
        )


class Chart(Drawing):
    """A chart with two axes.

    Args:
        x, y: the ranges of the axes; values outside are clipped.
        log: "x", "y" or "xy", the axes with a logarithmic scale.
        right: pixels beside the chart, for `label`.
        axes: whether to draw them.
    """

    def __init__(
        self, x: tuple[float, float], y: tuple[float, float], xlabel: str, title: str,
        log: str = "", right: int = 130, height: int = 270, axes: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(520, height)
        self.left, self.top = 52, 26
        self.across, self.down = self.width - self.left - right, height - self.top - 42
        self.xs, self.ys, self.log = x, y, log
        self.notes: list[tuple[float, float, str]] = []
        self.labels: list[tuple[float, str, str]] = []
        self.text(self.left, 16, title)
        if axes:
            self._axes(xlabel)

    def _axes(self, xlabel: str) -> None:
        self.text(self.left + self.across / 2, self.height - 6, xlabel, "middle")
        for v in ticks(self.ys[0], self.ys[1], "y" in self.log):
            self.line(self.xs, (v, v), INK, 1, "", 0.15)
            self.text(self.left - 6, self.y(v) + 4, f"{v:g}", "end")
        for v in ticks(self.xs[0], self.xs[1], "x" in self.log):
            self.text(self.x(v), self.height - 24, f"{v:g}", "middle")

    def x(self, v: float) -> float:
        """Return the pixel of a value."""
        return self.left + self.across * share(v, self.xs[0], self.xs[1], "x" in self.log)

    def y(self, v: float) -> float:
        """Return the pixel of a value."""
        return self.top + self.down * (1 - share(v, self.ys[0], self.ys[1], "y" in self.log))

    def line(
        self, xs: Sequence[float], ys: Sequence[float], colour: str, width: float = 2,
        dash: str = "", opacity: float = 1, name: str = "",
    ) -> None:  # fmt: skip
        """Draw a line through points in the units of the axes, with a name beside its end."""
        places = [(self.x(a), self.y(b)) for a, b in zip(xs, ys, strict=True)]
        self.path(places, colour, width, dash, opacity)
        if name:
            self.label(ys[-1], name, colour)

    def dot(self, x: float, y: float, colour: str, radius: float = 4) -> None:
        """Draw a disc."""
        self.disc(self.x(x), self.y(y), colour, radius)

    def label(self, y: float, text: str, colour: str) -> None:
        """Name a line beside its end at height y."""
        self.labels.append((self.y(y), text, colour))

    def note(self, x: float, y: float, text: str) -> None:
        """Write at a pixel, in front of the lines."""
        self.notes.append((x, y, text))

    def svg(self, alt: str) -> str:
        """Return the chart; alt describes it in words."""
        edge, last = self.left + self.across + 8, float(self.top)
        for y, text, colour in sorted(self.labels):
            level = last = max(y + 4, last + 15)
            self.path([(edge, level - 4), (edge + 10, level - 4)], colour, 3)
            self.text(edge + 14, level, text)
        for x, y, text in self.notes:
            self.text(x, y, text)
        return super().svg(alt)


def share(v: float, low: float, high: float, log: bool) -> float:
    """Return where v lies between low (0) and high (1), clipped."""
    if not low < high:
        return 0.0
    if log:
        v, low, high = log10(max(v, low)), log10(low), log10(high)
    part = (v - low) / (high - low)
    return min(max(part, 0.0), 1.0) if part == part else 1.0  # NaN is at the top


def ticks(low: float, high: float, log: bool) -> list[float]:
    """Return about five round numbers from low to high; powers of ten on a logarithmic axis."""
    if log:
        places = range(ceil(log10(low) - 1e-9), floor(log10(high) + 1e-9) + 1)
        return [10.0**place for place in places]
    size = 10.0 ** floor(log10((high - low) / 4))
    step = min([s * size for s in (1, 2, 5, 10) if s * size >= (high - low) / 5.01])
    places = range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)
    return [round(place * step, 9) for place in places]


def tenths(pixel: float) -> int:
    """Return whole tenths of a pixel: Pythons differ in how they print fractions."""
    return int(10 * pixel + 0.5)


def escaped(text: str) -> str:
    """Escape text for SVG."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
