"""What was found out about a call, known of every later call that is like it.

A graph has few kinds of calls: the same operator of inputs of the same types.  What the rules of
the operator say of the first one is kept, as long as they did not look at what its inputs hold.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple

from onnxwright.operators.op_call import Array, OpCall
from onnxwright.operators.shape_values import decided, values_of
from onnxwright.opset.registry import OpSignature
from onnxwright.types.kinds import OnnxType
from onnxwright.types.shapes import Shape

# Of calls with more inputs nothing is kept: there are too many kinds of them.
_MOST_INPUTS = 8
_MOST_CALLS = 8192


class CallFacts(NamedTuple):
    """What is known of the outputs of a call.

    Fields:
        types: their types.
        dims: them as shapes; None where nothing is known.
        decided: the array that a comparison of shapes gives.
    """

    types: tuple[OnnxType | None, ...]
    dims: list[Shape | None] | None
    decided: Array | None


class _Kept(NamedTuple):
    """Facts, and whether the rules looked at what inputs hold: then they are of calls without."""

    facts: CallFacts | None
    looked: bool
    signature: OpSignature  # kept, so that no other one gets its id


_KEPT: dict[tuple[Hashable, ...], _Kept] = {}


class _Watched(Sequence[Any]):
    """What is known of the inputs of a call, while it is seen whether anything looks at it."""

    def __init__(self, items: Sequence[Any]) -> None:
        self.items = items
        self.looked = False

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, n: Any) -> Any:
        self.looked = True
        return self.items[n]

    def __iter__(self) -> Iterator[Any]:
        self.looked = True
        return iter(self.items)


def known_facts(call: OpCall, version: int, written: tuple[object, ...] | None) -> CallFacts | None:
    """What `call_facts` gives, where it is known already.

    Args:
        version: the version of the opset.
        written: the attributes, to be compared; None where they cannot be.
    """
    if written is None or len(call.types) > _MOST_INPUTS:
        return None
    kept = _KEPT.get((id(call.signature), version, call.count, *call.read_types, *written))
    return kept.facts if kept is not None and (call.is_bare or not kept.looked) else None


def call_facts(
    call: OpCall,
    version: int,
    written: tuple[object, ...] | None,
    infer: Callable[[OpCall], Sequence[OnnxType | None]],
) -> CallFacts:
    """What is known of the outputs of a call, kept for the calls like it.

    Args:
        version: the version of the opset.
        written: the attributes, to be compared; None where they cannot be.
        infer: gives the types of the outputs.

    Raises:
        ScriptTypeError: what `infer` raises; nothing is kept then.
    """
    if written is None or len(call.types) > _MOST_INPUTS:
        return _inferred_facts(call, infer)
    key = (id(call.signature), version, call.count, *call.read_types, *written)
    kept = _KEPT.get(key)
    if kept is None:
        output_facts, looked = _watched(call, infer)
        if len(_KEPT) >= _MOST_CALLS:
            _KEPT.clear()
    else:  # what it holds is looked at
        output_facts, looked = _inferred_facts(call, infer), True
    if kept is None or call.is_bare:
        lasts = call.is_bare or not looked
        _KEPT[key] = _Kept(output_facts if lasts else None, looked, call.signature)
    return output_facts


def _watched(
    call: OpCall, infer: Callable[[OpCall], Sequence[OnnxType | None]]
) -> tuple[CallFacts, bool]:
    """The facts, and whether anything looked at what the inputs hold."""
    constants, values = call.arrays, call.values
    call.arrays, call.values = _Watched(constants), _Watched(values)
    try:
        return _inferred_facts(call, infer), call.arrays.looked or call.values.looked
    finally:
        call.arrays, call.values = constants, values


def _inferred_facts(
    call: OpCall, infer: Callable[[OpCall], Sequence[OnnxType | None]]
) -> CallFacts:
    types = tuple(infer(call))
    if call.signature.domain:
        return CallFacts(types, None, None)
    return CallFacts(
        types, values_of(call, types), decided(call, types) if call.count == 1 else None
    )
