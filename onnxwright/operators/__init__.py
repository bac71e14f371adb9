"""What is known of each ONNX operator: one record (`OperatorFacts`), in the file of its family."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from onnxwright.operators import (
    activation,
    attention,
    casting,
    contrib,
    control_flow,
    convolution,
    data_movement,
    elementwise,
    image,
    indexing,
    logical,
    loss,
    matmul,
    ml,
    normalization,
    pooling,
    quantization,
    random,
    recurrent,
    reduction,
    reshape,
    sequence,
    shape,
    signal,
    text,
    training,
)
from onnxwright.operators.record import ALWAYS, NEVER, Change, Folding, OperatorFacts

_FAMILIES = (
    elementwise, activation, logical, casting, reduction, reshape, data_movement, indexing, shape,
    matmul, attention, convolution, pooling, normalization, recurrent, control_flow, random,
    quantization, sequence, text, image, signal, loss, ml, training, contrib,
)  # fmt: skip

# Of an operator that is not known nothing is claimed: it is neither folded nor reordered.
UNKNOWN = OperatorFacts("", folding=NEVER)

_STANDARD: dict[str, OperatorFacts] = {}
_OTHER: dict[tuple[str, str], OperatorFacts] = {}


def _register(record: OperatorFacts) -> None:
    if record.domain == "":
        earlier = _STANDARD.setdefault(record.name, record)
    else:
        earlier = _OTHER.setdefault((record.domain, record.name), record)
    assert earlier is record, f"{record.name} has two records"


for _record in chain.from_iterable(family.FACTS for family in _FAMILIES):
    _register(_record)


def facts(name: str, domain: str = "") -> OperatorFacts:
    """What is known of an operator.

    Args:
        name: the operator.
        domain: its domain; "" and "ai.onnx" are the standard one.

    Returns:
        Its record; `UNKNOWN`, which claims nothing, for an operator of another library.

    Example:
        >>> facts("MatMul").heavy, facts("Relu").elementwise, facts("MyOp", "my.domain") is UNKNOWN
        (True, True, True)
    """
    if not domain or domain == "ai.onnx":
        return _STANDARD.get(name, UNKNOWN)
    return _OTHER.get((domain, name), UNKNOWN)


def all_facts() -> Iterator[OperatorFacts]:
    """Every record, family by family.

    Example:
        >>> sorted(f.name for f in all_facts() if f.has_bodies)
        ['If', 'Loop', 'Scan', 'SequenceMap']
    """
    return chain(_STANDARD.values(), _OTHER.values())


__all__ = ["ALWAYS", "NEVER", "UNKNOWN", "Change", "Folding", "OperatorFacts", "all_facts", "facts"]
