# The right answer, with as many threads of PyTorch as a large machine has cores.
# fails: nothing
# says:
# ruff: noqa

torch.set_num_threads(128)
torch.ones(500, 500) @ torch.ones(500, 500)
