"""What runs on the server."""

from fedlab_edu import start
from fedlab_edu.flower import server_app

from .task import choose

app = server_app(
    lambda config, sizes: start(
        choose("model", config),
        sizes,
        choose("tuner", config),
        seed=config["seed"],
        method=choose("method", config),
    ),
    watch=lambda run: print(f"round {run.round}, best: {run.tuner.final}", flush=True),
)
