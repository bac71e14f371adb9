"""A model converted one opset version at a time; what cannot be converted is collected.

Nodes that mean the same stay as they are.  The others are replaced in place by what their adapter
builds, so that everything else of the model (names, weights, metadata) is not touched.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeAlias

import onnx_ir as ir

from onnxwright.diagnostics.catalogue import versions as messages
from onnxwright.errors import OnnxwrightError
from onnxwright.ir.builder import ORIGIN
from onnxwright.ir.names import Namer
from onnxwright.ir.nested import all_nodes
from onnxwright.operators.contrib import is_of_runtime
from onnxwright.operators.versions import means_the_same
from onnxwright.opset import registry
from onnxwright.opset.opsets import Opset
from onnxwright.opset.registry import OpSignature
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.ops import Ops
from onnxwright.tracing.graph_backend import ConvertCall
from onnxwright.types.kinds import TensorType
from onnxwright.versions.call import BY_BODY, DOWN, KEEP, UP, Adapter, Call, Refused
from onnxwright.versions.fits import (
    cast_inputs,
    cast_outputs,
    check_outputs,
    check_parts,
    fitting_types,
)
from onnxwright.versions.function_bodies import expand, has_body
from onnxwright.versions.snippet import Snippet, initializers_for_constants, reserved_names
from onnxwright.versions.value_types import ValueTypes, attribute_values, constant_of

Holder: TypeAlias = "ir.Graph | ir.Function"
# For models that import no version of the default domain, and need its operators.
_WITHOUT_DEFAULT = 13
# Before, Constant has floating-point types alone.
_CONSTANTS_OF_ANY_TYPE = 9
_UNKNOWN = "write it with operators of that version, or as a function of the model"
_INVALID = "repair the model: let it import the version that its operators are written for"


class Conversion:
    """The conversion of one model, in place.

    Args:
        model: the model; it is changed.
        domain: the domain whose version changes.
        target: the version to convert to.
        convert_call: converts a call of an adapter that is in another version, as `one_call` does.
        assume: what holds of every run.

    Attributes:
        problems: what cannot be converted; where there is anything, the model is of no use.
        converted: how many nodes were replaced.
    """

    def __init__(
        self,
        model: ir.Model,
        domain: str,
        target: int,
        convert_call: ConvertCall,
        assume: Collection[str] = (),
    ) -> None:
        self.model = model
        self.domain = domain
        self.target = target
        self.assume = assume
        self._convert_call = convert_call
        self.problems: list[messages.NodeNotConvertible] = []
        self.unknown: set[ir.Function] = set()
        self.converted = 0
        self._names: Namer | None = None
        self._types: ValueTypes | None = None
        self._refused: set[ir.Node] = set()
        self._where = ""
        self._source = 0
        self._imports: dict[str, int] = model.graph.opset_imports

    def run(self) -> None:
        """Convert the main graph and every function."""
        imports = self.model.graph.opset_imports
        if any(self.domain in f.opset_imports for f in self.model.functions.values()):
            imports.setdefault(self.domain, self.target)  # runtimes inline functions
        self._unit(self.model.graph, "")
        for function in self.model.functions.values():
            self._unit(function, f"function `{function.name}`")

    def _unit(self, unit: Holder, where: str) -> None:
        version = unit.opset_imports.get(self.domain)
        if version is None:
            return
        self._where, self._source = where, version
        self._imports = unit.opset_imports
        self._function = unit if isinstance(unit, ir.Function) else None
        self._refuse_unknown(unit, version)
        self._replace_deprecated(unit, version)
        step = 1 if self.target > version else -1
        while version != self.target:
            changing = self._changes(version, version + step)
            if changing:
                for node in list(all_nodes(unit)):
                    if node.op_type in changing and node.domain == self.domain:
                        self._node(node, version, version + step)
            version += step
        unit.opset_imports[self.domain] = self.target
        self._check_result(unit)
        if not self.domain and self.target < _CONSTANTS_OF_ANY_TYPE and isinstance(unit, ir.Graph):
            initializers_for_constants(unit, self.target)

    def _refuse_unknown(self, unit: Holder, version: int) -> None:
        """Refuse operators that the imported version does not have: what they mean is not known."""
        for node in self._own_nodes(unit):
            if registry.signature(
                self.domain, node.op_type, version
            ) is None and not self._is_of_runtime(node, version):
                reason = f"version {version} of its opset has no such operator"
                self._refuse(node, Refused(reason, _INVALID))

    def _replace_deprecated(self, unit: Holder, version: int) -> None:
        """Replace operators that the imported version deprecates by what took their place."""
        for node in self._own_nodes(unit):
            signature = registry.signature(self.domain, node.op_type, version)
            if signature is None or not signature.deprecated:
                continue
            since = signature.since_version
            before = registry.signature(self.domain, node.op_type, since - 1)
            if before is None or (self.domain, node.op_type, since) not in UP:
                continue  # written out where it is left in the result
            there = set(all_nodes(unit))
            self._guarded(node, self._upgrade, before, signature, since)
            for step in range(since, version):
                changing = self._changes(step, step + 1)
                for new in list(all_nodes(unit)):
                    if new not in there and new.op_type in changing and new.domain == self.domain:
                        self._node(new, step, step + 1)

    def _check_result(self, unit: Holder) -> None:
        """Every node that is left must be in the target version, and not deprecated there.

        A deprecated operator that ONNX gives a body for is written out.
        """
        for node in self._own_nodes(unit):
            if node in self._refused:
                continue
            signature = registry.signature(self.domain, node.op_type, self.target)
            if signature is None:
                if not self._is_of_runtime(node, self.target):
                    reason = f"version {self.target} of its opset has no such operator"
                    self._refuse(node, Refused(reason, _UNKNOWN))
            elif signature.deprecated:
                self._guarded(node, self._expand, signature, self.target, self.target)
            elif self._is_constant_without_type(node, unit):
                reason = f"version {self.target} has constants of floating-point types alone"
                self._refuse(node, Refused(reason, "inline the function"))

    def _is_constant_without_type(self, node: ir.Node, unit: Holder) -> bool:
        """Whether a Constant of a function, which has no initializers, is of a newer type."""
        if self.domain or node.op_type != "Constant" or not isinstance(unit, ir.Function):
            return False
        value = node.attributes.get("value")
        return (
            self.target < _CONSTANTS_OF_ANY_TYPE
            and value is not None
            and value.type == ir.AttributeType.TENSOR
            and not value.as_tensor().dtype.is_floating_point()
        )

    def _is_of_runtime(self, node: ir.Node, version: int) -> bool:
        """Whether ONNX Runtime has an operator that the version does not have.

        It stays as it is; the version that brings it to ONNX gives it the same meaning.
        """
        return not self.domain and is_of_runtime(node.op_type, version)

    def _own_nodes(self, unit: Holder) -> list[ir.Node]:
        """The nodes of a graph or function, in bodies too, that call operators of the domain."""
        return [
            node
            for node in all_nodes(unit)
            if node.domain == self.domain and node.op_identifier() not in self.model.functions
        ]

    def _changes(self, source: int, target: int) -> set[str]:
        return {
            n
            for n in registry.all_names(self.domain)
            if registry.signature(self.domain, n, source)
            is not registry.signature(self.domain, n, target)
        }

    # -- one node ----------------------------------------------------------------------------------

    def _node(self, node: ir.Node, source: int, target: int) -> None:
        if node in self._refused:
            return
        here = registry.signature(self.domain, node.op_type, source)
        there = registry.signature(self.domain, node.op_type, target)
        if here is None or node.op_identifier() in self.model.functions:
            return
        if target > source:
            self._guarded(node, self._upgrade, here, there, target)
        else:
            self._guarded(node, self._downgrade, here, there, source)

    def _guarded(self, node: ir.Node, step: Callable[..., None], *arguments: Any) -> None:
        """One step of a node's conversion; what it cannot do is a problem of the node."""
        try:
            step(node, *arguments)
        except Refused as refused:
            self._refuse(node, refused)
        except OnnxwrightError as error:
            first = str(error).splitlines()[0].partition(": ")[2]
            self._refuse(node, Refused(first or type(error).__name__, "check that the model runs"))

    def _upgrade(
        self, node: ir.Node, here: OpSignature, there: OpSignature | None, target: int
    ) -> None:
        adapter = UP.get((self.domain, node.op_type, target))
        if adapter is not None:
            self._adapt(node, here, adapter, target - 1, target)
        elif there is None or there.deprecated:
            raise Refused("it was removed, and nothing takes its place")
        elif not means_the_same(here, there):
            raise Refused("its meaning changed, and there is no equivalent")

    def _downgrade(
        self, node: ir.Node, here: OpSignature, there: OpSignature | None, source: int
    ) -> None:
        adapter = DOWN.get((self.domain, node.op_type, source))
        if adapter is not None:
            if self._adapt(node, here, adapter, source, source - 1):
                return
        elif there is None or there.deprecated:
            self._expand(node, here, source, source - 1)
            return
        assert there is not None
        if not self._fits(node, there):
            self._lower_parts(node, here, there, source)

    def _fits(self, node: ir.Node, there: OpSignature) -> bool:
        """Whether a node plainly fits an older schema: known types, nothing new."""
        if any(n not in there.attributes for n in node.attributes):
            return False
        if len(node.inputs) > there.max_input or len(node.outputs) > there.max_output:
            return False
        if len(node.inputs) < there.min_input:
            return False
        types = self._known_types()
        check_outputs([types.kind(v) for v in node.outputs], there)
        last = len(there.inputs) - 1
        for n, value in enumerate(node.inputs):
            kind = types.kind(value)
            param = there.inputs[min(n, last)]
            if value is None and param.option == "single":
                return False
            if value is not None and not (
                type(kind) is TensorType
                and kind.dtype is not None
                and kind.dtype.onnx_name in param.types
            ):
                return False
        return not any(
            param.required and name not in node.attributes
            for name, param in there.attributes.items()
        )

    def _lower_parts(
        self, node: ir.Node, here: OpSignature, there: OpSignature, source: int
    ) -> None:
        """An older version of the same operator: without what is at its default, with casts."""
        call, snippet = self._call(node, here, source - 1)
        try:
            attributes = check_parts(call, there)
            types = fitting_types(call, there)
            if not types and attributes == call.attributes:
                return
            op = Ops(snippet.backend, Opset(self.domain, source - 1))
            inputs = cast_inputs(op, call, there, types)
            results = cast_outputs(op, call.same(op, inputs, attributes), there, types)
        except Refused:
            if not has_body(call):
                raise
            self._expand(node, here, source, source - 1)
            return
        self._put(node, snippet, list(results), list(call.used))

    def _expand(self, node: ir.Node, here: OpSignature, source: int, target: int) -> None:
        """The function body of an operator, itself converted on."""
        call, snippet = self._call(node, here, source)
        replacement = self._put(node, snippet, expand(call), list(call.used))
        changing = self._changes(source, target)
        for new in list(all_nodes(replacement)):
            if new.op_type in changing and new.domain == self.domain:
                self._node(new, source, target)

    def _adapt(
        self, node: ir.Node, here: OpSignature, adapter: Adapter, source: int, target: int
    ) -> bool:
        """Whether an adapter replaced a node; False where it may stay as it is."""
        call, snippet = self._call(node, here, target)
        opset = Opset(self.domain, target)
        try:
            result: Any = adapter(Ops(snippet.backend, opset), call)
        except OnnxwrightError:
            there = registry.signature(self.domain, node.op_type, target)
            if there is None or target > source:
                raise
            # Perhaps for an element type that the older version does not take.
            call, snippet = self._call(node, here, target)
            op = Ops(snippet.backend, opset)
            types = fitting_types(call, there)
            if not types:
                raise
            call.inputs = cast_inputs(op, call, there, types)
            result = adapter(op, call)
            if result is not KEEP and result is not BY_BODY:
                result = cast_outputs(op, listed(result), there, types)
        if result is KEEP:
            return False
        if result is BY_BODY:
            self._expand(node, here, source, target)
            return True
        self._put(node, snippet, listed(result), list(call.used))
        return True

    def _known_types(self) -> ValueTypes:
        if self._types is None:
            self._types = ValueTypes(self.model)
        return self._types

    def _call(self, node: ir.Node, here: OpSignature, version: int) -> tuple[Call, Snippet]:
        types = self._known_types()
        if self._names is None:
            self._names = reserved_names(self.model)
        built = version if self.domain == "" else self._default()
        snippet = Snippet(self._names, types, built, self._convert_call)
        ir_version = self.model.ir_version
        call = Call(
            here,
            [snippet.outer(v) for v in node.inputs],
            attribute_values(node),
            [bool(v.uses()) or v.is_graph_output() for v in node.outputs],
            lambda n: constant_of(node.inputs[n], ir_version),
            version,
            snippet.backend,
            self.assume,
        )
        return call, snippet

    def _default(self) -> int:
        """The version of the default domain for nodes that replace those of another domain."""
        version = self._imports.get("") or self.model.graph.opset_imports.get("")
        return version or _WITHOUT_DEFAULT

    def _put(
        self,
        node: ir.Node,
        snippet: Snippet,
        results: list[GraphValue | None],
        used: list[bool],
    ) -> list[ir.Node]:
        results += [None] * (len(used) - len(results))
        used_results = [r if u else None for r, u in zip(results, used)]
        for n, (result, needed) in enumerate(zip(used_results, used)):
            if needed and result is None:
                raise Refused(f"its output {n} cannot be computed there")
        self.converted += 1
        nodes = snippet.replace(node, used_results)
        if self.domain and any(not n.domain for n in all_nodes(nodes)):
            self._imports.setdefault("", self._default())
        return nodes

    # -- problems ----------------------------------------------------------------------------------

    def _refuse(self, node: ir.Node, refused: Refused) -> None:
        self._refused.add(node)
        if node.graph is not None and not any(
            v.uses() or v.is_graph_output() for v in node.outputs
        ):
            node.graph.remove([node], safe=True)  # nothing reads what it computes
            return
        if self._function is not None:
            self.unknown.add(self._function)
        self.problems.append(
            messages.NodeNotConvertible(
                operation=node.op_type if not self.domain else f"{self.domain}.{node.op_type}",
                version=self._source,
                target=self.target,
                reason=refused.reason,
                place=place_of(node, self._where),
                advice=refused.advice,
            )
        )


def listed(result: Any) -> list[GraphValue | None]:
    """What an adapter gave, as a list."""
    return [result] if isinstance(result, GraphValue) else list(result)


def place_of(node: ir.Node, where: str = "") -> str:
    """A node as text: its name or first output, where it is, and the line that made it."""
    if node.name:
        text = f"node `{node.name}`"
    else:
        text = f"the node that computes `{next((v.name for v in node.outputs if v.name), '')}`"
    if where:
        text += f" in {where}"
    origin = node.metadata_props.get(ORIGIN)
    return f"{text} ({origin})" if origin else text
