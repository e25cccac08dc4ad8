"""Shapes in signatures are checked under test: a wrong one is an error here, and free elsewhere."""

from jaxtyping import install_import_hook

from tests import typecheck

install_import_hook("fedlab_edu", f"{typecheck.__name__}.typechecker")
