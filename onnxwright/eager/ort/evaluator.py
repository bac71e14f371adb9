"""`OrtEvaluator`: each operator runs in a cached ONNX Runtime session of one node.

A session is kept by operator, version, attributes, input types and number of outputs; shapes are
not part of it.  What the runtime has no kernel for runs through the function that defines it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import eager as messages
from onnxwright.diagnostics.diagnostic import fail, warn
from onnxwright.eager import node_model
from onnxwright.eager.control_flow import protos
from onnxwright.eager.evaluators import Request
from onnxwright.eager.failures import fail_op, tidy
from onnxwright.eager.ort import sessions
from onnxwright.eager.ort import values as ort_values
from onnxwright.eager.ort.calls import Exotic, Interpreted, NoKernelError, Prepared, Widened
from onnxwright.eager.ort.kernels import fail_no_kernel
from onnxwright.eager.ort.plans import declared_types, models_for, widen
from onnxwright.eager.ort.rank_guards import needs
from onnxwright.eager.reference import ReferenceEvaluator
from onnxwright.eager.values import Value, show_values, type_key, type_of_value, without_shape
from onnxwright.errors import EagerError, OnnxwrightError
from onnxwright.operators import facts
from onnxwright.opset.op import Op
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, TensorType

# The first words of the errors that mean "no kernel for this", and no other failure.
_NO_KERNEL = re.compile(
    r"NOT_IMPLEMENTED|Type Error|Could not find an implementation|Unrecognized attribute"
    r"|only supports|not (?:\w+ or |currently \w+ or )?supported|[Uu]nsupported|ot defined for"
)
_UNKNOWN_OP = ("is not a registered function/op", "No Op registered for")


# Short paths; more than sessions, because several spellings of one call share a session.
_FAST_LIMIT = 8192


# How many sessions get threads: those of operators that compute much for each byte.
_PARALLEL_LIMIT = 32


class OrtEvaluator:
    """Runs operators with ONNX Runtime.

    Args:
        providers: execution providers in order of preference, as ONNX Runtime names them; the CPU
            if not given.
        session_options: an `onnxruntime.SessionOptions` for every session; by default sessions
            share one memory arena, and only those of operators such as MatMul have threads.
        fallback: what runs an operator that has no kernel: "reference", an evaluator,
            or None for an error.  Each use is reported once.
        custom_op_libraries: paths of compiled custom-op libraries.
        max_sessions: how many sessions are kept.
        max_bytes: how much memory the kept sessions may take, as far as it is known.
        ignore_unknown_function_kwargs: whether calls of scripts drop keywords that the script does
            not have; else such a call is an error (OW606).
        arena: keep freed memory for the next call, as ONNX Runtime does: the process stays at its
            peak, and large results are fast.  False gives it back to the system at once.

    Example:
        >>> import numpy as np
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
        ignore_unknown_function_kwargs: bool = False,
        arena: bool = True,
    ) -> None:
        self.arena = arena
        self.ignore_unknown_function_kwargs = ignore_unknown_function_kwargs
        if providers is not None:
            sessions.check_providers(providers)
        self.providers = None if providers is None else list(providers)
        self.session_options = session_options
        self.custom_op_libraries = tuple(str(path) for path in custom_op_libraries)
        self.fallback: Any = ReferenceEvaluator() if fallback == "reference" else fallback
        if self.fallback is not None and not callable(getattr(self.fallback, "run_op", None)):
            fail(
                messages.BadOption(
                    option="fallback",
                    value=repr(fallback),
                    advice='use "reference", an evaluator, or None',
                )
            )
        self.cache: sessions.SessionCache[Prepared] = sessions.SessionCache(max_sessions, max_bytes)
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
            EagerTypeError: no kernel exists for these types (OW611).
            EagerError: the runtime failed (OW612), or nothing implements the operator (OW613).
        """
        request = Request(op, inputs, attributes, outputs)
        key = _key(request)
        if key in self._fallen:
            return self._fall_back(request, None)
        prepared = self.cache.get(key)
        if prepared is None:
            try:
                prepared = self._prepare(key, request)
            except NoKernelError as error:
                return self._fall_back(request, error, key)
        try:
            return prepared(inputs)
        except NoKernelError as error:
            return self._fall_back(request, error, key)
        except OnnxwrightError:
            raise
        except Exception as error:  # noqa: BLE001 - the runtime raises many kinds
            unsupported = prepared.older or _NO_KERNEL.search(str(error)) is not None
            if unsupported or prepared.defined:
                results = self._by_definition(key, prepared, request)
                if results is not None:
                    return results
            if unsupported:
                return self._fall_back(request, NoKernelError(tidy(str(error))), key)
            self.failed(op, inputs, attributes, error)

    def _by_definition(
        self, key: Any, failed: Prepared, request: Request
    ) -> Sequence[Value] | None:
        """What a session refused, by the operator's definition, node by node; None without one."""
        signature = request.op.signature
        if signature is None or not signature.has_function:
            return None
        interpreted = Interpreted(self, request, graphs=False)
        try:
            if interpreted.body(request.inputs) is None:
                return None
            results = interpreted(request.inputs)
        except (EagerError, NoKernelError):
            return None
        self.cache.replace(key, failed, interpreted)
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
        request = Request(op, inputs, attributes, outputs)
        key = _key(request)
        if key in self._fallen:
            return None
        prepared = self.cache.get(key)
        if prepared is not None:
            return prepared
        try:
            return self._prepare(key, request)
        except NoKernelError as error:
            if self.fallback is None:
                fail_no_kernel(self.name, op, inputs, error)
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

    def _prepare(self, key: Any, request: Request) -> Prepared:
        op, inputs, attributes, _ = request
        record = facts(op.name, op.domain)
        fault = record.attribute_fault(attributes) if record.attribute_fault is not None else None
        if fault is not None:
            self.failed(op, inputs, attributes, ValueError(fault))
        types = declared_types(op, [without_shape(type_of_value(x)) for x in inputs])
        present = [x is not None for x in inputs]
        first: tuple[bool, BaseException] | None = None
        prepared = None
        parallel = self._may_be_parallel(op)
        for model, older in models_for(request, types):
            data = model.SerializeToString()
            try:
                session = self._session(data, parallel=parallel)
            except Exception as error:  # noqa: BLE001 - the runtime raises many kinds
                text = str(error)
                if op.signature is None and any(words in text for words in _UNKNOWN_OP):
                    fail(
                        messages.NoImplementation(op=op.name, domain=op.domain, version=op.version)
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
            prepared = self._interpreted(request, first)
        prepared.require(needs(op.name, op.domain, attributes, len(inputs)))
        kept = self.cache.add(key, prepared)
        if self.cache.evictions != self._evictions:
            self._evictions = self.cache.evictions
            self.forget_fast()
        return kept

    def _interpreted(self, request: Request, first: tuple[bool, BaseException] | None) -> Prepared:
        """The call run node by node: through its definition, or through its subgraphs."""
        op, inputs, attributes, _ = request
        graphs = [v for v in attributes.values() if hasattr(v, "node") and hasattr(v, "output")]
        if graphs and op.domain == "" and not any(protos.free_names(g) for g in graphs):
            return Interpreted(self, request, graphs=True)
        if op.signature is not None and op.signature.has_function:
            interpreted = Interpreted(self, request, graphs=False)
            if interpreted.body(inputs) is not None:
                return interpreted
        if first is None:
            raise NoKernelError("no version that it loads has this operator")
        none, error = first
        if none:
            raise NoKernelError(tidy(str(error)))
        self.failed(op, inputs, attributes, error)

    def _may_be_parallel(self, op: Op) -> bool:
        """Whether a session gets threads: where they pay, and not for too many sessions."""
        if not facts(op.name, op.domain).heavy:
            return False
        return (
            sum(facts(e.op.name, e.op.domain).heavy for e in self.cache.entries()) < _PARALLEL_LIMIT
        )

    def _session(self, data: bytes, *, parallel: bool = False) -> Any:
        options = self.session_options
        if options is None:
            options = sessions.small_options(parallel=parallel, arena=self.arena)
            for path in self.custom_op_libraries:
                options.register_custom_ops_library(path)
        return sessions.new_session(data, options, self.providers)

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
        nbytes = sessions.SESSION_BYTES + 2 * size
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
            call: Prepared = Exotic(op, session, present, outputs, nbytes)
            call.elements = elements
        else:
            widen(model, elements, exotic_in, results)
            session = self._session(model.SerializeToString())
            wide = Widened(op, session, present, outputs, nbytes)
            wide.elements = tuple(
                d if x else None for d, x in zip(elements, exotic_in, strict=True)
            )
            wide.results = results
            call = wide
        call.plain = False
        return call

    # -- failures --------------------------------------------------------------------------------

    def _fall_back(
        self, request: Request, error: NoKernelError | None, key: Any = None
    ) -> Sequence[Value]:
        if self.fallback is None:
            assert error is not None
            fail_no_kernel(self.name, request.op, request.inputs, error)
        if key is not None:
            with self._lock:
                first = key not in self._fallen
                if len(self._fallen) > 4096:
                    self._fallen.clear()
                self._fallen.add(key)
            if first:
                warn(
                    messages.FellBack(
                        op=request.op.name,
                        inputs=show_values(request.inputs),
                        evaluator=self.name,
                        fallback=str(getattr(self.fallback, "name", self.fallback)),
                        span=user_span(),
                    )
                )
        results: Sequence[Value] = self.fallback.run_op(*request)
        return results

    def failed(
        self, op: Op, inputs: Sequence[Value], attributes: Mapping[str, Any], error: BaseException
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


def _key(request: Request) -> Any:
    """What a session is known by: shapes of inputs are not part of it."""
    op = request.op
    return (
        op.domain,
        op.name,
        op.version if op.signature is None else op.since_version,
        tuple(type_key(x) for x in request.inputs),
        node_model.freeze_attributes(request.attributes),
        request.outputs,
    )
