"""Higher-order operators of torch: `cond` as If, `while_loop` as Loop, `scan` and `map` as Scan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch._higher_order_ops.flex_attention import math_attention
from torch.fx import Node
from torch.fx.node import map_arg

from onnxwright.atenlib.complexes import Complex, pack, unpack
from onnxwright.exporter.translate.auto_functional import (
    auto_functionalized,
    auto_functionalized_v2,
)
from onnxwright.exporter.translate.lowerings import traced
from onnxwright.exporter.translate.strided import strided
from onnxwright.exporter.translate.symbolic_ops import onnx_operator, symbolic

Translator = Any  # `exporter.translate.translator.Translator`, which reads the table of this module
Handler = Callable[[Translator, Node, list[Any], dict[str, Any]], Any]


def _cond(t: Translator, node: Node, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`cond(pred, true_graph, false_graph, operands)` (torch.cond) as ONNX If."""
    predicate, on_true, on_false, operands = args
    if isinstance(predicate, bool):
        return t.run(on_true if predicate else on_false, operands)
    results = t.op.If(
        predicate,
        then_branch=lambda: body_of(packed(t, t.run(on_true, operands))),
        else_branch=lambda: body_of(packed(t, t.run(on_false, operands))),
    )
    return unpacked(t, several(results), _complex(node))


def body_of(results: list[Any]) -> Any:
    """The results of a body as the builder takes them."""
    return results[0] if len(results) == 1 else tuple(results)


def several(result: Any) -> list[Any]:
    """One result or several, as a list."""
    return list(result) if isinstance(result, (tuple, list)) else [result]


def packed(t: Translator, values: list[Any]) -> list[Any]:
    """Values at the edge of a body: complex tensors as real ones with a last axis of two."""
    return [pack(t.op, v) if isinstance(v, Complex) else v for v in values]


def unpacked(t: Translator, values: Any, pairs: list[bool]) -> list[Any]:
    """The complex tensors again, behind the edge."""
    given = list(values)
    return [
        unpack(t.op, v) if pair else v
        for v, pair in zip(given, [*pairs, *[False] * len(given)], strict=False)
    ]


def _pairs(values: list[Any]) -> list[bool]:
    """Which values are complex."""
    return [isinstance(v, Complex) for v in values]


def _complex(node: Node) -> list[bool]:
    """Which results of a node are complex."""
    return [isinstance(v, Tensor) and v.is_complex() for v in several(node.meta.get("val"))]


def _while_loop(t: Translator, node: Node, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`while_loop(cond, body, carried, additional)` (torch.while_loop) as ONNX Loop."""
    _, results = _turns(t, args, stacked=False)
    return unpacked(t, results, _pairs(args[2]))


def _while_loop_stack_output(
    t: Translator, node: Node, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    """`while_loop_stack_output(cond, body, carried, additional)`: carried values of all iterations.

    A loop without iterations returns its initial values.
    """
    op, carried = t.op, packed(t, args[2])
    first, results = _turns(t, args, stacked=True)
    rows = results[len(carried) :]
    if isinstance(first, bool):
        chosen = rows if first else [op.Unsqueeze(c, [0]) for c in carried]
    else:
        chosen = [
            op.If(
                first,
                then_branch=lambda row=row: op.Identity(row),
                else_branch=lambda c=c: op.Unsqueeze(c, [0]),
            )
            for row, c in zip(rows, carried, strict=True)
        ]
    return unpacked(t, chosen, _pairs(args[2]))


def _turns(t: Translator, args: list[Any], *, stacked: bool) -> tuple[Any, list[Any]]:
    """Whether a loop has iterations, and the results of its Loop."""
    condition, body, carried, additional = args
    first = t.run(condition, [*carried, *additional])[0]

    def step(i: Any, going: Any, *values: Any) -> Any:
        made = t.run(body, [*unpacked(t, values, _pairs(carried)), *additional])
        again = t.run(condition, [*made, *additional])[0]
        values_made = packed(t, made)
        return (again, *values_made, *values_made) if stacked else (again, *values_made)

    return first, several(t.op.Loop(None, first, *packed(t, carried), body=step))


def _map(t: Translator, node: Node, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`map_impl(body, xs, others)` (torch map) as ONNX Scan over the first axis."""
    body, xs, others = args
    return _scanned(t, node, xs, len(xs), lambda rows: t.run(body, [*rows, *others]))


def _scan(t: Translator, node: Node, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`scan(combine, init, xs, additional)` (torch scan, dim 0) as ONNX Scan."""
    combine, init, xs, additional = args
    return _scanned(
        t, node, [*init, *xs], len(xs), lambda values: t.run(combine, [*values, *additional])
    )


def _scanned(
    t: Translator,
    node: Node,
    inputs: list[Any],
    count: int,
    body: Callable[[list[Any]], list[Any]],
) -> list[Any]:
    """ONNX Scan over the last `count` inputs; the others are carried."""

    def step(*values: Any) -> Any:
        return body_of(packed(t, body(unpacked(t, values, _pairs(inputs)))))

    results = t.op.Scan(*packed(t, inputs), body=step, num_scan_inputs=count)
    return unpacked(t, several(results), _complex(node))


def _associative_scan(t: Translator, node: Node, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`associative_scan(combine, xs, additional)` as ONNX Scan whose state is the result so far."""
    combine, xs, additional = args
    op, pairs = t.op, _pairs(xs)
    real = packed(t, xs)
    first = [op.Gather(x, 0, axis=0) for x in real]
    rest = [op.Slice(x, [1], [2**63 - 1], [0]) for x in real]

    def step(*values: Any) -> Any:
        made = t.run(combine, [*unpacked(t, values, pairs + pairs), *additional])
        values_made = packed(t, made)
        return (*values_made, *values_made)

    results = several(op.Scan(*first, *rest, body=step, num_scan_inputs=len(xs)))
    rows = results[len(xs) :]
    joined = [
        op.Concat(op.Unsqueeze(start, [0]), row, axis=0)
        for start, row in zip(first, rows, strict=True)
    ]
    return unpacked(t, joined, pairs)


def _flex_attention(t: Translator, node: Node, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`flex_attention` by torch's formula: scores and masks of all pairs at once, then softmax.

    Source: torch._higher_order_ops.flex_attention.math_attention.
    """
    fakes = map_arg((node.args, node.kwargs), _known)
    inner = traced(math_attention, *fakes)
    return t.inlined(node, inner, fakes, (args, kwargs))


def _known(node: Node) -> Any:
    """What torch knows of a node: a fake tensor, a size, or the graph it represents."""
    if node.op == "get_attr" and "val" not in node.meta:
        return getattr(node.graph.owning_module, str(node.target))
    return node.meta["val"]


def _inline(place: int, first: int) -> Handler:
    """A handler that runs the graph at one position on the arguments from another on."""

    def run(t: Translator, node: Node, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return t.run(args[place], args[first:])

    return run


def _inner_tensor(t: Translator, node: Node, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`access_subclass_inner_tensor(weight, attr)`: a tensor that a wrapper is made of."""
    return args[0].parts[args[1]]


HANDLERS: dict[str, Handler] = {
    "export::access_subclass_inner_tensor": _inner_tensor,
    "onnx_symbolic::_symbolic": symbolic,
    "onnx_symbolic::_symbolic_multi_out": symbolic,
    "onnx::Attention.opset23": onnx_operator("Attention", 23),
    "onnx::RotaryEmbedding.opset23": onnx_operator("RotaryEmbedding", 23),
    "aten::as_strided": strided,
    "aten::as_strided_copy": strided,
    "aten::as_strided_scatter": strided,
    "higher_order::auto_functionalized": auto_functionalized,
    "higher_order::auto_functionalized_v2": auto_functionalized_v2,
    "higher_order::cond": _cond,
    "higher_order::while_loop": _while_loop,
    "higher_order::while_loop_stack_output": _while_loop_stack_output,
    "higher_order::map_impl": _map,
    "higher_order::scan": _scan,
    "higher_order::associative_scan": _associative_scan,
    "higher_order::flex_attention": _flex_attention,
    "higher_order::wrap_with_set_grad_enabled": _inline(1, 2),
    "higher_order::invoke_subgraph": _inline(0, 2),
    "higher_order::invoke_quant_packed": _inline(0, 1),
    "higher_order::wrap": _inline(0, 1),
    "higher_order::tag_activation_checkpoint": _inline(0, 1),
    "higher_order::hints_wrapper": lambda t, node, args, kwargs: t.run(args[0], args[1]),
}
