# A callable that exits when its signature is read.
# fails: q1
# says: raises SystemExit
# ruff: noqa


class FedAvg:
    @property
    def __signature__(self):
        raise SystemExit(0)

    def __call__(self, *arguments):
        return None


fedavg = FedAvg()
