"""Likely causes of the exceptions that students' code raises."""

import re

from fedlab_grade.callables import name_of

DTYPES = (
    "two dtypes meet, as int and float64: make them one with x.to(y.dtype), and new tensors with "
    "torch.zeros_like or dtype=y.dtype"
)
CAUSES = (  # part of an exception's name and text, most of them PyTorch's and NumPy's -> its cause
    ("^EOFError", "input() cannot ask anyone: a function gets all it needs as arguments"),
    ("^BdbQuit", "breakpoint() stops for someone at the keyboard: take it out"),
    ("^SystemExit", "exit() ends the whole program: end a function with `return`"),
    ("^RecursionError", "the function calls itself without end"),
    ("^ModuleNotFoundError|relative import",
     "an answer is one file, and can import only what is installed where it is checked"),
    (r"same dtype|scalar type|but got \w+ and \w+|got (Float|Double|Long|Int)\b", DTYPES),
    (r"can't be cast to the desired|Cannot cast ufunc",
     f"an array of ints cannot hold floats: {DTYPES}"),
    (r"size of tensor a|shapes cannot be multiplied|is invalid for input|inconsistent tensor size|"
     r"could not be broadcast|not aligned|mismatch in its core dimension|stack expects each|"
     r"expand\(.*\)|Sizes of tensors must match|cannot reshape|[Ss]ize mismatch|incompatible",
     "the shapes do not fit: print x.shape of both; x[:, None] adds an axis, and x.T or x @ y may "
     "be the wrong way round"),
    (r"unsupported operand type.*'list'",
     "a list has no arithmetic of its entries: go through them, as in [2 * x for x in xs]"),
    (r"'list' object has no attribute",
     "a list is not an array: torch.stack, torch.tensor or np.array makes one of it"),
    (r"on the same device|device type", "tensors on two devices meet: x.to(y.device) moves one"),
    (r"compiled with CUDA|No CUDA GPUs|NVIDIA driver|\bmps devices?\b",
     "there is no GPU where answers are checked: leave tensors where they are, or x.to(y.device)"),
    (r"leaf Variable that requires grad|leaf variable has been moved",
     "a parameter is changed in place while its gradient is recorded: make a new tensor, "
     "w = w - step, or work under torch.no_grad()"),
    (r"modified by an inplace operation", "a tensor that a gradient needs was changed in place: "
     "x = x + y makes a new one"),
    (r"does not require grad and does not have a grad_fn",
     "nothing was recorded for the gradient: call w.requires_grad_() before the loss is computed"),
    (r"backward through the graph a second time", "the same graph is used twice: detach() what "
     "comes from the last step"),
    (r"Can't call numpy\(\) on Tensor that requires grad", "x.detach().numpy() leaves the graph"),
    (r"truth value of an array|Boolean value of Tensor|converted to (Python )?[Ss]calar|"
     r"only length-1 arrays|only size-1 arrays|only 0-dimensional arrays",
     "a single number is asked for here, and this tensor or array has several entries"),
    (r"used as indices must be|only integers, slices|arrays used as indices",
     "a position must be an int or a tensor of ints, and this one holds floats"),
    (r"Dimension out of range|axis \d+ is out of bounds",
     "it has no such dim: a vector has dim 0 only; print x.shape"),
    (r"out of bounds|out of range", "a position is beyond the end: the last one is len(x) - 1"),
    (r"name '(math|np|numpy|random|statistics|torch)' is not defined",
     "a module is not imported: add the import at the top of the file"),
    (r"name 'get_ipython' is not defined",
     "this line is for Jupyter only: take it out, or hand in the notebook"),
)  # fmt: skip


def advice(error: BaseException) -> str:
    """Return the likely cause of an exception that a student's code raised; "" if unknown."""
    text = f"{name_of(type(error))[:80]}: {first_line(error)}"
    return next((cause for part, cause in CAUSES if re.search(part, text)), "")


def first_line(error: BaseException) -> str:
    try:
        lines = str(error).strip().splitlines()
    except BaseException:  # the __str__ of an exception of the student's own may raise anything
        return ""
    return lines[0][:300] if lines else ""
