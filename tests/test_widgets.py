"""Pictures that follow the page, sliders and questions that need no kernel, code on show."""

import ast
import itertools
import re
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import ipywidgets as W
import matplotlib.pyplot as plt
import numpy as np
import pytest
from ipywidgets.embed import dependency_state

import fedlab_edu.methods.method
from fedlab_edu import LocalHP, server_sgd
from fedlab_edu.methods.method import no_pull
from fedlab_edu.widgets import COLOURS, choice, figure, frames, picture, show
from fedlab_edu.widgets.columns import fit

LIGHT, DARK = "#ffffff", "#121212"  # the grounds of the book's pages


def drawn(title="", points=60):
    """Four falling curves with a legend."""
    fig, ax = figure()
    t = np.arange(points)
    for i in range(4):
        ax.plot(t, np.exp(-t / (8 + 3 * i)), label=f"client {i}")
    ax.set(xlabel="communication round", ylabel="validation loss", title=title)
    ax.legend()
    return fig


def parsed(html):
    """The <svg> of a picture, as XML."""
    svg = html[html.index("<svg") : html.rindex("</div>")]
    return ElementTree.fromstring(svg.replace("<svg", '<svg xmlns:xlink="xlink"', 1))


def links(widget):
    """{(source, trait, target, trait)} of the links that the browser keeps, by model id."""
    found = set()
    for model in dependency_state(widget).values():
        if model["model_name"] == "LinkModel":
            (a, s), (b, t) = model["state"]["source"], model["state"]["target"]
            found.add((a.removeprefix("IPY_MODEL_"), s, b.removeprefix("IPY_MODEL_"), t))
    return found


# Pictures.


def test_a_picture_is_an_image_named_by_its_alternative_text():
    alt = 'Loss < 0.5 & "falling"; clients differ'
    svg = parsed(picture(drawn(), alt).data)
    assert (svg.get("role"), svg.get("aria-label")) == ("img", alt)


def test_black_and_white_become_the_colours_of_the_page():
    fig, ax = plt.subplots()
    ax.bar([1, 2], [3, 4], color=["black", "white"], edgecolor="white")
    ax.plot([1, 2], [3, 4], color="black", label="a")
    ax.text(1, 1, "dark", color="black")
    ax.legend()
    html = picture(fig, "bars").data
    assert not re.search(r"#0{6}|#f{6}|#000\b|black|white", html.replace("ground-color,", ""))
    assert "stroke:currentColor" in html
    assert "fill:var(--ground)" in html
    # matplotlib leaves out the fill of what is black: it comes from the root
    assert "fill:currentColor" in parsed(html).get("style")


def test_a_colour_other_than_black_and_white_stays():
    fig, ax = plt.subplots()
    ax.text(0, 0, "on a dark cell", color="#fefefe")
    ax.plot([0, 1], color=COLOURS[1])
    html = picture(fig, "text").data
    assert "#fefefe" in html
    assert COLOURS[1] in html


def test_rounding_moves_no_point_by_more_than_a_twentieth_of_a_point():
    fig, ax = plt.subplots()
    x = np.linspace(0, 1, 7)
    (line,) = ax.plot(x, np.sin(3 * x), color="#123456")
    fig.draw_without_rendering()
    pixels = line.get_transform().transform(line.get_xydata()) * 72 / fig.dpi
    height = 72 * fig.get_figheight()
    (path,) = (
        p for p in parsed(picture(fig, "sine").data).iter("path") if "#123456" in p.get("style")
    )
    found = np.array(re.findall(r"[\d.]+", path.get("d")), float).reshape(-1, 2)
    np.testing.assert_allclose(found, np.c_[pixels[:, 0], height - pixels[:, 1]], atol=0.0501)


def test_text_stays_text_and_keeps_its_digits():
    fig, ax = plt.subplots()
    ax.set_xticks([0.125, 0.1375])
    ax.set_title("two  spaces, 3.14159")
    texts = ["".join(t.itertext()) for t in parsed(picture(fig, "ticks").data).iter("text")]
    assert {"0.1250", "0.1375", "two  spaces, 3.14159"} <= set(texts)


def test_the_same_figure_gives_the_same_bytes():
    assert picture(drawn(), "a").data == picture(drawn(), "a").data


def test_pictures_on_one_page_share_no_names_and_refer_to_their_own():
    names = []
    for alt in ("a", "b"):
        html = picture(drawn(), alt).data
        here = set(re.findall(r' id="([^"]*)"', html))
        assert set(re.findall(r'url\(#([^)]*)\)|href="#([^"]*)"', html)) <= {
            pair for name in here for pair in ((name, ""), ("", name))
        }
        names.append(here)
    assert names[0]
    assert not names[0] & names[1]


def test_a_picture_brings_no_style_sheet_for_the_whole_page():
    assert "<style" not in picture(drawn(), "a").data


def test_a_curve_chart_weighs_less_than_twelve_kilobytes():
    assert len(picture(drawn(), "a").data) < 12_000


def test_a_picture_closes_its_figure():
    picture(drawn(), "a")
    assert plt.get_fignums() == []


def test_a_picture_without_alternative_text_is_refused():
    fig = drawn()
    with pytest.raises(ValueError, match="alt is ' '; allowed: a sentence"):
        picture(fig, " ")
    plt.close(fig)


# Colours.

MACHADO = {  # Machado et al. (2009), severity 1.0, on linear RGB
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}


def linear(colour):
    """sRGB "#rrggbb" -> linear RGB."""
    c = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def contrast(a, b):
    """The contrast ratio of WCAG 2."""
    dark, bright = sorted(linear(c) @ [0.2126, 0.7152, 0.0722] for c in (a, b))
    return (bright + 0.05) / (dark + 0.05)


def lab(rgb):
    """Linear RGB -> CIE Lab under D65."""
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x = np.array(to_xyz) @ rgb.clip(0, 1) / [0.9505, 1.0, 1.089]
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("ground", [LIGHT, DARK])
def test_every_colour_contrasts_with_the_light_and_the_dark_ground(ground):
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert min(contrast(c, ground) for c in COLOURS) >= 3


@pytest.mark.parametrize("sight", MACHADO)
def test_any_two_colours_differ_clearly_for_every_sight(sight):
    seen = [lab(MACHADO[sight] @ linear(c)) for c in COLOURS]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 25


# Frames.


def draw(epochs, method="FedAvg"):
    fig, ax = figure()
    ax.plot([0, epochs])
    return fig, f"{method}, {epochs} epochs"


def alts(stack):
    """The alternative texts of a stack of pictures, or of stacks, in the same nesting."""
    if isinstance(stack, W.Stack):
        return [alts(child) for child in stack.children]
    return parsed(stack.value).get("aria-label")


def steps(count, **how):
    return W.SelectionSlider(options=range(count), **how)


def test_there_is_a_picture_for_each_setting_in_the_order_of_the_controls():
    controls = {
        "method": W.ToggleButtons(options=["FedAvg", "FedEx"]),
        "epochs": W.SelectionSlider(options=[("one", 1), ("ten", 10), ("all", 100)]),
    }
    _, pictures = frames(draw, controls).children
    assert alts(pictures) == [
        [f"{m}, {e} epochs" for e in (1, 10, 100)] for m in ("FedAvg", "FedEx")
    ]


def test_each_control_is_linked_to_its_stacks_in_the_browser():
    slider, buttons = steps(3), W.ToggleButtons(options=["FedAvg", "FedEx"])
    box = frames(draw, {"method": buttons, "epochs": slider})
    outer = box.children[1]
    expected = {(buttons.model_id, "index", outer.model_id, "selected_index")} | {
        (slider.model_id, "index", inner.model_id, "selected_index") for inner in outer.children
    }
    assert links(box) == expected


def test_the_play_button_moves_the_last_control():
    slider, buttons = steps(20), W.ToggleButtons(options=["FedAvg", "FedEx"])
    box = frames(draw, {"method": buttons, "epochs": slider}, play=True)
    player = box.children[0].children[-1]
    assert (player.min, player.max) == (0, 19)
    assert (player.model_id, "value", slider.model_id, "index") in links(box)


def test_an_animation_of_fewer_than_20_pictures_is_refused():
    buttons, slider = W.ToggleButtons(options=["FedAvg", "FedEx"]), steps(19)
    with pytest.raises(ValueError, match=r"pictures to play is 19; allowed: at least 20$"):
        frames(draw, {"method": buttons, "epochs": slider}, play=True)


def test_the_picture_shown_first_is_that_of_the_controls_as_given():
    slider, choices = steps(3, index=1), W.Dropdown(options=["a", "b"], index=1)
    box = frames(draw, {"epochs": slider, "method": choices})
    outer = box.children[1]
    assert (slider.index, choices.index) == (1, 1)
    assert (outer.selected_index, [s.selected_index for s in outer.children]) == (1, [1, 1, 1])


def test_a_control_is_labelled_by_its_description_or_else_by_its_name():
    named = steps(2, description="local epochs E")
    box = frames(draw, {"epochs": named, "method": W.Dropdown(options=["a", "b"])})
    assert [c.description for c in box.children[0].children] == ["local epochs E", "method"]


def test_drawing_twice_gives_the_same_bytes_and_leaves_no_figure_open():
    first, second = (frames(draw, {"epochs": steps(4)}) for _ in range(2))
    values = [[p.value for p in box.children[1].children] for box in (first, second)]
    assert values[0] == values[1]
    assert plt.get_fignums() == []


@pytest.mark.parametrize(
    ("control", "message"),
    [
        (
            W.IntSlider(max=3),
            r"controls\['epochs'\] is 'IntSlider'; allowed: Dropdown, RadioButtons",
        ),
        (W.SelectMultiple(options=[1, 2]), "is 'SelectMultiple'; allowed: Dropdown, RadioButt"),
        (W.ToggleButtons(options=[1, 2], index=None), "index is None; allowed: an option chosen"),
        (steps(61), "number of pictures is 61; allowed: at most 60"),
    ],
)
def test_a_control_that_cannot_choose_a_picture_is_refused_by_name(control, message):
    with pytest.raises(ValueError, match=message):
        frames(draw, {"epochs": control})


def test_too_many_pictures_are_refused_before_any_is_drawn():
    def never(**values):
        raise AssertionError(f"drew {values}")

    controls = {"epochs": steps(31), "method": W.Dropdown(options=["a", "b"])}
    with pytest.raises(ValueError, match="number of pictures is 62"):
        frames(never, controls)


def test_a_widget_without_controls_is_refused():
    with pytest.raises(ValueError, match=r"controls is \{\}; allowed: at least one"):
        frames(draw, {})


@pytest.mark.usefixtures("unchecked")
def test_controls_without_names_are_refused():
    with pytest.raises(ValueError, match="controls is 'list'; allowed: a Mapping"):
        frames(draw, [steps(2)])


def test_pictures_that_say_the_same_in_words_are_refused():
    with pytest.raises(ValueError, match="alt is 'the same'; allowed: another text"):
        frames(lambda k: (plt.figure(), "the same"), {"k": steps(2)})
    plt.close("all")


# Questions.

ANSWERS = [("It grows", True, "Each step adds to it."), ("It shrinks", False, "Look again.")]


def test_each_answer_is_linked_to_what_is_said_to_it():
    quiz = choice("What happens to the drift?", ANSWERS)
    question, buttons, reply = quiz.children
    assert "What happens to the drift?" in question.value
    assert [label for label, _ in buttons.options] == ["It grows", "It shrinks"]
    assert "Right." in reply.children[0].value
    assert "Each step adds to it." in reply.children[0].value
    assert "Not so." in reply.children[1].value
    assert links(quiz) == {(buttons.model_id, "index", reply.model_id, "selected_index")}


def test_nothing_is_chosen_and_nothing_said_at_first():
    _, buttons, reply = choice("?", ANSWERS).children
    assert (buttons.index, reply.selected_index) == (None, None)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (ANSWERS[:1], "answers is 1; allowed: at least 2"),
        ([ANSWERS[0], ANSWERS[0]], "number of right answers is 2; allowed: 1"),
        ([ANSWERS[1], ANSWERS[1]], "number of right answers is 0; allowed: 1"),
    ],
)
def test_a_question_without_one_right_answer_among_others_is_refused(answers, message):
    with pytest.raises(ValueError, match=message):
        choice("?", answers)


# Code on show.


def bare(code):
    """The syntax of some code, with the docstrings of its functions and classes blanked."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
            node.body[0] = ast.Pass()
            node.body = node.body[len(node.body) > 1 :]
    return ast.dump(tree)


def code(shown):
    return re.search(r"```python\n(.*)\n```", shown.data, re.S)[1]


def test_what_is_shown_is_the_text_of_the_file_under_its_name_and_module():
    shown = show(no_pull)
    assert shown.data.startswith("`no_pull` in `fedlab_edu.methods.method`\n")
    assert code(shown) in Path(fedlab_edu.methods.method.__file__).read_text()


SOURCES = sorted(Path(fedlab_edu.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_source_in_fewer_columns_does_the_same_and_says_the_same(path):
    source = path.read_text(encoding="utf-8")
    narrow = fit(source, 80)
    assert spaced(ast.dump(ast.parse(narrow))) == spaced(ast.dump(ast.parse(source)))
    comments = [" ".join(re.findall(r"#:? (.*)", text)).split() for text in (narrow, source)]
    assert Counter(comments[0]) == Counter(comments[1])


def spaced(dump):
    return re.sub(r"(?:\\n| )+", " ", dump)


def test_source_breaks_where_a_reader_expects_it():
    source = '''
def f(first: list[float], second: list[float]) -> float:
    """Return the sum of the products of two lists, which are of one length.

    Args:
        first: some numbers, which may be of either sign, and as many as you like.

    - One thing that matters here, in words that go on and on for too long.
    """
    return sum(a * b for a, b in zip(first, second, strict=True))  # of pairs
'''
    narrow = '''
def f(first: list[float],
        second: list[float]) -> float:
    """Return the sum of the products of two lists,
    which are of one length.

    Args:
        first: some numbers, which may be of either
            sign, and as many as you like.

    - One thing that matters here, in words that go
      on and on for too long.
    """
    # of pairs
    return sum(a * b
        for a, b in zip(first, second, strict=True))'''
    assert fit(source, 52) == narrow
    assert fit(source, 100) == source.removesuffix("\n")


@pytest.mark.parametrize("obj", [server_sgd, LocalHP, LocalHP.columns, frames])
def test_leaving_out_docstrings_leaves_the_code(obj):
    whole, short = code(show(obj)), code(show(obj, docstring=False))
    assert bare(short) == bare(whole)
    assert '"""' in whole
    assert '"""' not in short


@pytest.mark.parametrize("obj", [len, np.mean, 3, draw])
def test_only_code_of_the_package_is_shown(obj):
    with pytest.raises(ValueError, match="allowed: a function, method or class of the package"):
        show(obj)
