# The right answer, with gradients off and a watch for anomalies.
# fails: nothing
# says:
# ruff: noqa

torch.autograd.set_detect_anomaly(True)
torch.set_grad_enabled(False)
