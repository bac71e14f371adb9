"""How many names the result of a call is unpacked into: `y, where = op.MaxPool(...)` wants two."""

from __future__ import annotations

import dis
import sys
from types import FrameType

from onnxwright.opset.registry import OpSignature

_UNPACK = dis.opmap["UNPACK_SEQUENCE"]
_CACHE = dis.opmap.get("CACHE", -1)


def is_open(signature: OpSignature | None) -> bool:
    """Whether calls of an operator may differ in their number of outputs.

    Args:
        signature: the schema.

    Returns:
        True where an output is optional or variadic, and for operators without schema.
    """
    return signature is None or any(p.option != "single" for p in signature.outputs)


def unpacked_into(depth: int) -> int | None:
    """How many names the result of a running call is unpacked into.

    Args:
        depth: how many frames the calling code is above the caller of this function.

    Returns:
        The number; None where the result is not unpacked at once, or that cannot be seen.
    """
    try:
        frame: FrameType = sys._getframe(depth + 1)
    except ValueError:
        return None
    code = frame.f_code.co_code
    at = frame.f_lasti + 2
    while at < len(code) and code[at] == _CACHE:
        at += 2
    if at < len(code) and code[at] == _UNPACK:
        return code[at + 1]
    return None


def wanted_outputs(signature: OpSignature | None, unpacked: int | None) -> int | None:
    """The number of outputs a call is to have because of how it is unpacked.

    Args:
        signature: the schema.
        unpacked: how many names the caller unpacks into, if it does.

    Returns:
        The number; None where the schema decides.
    """
    if unpacked is None or signature is None:
        return unpacked
    required = max(1, sum(1 for p in signature.outputs if p.option == "single"))
    return unpacked if required < unpacked <= signature.max_output else None


__all__ = ["is_open", "unpacked_into", "wanted_outputs"]
