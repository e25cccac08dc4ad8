"""The app of the server."""

from fedlab_edu import Run, start
from fedlab_edu.flower import server_app

from .task import choose


def show(run: Run) -> None:
    """Print the best configuration after each round."""
    print(f"round {run.round}, best: {run.tuner.final}", flush=True)


app = server_app(
    lambda config, sizes: start(
        choose("model", config),
        sizes,
        choose("tuner", config),
        seed=config["seed"],
        method=choose("method", config),
    ),
    watch=show,
)
