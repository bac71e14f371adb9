"""Higher-order operators of torch: `cond` as If, `while_loop` as Loop, `scan` and `map` as Scan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols, statically_known_true
from torch.fx.node import map_arg

from onnxwright.atenlib.complexes import Complex, pack, unpack
from onnxwright.atenlib.helpers.constants import vector
from onnxwright.atenlib.helpers.sizes import size
from onnxwright.atenlib.load import functions
from onnxwright.atenlib.op import unsupported
from onnxwright.exporter.torch_internals import math_attention
from onnxwright.exporter.translate.auto_functional import (
    auto_functionalized_v2,
)
from onnxwright.exporter.translate.lowerings import traced
from onnxwright.exporter.translate.symbolic_ops import onnx_operator, symbolic

# -- `as_strided` of a tensor whose elements are not in the order of its axes ----------------------
# A graph has no memory: what a strided view reads is found from the strides that torch keeps
# beside the tensor.  Where they only permute the axes, the axes are permuted back; a view of
# memory that is not all of the tensor is rejected.


def strided(t: Any, node: Node, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`aten::as_strided` and its kin."""
    name = str(node.target._schema.name)
    function, permute = functions()[name], functions()["aten::permute"]
    arguments = dict(zip((a.name for a in node.target._schema.arguments), args, strict=False))
    arguments |= kwargs
    fake = node.args[0].meta["val"]
    order = _order(fake)
    offset = arguments.get("storage_offset")
    if offset is not None:
        arguments["storage_offset"] = _relative(offset, fake.storage_offset())
    _check_range(arguments, fake)
    if order == sorted(order):
        return function(t.op, **arguments)
    turned = permute(t.op, arguments["self"], order)
    view = function(t.op, **arguments | {"self": turned})
    if not name.endswith("_scatter"):
        return view
    return permute(t.op, view, [order.index(n) for n in range(len(order))])


def _order(fake: torch.Tensor) -> list[int]:
    """The axes in the order of memory.

    Raises:
        AtenUnsupportedError: the tensor has gaps, or elements that share their memory.
    """
    axes = list(range(fake.dim()))
    if fake.is_contiguous():
        return axes
    strides = fake.stride()
    if all(isinstance(s, int) for s in strides):
        order = sorted(axes, key=lambda n: (-strides[n], -fake.shape[n] if strides[n] else 0, n))
        if fake.permute(order).is_contiguous():
            return order
    elif all(isinstance(s, int) or s.node.has_hint() for s in (*strides, *fake.shape)):
        values = [s if isinstance(s, int) else s.node.hint for s in strides]
        order = sorted(axes, key=lambda n: (-values[n], n))
        if _contiguous(fake.permute(order)):
            return order
    return unsupported(
        f"a strided view of a tensor of the strides {tuple(strides)}, which is itself a view of "
        "other memory; call `.contiguous()` before, and give strides of that"
    )


def _contiguous(fake: torch.Tensor) -> bool:
    """Whether each stride is the product of the sizes after it, whatever the sizes are."""
    expected_stride: Any = 1
    for length, stride in zip(reversed(fake.shape), reversed(fake.stride()), strict=True):
        if not statically_known_true(stride == expected_stride):
            return False
        expected_stride = expected_stride * length
    return True


def _relative(offset: Any, start: Any) -> Any:
    """Where the view begins, counted from the first element of the tensor."""
    if isinstance(start, int) and start == 0:
        return offset
    if not isinstance(offset, int) or not isinstance(start, int) or offset < start:
        unsupported("a strided view that begins before the tensor it is of")
    return offset - start


def _check_range(arguments: dict[str, Any], fake: torch.Tensor) -> None:
    """Refuse a view of memory behind the tensor."""
    sizes, strides = arguments["size"], arguments["stride"]
    offset = arguments.get("storage_offset") or 0
    count = fake.numel()
    numbers = [*sizes, *strides, offset, count]
    if not all(isinstance(n, int) for n in numbers) or 0 in sizes:
        return
    last = offset + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    if last >= count:
        unsupported(
            f"a strided view up to the element {last} of a tensor of {count} elements, which is "
            "itself a view of other memory"
        )


# -- higher order ----------------------------------------------------------------------------------

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
    value_list = list(values)
    return [
        unpack(t.op, v) if pair else v
        for v, pair in zip(value_list, [*pairs, *[False] * len(value_list)], strict=False)
    ]


def _pairs(values: list[Any]) -> list[bool]:
    """Which values are complex."""
    return [isinstance(v, Complex) for v in values]


def _complex(node: Node) -> list[bool]:
    """Which results of a node are complex."""
    return [isinstance(v, Tensor) and v.is_complex() for v in several(node.meta.get("val"))]


def _while_loop(t: Translator, node: Node, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`while_loop(cond, body, carried, additional)` (torch.while_loop) as ONNX Loop.

    A result that `scan_output` reads is a scan output: the rows of all iterations.
    """
    scanned = _scanned_results(node)
    condition, body, carried, additional = args
    kept = [n for n in range(len(carried)) if n not in scanned]
    # No iteration reads what another one gave as a row.
    start: list[Any] = [None if n in scanned else c for n, c in enumerate(carried)]
    pairs = _pairs(carried)
    first = t.run(condition, [*start, *additional])[0]

    def step(i: Any, going: Any, *values: Any) -> Any:
        state = list(start)
        for n, value in zip(kept, unpacked(t, values, [pairs[n] for n in kept])):
            state[n] = value
        body_results = t.run(body, [*state, *additional])
        again = _next_test(t, node, condition, [*body_results, *additional])
        packed_values = packed(t, body_results)
        return (again, *(packed_values[n] for n in (*kept, *scanned)))

    values = packed(t, [carried[n] for n in kept])
    results = several(t.op.Loop(None, first, *values, body=step))
    results_by_position = dict(zip((*kept, *scanned), results))
    values = unpacked(t, [results_by_position[n] for n in range(len(carried))], pairs)
    return [_Rows(v) if n in scanned else v for n, v in enumerate(values)]


def _next_test(t: Translator, node: Node, condition: GraphModule, values: list[Any]) -> Any:
    """Whether a loop goes on, after an iteration: the sizes in its condition are others by now."""
    outer = {s for n in node.all_input_nodes for s in _sizes_of_run_time(n)}
    own = {s for n in condition.graph.nodes for s in _sizes_of_run_time(n)} - outer
    before, t.dimensions = t.dimensions, t.dimensions.renamed(sorted(own))
    try:
        return t.run(condition, values)[0]
    finally:
        t.dimensions = before


def _sizes_of_run_time(node: Node) -> set[str]:
    """The symbols of sizes that are known at run time only, in what torch knows of a node."""
    values = several(node.meta.get("val"))
    return {str(s) for v in values if v is not None for s in free_unbacked_symbols(v)}


@dataclass(frozen=True)
class _Rows:
    """What all iterations of a loop give, in the place of what the last one gives."""

    value: Any


def _scanned_results(node: Node) -> list[int]:
    """The results of a loop whose rows of all iterations are read."""
    return sorted(
        user.args[1]
        for user in node.users
        if any(str(reader.target) == SCAN_OUTPUT for reader in user.users)
    )


SCAN_OUTPUT = "onnxwright.scan_output.default"


def _scan_output(t: Translator, node: Node, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`scan_output(last, count, sizes)` of a result of `while_loop`: the rows of all iterations.

    A loop without iterations gives 0 for sizes that are not constants; Reshape has the others.
    """
    rows, sizes = args[0].value, args[2]
    if all(isinstance(n, int) for n in sizes):
        return rows
    (real,) = packed(t, [rows])
    shape = [size(t.op, real, 0), *sizes, *([2] if isinstance(rows, Complex) else [])]
    shaped = t.op.Reshape(real, vector(t.op, shape), allowzero=1)
    return unpacked(t, [shaped], _pairs([rows]))[0]


def _while_loop_stack_output(
    t: Translator, node: Node, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    """`while_loop_stack_output(cond, body, carried, additional)`: carried values of all iterations.

    A loop without iterations returns its initial values.
    """
    op, carried = t.op, packed(t, args[2])
    first, results = _stacked(t, node, args)
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


def _stacked(t: Translator, node: Node, args: list[Any]) -> tuple[Any, list[Any]]:
    """Whether a loop has iterations, and the results of its Loop, with those of all iterations."""
    condition, body, carried, additional = args
    first = t.run(condition, [*carried, *additional])[0]

    def step(i: Any, going: Any, *values: Any) -> Any:
        body_results = t.run(body, [*unpacked(t, values, _pairs(carried)), *additional])
        again = _next_test(t, node, condition, [*body_results, *additional])
        values_made = packed(t, body_results)
        return (again, *values_made, *values_made)

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
        combined = t.run(combine, [*unpacked(t, values, pairs + pairs), *additional])
        values_made = packed(t, combined)
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
    fakes = map_arg((node.args, node.kwargs), _fake_value)
    inner = traced(math_attention, *fakes)
    return t.inlined(node, inner, fakes, (args, kwargs))


def _fake_value(node: Node) -> Any:
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
    "higher_order::auto_functionalized_v2": auto_functionalized_v2,
    "higher_order::cond": _cond,
    "higher_order::while_loop": _while_loop,
    "onnxwright::scan_output": _scan_output,
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
