"""A page asks no other host for anything, and carries little.

MathJax is taken from node_modules, where ``npm ci`` puts the version of package-lock.json. Without
it the build fails; it does not fall back on a server. Widgets are shown by a script of our own.
The theme's icons are cut to those that the pages show.
"""

import gzip
import re
import shutil
from base64 import b64encode
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError

MODULES = Path(__file__).parents[2] / "node_modules"
ICON = re.compile(r'"?([a-z0-9-]+)"?:\[\d+,\d+,\[([^]]*)\],"[0-9a-f]+",(?:"[^"]*"|\[[^]]*\])\],?')
VENDOR = {  # what a page may load -> where it lies under _static/vendor
    "mathjax/LICENSE": "mathjax",
    "mathjax/es5/tex-mml-chtml.js": "mathjax",
    "mathjax/es5/output/chtml/fonts/woff-v2/*": "mathjax/output/chtml/fonts/woff-v2",
    "mathjax/es5/input/tex/extensions/*": "mathjax/input/tex/extensions",
    "reveal.js/LICENSE": "reveal",
    "reveal.js/dist/reveal.css": "reveal",
    "reveal.js/dist/reveal.js": "reveal",
    "reveal.js/plugin/notes/notes.js": "reveal",
}


def configure(app: Sphinx, config: Config) -> None:
    """Point Sphinx and MyST-NB at the local scripts, whose paths are relative to _static."""
    config.html_static_path.append(str(Path(__file__).with_name("static")))
    config.mathjax_path = "vendor/mathjax/tex-mml-chtml.js"
    config.nb_ipywidgets_js = {"widgets/widgets.js": {}}


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
    """MathJax also on pages whose only mathematics is in widgets, or in the list of questions."""
    if re.search("jupyter.widget-view|progress-chapter", context.get("body", "")):
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


def pack(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Compress the state of the widgets, a tenth of which is left; widgets.js unpacks it."""
    for place, script in enumerate(context["script_files"]):
        kind = str(script.attributes.get("type"))
        if kind.endswith("widget-state+json"):
            state = gzip.compress(script.attributes["body"].encode(), mtime=0)
            packed = {"type": kind.replace("json", "gzip"), "body": b64encode(state).decode()}
            context["script_files"][place] = type(script)(
                script.filename, priority=script.priority, **script.attributes | packed
            )


def cut_icons(app: Sphinx, error: Exception | None) -> None:
    """Leave in the theme's script the icons that a page, or the theme's other script, names."""
    script = Path(app.outdir, "_static/scripts/fontawesome.js")
    if error or not script.exists():
        return
    names = set()
    for file in [*Path(app.outdir).rglob("*.html"), *script.parent.glob("*theme.js")]:
        names |= set(re.findall(r"\bfa-([a-z0-9-]+)", file.read_text(encoding="utf-8")))

    def keep(icon: re.Match[str]) -> str:
        called = {icon[1], *re.findall(r'"([a-z0-9-]+)"', icon[2])}
        return icon[0] if called & names else ""

    script.write_text(ICON.sub(keep, script.read_text(encoding="utf-8")), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", configure)
    app.connect("builder-inited", copy)
    app.connect("html-page-context", typeset, priority=400)  # MathJax is added at 500
    app.connect("html-page-context", drop_thebe, priority=900)
    app.connect("html-page-context", pack, priority=910)
    app.connect("build-finished", cut_icons)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
