"""The same Loc and Agg as a Flower app: messages between a server and nodes.

``train(run, model, fed, rounds, clients)`` becomes ``client_app(model, data)`` on every node, which
loads its own client's data alone, and ``server_app(make_run, nodes=, rounds=, clients=)`` on the
server. Both draw the same clients, configurations and minibatches, so the run is the same up to
rounding. ``fedlab-edu flower new FOLDER`` writes an app to begin with.

Flower's telemetry is off in processes that import this package first. The commands of Flower import
Flower before it: set FLWR_TELEMETRY_ENABLED=0 for them.
"""

import os

os.environ.setdefault("FLWR_TELEMETRY_ENABLED", "0")
try:
    from fedlab_edu.flower.client import client_app
    from fedlab_edu.flower.server import server_app
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "flwr":
        raise
    raise ModuleNotFoundError("Flower is missing: pip install 'fedlab_edu[flower]'") from error

__all__ = ["client_app", "server_app"]
