"""Interactive figures that also work in the static pages: every picture is drawn beforehand."""

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import ipywidgets as W  # type: ignore[import-untyped]
from matplotlib.figure import Figure

from fedlab_edu.validate import require, require_type
from fedlab_edu.widgets.picture import svg

MOST = 60  # pictures in a widget: the page contains them all
FEWEST = 20  # pictures in an animation: fewer jump
CHOOSERS = (W.Dropdown, W.RadioButtons, W.Select, W.SelectionSlider, W.ToggleButtons)


def frames(
    draw: Callable[..., tuple[Figure, str]], controls: Mapping[str, W.Widget], play: bool = False
) -> W.VBox:
    """Return controls, and one picture for each of their settings, up to 60.

    The link between them runs in the browser and needs no kernel.

    Args:
        draw: ``draw(**values) -> (figure, alt)``, with a value for each control, by name; alt
            describes the picture in words, differently for each.
        controls: for each name a ``SelectionSlider``, ``ToggleButtons``, ``RadioButtons``,
            ``Dropdown`` or ``Select``. The label is the control's description, or else its name.
        play: add buttons that animate the last control, which needs at least 20 values.
    """
    require_type("controls", controls, Mapping, '{"lr": SelectionSlider(...)}')
    require(controls, "controls", controls, "at least one")
    values = {name: _values(name, control) for name, control in controls.items()}
    count = prod(len(v) for v in values.values())
    require(count <= MOST, "number of pictures", count, f"at most {MOST}")
    steps = len(values[list(controls)[-1]])
    require(not play or steps >= FEWEST, "number of pictures to play", steps, f"at least {FEWEST}")
    shared = {"layout": W.Layout(margin="0", width="100%"), "style": W.HTML().style}
    seen: set[str] = set()

    def stack(chosen: dict[str, Any]) -> W.Widget:
        """Draw the pictures under the values chosen so far: a stack of stacks for two controls."""
        if len(chosen) == len(controls):
            fig, alt = draw(**chosen)
            require(alt not in seen, "alt", alt, "another text for each picture of a widget")
            seen.add(alt)
            return W.HTML(svg(fig, alt), **shared)
        name, control = list(controls.items())[len(chosen)]
        children = [stack({**chosen, name: value}) for value in values[name]]
        here = W.Stack(children, selected_index=control.index, layout=shared["layout"])
        W.jslink((control, "index"), (here, "selected_index"))
        return here

    pictures = stack({}).add_class("fedlab-frames")
    row = [_labelled(name, control) for name, control in controls.items()]
    if play:
        row.append(_player(row[-1], steps))
    side_by_side = W.Layout(
        flex_flow="row wrap", align_items="flex-end", grid_gap="0.5rem 2rem", margin="0 0 0.75rem"
    )
    above = W.HBox(row, layout=side_by_side).add_class("fedlab-controls")
    return W.VBox([above, pictures])


def _values(name: str, control: W.Widget) -> list[Any]:
    """Return every value of the control, in order."""
    argument, allowed = f"controls[{name!r}]", ", ".join(c.__name__ for c in CHOOSERS)
    require(isinstance(control, CHOOSERS), argument, type(control).__name__, allowed)
    chosen = control.index
    require(chosen is not None, f"{argument}.index", chosen, "an option chosen at the start")
    values = []
    for i in range(len(control.options)):
        control.index = i
        values.append(control.value)
    control.index = chosen
    return values


def _labelled(name: str, control: W.Widget) -> W.Widget:
    """Show the control's whole label, no wider than the page."""
    control.description = control.description or name
    control.style.description_width = "initial"
    slides = isinstance(control, W.SelectionSlider)
    control.layout.width = "min(28rem, 100%)" if slides else "auto"
    control.layout.height, control.layout.flex_flow = "auto", "row wrap"
    if isinstance(control, W.ToggleButtons):
        control.style.button_width = "auto"
    return control


def _player(control: W.Widget, count: int) -> W.Play:
    player = W.Play(min=0, max=count - 1, value=control.index, interval=600, show_repeat=False)
    W.jslink((player, "value"), (control, "index"))
    return player
