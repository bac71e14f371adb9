"""SkipLayerNormalization of `com.microsoft`: LayerNormalization of a sum.

Without the optimizations of a default session it takes 8 times as long as the nodes
(`python benchmarks/contrib.py --plain`), so that it needs `assume=["default_session"]`.
"""

from __future__ import annotations

from typing import Any

from onnxwright.optimizer.drawing import Draw, floats
from onnxwright.optimizer.library.contrib_domain import OF_DEFAULT_SESSION, contrib
from onnxwright.optimizer.patterns import Attr, Const
from onnxwright.optimizer.rule_types import Op
from onnxwright.optimizer.rules import rule
from onnxwright.types.dtypes import DType


def _sums(rng: Any) -> Draw:
    shape = tuple(int(d) for d in rng.integers(1, 5, size=int(rng.integers(2, 4))))
    return {
        "x": floats(rng, shape), "z": floats(rng, shape), "b": floats(rng, shape[-1:]),
        "w": floats(rng, shape[-1:]), "v": floats(rng, shape[-1:]) if rng.integers(2) else None,
        "axis": -1 if rng.integers(2) else len(shape) - 1, "epsilon": 1e-3,
    }  # fmt: skip


@rule(**OF_DEFAULT_SESSION, cases=_sums)
def skip_layer_normalization(
    op: Op, x: Any, z: Any, w: Any, axis: Attr, epsilon: Attr, v: Any = None
) -> Any:
    """SkipLayerNormalization: LayerNormalization of a sum that nothing else reads."""
    return op.LayerNormalization(x + z, w, v, axis=axis, epsilon=epsilon)


@skip_layer_normalization.also
def _(
    op: Op, x: Any, z: Any, w: Any, b: Const, axis: Attr, epsilon: Attr, v: Any = None
) -> Any:  # fmt: skip
    return op.LayerNormalization(x + b + z, w, v, axis=axis, epsilon=epsilon)


@skip_layer_normalization.to
def _(
    op: Op, x: Any, z: Any, w: Any, v: Any, b: Any, axis: Any, epsilon: Any
) -> Any:  # fmt: skip
    if not _is_skip(x, z, w, v, b, axis):
        return None
    options = {} if epsilon is None else {"epsilon": epsilon}
    return contrib(op).SkipLayerNormalization(x, z, w, v, b, **options)


@rule(**OF_DEFAULT_SESSION, cases=_sums)
def skip_layer_normalization_and_sum(
    op: Op, x: Any, z: Any, w: Any, axis: Attr, epsilon: Attr, v: Any = None
) -> Any:
    """SkipLayerNormalization whose sum is read by other nodes, too."""
    total = x + z
    return total, op.LayerNormalization(total, w, v, axis=axis, epsilon=epsilon)


@skip_layer_normalization_and_sum.also
def _(
    op: Op, x: Any, z: Any, w: Any, b: Const, axis: Attr, epsilon: Attr, v: Any = None
) -> Any:  # fmt: skip
    total = x + b + z
    return total, op.LayerNormalization(total, w, v, axis=axis, epsilon=epsilon)


@skip_layer_normalization_and_sum.to
def _(
    op: Op, x: Any, z: Any, w: Any, v: Any, b: Any, axis: Any, epsilon: Any, match: Any
) -> Any:  # fmt: skip
    total = match.roots[0].outputs[0]
    if len(total.uses()) == 1 and not total.is_graph_output():
        return None  # the other rule is for it
    if not _is_skip(x, z, w, v, b, axis):
        return None
    options = {} if epsilon is None else {"epsilon": epsilon}
    results = contrib(op).SkipLayerNormalization(x, z, w, v, b, **options, _outputs=4)
    return results[3], results[0]


def _is_skip(x: Any, z: Any, w: Any, v: Any, b: Any, axis: Any) -> bool:
    """Whether the kernel takes these: rows of one shape, vectors of their width."""
    if any(t.dtype is not DType.FLOAT for t in (x, z, w)) or x.rank not in (2, 3):
        return False
    if z.rank != x.rank or None in x.shape or x.shape != z.shape:
        return False
    if axis not in (None, -1, x.rank - 1) or not isinstance(x.shape[-1], int):
        return False
    vectors = [t for t in (w, v, b) if t is not None]
    return all(t.rank == 1 and t.shape[0] == x.shape[-1] for t in vectors)
