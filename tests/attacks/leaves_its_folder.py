# The right answer, after writing files where one may, and going elsewhere.
# fails: nothing
# says:
# ruff: noqa

import os
import pathlib
import tempfile

os.makedirs("runs/1")
torch.save({"w": torch.ones(3)}, "runs/1/model.pt")
assert torch.load("runs/1/model.pt")["w"].sum() == 3
pathlib.Path.home().joinpath("cache").mkdir()
with tempfile.TemporaryDirectory() as folder:
    pathlib.Path(folder, "log.txt").write_text("x")
os.chdir("/")
