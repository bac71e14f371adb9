"""What a capture refuses since the store cannot see it, or cannot take it back."""

from __future__ import annotations

from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode


class CaptureStoppedError(RuntimeError):
    """What stops a capture; no error of the program that is captured."""


def stops_capture(error: BaseException) -> bool:
    """Whether an error says that something cannot be captured, not that the program failed."""
    return isinstance(error, (CaptureStoppedError, GuardOnDataDependentSymNode))


class UnseenChangeError(CaptureStoppedError):
    """Something may change what a side of a decision, or the next call, reads.

    Args:
        text: what it is.
        kind: the class of the object.
        name: what the user calls it; empty where that is not known.
    """

    def __init__(self, text: str, kind: str, name: str = "") -> None:
        super().__init__(text)
        self.kind, self.name = kind, name


class NotTakenBackError(UnseenChangeError):
    """The program changes, or asks for, a state that nothing reads and puts back.

    Args:
        does: what the program does.
        kind: the class of the object.
    """

    def __init__(self, does: str, kind: str) -> None:
        super().__init__(f"the program {does}", kind)
        self.does = does


class IteratorTakenError(NotTakenBackError):
    """An iterator of before the capture is used up."""

    def __init__(self, kind: str) -> None:
        which = f"a {kind} that was made before the export, which would use it up"
        super().__init__(f"takes items of {which}", kind)


class OtherMemoryError(CaptureStoppedError):
    """A tensor is given the memory of another one, `x.data = y`, which no operator does."""

    def __init__(self) -> None:
        super().__init__("`.data` of a tensor is set")


class ArrayMemoryError(CaptureStoppedError):
    """A tensor has the memory of an array of numpy, and one of them is written to.

    Args:
        does: what the line does.
    """

    def __init__(self, does: str) -> None:
        super().__init__(f"the program {does}, and both have one memory")
        self.does = does


class OpaqueCallError(UnseenChangeError):
    """A function that cannot be converted is given an object that it may change.

    Args:
        name: of the function.
        kind: the class of the object.
    """

    def __init__(self, name: str, kind: str) -> None:
        super().__init__(f"`{name}` may change an object of type `{kind}`", kind, name)
