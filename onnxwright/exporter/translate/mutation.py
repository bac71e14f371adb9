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
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, GraphModule, Node
from torch.fx.experimental.symbolic_shapes import statically_known_true

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.helpers.sizes import sizes
from onnxwright.atenlib.load import find
from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.errors import ExportError
from onnxwright.exporter.capture.assumptions.specialization import forward_ad_unwound
from onnxwright.exporter.places import target_name
from onnxwright.exporter.torch_internals import HigherOrderOperator, pytree
from onnxwright.exporter.torch_lock import TORCH_LOCK
from onnxwright.exporter.translate.buffer_shapes import check_replaced_buffers

# Regions that change what the operators inside compute.
_REGIONS = frozenset({"wrap_with_autocast"})
# Writes without a schema that says so: in training, statistics are updated in place.
_STATISTICS = {"aten::batch_norm": (3, 5), "aten::instance_norm": (3, 5)}
_RESHAPES = frozenset(
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
_LISTS = frozenset(
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
_COVERED = _RESHAPES | _LISTS | _OTHERS


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
    if _covered(root.graph) and all(_covered(m.graph, local=True) for m in inner):
        return program
    return _resolved(program)


def _resolved(program: ExportedProgram) -> ExportedProgram:
    """What torch's functionalization makes of a program."""
    try:
        with TORCH_LOCK, warnings.catch_warnings(), forward_ad_unwound():
            # Torch copies its tree specs by what it deprecates itself.
            warnings.filterwarnings("ignore", ".*LeafSpec", FutureWarning)
            with _results_flat(_with_selects(program)) as flat:
                found: ExportedProgram = flat.run_decompositions({})
    except Exception as error:  # noqa: BLE001 - torch raises many kinds
        try:
            fail(
                messages.CaptureFailed(
                    hint="PyTorch cannot say what a tensor is after a write into a view of it: "
                    "write to a copy, or use the operator without a trailing underscore",
                    notes=(f"run_decompositions: {str(error).splitlines()[0]}",),
                    span=user_span(),
                )
            )
        except ExportError as failure:
            raise failure from error
    made = found.module_call_graph[0].signature if found.module_call_graph else None
    if made is not None:
        made.out_spec = program.module_call_graph[0].signature.out_spec
    return found


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
    made = GraphModule(program.graph_module, graph)
    made.meta = dict(program.graph_module.meta)
    updated: ExportedProgram = program._update(made, program.graph_signature)
    return updated


def _changes(node: Node) -> bool:
    """Whether a node needs torch's functionalization in any case."""
    if node.op != "call_function":
        return False
    if isinstance(node.target, HigherOrderOperator):
        return node.target.name() in _REGIONS
    module = str(getattr(node.target, "__module__", ""))
    if module.startswith(("torch._functorch", "torch.amp")):
        return True  # torch.vmap, autocast: nodes about the state of torch, not about values
    places = _STATISTICS.get(target_name(node.target))
    if places is None:
        return False
    running, training = (_argument(node, n) for n in places)
    return running is not None and bool(training)


def _argument(node: Node, place: int) -> Any:
    schema = node.target._schema
    if place < len(node.args):
        return node.args[place]
    return node.kwargs.get(schema.arguments[place].name)


def written_by(node: Node) -> Node | None:
    """The tensor that a node writes into; None for a node that does not."""
    if not _writes(node):
        return None
    first = node.args[0] if node.args else None
    return first if isinstance(first, Node) else None


def _writes(node: Node) -> bool:
    """Whether a node's schema says that it writes into an argument."""
    if node.op != "call_function":
        return False
    schema = getattr(node.target, "_schema", None)
    if schema is None or not schema.is_mutable:
        return False
    return not str(schema.name).startswith("aten::_assert") and schema.name != "aten::detach_"


def _covered(graph: Graph, *, local: bool = False) -> bool:
    """Whether all writes of a graph are into first arguments, through views with an inverse.

    Args:
        local: whether they have to be into tensors made within the graph.
    """
    parents = parents_of(graph)
    roots = _roots_by_memory(graph, parents)
    for node in graph.nodes:
        if not _writes(node):
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
            if name not in _COVERED and not _writes(child) and not _is_same(child, parent):
                return False
            child = parent
        if child is None or _has_hidden_views(child, roots):
            return False
        if local and child.op != "call_function":
            return False
    return True


def _roots_by_memory(graph: Graph, parents: dict[Node, Node]) -> dict[int, list[Node]]:
    """Values that are not views of a known value, by their memory; found once for a graph."""
    found: dict[int, list[Node]] = {}
    for node in graph.nodes:
        if node in parents or node.op == "output":
            continue
        memory = _memory(node)
        if memory is not None:
            found.setdefault(memory, []).append(node)
    return found


def _has_hidden_views(root: Node, roots: dict[int, list[Node]]) -> bool:
    """Whether something else shares the memory of a tensor, in a way that is not known."""
    memory = _memory(root)
    return memory is None or any(node is not root for node in roots.get(memory, ()))


def _is_same(view: Node, parent: Node) -> bool:
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
    return all(statically_known_true(a == b) for a, b in pairs)


def parents_of(graph: Graph) -> dict[Node, Node]:
    """View -> viewed, for each node that is a view."""
    parents: dict[Node, Node] = {}
    for node in graph.nodes:
        if node.op != "call_function" or not node.args or not isinstance(node.args[0], Node):
            continue
        parent = node.args[0]
        if _writes(node):
            parents[node] = parent
            continue
        name = target_name(node.target)
        if name == "_operator::getitem":
            if target_name(parent.target) in _LISTS and parent in parents:
                parents[node] = parent
            continue
        if name in _LISTS:
            parents[node] = parent
            continue
        memory = _memory(node)
        if memory is not None and memory == _memory(parent):
            parents[node] = parent
    return parents


def _memory(node: Node) -> int | None:
    """What two fake tensors have in common if they share memory."""
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        return None
    try:
        return int(value.untyped_storage()._cdata)
    except NotImplementedError:  # a value within torch.vmap has no memory of its own
        return None


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
        if _writes(node) or _is_same(node, parent):
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
        if _writes(child) or _is_same(child, self.parents[child]):
            return value
        if name in _RESHAPES:
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
        if name in _LISTS:
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
