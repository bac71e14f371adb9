"""Calls ready to run: a session of one node with its values plain, in memory or widened.

What no session runs whole is a call too: node by node, through the evaluator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from onnxwright.diagnostics.catalogue import eager as messages
from onnxwright.eager import node_model
from onnxwright.eager.control_flow import interpreter
from onnxwright.eager.evaluators import Request
from onnxwright.eager.ort import sessions
from onnxwright.eager.ort import values as ort_values
from onnxwright.eager.ort.plans import with_defaults
from onnxwright.eager.ort.rank_guards import LEFT_OUT, Need
from onnxwright.eager.values import MapValue, SequenceValue, Value, type_of_value
from onnxwright.errors import EagerError
from onnxwright.opset.op import Op
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, OptionalType, SequenceType, TensorType, parse_onnx_name


class NoKernelError(Exception):
    """The runtime has nothing that runs this call; the reason is its text."""


class Prepared(sessions.Entry):
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

    def require(self, needs: Sequence[Need]) -> None:
        """Refuse inputs that lack what the runtime reads: it would end the process."""
        if needs:
            self.run = _checked(self.run, needs)

    def __call__(self, inputs: Sequence[Value]) -> list[Value]:
        """Run on values in schema order."""
        feed = {n: x for n, x in zip(self.names, inputs, strict=True) if n is not None}
        results = self.run(self.outputs, feed, None)
        return [from_runtime(r, k) for r, k in zip(results, self.kinds, strict=True)]


def _checked(run: Any, needs: Sequence[Need]) -> Any:
    """The `run` of a session that refuses inputs without what the runtime reads."""
    by_name = {f"i{need.place}": need for need in needs}

    def checked(outputs: Any, feed: Mapping[str, Any], options: Any = None) -> Any:
        for name, need in by_name.items():
            if name in feed:
                missing = need.missing(getattr(feed[name], "shape", None))
            else:
                missing = LEFT_OUT if need.required else None
            if missing is not None:
                raise ValueError(f"its input {need.place} {missing}")
        return run(outputs, feed, options)

    return checked


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

    def run(self, arrays: list[Any]) -> Any:
        """The outputs of one call; None where it fails: the long path raises the error.

        Args:
            arrays: the arguments in schema order; numbers are converted in it.
        """
        prepared = self.prepared
        if self.convert is not None:
            for n, dtype in self.convert:
                arrays[n] = np.array(arrays[n], dtype)
        try:
            if self.two:
                feed = {"i0": arrays[0], "i1": arrays[1]}
                results = prepared.run(prepared.outputs, feed, None)
            elif prepared.plain:
                feed = {n: x for n, x in zip(prepared.names, arrays) if n is not None}
                results = prepared.run(prepared.outputs, feed, None)
            else:
                results = prepared(arrays)
        except Exception:  # noqa: BLE001 - the runtime raises many kinds
            return None
        prepared.used = True
        return results


class Exotic(Prepared):
    """A session with element types that numpy does not have: values go in and out by memory."""

    __slots__ = ()

    def __call__(self, inputs: Sequence[Value]) -> list[Value]:
        """Run on values in schema order."""
        ort = sessions.runtime()
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
        results = super().__call__(wide)
        return [
            r.astype(d.numpy) if isinstance(r, np.ndarray) and d is not None else r
            for r, d in zip(results, self.results, strict=True)
        ]


class Interpreted(Prepared):
    """A call that no session runs whole: node by node, each through the evaluator."""

    __slots__ = ("attributes", "count", "graphs", "owner")

    def __init__(self, owner: Any, request: Request, *, graphs: bool) -> None:
        sessions.Entry.__init__(self, sessions.SESSION_BYTES)
        self.op = request.op
        self.owner = owner
        self.attributes = request.attributes
        self.count = request.outputs
        self.graphs = graphs
        self.plain = False
        self.older = self.defined = False
        self.names = ()
        self.kinds = ()

    def require(self, needs: Sequence[Need]) -> None:
        """The calls that it makes check their own inputs."""

    def body(self, inputs: Sequence[Value]) -> Any | None:
        """The function that defines the operator, for these inputs."""
        signature = self.op.signature
        assert signature is not None
        types = [type_of_value(x) for x in inputs]
        present = [x is not None for x in inputs]
        node = node_model.node_proto(
            self.op.name, self.op.domain, signature, present, self.attributes, self.count
        )
        full = with_defaults(node, signature)
        return node_model.function_body(signature, self.op.version, full, types)

    def __call__(self, inputs: Sequence[Value]) -> list[Value]:
        """Run on values in schema order."""
        run = interpreter.Interpreter(self.owner.run_op, {"": self.op.version})
        try:
            if self.graphs:
                node = onnx.NodeProto(op_type=self.op.name)
                names = [f"i{n}" if x is not None else "" for n, x in enumerate(inputs)]
                node.input.extend(names)
                node.output.extend(f"o{n}" for n in range(self.count))
                for name, value in self.attributes.items():
                    node.attribute.append(node_model.attribute_proto(name, value))
                return list(run.node(node, inputs, interpreter.Scope({})))
            signature = self.op.signature
            body = self.body(inputs)
            assert signature is not None
            assert body is not None
            attributes = {
                n: a.default for n, a in signature.attributes.items() if a.default is not None
            }
            return run.function(body, inputs, {**attributes, **self.attributes})[: self.count]
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
    """A result of `run` as a value: lists and dicts get their type."""
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
