"""BatchNormalization folded into the convolution or product before it: one node instead of two.

`s * (W x + b - mean) + beta` with `s = scale / sqrt(variance + epsilon)` is `(s W) x + b'`.  The
new weights are made of the old ones (see `derived`): computed in double precision when read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir

from onnxwright.ir.nested import all_nodes
from onnxwright.optimizer.weight_sources import (
    Derived,
    Names,
    combined,
    drop_unused,
    is_fixed,
    is_missing,
)

Array = np.ndarray[Any, Any]
_BEFORE = ("Conv", "ConvTranspose", "Gemm", "MatMul")


@dataclass(frozen=True)
class _Pair:
    """A node and the BatchNormalization that alone reads it."""

    before: ir.Node
    norm: ir.Node

    @property
    def weight(self) -> ir.Value:
        """What the node multiplies with."""
        weight = self.before.inputs[1]
        assert weight is not None
        return weight

    @property
    def bias(self) -> ir.Value | None:
        """What the node adds."""
        return self.before.inputs[2] if len(self.before.inputs) > 2 else None

    @property
    def key(self) -> Any:
        """What two pairs have in common that give the same new weights."""
        return (
            self.before.op_type,
            self.bias,
            self.norm.inputs[1:],
            *(str(a) for a in (*self.before.attributes.values(), *self.norm.attributes.values())),
        )


def fold_norms(model: ir.Model, fixed: frozenset[str] = frozenset()) -> bool:
    """Fold each inference BatchNormalization into the node before it, where only it reads that.

    Those of bodies are folded as well.

    Args:
        model: the model; it is changed.
        fixed: names of initializers that stay what they are.

    Returns:
        Whether there was something to fold.
    """
    pairs: dict[ir.Value, list[_Pair]] = {}
    for node in all_nodes(model.graph):
        pair = _pair(node, fixed)
        if pair is not None:
            pairs.setdefault(pair.weight, []).append(pair)
    if not pairs:
        return False
    names = Names(model.graph)
    for weight, pairs_of_weight in pairs.items():
        # A weight of several nodes is not written several times.
        same = all(pair.key == pairs_of_weight[0].key for pair in pairs_of_weight)
        if same and {use.node for use in weight.uses()} == {
            pair.before for pair in pairs_of_weight
        }:
            _fold(names, pairs_of_weight)
    return True


def _pair(norm: ir.Node, fixed: frozenset[str]) -> _Pair | None:
    if norm.op_type != "BatchNormalization" or norm.domain or _number(norm, "training_mode", 0):
        return None
    result = norm.inputs[0]
    before = None if result is None else result.producer()
    if result is None or before is None or before.op_type not in _BEFORE or before.domain:
        return None
    if len(result.uses()) != 1 or result.is_graph_output() or before.graph is not norm.graph:
        return None
    if any(output.uses() or output.is_graph_output() for output in norm.outputs[1:]):
        return None
    parts = [*before.inputs[1:], *norm.inputs[1:]]
    if not all(is_fixed(value) and value.name not in fixed for value in parts if value):
        return None
    pair = _Pair(before, norm)
    return pair if _fits(pair) else None


def _number(node: ir.Node, name: str, default: float) -> Any:
    attr = node.attributes.get(name)
    return default if attr is None else attr.value


def _fits(pair: _Pair) -> bool:
    """Whether the normalized axis is the one that the weights produce."""
    weight, bias, x = pair.weight, pair.bias, pair.before.inputs[0]
    assert weight.const_value is not None
    rank = len(weight.const_value.shape)
    # Sizes that contradict each other are the error of a run: the nodes stay.
    if not _sizes_agree(pair):
        return False
    if pair.before.op_type == "MatMul":
        return rank == 2 and x is not None and x.shape is not None and len(x.shape) == 2
    if pair.before.op_type == "Gemm" and bias is not None:
        assert bias.const_value is not None
        return all(d == 1 for d in list(bias.const_value.shape)[:-1])
    return pair.before.op_type == "Gemm" or rank >= 3


def _sizes_agree(pair: _Pair) -> bool:
    """Whether there is one scale, shift, mean and variance for each channel, and one bias."""
    weight: Any = pair.weight.const_value
    sizes, kind = list(weight.shape), pair.before.op_type
    if len(sizes) < 2:
        return False
    if kind == "Conv":
        channels = sizes[0]
    elif kind == "ConvTranspose":
        groups = _number(pair.before, "group", 1)
        if groups < 1 or sizes[0] % groups:
            return False
        channels = sizes[1] * groups
    else:
        channels = sizes[0] if _number(pair.before, "transB", 0) else sizes[1]
    norms: list[Any] = [v.const_value for v in pair.norm.inputs[1:] if v is not None]
    bias: Any = None if pair.bias is None else pair.bias.const_value
    if bias is not None and bias.size != channels:
        return False
    return len(norms) == 4 and all(list(t.shape) == [channels] for t in norms)


def _fold(names: Names, pairs: Sequence[_Pair]) -> None:
    first = pairs[0]
    norms = [value for value in first.norm.inputs[1:] if value is not None]
    epsilon = float(_number(first.norm, "epsilon", 1e-5))
    scaled = _scaled(first.before)

    def new_weight(arrays: Sequence[Array]) -> Array:
        weight, scale, variance = (a.astype(np.float64) for a in arrays)
        return scaled(weight, scale / np.sqrt(variance + epsilon))

    factor = float(_number(first.before, "beta", 1.0))

    def new_bias(arrays: Sequence[Array]) -> Array:
        scale, shift, mean, variance, *bias = (a.astype(np.float64) for a in arrays)
        moved = (factor * bias[0].reshape(-1) if bias else 0.0) - mean
        return moved * (scale / np.sqrt(variance + epsilon)) + shift

    weight = first.weight
    tensor: Any = weight.const_value
    size = list(norms[0].const_value.shape)  # type: ignore[union-attr]
    inputs = [weight, norms[0], norms[3]]
    of_weight = combined(inputs, _maker(new_weight, tensor.dtype, list(tensor.shape)))
    inputs = [*norms, *([first.bias] if first.bias is not None else [])]
    of_bias = combined(inputs, _maker(new_bias, tensor.dtype, size))
    if tensor.dtype == ir.DataType.FLOAT16 and not (_finite(of_weight) and _finite(of_bias)):
        return
    name = str(weight.name)
    stem = name.removesuffix(".weight")
    bias_name = f"{stem}.bias" if first.bias is None else str(first.bias.name)
    described = bool(weight.metadata_props)
    folded_weight = names.add(f"{name}.folded", of_weight, described=described)
    bias = names.add(f"{bias_name}.folded", of_bias, described=described)
    for pair in pairs:
        _replace(pair, folded_weight, bias)
    drop_unused([weight, first.bias, *norms])


def _maker(
    compute: Callable[[Sequence[Array]], Array], dtype: ir.DataType, shape: list[int]
) -> Callable[[Sequence[Any]], Any]:
    return lambda tensors: Derived(compute, tensors, dtype, shape)


def _finite(source: Any) -> bool:
    """Whether numbers stay in the range of a small type; what is not known does not."""
    if any(is_missing(tensor) for tensor in source.tensors):
        return False
    with np.errstate(over="ignore"):
        return bool(np.isfinite(source.make(source.tensors).numpy()).all())


def _scaled(node: ir.Node) -> Callable[[Array, Array], Array]:
    """How the weights of a node are multiplied by a factor for each channel it gives."""
    if node.op_type == "Conv":
        return lambda w, s: w * s.reshape(-1, *(1,) * (w.ndim - 1))
    if node.op_type == "ConvTranspose":
        groups = int(_number(node, "group", 1))

        def transposed(w: Array, s: Array) -> Array:
            parts = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
            factors = s.reshape(groups, 1, w.shape[1], *(1,) * (w.ndim - 2))
            scaled: Array = (parts * factors).reshape(w.shape)
            return scaled

        return transposed
    if _number(node, "transB", 0):
        return lambda w, s: w * s[:, None]
    return lambda w, s: w * s


def _replace(pair: _Pair, weight: ir.Value, bias: ir.Value) -> None:
    """Replace two nodes by one with the name and metadata of the first."""
    before, norm = pair.before, pair.norm
    graph = norm.graph
    assert graph is not None
    kind = "Gemm" if before.op_type == "MatMul" else before.op_type
    attributes = [a for a in before.attributes.values() if a.name != "beta"]
    node = ir.Node(
        "", kind, [before.inputs[0], weight, bias], attributes, num_outputs=1, name=before.name
    )
    node.metadata_props.update(before.metadata_props)
    node.outputs[0].metadata_props.update(norm.outputs[0].metadata_props)
    ir.convenience.replace_nodes_and_values(
        graph, norm, [norm], [node], [norm.outputs[0]], [node.outputs[0]]
    )
    graph.remove(before, safe=True)
