"""Cleanup around an optimization: unused domains, types, scales, initializers that are inputs."""

from __future__ import annotations

from dataclasses import dataclass

import onnx_ir as ir

from onnxwright.ir.ir_versions import DEFAULTS
from onnxwright.ir.nested import all_graphs, all_nodes
from onnxwright.ir.serialize import QUANTIZATION
from onnxwright.ir.stored import notes_of
from onnxwright.optimizer.weight_sources import drop_unused, is_fixed

# Elements of a constant that may be there once more.
_FEW = 16


def drop_domains(model: ir.Model, source: ir.Model) -> None:
    """Leave out the domains of functions that are gone."""
    gone = {f.domain for f in source.functions.values()} - {
        f.domain for f in model.functions.values()
    }
    if not gone:
        return
    holders: list[ir.Graph | ir.Function] = [model.graph, *model.functions.values()]
    for holder in holders:
        used = {node.domain for node in all_nodes(holder)}
        for domain in gone - used:
            holder.opset_imports.pop(domain, None)


def as_constants(model: ir.Model, keep: frozenset[str] = frozenset()) -> None:
    """Let small constants that bodies give be Constant nodes of these bodies.

    The result of a body is made by one of its nodes, so that an initializer of the graph around it
    would need an Identity.  Floats of several elements may be weights: they stay initializers.

    Args:
        model: the model; it is changed.
        keep: names of initializers that stay what they are.
    """
    read: dict[ir.Value, None] = {}
    for graph in all_graphs(model.graph):
        for node in [v.producer() for v in graph.outputs] if graph is not model.graph else ():
            if node is None or node.op_type != "Identity" or node.domain or node.graph is not graph:
                continue
            value = node.inputs[0]
            if value is not None and value.name not in keep and _is_small(value):
                node.resize_inputs(0)
                node.op_type = "Constant"
                node.attributes.add(ir.AttrTensor("value", value.const_value))  # type: ignore[arg-type]
                read[value] = None
    drop_unused(read)


def _is_small(value: ir.Value) -> bool:
    tensor = value.const_value
    if tensor is None or not is_fixed(value) or tensor.size > _FEW:
        return False
    return tensor.size == 1 or not tensor.dtype.is_floating_point()


def fit_ir_version(model: ir.Model) -> None:
    """Raise the IR version where an initializer is not an input, as it has to be in version 3."""
    names = {value.name for value in model.graph.inputs}
    if model.ir_version < DEFAULTS and not names.issuperset(model.graph.initializers):
        model.ir_version = DEFAULTS


@dataclass(frozen=True)
class Leftovers:
    """What is asked of a source model when it has been optimized.

    Fields:
        typed: the names of intermediate values whose types the source says.
        initializers: its initializers.
    """

    typed: frozenset[str | None]
    initializers: dict[str, ir.Value]

    @classmethod
    def of(cls, source: ir.Model) -> Leftovers:
        """That of a source model."""
        nodes = all_nodes(source.graph)
        typed = frozenset([v.name for n in nodes for v in n.outputs if v.type is not None])
        return cls(typed, dict(source.graph.initializers))

    def drop_new_types(self, model: ir.Model) -> None:
        """Leave out types of intermediate values that the source does not say: they cost bytes."""
        for node in all_nodes(model.graph):
            for value in node.outputs:
                if value.name not in self.typed and not value.is_graph_output():
                    value.type = value.shape = None

    def keep_quantization(self, model: ir.Model) -> None:
        """Keep the scales and zero points that annotations name, though no node reads them."""
        graph = model.graph
        values = (
            *graph.inputs, *graph.initializers.values(), *(v for n in graph for v in n.outputs)
        )  # fmt: skip
        named = {name for v in values for name in (notes_of(v).get(QUANTIZATION) or {}).values()}
        for name in named - set(graph.initializers) - {v.name for v in values}:
            value = self.initializers.get(name)
            if value is not None:
                kept = ir.Value(name=name, type=value.type, shape=value.shape,
                                const_value=value.const_value)  # fmt: skip
                graph.register_initializer(kept)


def constant_initializers(
    model: ir.Model, *, assumed: bool
) -> tuple[ir.Model, tuple[str, ...], tuple[str, ...]]:
    """A model in which initializers that no caller replaces are not inputs.

    In IR version 3 every initializer has to be an input, and ONNX Runtime takes it for a constant.
    From version 4 on an initializer that is an input is its default: a caller may replace it.

    Args:
        model: the model; it is not changed.
        assumed: whether the caller promises that no run replaces them.

    Returns:
        The model, the initializers that left the inputs, and those that stay inputs.

    Source:
        ONNX IR specification, "Graphs", versions 3 and 4.
    """
    names = tuple(str(v.name) for v in model.graph.inputs if v.name in model.graph.initializers)
    if not names or (model.ir_version >= DEFAULTS and not assumed):
        return model, (), names
    changed = model.clone()
    kept = [v for v in changed.graph.inputs if v.name not in changed.graph.initializers]
    changed.graph.inputs.clear()
    changed.graph.inputs.extend(kept)
    changed.ir_version = max(changed.ir_version, DEFAULTS)
    return changed, names, ()


STATE_SUFFIX = ".new"
"""An output `NAME.new` beside an initializer `NAME` is its value for the next run."""


def states_as_inputs(model: ir.Model, *, assumed: bool) -> tuple[ir.Model, tuple[str, ...]]:
    """A model in which the initializers whose new values are outputs are inputs, too.

    The caller of an exported program with state writes the new values back before the next run:
    such initializers are not constants.

    Args:
        model: the model; it is not changed.
        assumed: whether the caller promises that no run replaces them: nothing is done then.

    Returns:
        The model, and the names of the further inputs, which `optimize` removes at its end.
    """
    outputs = {str(v.name) for v in model.graph.outputs}
    inputs = {str(v.name) for v in model.graph.inputs}
    names = [n for n in model.graph.initializers if f"{n}{STATE_SUFFIX}" in outputs - inputs]
    names = [] if assumed else [n for n in names if n not in inputs]
    if not names:
        return model, ()
    changed = model.clone()
    changed.graph.inputs.extend(changed.graph.initializers[n] for n in names)
    return changed, tuple(names)
