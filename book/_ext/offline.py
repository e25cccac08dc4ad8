"""A page asks no other host for anything: MathJax and the widgets' script lie in the book itself.

Both are taken from node_modules, where ``npm ci`` puts the versions of package-lock.json. Without
them the build fails; it does not fall back on a server.
"""

import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError

MODULES = Path(__file__).parents[2] / "node_modules"
WIDGETS = "@jupyter-widgets/html-manager/dist"
VENDOR = {  # what a page may load -> where it lies under _static/vendor
    f"{WIDGETS}/embed.js": "widgets",
    f"{WIDGETS}/embed.js.LICENSE.txt": "widgets",
    f"{WIDGETS}/*.woff2": "widgets",
    "mathjax/LICENSE": "mathjax",
    "mathjax/es5/tex-mml-chtml.js": "mathjax",
    "mathjax/es5/output/chtml/fonts/woff-v2/*": "mathjax/output/chtml/fonts/woff-v2",
    "mathjax/es5/input/tex/extensions/*": "mathjax/input/tex/extensions",
}


def configure(app: Sphinx, config: Config) -> None:
    """Point Sphinx and MyST-NB at the local scripts, whose paths are relative to _static."""
    config.mathjax_path = "vendor/mathjax/tex-mml-chtml.js"
    config.nb_ipywidgets_js = {"vendor/widgets/embed.js": {}}


def copy(app: Sphinx) -> None:
    """Put the scripts, their fonts and their licences into the pages' _static."""
    for pattern, folder in VENDOR.items():
        found = sorted(MODULES.glob(pattern))
        if not found:
            raise ExtensionError(f"{MODULES / pattern} is missing: run 'make book', or 'npm ci'")
        target = Path(app.outdir, "_static/vendor", folder)
        target.mkdir(parents=True, exist_ok=True)
        for file in found:
            shutil.copy(file, target)


def typeset(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """MathJax also on pages whose only mathematics is in their widgets."""
    if "jupyter.widget-view" in context.get("body", ""):
        app.env.get_domain("math").data["has_equations"][page] = True


def drop_thebe(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Thebe runs cells on a server, and the book has none; widgets may hold its name by chance."""
    context["script_files"] = [
        script
        for script in context["script_files"]
        if "widget-state" in str(script.attributes.get("type"))
        or "thebe" not in str(vars(script)).lower()
    ]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", configure)
    app.connect("builder-inited", copy)
    app.connect("html-page-context", typeset, priority=400)  # MathJax is added at 500
    app.connect("html-page-context", drop_thebe, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
