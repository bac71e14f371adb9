"""What `op.Add(x, y)` does outside of a graph: the short path to a session, else the long one.

The short path is taken by a call that was made before with the same types and attributes; it is
a lookup and `session.run`.  The long path binds, converts and checks by the schema.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onnxwright.eager import arity, foreign, select
from onnxwright.eager.backend import as_value, backend_for
from onnxwright.eager.ort import OrtEvaluator, Prepared
from onnxwright.eager.tensor import ConstantTensor, Tensor, WeakTensor
from onnxwright.eager.values import MapValue, SequenceValue, raw_value
from onnxwright.opset import set_dispatcher
from onnxwright.opset.op import Op
from onnxwright.opset.registry import OpSignature
from onnxwright.semantics import calls

_ndarray = np.ndarray
_new = object.__new__
_TENSORS = (Tensor, ConstantTensor)
# More than sessions, because several spellings of one call share a session.
_FAST_LIMIT = 8192


def dispatch(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an operator.

    Args:
        op: the operator.
        args: positional arguments as written.
        kwargs: keyword arguments as written; `_evaluator=` chooses who runs this call.

    Returns:
        The outputs in the kind that went in: arrays for arrays, tensors for tensors; one value,
        or a tuple of them.

    Raises:
        ScriptTypeError: the call does not fit the schema.
        EagerError: it cannot be run.
    """
    evaluator = select._chosen_now() or select._default
    key: Any = None
    if type(evaluator) is OrtEvaluator:
        wrapped = select.running() is not select.TOP
        arrays: list[Any] = []
        kinds: list[Any] = [id(op)]
        for x in args:
            kind = type(x)
            if kind is _ndarray:
                arrays.append(x)
                kinds.append(x.dtype)
            elif kind is Tensor or kind is ConstantTensor:
                wrapped = True
                array = x.value
                arrays.append(array)
                kinds.append(array.dtype)
            elif x is None:
                arrays.append(None)
                kinds.append(None)
            else:
                break
        else:
            if kwargs:
                for name, value in kwargs.items():
                    kinds.append(name)
                    kinds.append(type(value))
                    kinds.append(value)
            key = tuple(kinds)
            try:
                prepared = evaluator.fast.get(key)
            except TypeError:  # an attribute that is a list
                key, prepared = _listed_key(evaluator, key)
            if prepared is not None:
                return _run_fast(evaluator, prepared, op, arrays, kwargs, wrapped)
    # The frames: the caller, `Op.__call__`, this one.
    unpacked = arity.unpacked_into(2) if arity.is_open(op.signature) else None
    return _dispatch(evaluator, op, args, kwargs, key, unpacked)


def _run_fast(
    evaluator: OrtEvaluator,
    prepared: Prepared,
    op: Op,
    arrays: list[Any],
    kwargs: Mapping[str, Any],
    wrapped: bool,
) -> Any:
    names = prepared.names
    try:
        if len(arrays) == 2 and names[0] is not None and names[1] is not None:
            feed = {names[0]: arrays[0], names[1]: arrays[1]}
        else:
            feed = {n: x for n, x in zip(names, arrays) if n is not None}
        results = prepared.run(prepared.outputs, feed, None)
    except Exception as error:  # noqa: BLE001 - the runtime raises many kinds
        evaluator.failed(op, arrays, {k: v for k, v in kwargs.items() if k[0] != "_"}, error)
    prepared.used = True
    if len(results) == 1:
        if wrapped:
            made = _new(Tensor)
            made.value = results[0]
            return made
        return results[0]
    if wrapped:
        return tuple(as_value(r) for r in results)
    return tuple(results)


def _listed_key(evaluator: OrtEvaluator, key: tuple[Any, ...]) -> tuple[Any, Prepared | None]:
    """The key of a call with lists among its attributes."""
    try:
        made = tuple(
            ("list", tuple(k), tuple(map(type, k))) if type(k) is list else k for k in key
        )
        return made, evaluator.fast.get(made)
    except TypeError:
        return None, None


def _dispatch(
    evaluator: Any,
    op: Op,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    key: Any,
    unpacked: int | None,
) -> Any:
    """The long path."""
    if "_evaluator" in kwargs:
        kwargs = dict(kwargs)
        with select.evaluator(kwargs.pop("_evaluator")):
            return _dispatch(select.current(), op, args, kwargs, None, unpacked)
    everything = [*args, *kwargs.values()]
    graph = _graph_value(everything)
    if graph is not None:
        plain = tuple(raw_value(x) if isinstance(x, Tensor) else x for x in args)
        named = {k: raw_value(x) if isinstance(x, Tensor) else x for k, x in kwargs.items()}
        return calls.call(graph._backend(), op, plain, named, unpacked)
    kind = foreign.kind_of(everything, inside=select.running() is not select.TOP)
    signature = op.signature
    if kind.name == "torch" or any(type(x) in (list, tuple, dict) for x in everything):
        args = tuple(
            _argument(signature, n, x) for n, x in enumerate(args)
        )
        kwargs = {k: _argument(signature, k, x) for k, x in kwargs.items()}
    backend = backend_for(select.running().opset)
    bound = op.bind(args, kwargs)
    inputs = calls.input_values(backend, bound)
    count = arity.output_count(bound, unpacked)
    results = backend.emit(op, inputs, bound.attributes, count)
    if key is not None:
        _remember(evaluator, key, op, args, bound, inputs, count)
    shown = [foreign.give_back(r, kind) for r in results]
    return shown[0] if len(shown) == 1 else tuple(shown)


def _argument(signature: OpSignature | None, where: int | str, x: Any) -> Any:
    """A foreign tensor as an array; a list that can only be a sequence as one, a dict as a map."""
    if isinstance(x, dict) and not isinstance(x, MapValue):
        return MapValue(x)
    array = foreign.to_array(x)
    if array is not None:
        return array
    if type(x) in (list, tuple) and signature is not None and signature.inputs:
        if isinstance(where, int):
            param = signature.inputs[min(where, len(signature.inputs) - 1)]
        else:
            named = [p for p in signature.inputs if p.name == where]
            if not named:
                return x
            param = named[0]
        if not any(t.startswith("tensor(") for t in param.types) and any(
            t.startswith("seq(") for t in param.types
        ):
            return SequenceValue([as_value(raw_value(_argument(None, 0, v))) for v in x])
    return x


def _graph_value(values: Sequence[Any]) -> Any | None:
    """The first value that belongs to a graph being built, also inside lists."""
    for x in values:
        if getattr(type(x), "__ow_graph_value__", False):
            return x
        if isinstance(x, (list, tuple)):
            found = _graph_value(x)
            if found is not None:
                return found
    return None


def _remember(
    evaluator: Any,
    key: Any,
    op: Op,
    args: Sequence[Any],
    bound: Any,
    inputs: Sequence[Any],
    count: int,
) -> None:
    """Let the next call like this one take the short path, where it is safe to."""
    if arity.is_open(op.signature) or count > 1:
        return
    if op.name == "Constant" or len(bound.inputs) > len(args):
        return
    given = list(args)
    while given and given[-1] is None:
        given.pop()
    if len(given) != len(bound.inputs) or any(
        x is not y for x, y in zip(given, bound.inputs, strict=True)
    ):
        return
    if any(type(x) is WeakTensor for x in inputs):
        return
    prepared = evaluator.prepare(op, [raw_value(x) for x in inputs], bound.attributes, count)
    if prepared is None or not prepared.plain or len(prepared.names) != len(args):
        return
    if any(k is None or k.onnx_name[:7] != "tensor(" for k in prepared.kinds):
        return
    if len(evaluator.fast) >= _FAST_LIMIT:
        evaluator.forget_fast()
    # NOTE: the key holds `id(op)`; the operator is kept alive, so the id stays its own.
    evaluator.pinned[id(op)] = op
    evaluator.fast[key] = prepared


set_dispatcher(dispatch)
