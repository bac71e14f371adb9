"""The functions of Python that read values in a capture, and other code in their place."""

from __future__ import annotations

import gc
import inspect
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType, FunctionType
from typing import Any

from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from onnxwright.exporter.capture.source.rewriting import rewritten
from onnxwright.exporter.places import HOME, TORCH

# Folders of torch whose Python traces, dispatches or computes with sizes; it is not the model's.
_MACHINERY = (
    *(
        f"{TORCH}/{name}"
        for name in ("_", "export/", "fx/", "utils/", "overrides.py", "__init__.py", "library.py")
    ),
    HOME,
    "<string>",
    "<frozen",
    "<eval_with_key>",
)


def _is_causal(mask: Any, is_causal: Any = None, size: Any = None) -> bool:
    """The answer for a mask that is not looked at: attention masks by it all the same."""
    return is_causal is True


EQUAL: dict[tuple[str, str], Any] = {
    (f"{TORCH}/nn/modules/transformer.py", "_detect_is_causal_mask"): _is_causal,
}
"""Functions that choose between equal results by values -> what answers without a look."""


# Code of its own within the function in which it stands, up to Python 3.11.
_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


@dataclass
class Rewritten:
    """Functions with other code.

    Fields:
        codes: the code before -> the code now.
        names: what was rewritten, in order, for the report.
        places: the files, names and lines of these.
    """

    codes: dict[CodeType, CodeType] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    places: set[tuple[str, str, int]] = field(default_factory=set)

    def add(self, frame: FrameType) -> bool:
        """Rewrite the function of a frame, and those it is defined in.

        Args:
            frame: one that reads a value.

        Returns:
            Whether there is anything new.

        Raises:
            CannotRewriteError: the function cannot be rewritten.
        """
        code = frame.f_code
        if code.co_name in _COMPREHENSIONS:
            outer = frame.f_back
            while outer is not None and code not in outer.f_code.co_consts:
                outer = outer.f_back
            return outer is not None and self.add(outer)
        if code.co_name.startswith("_ow_") or _place(code) in self.places:
            return False
        self.places.add(_place(code))
        equal = EQUAL.get((code.co_filename, code.co_name))
        self.codes[code] = equal.__code__ if equal else rewritten(code, frame.f_globals)
        self.names.append(f"{code.co_name} ({code.co_filename}:{code.co_firstlineno})")
        for function in _makers(code) if code.co_flags & inspect.CO_NESTED else ():
            maker = function.__code__
            if maker not in self.codes:
                self.codes[maker] = rewritten(maker, function.__globals__)
        return True

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """While it lasts, the functions have their new code."""
        changed: list[tuple[FunctionType, CodeType]] = []
        try:
            for before, now in self.codes.items():
                for function in functions_of(before):
                    changed.append((function, before))
                    function.__code__ = now
            yield
        finally:
            for function, before in changed:
                function.__code__ = before


def functions_of(code: CodeType) -> list[FunctionType]:
    """The function objects that have a code.

    Args:
        code: the code.

    Returns:
        Them, wherever they are kept.

    Example:
        >>> def f(): ...
        >>> functions_of(f.__code__) == [f]
        True
    """
    with _all_objects():
        found = gc.get_referrers(code)
    return [f for f in found if isinstance(f, FunctionType) and f.__code__ is code]


@contextmanager
def _all_objects() -> Iterator[None]:
    """While it lasts, the collector shows objects that `gc.freeze` hides, too."""
    frozen = gc.get_freeze_count()
    if frozen:
        gc.unfreeze()
    try:
        yield
    finally:
        if frozen:
            gc.freeze()


def _place(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_name, code.co_firstlineno


def _makers(code: CodeType) -> list[FunctionType]:
    """The outermost functions in which a function is defined: they make it anew at each call."""

    def makes(other: CodeType) -> bool:
        inner = [c for c in other.co_consts if isinstance(c, CodeType)]
        return code in inner or any(makes(c) for c in inner)

    with _all_objects():
        every = gc.get_objects()
    return [
        f
        for f in every
        if type(f) is FunctionType and f.__code__.co_filename == code.co_filename
        and makes(f.__code__)
    ]  # fmt: skip


def reads_value(error: BaseException | None) -> BaseException | None:
    """The error of a chain that says that Python read a value that is not known.

    Args:
        error: what a capture raised.

    Returns:
        The innermost; None if there is none.
    """
    found = None
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if _is_about_values(error):
            found = error
        error = error.__cause__ or error.__context__
    return found


def _is_about_values(error: BaseException) -> bool:
    if isinstance(error, GuardOnDataDependentSymNode):
        return True
    text = str(error)
    return "data-dependent" in text or "GuardOnDataDependentSymNode" in text


def deciding_frame(error: BaseException) -> FrameType | None:
    """The frame of the model's Python that read a value.

    Args:
        error: from `reads_value`.

    Returns:
        The innermost frame outside of torch's machinery; None if there is none.
    """
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    own = [f for f in frames if not f.f_code.co_filename.startswith(_MACHINERY)]
    return own[-1] if own else None


def has_deciding_frame(error: BaseException) -> bool:
    """Whether an error of a capture comes from Python that reads a value.

    Args:
        error: what a capture raised.

    Returns:
        Whether; not for an error of a compiler that read the code without running it.
    """
    cause = reads_value(error)
    return cause is not None and deciding_frame(cause) is not None
