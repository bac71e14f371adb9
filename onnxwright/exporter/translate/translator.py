"""FX graph to ONNX graph: each node becomes a call of a function of the library.

A `Translator` walks a graph once.  Values of FX nodes are values of the tracing backend, `Complex`
pairs, Python numbers, or lists of these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

from onnxwright.atenlib.complexes import Complex, unpack
from onnxwright.atenlib.widen import AtenOps, AtenTracingBackend
from onnxwright.errors import ExportError
from onnxwright.exporter.capture.graphs.writes import written_by
from onnxwright.exporter.dimensions import Dimensions
from onnxwright.exporter.places import functional_name, operator_text, span_of, target_name
from onnxwright.exporter.report.export_report import TARGETS, Report
from onnxwright.exporter.torch_internals import OpOverload, pytree
from onnxwright.exporter.torch_types import dtype_of, onnx_tensor
from onnxwright.exporter.translate import errors
from onnxwright.exporter.translate.higher_order import HANDLERS
from onnxwright.exporter.translate.lowerings import (
    DECOMPOSED,
    EXPORTER,
    FALLBACK,
    OWN,
    Found,
    Lowerings,
    decompose,
)
from onnxwright.exporter.translate.mutation import Writes
from onnxwright.exporter.translate.node_facts import note_of, only_checked
from onnxwright.exporter.translate.results import MISSING, lacks, missing_like, sizes_fit
from onnxwright.exporter.translate.unwrapping import takes_wrapped, unwrapped
from onnxwright.exporter.weights.wrappers import Wrapped, inner_tensors, is_wrapper
from onnxwright.ir import adapters
from onnxwright.ir.builder import Recorder
from onnxwright.opset.opsets import Opset
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.literals import as_value
from onnxwright.tracing.backend import TracingBackend
from onnxwright.types.kinds import TensorType
from onnxwright.types.promotion import real_of
from onnxwright.versions.one_call import converted_call

# Targets that hand their first argument on.
_ALIASES = frozenset(
    {
        "aten::alias",
        "aten::detach",
        "aten::detach_",
        "aten::lift_fresh",
        "aten::lift_fresh_copy",
        "aten::lift",
        "aten::resolve_conj",
        "aten::resolve_neg",
        "aten::contiguous",
    }
)

# Gives a tensor of which another is made.
_INNER = "export::access_subclass_inner_tensor"
# Normalizations in half precision whose statistics have another type in torch's functions for fake
# tensors than in its kernels; ours is that of the kernels.
_STATISTICS = frozenset(
    {
        "aten::native_batch_norm",
        "aten::_native_batch_norm_legit",
        "aten::_native_batch_norm_legit.no_stats",
        "aten::_native_batch_norm_legit_no_training",
        "aten::_native_batch_norm_legit_functional",
        "aten::_batch_norm_with_update",
        "aten::_batch_norm_with_update_functional",
        "aten::_batch_norm_no_update",
    }
)


class Translator:
    """Builds one ONNX graph from FX graphs.

    Args:
        opset_version: the version of the standard opset.
        lowerings: the functions to use.
        dimensions: the names of dynamic sizes.
        strict: make a result of another type or shape than torch's an error.
        watch: called with each FX node and what it became; for metadata and reports.
        report: the report to write failing nodes and ways of translation to.
        target: "onnxruntime-cpu": compute in a wider type where that runtime has no kernel; "any".
    """

    def __init__(
        self,
        opset_version: int,
        lowerings: Lowerings,
        dimensions: Dimensions,
        *,
        strict: bool = False,
        watch: Callable[[Node, Any, int], None] | None = None,
        report: Report | None = None,
        target: str = TARGETS[0],
    ) -> None:
        self.recorder = Recorder()
        self.report = report if report is not None else Report()
        self.report.dimensions = dimensions
        backend = AtenTracingBackend if target == TARGETS[0] else TracingBackend
        self.backend = backend(self.recorder, Opset("", opset_version), converted_call)
        self.op = AtenOps(self.backend)
        self.lowerings = lowerings
        self.dimensions = dimensions
        self.strict = strict
        self.watch = watch
        self.missing: dict[str, list[Node]] = {}
        # What the decompositions of missing operators need and lack.
        self.unresolved: dict[str, set[str]] = {}
        # Placeholders that the graph translated last has written into, with their new values.
        self.written: dict[Node, Any] = {}
        self._named: set[Any] = set()

    # -- values ------------------------------------------------------------------------------------

    def input(self, name: str, fake: Any) -> Any:
        """A graph input for a fake tensor or a symbolic number.

        Args:
            name: its name.
            fake: what torch knows of it.

        Returns:
            The value; a complex tensor is an input `[..., 2]` and a `Complex`.
        """
        if isinstance(fake, (torch.SymInt, int)):
            value = self.backend.input(name, TensorType(dtype_of(torch.int64), ()))
            return self.backend.as_weak(value, "int")
        if isinstance(fake, (torch.SymFloat, float)):
            value = self.backend.input(name, TensorType(dtype_of(torch.float32), ()))
            return self.backend.as_weak(value, "float")
        if isinstance(fake, (torch.SymBool, bool)):
            return self.backend.input(name, TensorType(dtype_of(torch.bool), ()))
        dtype = dtype_of(fake.dtype)
        shape = self.dimensions.shape(fake.shape)
        if dtype.is_complex:
            kind = TensorType(real_of(dtype), (*shape, 2))
            return unpack(self.op, self.backend.input(name, kind))
        return self.backend.input(name, TensorType(dtype, shape))

    def weight(self, name: str, tensor: torch.Tensor, *, fixed: bool = False) -> Any:
        """An initializer that holds a tensor, not copied.

        Args:
            name: its name.
            tensor: the tensor.
            fixed: whether its numbers are part of the program: such may be folded and shared.

        Returns:
            The value; a `Complex` for a complex tensor, a `Wrapped` for one made of others.
        """
        if is_wrapper(tensor):
            parts = inner_tensors(name, tensor)
            return Wrapped({p.attr: self.weight(p.name, p.tensor, fixed=fixed) for p in parts})
        pair = tensor.is_complex()
        if pair:
            tensor = torch.view_as_real(tensor.resolve_conj())
        held = onnx_tensor(tensor, name)
        if fixed:
            value = self.backend.initializer(held, name)
        else:
            value = self.backend.value_of(self.backend.pool.weight(held, name))
        return unpack(self.op, value) if pair else value

    def strong(self, value: Any) -> Any:
        """A value or number as a tensor value."""
        return self.backend.as_weak(as_value(self.backend, value), None)

    # -- graphs ------------------------------------------------------------------------------------

    def run(self, module: GraphModule, arguments: Sequence[Any]) -> list[Any]:
        """Translate a graph whose placeholders have values.

        Args:
            module: the graph, with its submodules as attributes.
            arguments: a value for each placeholder.

        Returns:
            What its output node holds, as a list.
        """
        env: Any = {}
        if any(written_by(node) is not None for node in module.graph.nodes):
            env = Writes(self.op, module.graph, lambda node: self._call(node, env))
        remaining_arguments = iter(arguments)
        last_use = _last_uses(module.graph)
        checked = only_checked(module.graph)
        for node in module.graph.nodes:
            if node.op == "placeholder":
                env[node] = next(remaining_arguments)
            elif node in checked:
                continue
            elif node.op == "get_attr":
                env[node] = self._attribute(module, node)
            elif node.op == "call_function":
                env[node] = self._call(node, env)
            elif node.op == "output":
                self.written = dict(env.written) if isinstance(env, Writes) else {}
                result = self.convert(node.args[0], env)
                return list(result) if isinstance(result, (tuple, list)) else [result]
            for dead in last_use.get(node, ()):
                env.pop(dead, None)
        raise AssertionError("a graph without an output")

    def _attribute(self, module: GraphModule, node: Node) -> Any:
        attribute: Any = module
        for part in str(node.target).split("."):
            attribute = getattr(attribute, part)
        if isinstance(attribute, torch.Tensor):
            return self.weight(str(node.target), attribute.detach(), fixed=True)
        return attribute

    def convert(self, x: Any, env: dict[Node, Any]) -> Any:
        """An FX argument as functions take it."""
        if isinstance(x, Node):
            return env[x]
        if isinstance(x, (list, tuple)):
            return [self.convert(v, env) for v in x]
        if isinstance(x, dict):
            return {k: self.convert(v, env) for k, v in x.items()}
        if isinstance(x, torch.dtype):
            return dtype_of(x)
        if isinstance(x, (torch.device, torch.layout, torch.memory_format)):
            return str(x)
        if isinstance(x, torch.Tensor):
            return self.weight("constant", x.detach(), fixed=True)
        return x

    def _call(self, node: Node, env: dict[Node, Any]) -> Any:
        name = target_name(node.target)
        args = [self.convert(a, env) for a in node.args]
        if node.target is torch.sym_sum and len(args) > 1:
            args = [args]  # torch takes the numbers one by one as well
        kwargs = {k: self.convert(v, env) for k, v in node.kwargs.items()}
        if name == "_operator::getitem" and isinstance(args[0], (list, tuple)):
            return args[0][args[1]]
        if name != _INNER and takes_wrapped(args, kwargs):
            return unwrapped(self, node, args, kwargs)
        if self.missing and lacks((args, kwargs)):
            if self._lowering_of(name) is None and self._decomposition(node) is None:
                self.missing.setdefault(name, []).append(node)
            return missing_like(node)
        before = len(self.recorder.scope.nodes)
        lowering = self._lowering_of(name)
        try:
            with self.backend.at(span_of(node)):
                result = self._lower(node, lowering, args, kwargs)
        except ExportError:
            raise
        except Exception as error:  # noqa: BLE001 - a function may raise anything
            errors.raise_lowering_failed(node, name, error, lowering, self.report)
        if result is MISSING:
            return self.lacking(node, name)
        if isinstance(result, (list, tuple)) and len(result) == 1:
            if isinstance(node.meta.get("val"), torch.Tensor):
                result = result[0]
        if lowering is not None:
            self._note(node, name, lowering, result)
        result = self._settle(node, name, result, lowering)
        if self.watch is not None:
            self.watch(node, result, before)
        return result

    def lacking(self, node: Node, name: str) -> Any:
        """Note an operator without a function.

        Args:
            node: the node that needs it.
            name: its full name.

        Returns:
            Placeholders for the results of the node, so that all such operators are found.
        """
        self.missing.setdefault(name, []).append(node)
        return missing_like(node)

    def _lowering_of(self, name: str) -> Found | None:
        """The function for an operator, and where it is from."""
        handler = HANDLERS.get(name)
        if handler is not None and name not in self.lowerings.custom:
            return Found(handler, EXPORTER)
        if name in _ALIASES and name not in self.lowerings.custom:
            return Found(_first, EXPORTER)
        return self.lowerings.find(name) or self.lowerings.find(functional_name(name))

    def _lower(
        self, node: Node, lowering: Found | None, args: list[Any], kwargs: dict[str, Any]
    ) -> Any:
        if lowering is None:
            return self._decomposed(node, args, kwargs)
        if lowering.way == EXPORTER:
            return lowering.function(self, node, args, kwargs)
        return lowering.function(self.op, *args, **kwargs)

    def _note(self, node: Node, name: str, lowering: Found, result: Any) -> None:
        """Note how a node was translated, and check what a function of the user's gives."""
        self.report.ways[operator_text(node.target)] = lowering.way
        if lowering.way not in OWN:
            return
        if lowering.way == FALLBACK:
            self.report.fallbacks[name] = self.report.fallbacks.get(name, 0) + 1
            self.report.fallen.append(note_of(node, names=self.dimensions))
        reason = errors.wrong_kind(node, result)
        if reason:
            errors.raise_wrong_kind(node, name, reason, lowering, self.report)

    def _decomposed(self, node: Node, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """The result by torch's decomposition of this one operator; MISSING without one."""
        decomposition = self._decomposition(node)
        if decomposition is None:
            return MISSING
        inner, fakes = decomposition
        self.report.ways[operator_text(node.target)] = DECOMPOSED
        return self.inlined(node, inner, fakes, (args, kwargs))

    @staticmethod
    def _decomposition(node: Node) -> tuple[GraphModule, Any] | None:
        """Torch's decomposition of a node, and the arguments as torch knows them."""
        if not isinstance(node.target, OpOverload):
            return None
        fakes = torch.fx.node.map_arg((node.args, node.kwargs), lambda n: n.meta.get("val"))
        inner = decompose(node.target, *fakes)
        return None if inner is None else (inner, fakes)

    def inlined(self, node: Node, inner: GraphModule, fakes: Any, arguments: Any) -> Any:
        """The results of a graph that represents one node.

        Args:
            node: the node.
            inner: the graph, over the flat tensors and sizes among the node's arguments.
            fakes: args and kwargs of the node as torch knows them.
            arguments: args and kwargs of the node as values.

        Returns:
            The results; MISSING where an operator of the graph has no ONNX.
        """
        flat_fakes = pytree.tree_leaves(fakes)
        leaves = pytree.tree_leaves(arguments, is_leaf=_is_whole)
        values = [
            value
            for fake, value in zip(flat_fakes, leaves, strict=True)
            if isinstance(fake, (torch.Tensor, torch.SymInt))
        ]
        for other in inner.graph.nodes:
            other.meta.setdefault("stack_trace", node.meta.get("stack_trace"))
            if "nn_module_stack" in node.meta:
                other.meta.setdefault("nn_module_stack", node.meta["nn_module_stack"])
        before = dict(self.missing)
        self.missing.clear()
        results = self.run(inner, values)
        lacking, self.missing = self.missing, before
        if lacking:
            self.unresolved.setdefault(target_name(node.target), set()).update(lacking)
            return MISSING
        return results if isinstance(node.meta.get("val"), (tuple, list)) else results[0]

    # -- types -------------------------------------------------------------------------------------

    def _settle(self, node: Node, name: str, result: Any, lowering: Found | None) -> Any:
        """Give results the names of the FX node, and the sizes that torch knows."""
        fake = node.meta.get("val")
        if isinstance(result, (list, tuple)):
            if isinstance(fake, (list, tuple)) and len(fake) == len(result):
                for n, (one, fake_part) in enumerate(zip(result, fake, strict=True)):
                    self._refine(node, name, one, fake_part, f"{node.name}_{n}", lowering)
            return result
        self._refine(node, name, result, fake, node.name, lowering)
        return result

    def _refine(
        self, node: Node, name: str, value: Any, fake: Any, hint: str, lowering: Found | None
    ) -> None:
        if isinstance(value, Complex):
            return
        if not isinstance(fake, torch.Tensor) or not isinstance(value, GraphValue):
            return
        dtype = dtype_of(fake.dtype)
        shape = self.dimensions.shape(fake.shape)
        if value.dtype is None:
            # An operator that onnx does not know: torch says what it gives.
            value.kind = TensorType(real_of(dtype), value.shape)
            self.recorder.set_type(value.value, value.kind)
        self._compare(node, name, value, TensorType(dtype, shape), lowering)
        self._sizes(value, shape)
        if value.value.producer() is not None and value.value not in self._named:
            self._named.add(value.value)
            self.recorder.rename(value.value, hint)

    def _sizes(self, value: Any, shape: Any) -> None:
        """Let a value know the sizes that torch knows of it."""
        current_shape = value.shape
        if current_shape is None:
            current_shape = (None,) * len(shape)
        merged = tuple(
            a if isinstance(a, int) or b is None else b for a, b in zip(current_shape, shape)
        )
        if merged != value.shape or value.value.type is None:
            value.kind = TensorType(value.dtype, merged)
            self.recorder.set_type(value.value, value.kind)
            adapters.set_type(value.value, value.kind)

    def _compare(
        self, node: Node, name: str, value: Any, expected: TensorType, lowering: Found | None
    ) -> None:
        """Hold a result to what torch says; sizes only where the function is not the library's.

        A few of torch's own functions for fake tensors are wrong about sizes.
        """
        got = value.kind
        fits = got.dtype in (expected.dtype, None) or name in _STATISTICS
        if fits and sizes_fit(got.shape, expected.shape):
            return
        own = lowering is not None and lowering.way in OWN
        if fits and not (self.strict or own):
            self.report.warnings.append(f"`{node.name}` ({name}) is {got}, PyTorch says {expected}")
            return
        errors.raise_wrong_result(node, name, str(got), str(expected), lowering, self.report)


def _first(t: Translator, node: Node, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The first argument: what an operator that only names a tensor gives."""
    return args[0]


def _is_whole(x: Any) -> bool:
    return isinstance(x, Complex)


def _last_uses(graph: torch.fx.Graph) -> dict[Node, list[Node]]:
    """For each node, those whose value nobody needs after it."""
    last: dict[Node, Node] = {}
    for node in graph.nodes:
        for used in node.all_input_nodes:
            last[used] = node
    freed: dict[Node, list[Node]] = {}
    for used, by in last.items():
        freed.setdefault(by, []).append(used)
    return freed
