"""Whole models and functions run as one session: what `fn.compile()` gives, and custom functions.

A failure names the node and, where the model says it, the Python line that made the node.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from onnxwright.diagnostics.catalogue import eager as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span
from onnxwright.eager import foreign, interpret, node_model, ort_session, ort_values, tensor
from onnxwright.eager.failures import tidy
from onnxwright.eager.ort import OrtEvaluator, from_runtime, output_kind
from onnxwright.eager.values import (
    SequenceValue,
    Value,
    raw_value,
    type_of_value,
    without_shape,
)
from onnxwright.eager.where import find_file, user_span
from onnxwright.errors import EagerError, OnnxwrightError
from onnxwright.opset.op import Op
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, OptionalType, TensorType, fits

ORIGIN = "onnxwright.origin"
_NODE_NAME = re.compile(r"node\.? ?(?:with name )?(?:Name:)?\s*[('\"]([^'\")]+)['\")]")
_RUNNING = re.compile(r"running (\S+) node\. Name:'([^']*)'")


class CompiledModel:
    """A model as one callable ONNX Runtime session.

    Args:
        model: an `onnx.ModelProto`, an `onnx_ir.Model`, its bytes, or the path of its file (for
            external data, and for models over 2 GB).
        providers: execution providers; the CPU if not given.
        session_options: an `onnxruntime.SessionOptions`.

    Raises:
        EagerError: the runtime refuses the model (OW622).

    Example:
        >>> import onnx.parser
        >>> head = '<ir_version: 10, opset_import: ["" : 18]> g (float[N] x) => (float[N] y)'
        >>> text = head + "{ y = Neg(x) }"
        >>> run = CompiledModel(onnx.parser.parse_model(text))
        >>> run(np.array([1.0, -2.0], np.float32))
        array([-1.,  2.], dtype=float32)
        >>> run.input_names, run.output_names
        (('x',), ('y',))
    """

    def __init__(
        self,
        model: Any,
        *,
        providers: Sequence[Any] | None = None,
        session_options: Any = None,
    ) -> None:
        # Kept to tell which node failed; not where its weights would be held twice for that.
        model = as_proto(model)
        self._model = model if hasattr(model, "graph") else None
        data = model.SerializeToString() if self._model is not None else model
        if not isinstance(data, (bytes, str)):
            data = str(data)
        options = session_options
        if options is None:
            options = ort_session.model_options()
        try:
            self.session = ort_session.new_session(data, options, providers)
        except Exception as error:  # noqa: BLE001 - the runtime raises many kinds
            model_failed("ONNX Runtime", "refused", self._model, error)
        core = getattr(self.session, "_sess", None)
        self._run = core.run if core is not None else self.session.run
        infos = self.session.get_inputs()
        self.input_names: tuple[str, ...] = tuple(i.name for i in infos)
        self.output_names: tuple[str, ...] = tuple(o.name for o in self.session.get_outputs())
        self._names = list(self.output_names)
        self._in_kinds = tuple(_input_kind(i) for i in infos)
        self._out_kinds = tuple(output_kind(o.type) for o in self.session.get_outputs())
        self._plain = all(map(_is_plain, (*self._in_kinds, *self._out_kinds)))

    def __repr__(self) -> str:
        return f"CompiledModel({self.signature_text()})"

    def signature_text(self) -> str:
        """The inputs as text, for messages."""
        return ", ".join(
            f"{name}: {kind if kind is not None else '?'}"
            for name, kind in zip(self.input_names, self._in_kinds, strict=True)
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the model.

        Args:
            args: the inputs in the model's order.
            kwargs: the inputs by name.

        Returns:
            The outputs in the kind that went in: one value, or a tuple.

        Raises:
            EagerTypeError: these are not the model's inputs (OW621).
            EagerError: the runtime failed (OW622).
        """
        kind = foreign.kind_of((*args, *kwargs.values()), inside=False)
        feed = self._bind(args, kwargs)
        results = self.run(feed)
        if kind is foreign.NUMPY:
            return results[0] if len(results) == 1 else tuple(results)
        shown = [foreign.give_back(_wrapped(r), kind) for r in results]
        return shown[0] if len(shown) == 1 else tuple(shown)

    def run(self, feed: Mapping[str, Value]) -> list[Value]:
        """Run on plain values by name.

        Args:
            feed: input name -> array, sequence, map or None.

        Returns:
            The outputs in the model's order.

        Raises:
            EagerError: the runtime failed (OW622).
        """
        try:
            if self._plain:
                results: list[Value] = self._run(self._names, feed, None)
                return results
            return self._run_exotic(feed)
        except Exception as error:  # noqa: BLE001 - the runtime raises many kinds
            if self._model is not None:
                _tell_node(self._model, feed, error)
            model_failed("ONNX Runtime", "failed in", self._model, error)

    def _run_exotic(self, feed: Mapping[str, Value]) -> list[Value]:
        ort = ort_session.runtime()
        kinds = dict(zip(self.input_names, self._in_kinds, strict=True))
        by_memory = all(
            isinstance(k, TensorType) and k.dtype is not DType.STRING for k in self._in_kinds
        )
        if not by_memory:
            found = self._run(self._names, feed, None)
            return [from_runtime(r, k) for r, k in zip(found, self._out_kinds, strict=True)]
        given, alive = {}, []
        for name, array in feed.items():
            kind = kinds[name]
            assert isinstance(kind, TensorType)
            dtype = kind.dtype if kind.dtype is not None else DType.FLOAT
            given[name], keep = ort_values.to_ort(ort, np.asarray(array), dtype)
            alive.append(keep)
        results = self.session._sess.run_with_ort_values(given, self._names, None)
        del alive
        return [
            ort_values.from_ort(r, k.dtype)
            if isinstance(k, TensorType) and k.dtype is not None
            else from_runtime(r.numpy(), k)
            for r, k in ((results[n], kind) for n, kind in enumerate(self._out_kinds))
        ]

    def _bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Value]:
        if len(args) > len(self.input_names):
            self._bad(f"{len(args)} were given, it has {len(self.input_names)}")
        given = dict(zip(self.input_names, args, strict=False))
        for name, value in kwargs.items():
            if name not in self.input_names:
                self._bad(f"it has no input `{name}`")
            if name in given:
                self._bad(f"`{name}` is given twice")
            given[name] = value
        feed: dict[str, Value] = {}
        for name, kind in zip(self.input_names, self._in_kinds, strict=True):
            if name not in given:
                if isinstance(kind, OptionalType):
                    feed[name] = None
                    continue
                self._bad(f"`{name}` is missing")
            feed[name] = self._value(name, kind, given[name])
        return feed

    def _value(self, name: str, kind: OnnxType | None, value: Any) -> Value:
        if isinstance(value, np.ndarray) and isinstance(kind, TensorType):
            made: Value = tensor.as_array(value)
        else:
            foreign_array = foreign.to_array(value)
            if foreign_array is not None:
                made = foreign_array
            elif isinstance(kind, TensorType) and not isinstance(value, tensor.Tensor):
                made = tensor.as_array(value, None if _has_dtype(value) else kind.dtype)
            else:
                made = raw_value(value)
        if not fits(type_of_value(made), kind):
            self._bad(f"`{name}` is {type_of_value(made)}, the model wants {kind}")
        return made

    def _bad(self, reason: str) -> NoReturn:
        fail(
            messages.BadModelInput(
                reason=reason, inputs=self.signature_text() or "none", span=user_span()
            )
        )


def _has_dtype(value: Any) -> bool:
    return isinstance(value, np.generic) and not isinstance(value, (float, str, bytes))


def _wrapped(value: Value) -> Any:
    if isinstance(value, np.ndarray):
        return tensor.wrap(value)
    if isinstance(value, SequenceValue):
        return SequenceValue([_wrapped(v) for v in value], value.elem)
    return value


def _input_kind(info: Any) -> OnnxType | None:
    kind = output_kind(info.type)
    if isinstance(kind, TensorType):
        # NOTE: the runtime says `[]` both for a scalar and for an unknown rank.
        shape = tuple(d if isinstance(d, (int, str)) else None for d in info.shape)
        return TensorType(kind.dtype, shape or None)
    return kind


def _is_plain(kind: OnnxType | None) -> bool:
    return isinstance(kind, TensorType) and kind.dtype in ort_values.PLAIN


def as_proto(model: Any) -> Any:
    """An `onnx_ir.Model` as a ModelProto; anything else as it is.

    Args:
        model: the model, or what stands for one.

    Returns:
        The same model as a proto.
    """
    if type(model).__module__.split(".")[0] != "onnx_ir":
        return model
    import onnx_ir

    return onnx_ir.to_proto(model)


def model_failed(who: str, verb: str, model: Any, error: BaseException) -> NoReturn:
    """Raise the failure of a whole model with the node and the Python line that made it.

    Args:
        who: the evaluator.
        verb: what it did: "refused", "failed in".
        model: the ModelProto, where there is one.
        error: what happened; it becomes the cause.

    Raises:
        EagerError: always.
    """
    text = str(error)
    node = _failed_node(model, text)
    where, advice, span = "run here", "see the cause of this error for the runtime's words", None
    reason = tidy(text) or type(error).__name__
    if node is not None:
        name = f" `{node.name}`" if node.name else ""
        reason = f"node {node.op_type}{name}: {reason}"
        advice = f"the node is {node.op_type}({', '.join(node.input)}) -> {', '.join(node.output)}"
        span = origin_of(node)
        if span is not None:
            where = "this line made the node"
    diagnostic = messages.ModelFailed(
        evaluator=who, verb=verb, reason=reason, where=where, advice=advice,
        span=span or user_span(),
    )  # fmt: skip
    raise diagnostic.error(diagnostic) from error


def _tell_node(model: Any, feed: Mapping[str, Value], error: BaseException) -> None:
    """Run a model that failed once more, node by node, to say which node and on what.

    Args:
        model: the ModelProto.
        feed: its inputs by name.
        error: the runtime's own error, which becomes the cause.

    Raises:
        EagerError: a node failed in this run too.
    """

    def told(node: Any, failure: OnnxwrightError) -> None:
        if isinstance(failure.diagnostic, messages.OpFailed) and failure.__cause__ is not error:
            span = origin_of(node)
            note = f"node {node.op_type} `{node.name}` of the model {model.graph.name!r}"
            moved = dataclasses.replace(
                failure.diagnostic,
                span=span or failure.diagnostic.span,
                notes=(*failure.diagnostic.notes, note),
            )
            raise moved.error(moved) from error
        raise failure

    runner = interpret.Interpreter(
        OrtEvaluator(max_sessions=64).run_op,
        interpret.versions_of(model),
        interpret.functions_of(model),
        failed=told,
    )
    try:
        runner.graph(model.graph, [], feed)
    except EagerError as found:
        if isinstance(found.diagnostic, messages.OpFailed):
            raise
    except Exception:  # noqa: BLE001, S110 - this run only serves the message
        pass


def _failed_node(model: Any, text: str) -> Any | None:
    """The node that a message of the runtime means."""
    if model is None:
        return None
    found = _RUNNING.search(text)
    op_type, name = (found[1], found[2]) if found else (None, None)
    if name is None:
        named = _NODE_NAME.search(text)
        name = named[1] if named else None
    nodes = list(all_nodes(model))
    if name:
        for node in nodes:
            if node.name == name:
                return node
    if op_type:
        same = [node for node in nodes if node.op_type == op_type]
        if len(same) == 1:
            return same[0]
    return None


def all_nodes(model: Any) -> Any:
    """Every node of a model: of its graph, of subgraphs, of its functions.

    Args:
        model: the ModelProto.

    Yields:
        The nodes.
    """

    def walk(nodes: Any) -> Any:
        for node in nodes:
            yield node
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    yield from walk(attribute.g.node)
                for graph in attribute.graphs:
                    yield from walk(graph.node)

    yield from walk(model.graph.node)
    for function in model.functions:
        yield from walk(function.node)


def origin_of(node: Any) -> Span | None:
    """The Python place that made a node, as its metadata says.

    Args:
        node: a NodeProto.

    Returns:
        The span; None where the node does not say.
    """
    for entry in node.metadata_props:
        if entry.key == ORIGIN:
            span = parse_origin(entry.value)
            if span is None:
                return None
            return dataclasses.replace(span, file=find_file(span.file))
    return None


def parse_origin(text: str) -> Span | None:
    """A place written as `file:line:col`, or with the end as `file:line:col-line:col`.

    Args:
        text: the place; columns count from one.

    Returns:
        The span; None where the text is no place.
    """
    match = re.fullmatch(r"(.*?):(\d+):(\d+)(?:-(\d+):(\d+))?", text)
    if match is None:
        return None
    line, col = int(match[2]), int(match[3]) - 1
    if match[4] is not None:
        return Span(match[1], line, col, int(match[4]), int(match[5]) - 1)
    return Span(match[1], line, col, line, col + 1)


# -- functions of the user's own domains -----------------------------------------------------------


class _Kept(ort_session.Entry):
    """A compiled model in the cache."""

    __slots__ = ("model",)

    def __init__(self, model: Any, nbytes: int) -> None:
        super().__init__(nbytes)
        self.model = model


_compiled: ort_session.SessionCache[_Kept] = ort_session.SessionCache(256, 1024 * 1024 * 1024)


def run_model(model: Any, inputs: Mapping[str, Value] | Sequence[Value]) -> list[Value]:
    """Run a model on plain values; its session is kept for the next time.

    Args:
        model: an `onnx.ModelProto` or `onnx_ir.Model`.
        inputs: the inputs by name, or in the model's order.

    Returns:
        The outputs in the model's order.

    Raises:
        EagerError: the inputs do not fit, or the runtime failed.
    """
    model = as_proto(model)
    data = model.SerializeToString()
    key = hashlib.blake2b(data, digest_size=16).digest()
    kept = _compiled.get(key)
    if kept is None:
        made = CompiledModel(model)
        kept = _compiled.add(key, _Kept(made, ort_session.SESSION_BYTES + 2 * len(data)))
    compiled: CompiledModel = kept.model
    if isinstance(inputs, Mapping):
        return compiled.run(compiled._bind((), inputs))
    return compiled.run(compiled._bind(inputs, {}))


def run_function(
    evaluator: Any,
    run_op: interpret.RunOp,
    proto: Any,
    op: Op,
    inputs: Sequence[Value],
    attributes: Mapping[str, Any],
    outputs: int,
) -> Sequence[Value]:
    """Run a call of a FunctionProto: as one session with ONNX Runtime, else node by node.

    Args:
        evaluator: the evaluator of the moment.
        run_op: runs one operator, also those that Python implements.
        proto: the function.
        op: the operator that it implements.
        inputs: plain values.
        attributes: the attributes of the call.
        outputs: how many outputs are wanted.

    Returns:
        Plain values.

    Raises:
        EagerError: it cannot be run, or failed.
    """
    if isinstance(evaluator, OrtEvaluator):
        runner = _function_session(evaluator, proto, op, inputs, attributes, outputs)
        if runner is not None:
            return runner.run({f"i{n}": x for n, x in enumerate(inputs) if x is not None})
    nodes = interpret.Interpreter(run_op, interpret.versions_of(proto))
    return nodes.function(proto, inputs, attributes)[:outputs]


def _function_session(
    evaluator: OrtEvaluator,
    proto: Any,
    op: Op,
    inputs: Sequence[Value],
    attributes: Mapping[str, Any],
    outputs: int,
) -> CompiledModel | None:
    """The session of a function for these types; None where Python has to run parts of it."""
    key = (
        id(proto),
        id(evaluator),
        tuple(str(without_shape(type_of_value(x))) for x in inputs),
        node_model.freeze_attributes(attributes),
        outputs,
    )
    kept = _compiled.get(key)
    if kept is None:
        model = _function_model(proto, op, inputs, attributes, outputs)
        made: CompiledModel | None
        try:
            made = CompiledModel(model, providers=evaluator.providers)
        except EagerError:
            made = None
        nbytes = ort_session.SESSION_BYTES + model.ByteSize() * 2
        # NOTE: the key holds ids; what they belong to is kept with the session.
        kept = _compiled.add(key, _Kept((made, proto, evaluator), nbytes))
    found: CompiledModel | None = kept.model[0]
    return found


def _function_model(
    proto: Any, op: Op, inputs: Sequence[Value], attributes: Mapping[str, Any], outputs: int
) -> Any:
    types = [without_shape(type_of_value(x)) for x in inputs]
    present = [x is not None for x in inputs]
    node = node_model.node_proto(op.name, op.domain, None, present, attributes, outputs)
    top = ort_session.newest_opset()
    versions = {o.domain: o.version for o in proto.opset_import}
    versions[""] = min(versions.get("", top), top)
    versions[op.domain] = op.version
    functions: dict[Any, Any] = {}
    _add_with_callees(proto, functions, versions)
    return node_model.one_node_model(
        node, types, versions, list(functions.values()), present=present
    )


def _add_with_callees(proto: Any, functions: dict[Any, Any], versions: dict[str, int]) -> None:
    """A function after the registered functions that it calls: the reference wants that order."""
    for node in all_function_nodes(proto):
        callee = find_function(node.domain, node.op_type)
        if callee is None or callee is proto or (node.domain, node.op_type) in functions:
            continue
        versions.setdefault(node.domain, 1)
        for imported in callee.opset_import:
            versions.setdefault(imported.domain, imported.version)
        _add_with_callees(callee, functions, versions)
    functions[proto.domain, proto.name] = proto


def all_function_nodes(proto: Any) -> Any:
    """Every node of a function, also in subgraphs.

    Args:
        proto: the FunctionProto.

    Yields:
        The nodes.
    """
    stack = list(proto.node)
    while stack:
        node = stack.pop()
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                stack.extend(attribute.g.node)


_functions: dict[tuple[str, str], Any] = {}


def remember_function(proto: Any) -> None:
    """Let other functions call this one.

    Args:
        proto: the FunctionProto.
    """
    _functions[proto.domain, proto.name] = proto


def find_function(domain: str, name: str) -> Any | None:
    """The FunctionProto registered for an operator.

    Args:
        domain: its domain.
        name: its name.

    Returns:
        The function; None without one.
    """
    return _functions.get((domain, name))
