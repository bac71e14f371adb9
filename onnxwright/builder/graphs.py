"""Graphs of onnx_ir from Python functions: a new one, or nodes in one that is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx_ir as ir

from onnxwright.builder.graph_builder import GraphBuilder
from onnxwright.diagnostics.catalogue.builder import FunctionsInGraph, WrongOutputNames
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.ir.builder import detach
from onnxwright.ir.names import Namer
from onnxwright.ir.nested import all_nodes, subgraphs
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.carrying import kind_of
from onnxwright.tracing.closing import Closed, finalize


def build_graph(
    function: Callable[..., Any],
    inputs: Sequence[ir.Value | None] | Mapping[str, Any],
    outputs: Sequence[ir.Value | str] | None = None,
    *,
    opset_imports: Mapping[str, int] | None = None,
    name: str = "subgraph",
    parent: GraphBuilder | None = None,
) -> ir.Graph:
    """A graph of onnx_ir, built by a Python function of operators and values.

    Args:
        function: called once as `function(op, *values)`; gives the outputs.
        inputs: values of onnx_ir, which become the inputs of the graph, or types by name in any
            form that `GraphBuilder.input` takes.  None is an input that the function gets as None.
        outputs: the outputs as values of onnx_ir, whose names and types the results take, or their
            names; by default the results keep their own.
        opset_imports: versions by domain; by default those of `parent`, or the default opset.
        name: the name of the graph.
        parent: a builder: the graph is then one for an attribute of its nodes, and may use its
            values.

    Returns:
        The graph.

    Raises:
        ScriptValueError: the function gives more or fewer results than outputs are declared
            (OW546), or calls a function that the graph cannot hold (OW553).
        ScriptTypeError: a call does not fit its operator, or a result its declared type (OW706).
        ScriptNameError: a name is taken (OW544).

    Example:
        >>> from onnxwright import FLOAT
        >>> graph = build_graph(
        ...     lambda op, x, y: op.Add(x, y),
        ...     {"x": FLOAT[3, 4], "y": FLOAT[3, 4]},
        ...     ["sum"],
        ...     opset_imports={"": 21},
        ... )
        >>> [v.name for v in graph.inputs], [n.op_type for n in graph], graph.outputs[0].name
        (['x', 'y'], ['Add'], 'sum')
    """
    input_specs = _input_specs(inputs)
    if parent is not None:
        return _inside(parent, function, input_specs, outputs, name)
    g = GraphBuilder(opset=dict(opset_imports or {}) or None, name=name)
    values = _inputs(g, input_specs)
    results = _as_list(function(g.op, *values))
    _add_outputs(g, results, outputs)
    closed = _closed(g)
    for value in closed.constants:
        value.const_value = g.backend.pool.as_tensor(value)
    _replace_inputs(closed, input_specs)
    return ir.Graph(
        closed.inputs,
        closed.outputs,
        nodes=closed.nodes,
        initializers=closed.constants,
        opset_imports={**closed.imports, **(opset_imports or {})},
        name=name,
    )


def build_into(
    graph: ir.Graph | ir.Function,
    function: Callable[..., Any],
    inputs: Sequence[ir.Value | None] = (),
    *,
    before: ir.Node | None = None,
    opset_imports: Mapping[str, int] | None = None,
) -> Any:
    """Build nodes in a graph of onnx_ir that is there, as a pass needs it.

    Names that the graph has already are changed; weights become initializers of the graph, and
    Constants in a function.

    Args:
        graph: the graph, or a function.
        function: called once as `function(op, *values)` with the inputs as values.
        inputs: values of the graph that the function uses.
        before: the node before which the new ones are put; at the end by default.
        opset_imports: versions by domain, where the graph does not say them: a graph inside a node.

    Returns:
        What the function gives, as values of onnx_ir: one, or a tuple.

    Raises:
        ScriptValueError: the function calls a function, which the graph cannot hold (OW553).
        ScriptTypeError: a call does not fit its operator.

    Example:
        >>> import onnx
        >>> head = '<ir_version: 10, opset_import: ["" : 21]>'
        >>> text = head + "g (float[N] x) => (float[N] y) { y = Exp(x) }"
        >>> model = ir.from_proto(onnx.parser.parse_model(text))
        >>> (x,), (y,) = model.graph.inputs, model.graph.outputs
        >>> z = build_into(model.graph, lambda op, x, y: op.Relu(y) + x, [x, y])
        >>> model.graph.outputs.append(z)
        >>> [node.op_type for node in model.graph], str(z.shape)
        (['Exp', 'Relu', 'Add'], '[N]')
    """
    imports = {**graph.opset_imports, **(opset_imports or {})}
    g = GraphBuilder(opset=imports or None)
    taken = Namer()
    for text in _names(graph):
        taken.unique(text)
    values = _inputs(g, _distinct(inputs))
    returned = function(g.op, *values)
    results = _as_list(returned)
    _add_outputs(g, results, None)
    closed = _closed(g)
    passed = {id(r.value): v for r, v in zip(values, inputs) if r is not None}
    final = [passed.get(id(r.value), out) for (_, r), out in zip(g._outputs, closed.outputs)]
    # Identities of what was passed through: the value itself is given.
    for copy in {out.producer() for out, kept in zip(closed.outputs, final) if out is not kept}:
        assert copy is not None
        closed.nodes.remove(copy)
        detach(copy)
    _put(graph, g, closed, taken, before)
    for value, own in zip(inputs, closed.inputs, strict=True):
        if value is not None:
            own.replace_all_uses_with(value)
    for domain, version in closed.imports.items():
        graph.opset_imports.setdefault(domain, version)
    return tuple(final) if isinstance(returned, (tuple, list)) else final[0]


def _put(
    graph: ir.Graph | ir.Function,
    g: GraphBuilder,
    closed: Closed,
    taken: Namer,
    before: ir.Node | None,
) -> None:
    """The nodes and weights of a finished graph, as parts of another one."""
    nodes = closed.nodes
    for value in (*closed.constants, *(v for n in all_nodes(nodes) for v in n.outputs)):
        if value.name:
            value.name = taken.unique(value.name)
    for value in closed.constants:
        tensor = g.backend.pool.as_tensor(value)
        if isinstance(graph, ir.Graph):
            value.const_value = tensor
            graph.register_initializer(value)
            continue
        node = ir.node("Constant", [], {"value": tensor})
        output = node.outputs[0]
        output.name, output.type, output.shape = value.name, value.type, value.shape
        value.replace_all_uses_with(output)
        nodes.insert(0, node)
    if before is None:
        graph.extend(nodes)
    else:
        graph.insert_before(before, nodes)


def _input_specs(inputs: Sequence[ir.Value | None] | Mapping[str, Any]) -> list[Any]:
    return list(inputs.items()) if isinstance(inputs, Mapping) else list(inputs)


def _inputs(g: GraphBuilder, input_specs: Sequence[Any]) -> list[GraphValue | None]:
    """Inputs of the innermost graph; one that is None is there, and nothing reads it."""
    values: list[GraphValue | None] = []
    for n, value in enumerate(input_specs):
        if value is None:
            g.input(f"input_{n}")
            values.append(None)
        elif isinstance(value, tuple):
            values.append(g.input(*value))
        else:
            values.append(g.input(value.name or f"input_{n}", kind_of(value)))
    return values


def _distinct(values: Sequence[ir.Value | None]) -> list[ir.Value | None]:
    """What stands for values, with names of their own: one value may be given twice."""
    names = Namer()
    return [
        None
        if v is None
        else ir.Value(name=names.unique(v.name or f"input_{n}"), type=v.type, shape=v.shape)
        for n, v in enumerate(values)
    ]


def _as_list(returned: Any) -> list[Any]:
    return list(returned) if isinstance(returned, (tuple, list)) else [returned]


def _add_outputs(
    g: GraphBuilder, results: Sequence[Any], declared: Sequence[ir.Value | str] | None
) -> None:
    names = [None] * len(results) if declared is None else list(declared)
    _check_count(len(results), len(names))
    for result, output_spec in zip(results, names, strict=True):
        if isinstance(output_spec, ir.Value):
            g.output(result, output_spec.name or None, kind_of(output_spec))
        else:
            g.output(result, output_spec)


def _check_count(results: int, declared: int) -> None:
    if results != declared:
        fail(WrongOutputNames(
            operation="the function",
            got=f"{results} output{'s' * (results != 1)}",
            names=f"{declared} {'are' if declared != 1 else 'is'}",
            signature="function(op, *values) -> outputs",
        ))  # fmt: skip


def _closed(g: GraphBuilder) -> Closed:
    """The finished graph; it has no functions, since a graph alone cannot hold them."""
    if g.functions:
        fail(FunctionsInGraph(name=next(iter(g.functions))[1]))
    named = g._scopes.named()
    closed = finalize(g.backend, [v for _, v in g._outputs], [n for n, _ in g._outputs])
    g.backend.own_types(closed.nodes)
    g._scopes.write(named)
    g._finished = closed
    return closed


def _replace_inputs(closed: Closed, input_specs: Sequence[Any]) -> None:
    """The values of the caller in the places of the inputs that were made for them."""
    for n, value in enumerate(input_specs):
        if isinstance(value, ir.Value):
            closed.inputs[n].replace_all_uses_with(value)
            closed.inputs[n] = value


def _inside(
    parent: GraphBuilder,
    function: Callable[..., Any],
    input_specs: Sequence[Any],
    outputs: Sequence[ir.Value | str] | None,
    name: str,
) -> ir.Graph:
    """A graph for an attribute of a node of a builder."""
    with parent.subgraph(name) as subgraph:
        results = _as_list(function(parent.op, *_inputs(parent, input_specs)))
        names = [None] * len(results) if outputs is None else list(outputs)
        _check_count(len(results), len(names))
        for n, (result, output_spec) in enumerate(zip(results, names, strict=True)):
            value = parent._argument(result)
            if isinstance(output_spec, ir.Value):
                results[n] = parent._typed(value, kind_of(output_spec), str(output_spec.name))
        subgraph.output(*results)
    assert subgraph.graph is not None
    for output, output_spec in zip(subgraph.graph.outputs, names, strict=True):
        text = output_spec.name if isinstance(output_spec, ir.Value) else output_spec
        if text:
            parent.backend.recorder.rename(output, text)
    return subgraph.graph


def _names(graph: ir.Graph | ir.Function) -> set[str]:
    """All names of values in a graph and inside its nodes."""
    names = {v.name for v in graph.inputs if v.name}
    if isinstance(graph, ir.Graph):
        names.update(graph.initializers)
    for node in all_nodes(graph):
        names.update(v.name for v in node.outputs if v.name)
        for inner in subgraphs(node):
            names.update(v.name for v in inner.inputs if v.name)
            names.update(inner.initializers)
    return names
