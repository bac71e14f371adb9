"""`Replay`: nodes of another graph made again through a backend, each as a call of its operator.

What is known of the arguments flows in, so constants fold and constant conditions choose a branch.
Inlining, version conversion and the normal form that the optimizer begins with are this walk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import onnx_ir as ir

from onnxwright.errors import InternalError, OnnxwrightError
from onnxwright.ir import adapters
from onnxwright.ir.builder import ORIGIN, detach
from onnxwright.ir.nested import subgraphs
from onnxwright.ir.reading import raise_damage
from onnxwright.ir.stored import props_of
from onnxwright.ir.validation.damage import Damage, quoted
from onnxwright.operators import facts
from onnxwright.operators.op_call import UnknownError
from onnxwright.opset.op import Op
from onnxwright.opset.opsets import Opset
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.body_graphs import body_graph
from onnxwright.tracing.call_types import CallTypes
from onnxwright.tracing.carrying import Carrier, kind_of, meet
from onnxwright.tracing.graph_backend import GraphBackend
from onnxwright.tracing.node_copies import Env, copied_node
from onnxwright.tracing.unrolling import known_loop, known_scan
from onnxwright.types.kinds import OnnxType

Results = Sequence["GraphValue | None"]


class Replay:
    """Replays nodes of another graph through a backend.

    Args:
        b: the backend.
        imports: the version of each domain the nodes use.
        attributes: values of attribute parameters.
        functions: functions whose calls are replayed too (inlined).
        calls: functions whose calls stay calls.
        carrier: gives what is made the names, notes and types of what it is made from.
        references: attribute parameters without a value stay references (in function bodies).
        tolerant: a node that cannot be emitted as a checked call is copied as it is.
        verbatim: every node is copied as it is: nothing is simplified, folded or shared.
        keep_dead: nodes that are copied stay, though nothing may read them.
        seen: what is known of calls that stay calls; shared by the replays of one model.
    """

    def __init__(
        self,
        b: GraphBackend,
        imports: Mapping[str, int],
        attributes: Mapping[str, object] | None = None,
        functions: Mapping[Any, ir.Function] | None = None,
        *,
        calls: Mapping[Any, ir.Function] | None = None,
        carrier: Carrier | None = None,
        references: bool = False,
        tolerant: bool = False,
        verbatim: bool = False,
        keep_dead: bool = False,
        seen: CallTypes | None = None,
    ) -> None:
        self.b = b
        self.imports = imports
        self.attributes = attributes or {}
        self.functions = functions or {}
        self.calls = calls or {}
        self.carrier = carrier
        self.references = references
        self.tolerant = tolerant
        self.verbatim = verbatim
        self.keep_dead = keep_dead
        # The function whose body is replayed, if it stays a function.
        self.function: Any = None
        self.seen = seen if seen is not None else CallTypes()
        self._ops: dict[tuple[str, str], Op] = {}  # those that the nodes have called

    def run(
        self,
        nodes: Iterable[ir.Node],
        outputs: Sequence[ir.Value | None],
        env: Env,
        *,
        consumes: bool = False,
    ) -> list[GraphValue | None]:
        """The values of outputs, given those of inputs.

        Args:
            nodes: the nodes, in order.
            env: the values that are known; it is filled.
            consumes: whether nodes become those of the new graph where a call would make the same;
                the others then read nothing any more.
        """
        carrier, b = self.carrier, self.b
        for node in nodes:
            inputs = [None if v is None else self.value(v, env) for v in node.inputs]
            before = len(b.recorder.scope.nodes)
            b.expect(node if consumes and self._may_stay(node) else None)
            results = self.node(node, inputs, env)
            b.expect(None)
            stays = consumes and node in b.recorder.scope.nodes[before:]
            if stays:
                self._rename_others(node, results)
            if carrier is not None:
                results = carrier.carry(b, node, results, before)
            env.update(zip(node.outputs, results))
            if consumes and not stays:
                detach(node)
        return [None if v is None else self.value(v, env) for v in outputs]

    def _rename_others(self, node: ir.Node, results: Results) -> None:
        """Give up the names of outputs of a node that are only steps to its results."""
        recorder, kept = self.b.recorder, {r.value for r in results if r is not None}
        for value in node.outputs:
            if value not in kept:
                del recorder.holders[str(value.name)]
                value.name = recorder.names.unique(value.name or "")

    def _may_stay(self, node: ir.Node) -> bool:
        """Whether a node may be one of the new graph: no other value has one of its names."""
        holders = self.b.recorder.holders
        if node.attributes.data and subgraphs(node):
            return False
        names = [v.name for v in node.outputs]
        return all(names) and holders.keys().isdisjoint(names)

    def value(self, value: ir.Value, env: Env) -> GraphValue | None:
        """The value that replaces one of the source graph."""
        if value not in env and value.const_value is not None:
            env[value] = self.b.initializer(value.const_value)
        if value not in env:
            what = "it is the output of a body that does not compute it"
            raise_damage(Damage("structure", f"value {quoted(value.name)}", what))
        return env[value]

    def node(self, node: ir.Node, inputs: Sequence[GraphValue | None], env: Env) -> Results:
        """The results of a node, made anew through the backend.

        Args:
            env: the values around, for the bodies of control flow.
        """
        if self.functions or self.calls:
            identifier = node.op_identifier()
            callee = self.functions.get(identifier)
            if callee is not None:
                return self._inlined(callee, node, inputs)
            callee = self.calls.get(identifier)
            if callee is not None:
                return self._called(callee, node, inputs, env)
        if self.verbatim:
            return copied_node(self, node, inputs, env)
        if node.op_type in ("Loop", "Scan") and not node.domain:
            is_known = not _has_other_meaning(node, self.imports)
            if is_known and self.carrier is not None and getattr(self.b, "simplifies", True):
                written_out = known_loop if node.op_type == "Loop" else known_scan
                results = written_out(self, node, inputs, env)
                if results is not None:
                    return results
            if self.tolerant and not is_known:
                return copied_node(self, node, inputs, env)
        if not self.tolerant:
            return self._emitted(node, inputs, env)
        try:
            return self._emitted(node, inputs, env)
        except InternalError:
            raise
        except (OnnxwrightError, UnknownError, AttributeError, ValueError):
            # A runtime reports what is wrong with the node.
            return copied_node(self, node, inputs, env)

    def _emitted(self, node: ir.Node, inputs: Sequence[GraphValue | None], env: Env) -> Results:
        attributes = self.attributes_of(node, env)
        op = self.op_of(node)
        output_count = len(node.outputs)
        if self.carrier is not None:
            output_count = _needed_outputs(node)
            inputs = op.listed(inputs)
        origin = props_of(node).get(ORIGIN)
        if not origin:
            return self.b.emit(op, inputs, attributes, output_count)
        with self.b.from_origin(origin):
            return self.b.emit(op, inputs, attributes, output_count)

    def op_of(self, node: ir.Node) -> Op:
        """The operator of a node."""
        key = (node.domain, node.op_type)
        op = self._ops.get(key)
        if op is None:
            op = self._ops[key] = Opset(key[0], self.imports.get(key[0], 1))[key[1]]
        return op

    def finished(self) -> None:
        """From now on the nodes are those of the graph that was built: they are of its opset."""
        self.imports = {**self.imports, "": self.b.opset.version}
        self._ops.clear()

    def like(self, b: GraphBackend) -> Replay:
        """A replay of the same nodes through another backend, without names and notes."""
        return Replay(
            b, self.imports, self.attributes, self.functions, calls=self.calls,
            references=self.references, tolerant=True,
        )  # fmt: skip

    # -- functions -----------------------------------------------------------------------------

    def _inlined(
        self, callee: ir.Function, node: ir.Node, inputs: Sequence[GraphValue | None]
    ) -> Results:
        """The results of a function of onnx_ir, its nodes made anew for these arguments."""
        return self.inline(callee, inputs, self.attributes_of(node, {}))

    def inline(
        self,
        function: ir.Function,
        inputs: Sequence[GraphValue | None],
        attributes: Mapping[str, object],
    ) -> list[GraphValue | None]:
        """The results of a function of onnx_ir, its nodes made anew for these arguments.

        Args:
            function: the function.
            inputs: the arguments; None for an absent one.
            attributes: values of attribute parameters; defaults are the function's.

        Returns:
            Its results.
        """
        values = {a.name: a.value for a in function.attributes.values() if a.value is not None}
        values.update(attributes)
        env: Env = dict.fromkeys(function.inputs)
        env.update(zip(function.inputs, inputs))
        inner = Replay(
            self.b, function.opset_imports, values, self.functions,
            calls=self.calls, carrier=self.carrier.inner() if self.carrier is not None else None,
            references=self.references, tolerant=self.tolerant, verbatim=self.verbatim,
            seen=self.seen,
        )  # fmt: skip
        return inner.run(function, list(function.outputs), env)

    def _called(
        self,
        callee: ir.Function,
        node: ir.Node,
        inputs: Sequence[GraphValue | None],
        env: Env,
    ) -> Results:
        """A call that stays one; its results have the types that the body gives them."""
        results = copied_node(self, node, inputs, env)
        b = self.b
        kinds = self._result_types(callee, node, inputs)
        for n, value in enumerate(results):
            kind = meet(value.kind, kinds[n] if n < len(kinds) else None)
            b.recorder.set_type(value.value, kind)
            adapters.set_type(value.value, kind)
            results[n] = b.wrap(value.value, kind)
        return results

    def _result_types(
        self, callee: ir.Function, node: ir.Node, inputs: Sequence[GraphValue | None]
    ) -> list[OnnxType | None]:
        """What a function gives for arguments of these types, found by building it aside."""
        if any(a.type in (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS)
               for a in node.attributes.values()):  # fmt: skip
            return []
        kinds = tuple(None if v is None else v.kind for v in inputs)
        attributes = self.attributes_of(node, {})
        key = (callee.identifier(), kinds, repr(sorted(attributes.items(), key=str)))
        types = self.seen.types.get(key)
        if types is None:
            aside = self.b.aside()
            values = [
                None if v is None else aside.input(f"x{n}", v.kind) for n, v in enumerate(inputs)
            ]
            every = {**self.functions, **self.calls}
            # What a small function calls is built with it; each large one is built once.
            small = self.seen.is_small(callee, every)
            replay = Replay(
                aside, {}, functions=every if small else {}, calls={} if small else every,
                references=True, tolerant=True, seen=self.seen,
            )  # fmt: skip
            try:
                results = replay.inline(callee, values, attributes)
                types = [None if r is None else r.kind for r in results]
            except (OnnxwrightError, UnknownError, KeyError):
                types = [None] * len(callee.outputs)
            self.seen.types[key] = types
        return types

    # -- attributes and bodies -----------------------------------------------------------------

    def attributes_of(self, node: ir.Node, env: Env) -> dict[str, object]:
        """The attributes of a node as a call takes them; bodies of control flow are callables."""
        attributes: dict[str, object] = {}
        for attr in node.attributes.data.values():
            if attr.is_ref():
                name = attr.ref_attr_name or ""
                value = self.attributes.get(name)
                if value is not None:
                    attributes[attr.name] = value
                elif self.references:
                    attributes[attr.name] = adapters.reference(attr)
            elif attr.type is ir.AttributeType.GRAPH:
                if facts(node.op_type, node.domain).has_bodies:
                    attributes[attr.name] = self.body(attr.as_graph(), env)
                else:
                    attributes[attr.name] = self.graph(attr.as_graph(), env)
            elif attr.type is ir.AttributeType.GRAPHS:
                graphs = [self.graph(graph, env) for graph in attr.as_graphs()]
                attributes[attr.name] = ir.Attr(attr.name, ir.AttributeType.GRAPHS, graphs)
            elif attr.type in (ir.AttributeType.TYPE_PROTO, ir.AttributeType.SPARSE_TENSOR):
                attributes[attr.name] = attr
            else:
                attributes[attr.name] = attr.value
        return attributes

    def graph(self, graph: ir.Graph, env: Env) -> ir.Graph:
        """A graph that an operator of another domain has, its nodes made anew."""
        kinds = [(v.name or "x", kind_of(v)) for v in graph.inputs]
        replayed, _ = body_graph(self.b, graph.name or "body", kinds, self.body(graph, env))
        return replayed

    def body(self, graph: ir.Graph, env: Env) -> Callable[..., tuple[GraphValue | None, ...]]:
        """A body as a function of its inputs.

        Returns:
            A function that makes its nodes anew and returns its results.
        """

        def body(*values: GraphValue) -> tuple[GraphValue | None, ...]:
            inner = env.copy()
            inner.update(zip(graph.inputs, values, strict=True))
            if self.carrier is not None:
                for source, value in zip(graph.inputs, values, strict=True):
                    if value.value in self.b.recorder.scope.inputs:
                        self.carrier.name(self.b, source, value)
            results = self.run(graph, list(graph.outputs), inner)
            if self.carrier is not None:
                for source, result in zip(graph.outputs, results, strict=True):
                    kind = None if result is None else meet(result.kind, kind_of(source))
                    if result is not None and kind is not None and kind != result.kind:
                        self.b.recorder.stated[result.value] = kind
            return tuple(results)

        return body


def _needed_outputs(node: ir.Node) -> int:
    """How many outputs of a node are needed: trailing absent ones are not."""
    count = len(node.outputs)
    if count == 1:
        return 1
    droppable = facts(node.op_type, node.domain).droppable_outputs
    while count > 1:
        last = node.outputs[count - 1]
        unread = droppable and not last.uses() and not last.is_graph_output()
        if last.name and not unread:
            break
        count -= 1
    return count


def _has_other_meaning(node: ir.Node, imports: Mapping[str, int]) -> bool:
    """Whether the builder does not know this form: Scan of version 8 has other inputs."""
    return node.op_type == "Scan" and node.domain == "" and imports.get("", 1) < 9


__all__ = ["Env", "Replay", "Results"]
