# The right answers, with odd defaults.
# fails: nothing
# says:
# ruff: noqa

torch.set_default_device("meta")
torch.set_num_threads(4)
