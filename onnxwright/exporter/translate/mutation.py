"""Operators that write into tensors: new values for what was written, and for its views.

A node that is a view of another remembers which.  After a write, the new value goes up to the
tensor at the root by the inverse of each view; other views are made anew when they are read.
Programs with writes that are not covered are made functional by PyTorch.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Graph, GraphModule, Node

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.helpers.sizes import sizes
from onnxwright.atenlib.load import find
from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.catalogue import export_forms
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.errors import ExportError
from onnxwright.exporter.capture.assumptions.specialization import forward_ad_unwound
from onnxwright.exporter.capture.graphs.writes import (
    LISTS,
    RESHAPES,
    covered,
    is_same,
    is_write,
    parents_of,
    updated_statistics,
    written_by,
)
from onnxwright.exporter.places import span_of, target_name
from onnxwright.exporter.torch_internals import HigherOrderOperator, pytree
from onnxwright.exporter.torch_lock import TORCH_LOCK
from onnxwright.exporter.translate.node_facts import type_of

# -- buffer shapes ---------------------------------------------------------------------------------
# Buffers that a module replaces by tensors of another shape or type: the state of a model has one.
# `self.b = y` in a forward is captured as a write into the buffer, `copy_`, whose result is `y`.

_REPLACING = (torch.ops.aten.copy_.default, torch.ops.aten.resize_.default)


def check_replaced_buffers(program: ExportedProgram) -> None:
    """Refuse a program that replaces a buffer by a tensor which does not fit into it.

    Raises:
        ExportError: it does (OW856).
    """
    nodes = [n for n in program.graph.nodes if n.op == "placeholder"]
    specs = zip(nodes, program.graph_signature.input_specs, strict=True)
    buffers = {node: str(spec.target) for node, spec in specs if spec.kind is InputKind.BUFFER}
    for node in program.graph.nodes:
        if node.target in _REPLACING and node.args[0] in buffers:
            before, after = (n.meta.get("val") for n in (node.args[0], node))
            tensors = isinstance(before, torch.Tensor) and isinstance(after, torch.Tensor)
            if tensors and not _fits(before, after):
                _raise_replaced(buffers[node.args[0]], node, before, after)


def _fits(before: Any, after: Any) -> bool:
    """Whether the old shape can be broadcast to the new one, as a write of its values is."""
    if before.dtype != after.dtype or before.dim() > after.dim():
        return False
    pairs = zip(reversed(before.shape), reversed(after.shape), strict=False)
    return all(_is_one(a) or str(a) == str(b) for a, b in pairs)


def _is_one(size: Any) -> bool:
    return isinstance(size, int) and size == 1


def _raise_replaced(name: str, node: Node, before: Any, after: Any) -> NoReturn:
    fail(
        export_forms.BufferReplaced(
            buffer=name, before=type_of(before), after=type_of(after), span=span_of(node)
        )
    )


# -- mutation --------------------------------------------------------------------------------------

# Regions that change what the operators inside compute.
_REGIONS = frozenset({"wrap_with_autocast"})


def functional(program: ExportedProgram) -> ExportedProgram:
    """The program, without writes that `Writes` does not cover.

    Returns:
        The same program if all its writes are covered; else what torch's functionalization makes
        of it, with the new values of buffers and inputs as further results.

    Raises:
        ExportError: a buffer is replaced by a tensor that does not fit into it (OW856).
    """
    check_replaced_buffers(program)
    root = program.graph_module
    inner = [m for m in root.modules() if isinstance(m, GraphModule) and m is not root]
    if any(_changes(node) for m in (root, *inner) for node in m.graph.nodes):
        return _resolved(program)
    if covered(root.graph) and all(covered(m.graph, local=True) for m in inner):
        return program
    return _resolved(program)


def _resolved(program: ExportedProgram) -> ExportedProgram:
    """What torch's functionalization makes of a program."""
    try:
        with TORCH_LOCK, warnings.catch_warnings(), forward_ad_unwound():
            # Torch copies its tree specs by what it deprecates itself.
            warnings.filterwarnings("ignore", ".*LeafSpec", FutureWarning)
            with _results_flat(_with_selects(program)) as flat:
                resolved: ExportedProgram = flat.run_decompositions({})
    except Exception as error:  # noqa: BLE001 - torch raises many kinds
        try:
            fail(
                messages.CaptureFailed(
                    hint=_OF_WRITES if (vmapped := _vmapped_in_part(program)) is None else _OF_VMAP,
                    notes=(f"run_decompositions: {str(error).splitlines()[0]}",),
                    span=user_span() if vmapped is None else span_of(vmapped),
                )
            )
        except ExportError as failure:
            raise failure from error
    signature = resolved.module_call_graph[0].signature if resolved.module_call_graph else None
    if signature is not None:
        signature.out_spec = program.module_call_graph[0].signature.out_spec
    return resolved


_OF_WRITES = (
    "PyTorch cannot say what a tensor is after a write into a view of it: write to a copy, or use "
    "the operator without a trailing underscore"
)
_OF_VMAP = (
    "`torch.vmap` cannot be captured on one side of a decision, or in a loop: call it before, and "
    "choose its result there"
)


def _vmapped_in_part(program: ExportedProgram) -> Node | None:
    """A call that torch.vmap made in a side or a loop of a program."""
    parts = [m for m in program.graph_module.modules() if isinstance(m, GraphModule)][1:]
    nodes = (node for part in parts for node in part.graph.nodes)
    return next((n for n in nodes if _is_of_functorch(n)), None)


@contextmanager
def _results_flat(program: ExportedProgram) -> Iterator[ExportedProgram]:
    """In this context, the results of a program are a tuple.

    Torch makes the user's containers while it runs the program once more, and what computes in that
    (the caches of transformers do) would be part of it, with constants that it does not know.
    """
    signature = program.module_call_graph[0].signature if program.module_call_graph else None
    if signature is None or signature.out_spec is None:
        yield program
        return
    own = signature.out_spec
    signature.out_spec = pytree.tree_structure((0,) * own.num_leaves)
    try:
        yield program
    finally:
        signature.out_spec = own


def _with_selects(program: ExportedProgram) -> ExportedProgram:
    """The program with `select` for each result of `unbind` that is used.

    Torch writes through `unbind` with sizes as plain numbers, and dynamic ones would be lost.
    """
    unbind = torch.ops.aten.unbind.int
    if not any(node.target is unbind for node in program.graph.nodes):
        return program
    graph = Graph()
    renamed: dict[Node, Node] = {}
    graph.graph_copy(program.graph, renamed)  # all but the output
    for old in program.graph.nodes:
        if old.op == "output":
            graph.output(torch.fx.node.map_arg(old.args[0], lambda n: renamed[n]))
    for node in list(graph.nodes):
        if node.target is not unbind:
            continue
        dim = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim", 0)
        for item in list(node.users):
            with graph.inserting_before(item):
                place = (node.args[0], dim, item.args[1])
                chosen = graph.call_function(torch.ops.aten.select.int, place)
            chosen.meta = dict(item.meta)
            item.replace_all_uses_with(chosen)
            graph.erase_node(item)
        graph.erase_node(node)
    graph_module = GraphModule(program.graph_module, graph)
    graph_module.meta = dict(program.graph_module.meta)
    updated: ExportedProgram = program._update(graph_module, program.graph_signature)
    return updated


def _changes(node: Node) -> bool:
    """Whether a node needs torch's functionalization in any case."""
    if node.op != "call_function":
        return False
    if isinstance(node.target, HigherOrderOperator):
        return node.target.name() in _REGIONS
    module = str(getattr(node.target, "__module__", ""))
    if _is_of_functorch(node) or module.startswith("torch.amp"):
        return True  # torch.vmap, autocast: nodes about the state of torch, not about values
    return bool(updated_statistics(node))


def _is_of_functorch(node: Node) -> bool:
    return str(getattr(node.target, "__module__", "")).startswith("torch._functorch")


class Writes:
    """The values of the nodes of one graph, where some write into others.

    Args:
        call: makes the value of a node from the values of its arguments.
    """

    def __init__(self, op: Any, graph: Graph, call: Callable[[Node], Any]) -> None:
        self.op = op
        self.call = call
        self.parents = parents_of(graph)
        self.env: dict[Node, Any] = {}
        self.written: dict[Node, Any] = {}  # roots with a new value
        self._versions: dict[Node, int] = {}
        self._seen: dict[Node, int] = {}

    def __getitem__(self, node: Node) -> Any:
        root = self._root(node)
        if self._seen.get(node, 0) != self._versions.get(root, 0):
            if node in self.parents:
                parent = self.parents[node]
                self[parent]
                self.env[node] = self._view(node, parent)
            self._seen[node] = self._versions.get(root, 0)
        return self.env[node]

    def __setitem__(self, node: Node, value: Any) -> None:
        """The value of a node when it is reached."""
        target = written_by(node)
        if target is not None:
            value = self._like(value, self[target])
            self._write(target, value)
        self.env[node] = value
        self._seen[node] = self._versions.get(self._root(node), 0)

    def pop(self, node: Node, default: Any = None) -> Any:
        """Values stay: a later write may need them."""
        return default

    def _root(self, node: Node) -> Node:
        while node in self.parents:
            node = self.parents[node]
        return node

    def _view(self, node: Node, parent: Node) -> Any:
        if is_write(node) or is_same(node, parent):
            return self.env[parent]
        return self.call(node)

    def _like(self, value: Any, old: Any) -> Any:
        """A result in the type of the tensor it is written to, expanded to its shape."""
        if isinstance(value, Complex) or isinstance(old, Complex):
            return value
        if not (hasattr(value, "kind") and hasattr(old, "kind")):
            return value  # an operator without a function; all of them are reported at the end
        if value.onnx_dtype is not old.onnx_dtype:
            value = self.op.Cast(value, to=old.onnx_dtype)
        if value.shape != old.shape:
            value = find("aten::expand")(self.op, value, sizes(self.op, old))
        return value

    def _write(self, node: Node, value: Any) -> None:
        """Give a tensor, and all it is a view of, new values."""
        chain = [node]
        while chain[-1] in self.parents:
            chain.append(self.parents[chain[-1]])
        root = chain[-1]
        for one in reversed(chain):
            self[one]
        version = self._versions[root] = self._versions.get(root, 0) + 1
        for child, parent in itertools.pairwise(chain):
            self.env[child], self._seen[child] = value, version
            value = self._inverse(child, self.env[parent], value)
        self.env[root], self._seen[root] = value, version
        self.written[root] = value

    def _inverse(self, child: Node, parent: Any, value: Any) -> Any:
        """What a viewed tensor becomes when its view gets a value."""
        op, name = self.op, target_name(child.target)
        for one in (value, parent):
            if not isinstance(one, (Complex, list, tuple)) and not hasattr(one, "kind"):
                return one  # an operator without a function; all of them are reported at the end
        args = [self._plain(a) for a in child.args[1:]]
        if is_write(child) or is_same(child, self.parents[child]):
            return value
        if name in RESHAPES:
            return find("aten::view")(op, value, sizes(op, parent))
        if name == "aten::t":
            return find(name)(op, value)
        if name == "aten::transpose.int":
            return find(name)(op, value, *args)
        if name == "aten::permute":
            order = [d % len(args[0]) for d in args[0]]
            return find(name)(op, value, [order.index(n) for n in range(len(order))])
        if name == "_operator::getitem":
            return [value if n == args[0] else v for n, v in enumerate(parent)]
        if name == "aten::unbind.int":
            return find("aten::stack")(op, value, *args)
        if name in LISTS:
            dim = args[1] if len(args) > 1 else child.kwargs.get("dim", 0)
            return find("aten::cat")(op, value, dim)
        scatter = {
            "aten::select.int": "aten::select_scatter",
            "aten::slice.Tensor": "aten::slice_scatter",
            "aten::diagonal": "aten::diagonal_scatter",
        }[name]
        kwargs = {k: self._plain(v) for k, v in child.kwargs.items()}
        return find(scatter)(op, parent, value, *args, **kwargs)

    def _plain(self, x: Any) -> Any:
        if isinstance(x, Node):
            return self[x]
        if isinstance(x, (list, tuple)):
            return [self._plain(v) for v in x]
        return x
