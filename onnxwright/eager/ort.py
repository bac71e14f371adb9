"""`OrtEvaluator`: each operator runs in a cached ONNX Runtime session of one node.

A session is kept by operator, version, attributes, input types and number of outputs; shapes are
not part of it.  What the runtime has no kernel for runs through the function that defines it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from onnxwright.diagnostics.catalogue import eager as messages
from onnxwright.diagnostics.diagnostic import fail, warn
from onnxwright.eager import interpret, kernels, node_model, ort_session, ort_values
from onnxwright.eager.failures import fail_op, tidy
from onnxwright.eager.reference import ReferenceEvaluator
from onnxwright.eager.values import (
    MapValue,
    SequenceValue,
    Value,
    show_values,
    type_of_value,
    without_shape,
)
from onnxwright.eager.where import user_span
from onnxwright.errors import EagerError, OnnxwrightError
from onnxwright.opset import registry
from onnxwright.opset.op import Op
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import (
    OnnxType,
    OptionalType,
    SequenceType,
    TensorType,
    parse_onnx_name,
)

# The first words of the errors that mean "no kernel for this", and no other failure.
_NO_KERNEL = re.compile(
    r"NOT_IMPLEMENTED|Type Error|Could not find an implementation|Unrecognized attribute"
    r"|only supports|not (?:\w+ or |currently \w+ or )?supported|[Uu]nsupported|ot defined for"
)
_UNKNOWN_OP = ("is not a registered function/op", "No Op registered for")


# Short paths; more than sessions, because several spellings of one call share a session.
_FAST_LIMIT = 8192


# Operators that compute much for each byte: their sessions have threads.
PARALLEL = frozenset(
    {
        "Attention", "Conv", "ConvInteger", "ConvTranspose", "DeformConv", "Einsum", "GRU", "Gemm",
        "LSTM", "MatMul", "MatMulInteger", "MatMulNBits", "QLinearConv", "QLinearMatMul", "RNN",
    }
)  # fmt: skip
_PARALLEL_LIMIT = 32


class NoKernelError(Exception):
    """The runtime has nothing that runs this call; the reason is its text."""


class Prepared(ort_session.Entry):
    """One session of one node, ready to run.

    Fields:
        op: the operator.
        run: the runtime's own `run(output_names, feed, None)`.
        names: the input names, None where an input is absent.
        outputs: the output names.
        plain: whether numpy arrays can go in and come out as they are.
        kinds: the types of the outputs.
        session: the session.
        defined: whether it runs the function that defines the operator.
        older: whether it is an older version of the operator, which may refuse some values.
        elements: the element types of the inputs, where the call is not plain.
    """

    __slots__ = (
        "defined",
        "elements",
        "kinds",
        "names",
        "older",
        "op",
        "outputs",
        "plain",
        "run",
        "session",
    )  # fmt: skip

    def __init__(
        self, op: Op, session: Any, present: Sequence[bool], outputs: int, nbytes: int
    ) -> None:
        super().__init__(nbytes)
        self.older = False
        self.defined = False
        self.op = op
        self.session = session
        # The wrapper's checks cost a microsecond; they are made when the session is made.
        core = getattr(session, "_sess", None)
        self.run = core.run if core is not None else session.run
        self.names = tuple(f"i{n}" if there else None for n, there in enumerate(present))
        self.outputs = [f"o{n}" for n in range(outputs)]
        self.kinds = tuple(output_kind(o.type) for o in session.get_outputs())
        self.elements: tuple[DType | None, ...] = ()
        self.plain = True

    @property
    def gives_tensors(self) -> bool:
        """Whether it is a session whose outputs are tensors: no list or dict needs its type."""
        return bool(self.kinds) and all(
            k is not None and k.onnx_name.startswith("tensor(") for k in self.kinds
        )

    def __call__(self, inputs: Sequence[Value]) -> list[Value]:
        """Run on values in schema order."""
        feed = {n: x for n, x in zip(self.names, inputs, strict=True) if n is not None}
        results = self.run(self.outputs, feed, None)
        return [from_runtime(r, k) for r, k in zip(results, self.kinds, strict=True)]


class FastCall:
    """A short path: a session, and which arguments are Python numbers that need a conversion.

    Fields:
        prepared: the session; its values are all tensors.
        convert: position and element type of each number; None where there are none.
        two: whether there are exactly two inputs, both present.
        op: the operator as it was called; a key may hold its id, so it has to stay alive.
    """

    __slots__ = ("convert", "op", "prepared", "two")

    def __init__(
        self, op: Op, prepared: Prepared, convert: tuple[tuple[int, np.dtype[Any]], ...] | None
    ) -> None:
        self.op = op
        self.prepared = prepared
        self.convert = convert
        self.two = prepared.plain and prepared.names == ("i0", "i1")


class Exotic(Prepared):
    """A session with element types that numpy does not have: values go in and out by memory."""

    __slots__ = ()

    def __call__(self, inputs: Sequence[Value]) -> list[Value]:
        """Run on values in schema order."""
        ort = ort_session.runtime()
        feed, alive = {}, []
        for name, array, dtype in zip(self.names, inputs, self.elements, strict=True):
            if name is not None and dtype is not None and isinstance(array, np.ndarray):
                feed[name], keep = ort_values.to_ort(ort, array, dtype)
                alive.append(keep)
        results = self.session._sess.run_with_ort_values(feed, self.outputs, None)
        del alive
        return [
            from_runtime(r.numpy(), k)
            if not isinstance(k, TensorType) or k.dtype is None
            else ort_values.from_ort(r, k.dtype)
            # NOTE: iterating over the runtime's vector costs 25 us, indexing it nothing.
            for r, k in ((results[n], kind) for n, kind in enumerate(self.kinds))
        ]


class Widened(Prepared):
    """A session around which exotic types travel as FLOAT, because strings or lists are there too.

    FLOAT holds every value of the narrow types exactly; the session casts inside.
    """

    __slots__ = ("results",)

    results: tuple[DType | None, ...]

    def __call__(self, inputs: Sequence[Value]) -> list[Value]:
        """Run on values in schema order."""
        wide = [
            x.astype(np.float32) if isinstance(x, np.ndarray) and d is not None else x
            for x, d in zip(inputs, self.elements, strict=True)
        ]
        found = super().__call__(wide)
        return [
            r.astype(d.numpy) if isinstance(r, np.ndarray) and d is not None else r
            for r, d in zip(found, self.results, strict=True)
        ]


class Interpreted(Prepared):
    """A call that no session runs whole: node by node, each through the evaluator."""

    __slots__ = ("attributes", "count", "graphs", "owner")

    def __init__(
        self,
        owner: OrtEvaluator,
        op: Op,
        attributes: Mapping[str, Any],
        outputs: int,
        *,
        graphs: bool,
    ) -> None:
        ort_session.Entry.__init__(self, ort_session.SESSION_BYTES)
        self.op = op
        self.owner = owner
        self.attributes = attributes
        self.count = outputs
        self.graphs = graphs
        self.plain = False
        self.older = self.defined = False
        self.names = ()
        self.kinds = ()

    def body(self, inputs: Sequence[Value]) -> Any | None:
        """The function that defines the operator, for these inputs."""
        signature = self.op.signature
        assert signature is not None
        types = [type_of_value(x) for x in inputs]
        present = [x is not None for x in inputs]
        node = node_model.node_proto(
            self.op.name, self.op.domain, signature, present, self.attributes, self.count
        )
        full = _with_defaults(node, signature)
        return node_model.function_body(signature, self.op.version, full, types)

    def __call__(self, inputs: Sequence[Value]) -> list[Value]:
        """Run on values in schema order."""
        run = interpret.Interpreter(self.owner.run_op, {"": self.op.version})
        try:
            if self.graphs:
                import onnx

                node = onnx.NodeProto(op_type=self.op.name)
                names = [f"i{n}" if x is not None else "" for n, x in enumerate(inputs)]
                node.input.extend(names)
                node.output.extend(f"o{n}" for n in range(self.count))
                for name, value in self.attributes.items():
                    node.attribute.append(node_model.attribute_proto(name, value))
                return list(run.node(node, inputs, {}, {}, ()))
            signature = self.op.signature
            body = self.body(inputs)
            assert signature is not None
            assert body is not None
            given = {n: a.default for n, a in signature.attributes.items() if a.default is not None}
            return run.function(body, inputs, {**given, **self.attributes})[: self.count]
        except EagerError as error:
            if isinstance(error.diagnostic, messages.NoKernel):
                inner = error.diagnostic
                raise NoKernelError(
                    f"its definition needs `{inner.op}` on ({inner.inputs}): {inner.reason}"
                ) from error
            raise


def output_kind(name: str) -> OnnxType | None:
    """A type as the runtime writes it.

    Args:
        name: for instance `seq(tensor(float))`.

    Returns:
        The type; None for one that ONNX does not have.
    """
    try:
        return parse_onnx_name(name)
    except TypeError:
        return None


def from_runtime(value: Any, kind: OnnxType | None) -> Value:
    """A result of `run` as a value: lists and dicts get their type.

    Args:
        value: what the runtime gave.
        kind: its type.

    Returns:
        The value.
    """
    if isinstance(kind, OptionalType):
        kind = kind.elem
    if isinstance(value, list):
        elem = kind.elem if isinstance(kind, SequenceType) else None
        # NOTE: up to 1.23 the runtime gives elements whose memory it frees: copied at once.
        owned = [
            v.copy() if isinstance(v, np.ndarray) and not v.flags.owndata else v for v in value
        ]
        return SequenceValue([from_runtime(v, elem) for v in owned], elem)
    if isinstance(value, dict):
        return MapValue(value)
    if value is not None and not isinstance(value, np.ndarray):
        return np.asarray(value)
    return value


class OrtEvaluator:
    """Runs operators with ONNX Runtime.

    Args:
        providers: execution providers in order of preference, as ONNX Runtime names them; the CPU
            if not given.
        session_options: an `onnxruntime.SessionOptions` for every session; by default sessions
            share one memory arena, and only those of operators such as MatMul have threads.
        fallback: what runs an operator for which there is no kernel: "reference", an evaluator,
            or None for an error.  Each use is reported once.
        custom_op_libraries: paths of compiled custom-op libraries.
        max_sessions: how many sessions are kept.
        max_bytes: how much memory the kept sessions may take, as far as it can be told.
        arena: keep freed memory for the next call, as ONNX Runtime does: the process stays at its
            peak, and large results are fast.  False gives it back to the system at once.

    Example:
        >>> from onnxwright.opset import opset18 as op
        >>> e = OrtEvaluator()
        >>> e.run_op(op.Neg, [np.array([1.0, -2.0], np.float32)], {}, 1)
        [array([-1.,  2.], dtype=float32)]
        >>> len(e.cache)
        1
    """

    name = "ONNX Runtime"

    def __init__(
        self,
        providers: Sequence[Any] | None = None,
        session_options: Any = None,
        fallback: Any = None,
        *,
        custom_op_libraries: Sequence[str] = (),
        max_sessions: int = 1024,
        max_bytes: int = 512 * 1024 * 1024,
        arena: bool = True,
    ) -> None:
        self.arena = arena
        self.providers = None if providers is None else list(providers)
        self.session_options = session_options
        self.custom_op_libraries = tuple(str(path) for path in custom_op_libraries)
        self.fallback: Any = ReferenceEvaluator() if fallback == "reference" else fallback
        if self.fallback is not None and not callable(getattr(self.fallback, "run_op", None)):
            fail(
                messages.BadOption(
                    option="fallback",
                    given=repr(fallback),
                    advice='use "reference", an evaluator, or None',
                    span=user_span(),
                )
            )
        self.cache: ort_session.SessionCache[Prepared] = ort_session.SessionCache(
            max_sessions, max_bytes
        )
        # Calls that skip everything but the session; `dispatch.py` fills it.
        self.fast: dict[Any, Any] = {}
        self._fallen: set[Any] = set()
        self._lock = threading.Lock()
        self._evictions = 0

    def __repr__(self) -> str:
        options = []
        if self.providers is not None:
            options.append(f"providers={self.providers!r}")
        if self.fallback is not None:
            options.append(f"fallback={self.fallback!r}")
        return f"OrtEvaluator({', '.join(options)})"

    # -- the protocol ----------------------------------------------------------------------------

    def run_op(
        self, op: Op, inputs: Sequence[Value], attributes: Mapping[str, Any], outputs: int
    ) -> Sequence[Value]:
        """The outputs of one operator.

        Args:
            op: the operator.
            inputs: arrays, sequences, maps; None is an absent input.
            attributes: the attributes that were given.
            outputs: how many outputs are wanted.

        Returns:
            One value for each output.

        Raises:
            EagerTypeError: there is no kernel for these types (OW611).
            EagerError: the runtime failed (OW612), or nothing implements the operator (OW613).
        """
        key = self._key(op, inputs, attributes, outputs)
        if key in self._fallen:
            return self._fall_back(op, inputs, attributes, outputs, None)
        prepared = self.cache.get(key)
        if prepared is None:
            try:
                prepared = self._prepare(key, op, inputs, attributes, outputs)
            except NoKernelError as error:
                return self._fall_back(op, inputs, attributes, outputs, error, key)
        try:
            return prepared(inputs)
        except NoKernelError as error:
            return self._fall_back(op, inputs, attributes, outputs, error, key)
        except OnnxwrightError:
            raise
        except Exception as error:  # noqa: BLE001 - the runtime raises many kinds
            unsupported = prepared.older or _NO_KERNEL.search(str(error)) is not None
            if unsupported or prepared.defined:
                made = self._by_definition(key, prepared, op, inputs, attributes, outputs)
                if made is not None:
                    return made
            if unsupported:
                reason = NoKernelError(tidy(str(error)))
                return self._fall_back(op, inputs, attributes, outputs, reason, key)
            self.failed(op, inputs, attributes, error)

    def _by_definition(
        self,
        key: Any,
        failed: Prepared,
        op: Op,
        inputs: Sequence[Value],
        attributes: Mapping[str, Any],
        outputs: int,
    ) -> Sequence[Value] | None:
        """What a session refused, by the operator's definition, node by node; None without one."""
        if op.signature is None or not op.signature.has_function:
            return None
        made = Interpreted(self, op, attributes, outputs, graphs=False)
        try:
            if made.body(inputs) is None:
                return None
            results = made(inputs)
        except (EagerError, NoKernelError):
            return None
        self.cache.replace(key, failed, made)
        return results

    def prepare(
        self, op: Op, inputs: Sequence[Value], attributes: Mapping[str, Any], outputs: int
    ) -> Prepared | None:
        """The session that `run_op` would use, made if it has to be.

        Args:
            op: the operator.
            inputs: example inputs: their types count.
            attributes: the attributes.
            outputs: how many outputs are wanted.

        Returns:
            The session; None where the fallback runs this call.

        Raises:
            EagerError: there is none, as for `run_op`.
        """
        key = self._key(op, inputs, attributes, outputs)
        if key in self._fallen:
            return None
        known = self.cache.get(key)
        if known is not None:
            return known
        try:
            return self._prepare(key, op, inputs, attributes, outputs)
        except NoKernelError as error:
            if self.fallback is None:
                self._no_kernel(op, inputs, error)
            return None

    def clear(self) -> None:
        """Drop all sessions."""
        self.cache.clear()
        self.forget_fast()
        self._fallen.clear()

    def remember(self, key: Any, fast: Any) -> None:
        """Keep a short path.

        Args:
            key: what the call is known by.
            fast: a `FastCall`, or one for each number of outputs.
        """
        if len(self.fast) >= _FAST_LIMIT:
            self.forget_fast()
        self.fast[key] = fast

    def forget_fast(self) -> None:
        """Drop the short paths; they come back as calls are made."""
        self.fast.clear()

    # -- sessions --------------------------------------------------------------------------------

    def _key(
        self, op: Op, inputs: Sequence[Value], attributes: Mapping[str, Any], outputs: int
    ) -> Any:
        version = op.version if op.signature is None else op.since_version
        return (
            op.domain,
            op.name,
            version,
            tuple(_type_key(x) for x in inputs),
            node_model.freeze_attributes(attributes),
            outputs,
        )

    def _prepare(
        self,
        key: Any,
        op: Op,
        inputs: Sequence[Value],
        attributes: Mapping[str, Any],
        outputs: int,
    ) -> Prepared:
        types = _declared(op, [without_shape(type_of_value(x)) for x in inputs])
        present = [x is not None for x in inputs]
        first: tuple[bool, BaseException] | None = None
        prepared = None
        parallel = self._may_be_parallel(op)
        for model, older in self._models(op, types, present, attributes, outputs):
            data = model.SerializeToString()
            try:
                session = self._session(data, parallel=parallel)
            except Exception as error:  # noqa: BLE001 - the runtime raises many kinds
                text = str(error)
                if op.signature is None and any(words in text for words in _UNKNOWN_OP):
                    fail(
                        messages.NoImplementation(
                            op=op.name, domain=op.domain, version=op.version, span=user_span()
                        )
                    )
                unknown = any(words in text for words in _UNKNOWN_OP)
                none = unknown or _NO_KERNEL.search(text) is not None
                first = first or (none or older, error)
                continue
            prepared = self._make(op, session, model, types, present, len(data))
            prepared.older = older
            prepared.defined = bool(model.functions)
            break
        if prepared is None:
            prepared = self._interpreted(op, inputs, attributes, outputs, first)
        kept = self.cache.add(key, prepared)
        if self.cache.evictions != self._evictions:
            self._evictions = self.cache.evictions
            self.forget_fast()
        return kept

    def _interpreted(
        self,
        op: Op,
        inputs: Sequence[Value],
        attributes: Mapping[str, Any],
        outputs: int,
        first: tuple[bool, BaseException] | None,
    ) -> Prepared:
        """The call run node by node: through its definition, or through its subgraphs."""
        graphs = [v for v in attributes.values() if hasattr(v, "node") and hasattr(v, "output")]
        if graphs and op.domain == "" and not any(interpret.free_names(g) for g in graphs):
            return Interpreted(self, op, attributes, outputs, graphs=True)
        if op.signature is not None and op.signature.has_function:
            made = Interpreted(self, op, attributes, outputs, graphs=False)
            if made.body(inputs) is not None:
                return made
        if first is None:
            raise NoKernelError("no version that it loads has this operator")
        none, error = first
        if none:
            raise NoKernelError(tidy(str(error)))
        self.failed(op, inputs, attributes, error)

    def _may_be_parallel(self, op: Op) -> bool:
        """Whether a session gets threads: where they pay, and not for too many sessions."""
        if op.name not in PARALLEL:
            return False
        return sum(e.op.name in PARALLEL for e in self.cache.entries()) < _PARALLEL_LIMIT

    def _session(self, data: bytes, *, parallel: bool = False) -> Any:
        options = self.session_options
        if options is None:
            options = ort_session.small_options(parallel=parallel, arena=self.arena)
            for path in self.custom_op_libraries:
                options.register_custom_ops_library(path)
        return ort_session.new_session(data, options, self.providers)

    def _make(
        self,
        op: Op,
        session: Any,
        model: Any,
        types: Sequence[OnnxType | None],
        present: Sequence[bool],
        size: int,
    ) -> Prepared:
        """The right kind of call for the element types that go in and come out."""
        outputs = len(model.graph.output)
        nbytes = ort_session.SESSION_BYTES + 2 * size
        prepared = Prepared(op, session, present, outputs, nbytes)
        elements = tuple(t.dtype if isinstance(t, TensorType) else None for t in types)
        exotic_in = [d is not None and d not in ort_values.PLAIN for d in elements]
        results = tuple(
            k.dtype if isinstance(k, TensorType) and k.dtype not in ort_values.PLAIN else None
            for k in prepared.kinds
        )
        if not any(exotic_in) and not any(d is not None for d in results):
            return prepared
        by_memory = all(
            t is None or (isinstance(t, TensorType) and t.dtype is not DType.STRING) for t in types
        )
        if by_memory:
            made: Prepared = Exotic(op, session, present, outputs, nbytes)
            made.elements = elements
        else:
            _widen(model, elements, exotic_in, results)
            session = self._session(model.SerializeToString())
            wide = Widened(op, session, present, outputs, nbytes)
            wide.elements = tuple(
                d if x else None for d, x in zip(elements, exotic_in, strict=True)
            )
            wide.results = results
            made = wide
        made.plain = False
        return made

    def _models(
        self,
        op: Op,
        types: Sequence[OnnxType | None],
        present: Sequence[bool],
        attributes: Mapping[str, Any],
        outputs: int,
    ) -> Iterator[tuple[Any, bool]]:
        """Models that compute the call, the best first, and whether it is an older version."""
        signature = op.signature
        node = node_model.node_proto(op.name, op.domain, signature, present, attributes, outputs)
        top = ort_session.newest_opset()
        if signature is None:
            versions = {op.domain: op.version, "": top}
            yield node_model.one_node_model(node, types, versions, present=present), False
            return
        last = last_version(signature)
        if op.domain != "":
            versions = {op.domain: last, "": top}
        else:
            versions = {"": min(last, top)}
        too_new = op.domain == "" and signature.since_version > top
        if not too_new:
            yield node_model.one_node_model(node, types, versions, present=present), False
        if signature.has_function:
            version = signature.since_version if too_new else versions[op.domain]
            full = _with_defaults(node, signature)
            body = node_model.function_body(signature, version, full, types)
            if body is not None:
                call = _only_declared(full, body)
                yield node_model.body_model(body, call, types, _body_versions(body, top)), False
        # A version that newer ones only widened computes the same; it may have the kernel.
        for since, _ in reversed(registry.versions_of(op.domain, op.name)):
            if since >= signature.since_version or since > top:
                continue
            older = registry.signature(op.domain, op.name, since)
            if older is None or not _widened_only(older, signature):
                return
            if not _accepts(older, types, attributes, outputs):
                return
            older_node = node_model.node_proto(
                op.name, op.domain, older, present, attributes, outputs
            )
            older_versions = {"": top, op.domain: min(last_version(older), top)}
            if op.domain != "":
                older_versions[op.domain] = last_version(older)
            yield (
                node_model.one_node_model(older_node, types, older_versions, present=present),
                True,
            )

    # -- failures --------------------------------------------------------------------------------

    def _fall_back(
        self,
        op: Op,
        inputs: Sequence[Value],
        attributes: Mapping[str, Any],
        outputs: int,
        error: NoKernelError | None,
        key: Any = None,
    ) -> Sequence[Value]:
        if self.fallback is None:
            assert error is not None
            self._no_kernel(op, inputs, error)
        if key is not None:
            with self._lock:
                first = key not in self._fallen
                if len(self._fallen) > 4096:
                    self._fallen.clear()
                self._fallen.add(key)
            if first:
                warn(
                    messages.FellBack(
                        op=op.name,
                        inputs=show_values(inputs),
                        evaluator=self.name,
                        fallback=str(getattr(self.fallback, "name", self.fallback)),
                        span=user_span(),
                    )
                )
        results: Sequence[Value] = self.fallback.run_op(op, inputs, attributes, outputs)
        return results

    def _no_kernel(self, op: Op, inputs: Sequence[Value], error: NoKernelError) -> NoReturn:
        version = min(op.version, ort_session.newest_opset()) if op.domain == "" else op.version
        fail(
            messages.NoKernel(
                evaluator=self.name,
                op=op.name,
                inputs=show_values(inputs),
                reason=str(error),
                kernels=kernels.kernels_text(op.domain, op.name, version),
                signature=node_model.op_text(op),
                span=user_span(),
            )
        )

    def failed(
        self,
        op: Op,
        inputs: Sequence[Value],
        attributes: Mapping[str, Any],
        error: BaseException,
    ) -> NoReturn:
        """Raise what the runtime said with the operator, its inputs and the Python line.

        Args:
            op: the operator.
            inputs: its inputs.
            attributes: its attributes.
            error: the runtime's own exception, which becomes the cause.

        Raises:
            EagerError: always.
        """
        fail_op(self.name, op, inputs, attributes, error)


def last_version(signature: registry.OpSignature) -> int:
    """The newest opset version in which an operator still has this schema.

    Args:
        signature: the schema.

    Returns:
        The version.
    """
    later = [
        since
        for since, _ in registry.versions_of(signature.domain, signature.name)
        if since > signature.since_version
    ]
    return later[0] - 1 if later else registry.newest(signature.domain)


def _type_key(value: Value) -> Any:
    if isinstance(value, np.ndarray):
        dtype = value.dtype
        return dtype if dtype.kind not in "SU" else np.dtype(object)
    if value is None:
        return None
    return str(type_of_value(value))


def _with_defaults(node: Any, signature: registry.OpSignature) -> Any:
    """The call with every default of the schema written out."""
    import onnx

    full = onnx.NodeProto()
    full.CopyFrom(node)
    given = {a.name for a in full.attribute}
    for name, param in signature.attributes.items():
        default = signature.schema.attributes[name].default_value
        if name not in given and default.type and param.default is not None:
            full.attribute.append(default)
    return full


def _only_declared(node: Any, function: Any) -> Any:
    """The call without attributes that the function does not take; they are built into it."""
    import onnx

    declared = {*function.attribute, *(a.name for a in function.attribute_proto)}
    call = onnx.NodeProto()
    call.CopyFrom(node)
    call.ClearField("attribute")
    call.attribute.extend(a for a in node.attribute if a.name in declared)
    call.op_type = function.name
    del call.output[len(function.output) :]
    return call


def _body_versions(function: Any, top: int) -> dict[str, int]:
    versions = {o.domain: o.version for o in function.opset_import}
    versions[""] = min(versions.get("", top), top)
    return versions


def _declared(op: Op, types: list[OnnxType | None]) -> list[OnnxType | None]:
    """The types as the model declares them: optional where the schema takes nothing else."""
    signature = op.signature
    if signature is None or not signature.inputs:
        return types
    for n, kind in enumerate(types):
        allowed = signature.inputs[min(n, len(signature.inputs) - 1)].types
        if kind is None or kind.onnx_name in allowed:
            continue
        if OptionalType(kind).onnx_name in allowed:
            types[n] = OptionalType(kind)
    return types


def _widened_only(older: registry.OpSignature, newer: registry.OpSignature) -> bool:
    """Whether a newer version only added: element types, optional inputs, optional attributes.

    What a call does not give keeps its old meaning, by ONNX's own rule for new versions.
    """

    def names(params: Sequence[registry.InputParam]) -> list[tuple[str, str]]:
        return [(p.name, p.option) for p in params]

    count = len(older.inputs)
    if names(older.inputs) != names(newer.inputs[:count]) or not all(
        p.is_optional for p in newer.inputs[count:]
    ):
        return False
    if names(older.outputs) != names(newer.outputs[: len(older.outputs)]):
        return False
    for name, param in newer.attributes.items():
        known = older.attributes.get(name)
        if known is None:
            if param.required:
                return False
        elif (known.kind, known.required, known.default) != (
            param.kind,
            param.required,
            param.default,
        ):
            return False
    return set(older.attributes) <= set(newer.attributes)


def _accepts(
    signature: registry.OpSignature,
    types: Sequence[OnnxType | None],
    attributes: Mapping[str, Any],
    outputs: int,
) -> bool:
    """Whether a call fits a schema: the attributes exist, the types are allowed."""
    if not all(name in signature.attributes for name in attributes):
        return False
    if outputs > signature.max_output or len(types) > signature.max_input:
        return False
    for n, kind in enumerate(types):
        param = signature.inputs[min(n, len(signature.inputs) - 1)]
        if kind is not None and kind.onnx_name not in param.types:
            return False
    return True


def _widen(
    model: Any,
    elements: Sequence[DType | None],
    exotic_in: Sequence[bool],
    results: Sequence[DType | None],
) -> None:
    """Put casts around the node of a model, so that exotic types travel as FLOAT."""
    import onnx

    graph = model.graph
    node = graph.node[0]
    before, after = [], []
    for n, (dtype, exotic) in enumerate(zip(elements, exotic_in, strict=True)):
        if exotic and dtype is not None:
            for info in graph.input:
                if info.name == f"i{n}":
                    info.type.tensor_type.elem_type = int(DType.FLOAT)
            node.input[n] = f"narrow{n}"
            cast = onnx.NodeProto(op_type="Cast", input=[f"i{n}"], output=[f"narrow{n}"])
            cast.attribute.append(node_model.attribute_proto("to", int(dtype)))
            before.append(cast)
    for n, dtype in enumerate(results):
        if dtype is not None:
            node.output[n] = f"result{n}"
            cast = onnx.NodeProto(op_type="Cast", input=[f"result{n}"], output=[f"o{n}"])
            cast.attribute.append(node_model.attribute_proto("to", int(DType.FLOAT)))
            after.append(cast)
    nodes = [*before, *graph.node, *after]
    kept = []
    for item in nodes:
        copy = onnx.NodeProto()
        copy.CopyFrom(item)
        kept.append(copy)
    del graph.node[:]
    graph.node.extend(kept)
