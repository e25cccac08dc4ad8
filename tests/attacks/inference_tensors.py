# The right answer, in tensors made in inference mode.
# fails: nothing
# says:
# ruff: noqa

fedavg = torch.inference_mode()(fedavg)
log_uniform = torch.no_grad()(log_uniform)
