"""What operators write to, what is a view of what, and whether writes can become new values.

A node that is a view of another remembers which.  Writes are covered where they are to first
arguments, through views that have an inverse: the translation computes new values for them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing
from torch.fx.experimental.symbolic_shapes import statically_known_true

from onnxwright.exporter.places import target_name

# Operators that may give their argument itself.
_MAY_BE_VIEWS = ("aten::contiguous", "aten::reshape", "aten::to", "aten::expand_as")
RESHAPES = frozenset(
    {
        "aten::view",
        "aten::reshape",
        "aten::_unsafe_view",
        "aten::flatten.using_ints",
        "aten::unflatten.int",
        "aten::squeeze",
        "aten::squeeze.dim",
        "aten::squeeze.dims",
        "aten::unsqueeze",
    }
)
LISTS = frozenset(
    {
        "aten::split.Tensor",
        "aten::split_with_sizes",
        "aten::chunk",
        "aten::unbind.int",
        "aten::tensor_split.sections",
    }
)
_OTHERS = frozenset(
    {
        "aten::transpose.int",
        "aten::permute",
        "aten::t",
        "aten::select.int",
        "aten::slice.Tensor",
        "aten::diagonal",
        "_operator::getitem",
    }
)
_COVERED = RESHAPES | LISTS | _OTHERS


# Writes that the schema does not have: in training, running statistics are updated in place.
_STATISTICS = ("aten::batch_norm", "aten::instance_norm")
_RUNNING, _TRAINING = (3, 4), 5


def updated_statistics(node: fx.Node) -> list[fx.Node]:
    """The running statistics that a normalization writes to."""
    if target_name(node.target) not in _STATISTICS or not argument(node, _TRAINING):
        return []
    return [n for n in (argument(node, at) for at in _RUNNING) if isinstance(n, fx.Node)]


def argument(node: fx.Node, place: int) -> Any:
    """An argument of an operator, given by its place or by its name."""
    if place < len(node.args):
        return node.args[place]
    schema: Any = node.target._schema
    return node.kwargs.get(schema.arguments[place].name)


def written_arguments(node: fx.Node) -> list[fx.Node]:
    """The arguments that an operator writes to."""
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return []
    if not schema.is_mutable:
        return updated_statistics(node)
    arguments: list[fx.Node] = []
    for n, argument in enumerate(schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        value = node.args[n] if n < len(node.args) else node.kwargs.get(argument.name)
        items = value if isinstance(value, (list, tuple)) else [value]
        arguments += [item for item in items if isinstance(item, fx.Node)]
    return arguments


def memory_of(node: fx.Node) -> int:
    """What identifies the memory of the tensor of a node; 0 for anything else."""
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
        return 0
    try:
        return int(value.untyped_storage()._cdata)
    except NotImplementedError:  # a value within torch.vmap has no memory of its own
        return 0


def viewed(node: fx.Node) -> fx.Node | None:
    """What a node is a view of, or the same tensor as; None if it has memory of its own."""
    of: Any = node
    place: Any = 0
    args: Any = node.args
    if getattr(node.target, "__name__", "") == "getitem" and isinstance(args[0], fx.Node):
        of, place = args
        returns: Any = getattr(getattr(of.target, "_schema", None), "returns", ())
        if len(returns) == 1 and returns[0].alias_info is not None:
            view_list: fx.Node = of
            return view_list  # an item of a list of views
    schema = getattr(of.target, "_schema", None)
    if schema is None or not isinstance(place, int) or place >= len(schema.returns):
        return None
    result = schema.returns[place].alias_info
    if result is None:
        first: Any = of.args[:1] if schema.name in _MAY_BE_VIEWS else ()
        return first[0] if first and isinstance(first[0], fx.Node) else None
    for n, argument in enumerate(schema.arguments):
        shared = argument.alias_info is not None and argument.alias_info.before_set
        if shared and (shared & result.before_set or not result.before_set):
            value = of.args[n] if n < len(of.args) else of.kwargs.get(argument.name)
            return value if isinstance(value, fx.Node) else None
    return None


def base_of(node: fx.Node) -> fx.Node:
    """The node that has the memory of one."""
    while (of := viewed(node)) is not None:
        node = of
    return node


def graphs_of(module: fx.GraphModule) -> list[fx.Graph]:
    """The graph of a module, and those of the modules in it."""
    return [m.graph for m in module.modules() if isinstance(m, fx.GraphModule)]


def written_by(node: fx.Node) -> fx.Node | None:
    """The tensor that a node writes into; None for a node that does not."""
    if not is_write(node):
        return None
    first = node.args[0] if node.args else None
    return first if isinstance(first, fx.Node) else None


def is_write(node: fx.Node) -> bool:
    """Whether a node's schema says that it writes into an argument."""
    if node.op != "call_function":
        return False
    schema = getattr(node.target, "_schema", None)
    if schema is None or not schema.is_mutable:
        return False
    return not str(schema.name).startswith("aten::_assert") and schema.name != "aten::detach_"


def covered(graph: fx.Graph, *, local: bool = False) -> bool:
    """Whether all writes of a graph are into first arguments, through views with an inverse.

    Args:
        local: whether they have to be into tensors made within the graph.
    """
    parents = parents_of(graph)
    roots = _roots_by_memory(graph, parents)
    for node in graph.nodes:
        if not is_write(node):
            continue
        schema = node.target._schema
        written = [a.name for a in schema.arguments if a.alias_info and a.alias_info.is_write]
        if written != [schema.arguments[0].name] or not schema.name.endswith("_"):
            return False
        if torch.Tag.inplace_view in node.target.tags:
            return False  # the tensor gets another shape
        child = written_by(node)
        while child is not None and child in parents:
            name, parent = target_name(child.target), parents[child]
            if name not in _COVERED and not is_write(child) and not is_same(child, parent):
                return False
            child = parent
        if child is None or _has_hidden_views(child, roots):
            return False
        if local and child.op != "call_function":
            return False
    return True


def _roots_by_memory(graph: fx.Graph, parents: dict[fx.Node, fx.Node]) -> dict[int, list[fx.Node]]:
    """Values that are not views of a known value, by their memory; found once for a graph."""
    roots: dict[int, list[fx.Node]] = {}
    for node in graph.nodes:
        if node in parents or node.op == "output":
            continue
        memory = memory_of(node)
        if memory:
            roots.setdefault(memory, []).append(node)
    return roots


def _has_hidden_views(root: fx.Node, roots: dict[int, list[fx.Node]]) -> bool:
    """Whether something else shares the memory of a tensor, in a way that is not known."""
    memory = memory_of(root)
    return not memory or any(node is not root for node in roots.get(memory, ()))


def is_same(view: fx.Node, parent: fx.Node) -> bool:
    """Whether a view has each element at the place where its parent has it (`alias`, `to`)."""
    one, two = view.meta.get("val"), parent.meta.get("val")
    if not (isinstance(one, torch.Tensor) and isinstance(two, torch.Tensor)):
        return False
    if one.dtype != two.dtype or one.ndim != two.ndim:
        return False
    if one.is_conj() != two.is_conj() or one.is_neg() != two.is_neg():
        return False
    pairs = [*zip(one.shape, two.shape), *zip(one.stride(), two.stride())]
    pairs.append((one.storage_offset(), two.storage_offset()))
    with disable_proxy_modes_tracing():  # the sizes may be those of a part, which no trace knows
        return all(statically_known_true(a == b) for a, b in pairs)


def parents_of(graph: fx.Graph) -> dict[fx.Node, fx.Node]:
    """View -> viewed, for each node that is a view."""
    parents: dict[fx.Node, fx.Node] = {}
    for node in graph.nodes:
        if node.op != "call_function" or not node.args or not isinstance(node.args[0], fx.Node):
            continue
        parent = node.args[0]
        if is_write(node):
            parents[node] = parent
            continue
        name = target_name(node.target)
        if name == "_operator::getitem":
            if target_name(parent.target) in LISTS and parent in parents:
                parents[node] = parent
            continue
        if name in LISTS:
            parents[node] = parent
            continue
        memory = memory_of(node)
        if memory and memory == memory_of(parent):
            parents[node] = parent
    return parents
