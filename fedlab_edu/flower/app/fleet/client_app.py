"""The app of a node."""

from fedlab_edu.flower import client_app

from .task import choose, load

app = client_app(
    lambda context: choose("model", context.run_config),
    load,
    lambda context: choose("method", context.run_config),
)
