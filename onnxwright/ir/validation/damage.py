"""`Damage`: what is wrong with a model, where in it, and what to do."""

from __future__ import annotations

from functools import lru_cache

from onnxwright.diagnostics.text import clean

TOOL = "fix it in the tool that wrote the model"


class Damage(Exception):  # noqa: N818 - the loader makes the user's error of it
    """The first fault found in a model.

    Args:
        kind: "structure", "data", "external" or "limit"; each has an error code of its own.
        where: the path to the faulty part, such as "graph `g`, node 3 (`If`), graph `then`".
        what: what is wrong there.
        advice: what to do.
    """

    def __init__(self, kind: str, where: str, what: str, advice: str = TOOL) -> None:
        super().__init__(f"{where}: {what}")
        self.kind, self.where, self.what, self.advice = kind, where, what, advice

    def inside(self, place: str) -> Damage:
        """The same fault, its path continued outwards.

        Args:
            place: the part of the model in which the path of this fault begins.

        Returns:
            The fault with the longer path.
        """
        where = f"{place}, {self.where}" if self.where else place
        return Damage(self.kind, where, self.what, self.advice)


def is_text(*values: object) -> bool:
    """Whether protobuf could decode strings: it gives those that are not UTF-8 as bytes."""
    # A loop: this is asked of every text of a model, and a generator costs more than the answer.
    for value in values:  # noqa: SIM110
        if type(value) is not str:
            return False
    return True


def quoted(name: object) -> str:
    """A name of a model in a message: printable, cut where it is long.

    Example:
        >>> quoted("x" * 100)[-5:], quoted("")
        ('...`', '``')
    """
    text = name if isinstance(name, str) else repr(name)
    return _short(text) if len(text) <= 60 else _cut(clean(text))


@lru_cache(maxsize=4096)
def _short(text: str) -> str:
    return _cut(clean(text))


def _cut(text: str) -> str:
    return f"`{text if len(text) <= 60 else text[:57] + '...'}`"
