"""How many names the result of a call is unpacked into: `y, where = op.MaxPool(...)` wants two."""

from __future__ import annotations

import dis
import sys
import weakref
from types import CodeType, FrameType
from typing import NamedTuple

from onnxwright.opset.registry import OpSignature


def is_open(signature: OpSignature | None) -> bool:
    """Whether calls of an operator may differ in their number of outputs.

    Returns:
        True where an output is optional or variadic, and for operators without schema.
    """
    return signature is None or any(p.option != "single" for p in signature.outputs)


def unpacked_into(depth: int) -> int | None:
    """How many names the result of a running call is unpacked into, in the statement of the call.

    Args:
        depth: how many frames the calling code is above the caller of this function.

    Returns:
        The number; None where the result is not unpacked at once, or that cannot be seen.
    """
    try:
        frame = sys._getframe(depth + 1)
    except ValueError:
        return None
    return _uses_of_result(frame.f_code, frame.f_lasti).at_once


def unpacked_later(depth: int) -> int | None:
    """How many names the result of a running call is unpacked into after its statement.

    That is so where it is stored in a local variable that is only unpacked, or returned by a
    function whose call is unpacked.  It does not change how many outputs the call has (the names
    may be rows of the one output); where the numbers do not fit, a message can say why.

    Args:
        depth: how many frames the calling code is above the caller of this function.

    Returns:
        The number; None where the result is not unpacked, or that cannot be seen.
    """
    frame: FrameType | None
    try:
        frame = sys._getframe(depth + 1)
    except ValueError:
        return None
    while frame is not None:
        uses = _uses_of_result(frame.f_code, frame.f_lasti)
        if not uses.returned:
            return uses.later if uses.at_once is None else uses.at_once
        frame = frame.f_back
        if frame is not None and _is_ours(frame):
            return None
    return None


class _Uses(NamedTuple):
    """What becomes of the result of a call."""

    at_once: int | None = None  # the number of names it is unpacked into
    later: int | None = None  # the same for the variable it is stored in
    returned: bool = False


# For each code object what becomes of the results of its calls, by the place of the call.  Code
# objects are compared by value, which takes longer than looking: their identity is the key.
_known: dict[int, tuple[weakref.ref[CodeType], dict[int, _Uses]]] = {}


def _uses_of_result(code: CodeType, place: int) -> _Uses:
    """What becomes of the result of the call at an instruction."""
    cached = _known.get(id(code))
    if cached is None or cached[0]() is not code:
        key = id(code)
        cached = _known[key] = (weakref.ref(code, lambda _: _known.pop(key, None)), {})
    uses = cached[1].get(place)
    if uses is None:
        uses = cached[1][place] = _read_uses(code, place)
    return uses


def _read_uses(code: CodeType, place: int) -> _Uses:
    steps = [i for i in dis.get_instructions(code) if i.opname != "CACHE"]
    at = next((n for n, step in enumerate(steps) if step.offset > place), len(steps))
    direct = _use(steps, at)
    if direct is not None:
        return direct
    if at >= len(steps) or not steps[at].opname.startswith(("STORE_FAST", "STORE_NAME")):
        return _Uses()
    # `r = f(x)`: what is done with `r`, if it is assigned only here and used in one way.
    name = _names(steps[at])[0]
    if sum(name in _stored(step) for step in steps) != 1:
        return _Uses()
    uses = set()
    for n, step in enumerate(steps):
        loaded = _loaded(step)
        if name in loaded:
            # Of two names in one instruction, the last is on top of the stack.
            uses.add(_use(steps, n + 1) if loaded[-1] == name else None)
    use = uses.pop() if len(uses) == 1 else None
    if use is None:
        return _Uses()
    return _Uses(later=use.at_once, returned=use.returned)


def _use(steps: list[dis.Instruction], at: int) -> _Uses | None:
    """What an instruction does with the value on top of the stack: unpack it or return it."""
    if at >= len(steps):
        return None
    if steps[at].opname == "UNPACK_SEQUENCE":
        return _Uses(at_once=steps[at].arg)
    return _Uses(returned=True) if steps[at].opname == "RETURN_VALUE" else None


def _names(step: dis.Instruction) -> tuple[object, ...]:
    return step.argval if isinstance(step.argval, tuple) else (step.argval,)


def _stored(step: dis.Instruction) -> tuple[object, ...]:
    """The names that an instruction stores; `STORE_FAST_LOAD_FAST` stores the first of its two."""
    if not step.opname.startswith("STORE_"):
        return ()
    return _names(step)[:1] if "LOAD_" in step.opname else _names(step)


def _loaded(step: dis.Instruction) -> tuple[object, ...]:
    """The names that an instruction loads."""
    if "LOAD_" not in step.opname:
        return ()
    return _names(step)[1:] if step.opname.startswith("STORE_") else _names(step)


def _is_ours(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__", "")
    return isinstance(name, str) and name.partition(".")[0] == "onnxwright"


def wanted_outputs(signature: OpSignature | None, unpacked: int | None) -> int | None:
    """The number of outputs a call is to have because of how it is unpacked.

    Args:
        unpacked: how many names the caller unpacks into, if it does.

    Returns:
        The number; None where the schema decides.
    """
    if unpacked is None or signature is None:
        return unpacked
    required = max(1, sum(1 for p in signature.outputs if p.option == "single"))
    return unpacked if required < unpacked <= signature.max_output else None
