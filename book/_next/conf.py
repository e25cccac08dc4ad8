"""The book's settings for plain Sphinx, taken from _config.yml; see `make book-next`."""

import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "book/_static"
given = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
sys.path.insert(0, str(ROOT / "book/_ext"))

project = html_title = given["title"]
author, copyright = given["author"], given["copyright"]
extensions = [
    "myst_nb", "sphinx_copybutton", "sphinx_design", "sphinx_external_toc",
    "sphinx_multitoc_numbering", "sphinx_togglebutton", "sphinxcontrib.bibtex",
    *given["sphinx"]["extra_extensions"], *given["sphinx"]["local_extensions"],
]  # fmt: skip
bibtex_bibfiles = [str(ROOT / "book" / name) for name in given["bibtex_bibfiles"]]
external_toc_exclude_missing = given["only_build_toc_files"]
myst_enable_extensions = given["parse"]["myst_enable_extensions"]
nb_execution_mode = given["execute"]["execute_notebooks"]
nb_execution_timeout = given["execute"]["timeout"]
nb_execution_raise_on_error = given["execute"]["raise_on_error"]
nb_output_stderr = given["execute"]["stderr_output"]
numfig = True
html_theme = "sphinx_book_theme"
html_theme_options = {"home_page_in_toc": True, "navbar_persistent": []}  # one box to search
html_favicon = str(STATIC / Path(given["html"]["favicon"]).name)
html_static_path = [str(STATIC)]
html_css_files = sorted(path.name for path in STATIC.glob("*.css"))
html_js_files = sorted(path.name for path in STATIC.glob("*.js"))
suppress_warnings = ["docutils"]  # from 0.22 on it sees the name of a figure twice
globals().update(given["sphinx"]["config"])
