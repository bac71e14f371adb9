"""What `op.Add(x, y)` does outside of a graph: the short path to a session, else the long one.

The short path is taken by a call that was made before with the same types and attributes; it is
a lookup and `session.run`.  The long path binds, converts and checks by the schema.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onnxwright.eager import arity, foreign, select
from onnxwright.eager.arrays import as_array
from onnxwright.eager.backend import backend_for
from onnxwright.eager.ort.calls import FastCall
from onnxwright.eager.ort.evaluator import OrtEvaluator
from onnxwright.eager.tensor import ConstantTensor, Tensor, WeakTensor, as_value, wrap
from onnxwright.eager.values import MapValue, SequenceValue, raw_value
from onnxwright.operators import facts
from onnxwright.opset import set_dispatcher
from onnxwright.opset.op import BoundCall, Op
from onnxwright.opset.registry import OpSignature
from onnxwright.semantics import calls
from onnxwright.types.dtypes import DType
from onnxwright.types.roles import CallRecorder, SymbolicValue

_ndarray = np.ndarray
_new = object.__new__
# Integers outside are left to the long path, which checks that they fit.
_INT_LOW, _INT_HIGH = -(2**31), 2**31 - 1
_FLOATS = frozenset(np.dtype(t) for t in (np.float16, np.float32, np.float64))
_INT64 = np.dtype(np.int64)
_SCALARS = frozenset({float, bool})
_BOOL = np.dtype(np.bool_)
# Attribute values that may be part of a key: they are equal only if they mean the same.
_KEY_TYPES = frozenset({int, float, str, bool, list, tuple, bytes, DType, type(None)})


def dispatch(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an operator.

    Args:
        args: positional arguments as written.
        kwargs: keyword arguments as written; `_evaluator=` chooses who runs this call.

    Returns:
        The outputs in the kind that went in: arrays for arrays, tensors for tensors; one value,
        or a tuple of them.

    Raises:
        ScriptTypeError: the call does not fit the schema.
        EagerError: it cannot be run.
    """
    evaluator = select.chosen_now() or select.default_now()
    key: Any = None
    if type(evaluator) is OrtEvaluator:
        wrapped = select.running() is not select.TOP
        numbers = True
        arrays: list[Any] = []
        kinds: list[Any] = [id(op)]
        for x in args:
            kind = type(x)
            if kind is _ndarray:
                numbers = False
                arrays.append(x)
                kinds.append(x.dtype)
            elif kind is Tensor or kind is ConstantTensor:
                wrapped = True
                array = x.value
                arrays.append(array)
                kinds.append(array.dtype)
            elif x is None or kind in _SCALARS or (kind is int and _INT_LOW <= x <= _INT_HIGH):
                arrays.append(x)
                kinds.append(kind)
            elif kind is list:
                array = _list_array(x)
                if array is None:
                    break
                arrays.append(array)
                kinds.append(list)
                kinds.append(array.dtype)
            else:
                break
        else:
            if kwargs:
                for name, value in kwargs.items():
                    kinds.append(name)
                    kind = type(value)
                    kinds.append(kind)
                    # Equal floats and tuples may still differ: 0.0 and -0.0, (1,) and (1.0,).
                    kinds.append(repr(value) if kind is float or kind is tuple else value)
            key, fast = _lookup(evaluator, tuple(kinds))
            # The frames: the caller, `Op.__call__`, this one.
            several = type(fast) is dict
            if several:
                fast = fast.get(arity.unpacked_into(2))
            if fast is not None:
                results = fast.run(arrays)
                if results is not None:
                    results = _given_back(results, wrapped=wrapped or numbers)
                    if several:
                        arity.check_later(op, results, arity.unpacked_later(2))
                    return results
    if not arity.is_open(op.signature):
        return _dispatch(evaluator, op, args, kwargs, key, None)
    results = _dispatch(evaluator, op, args, kwargs, key, arity.unpacked_into(2))
    arity.check_later(op, results, arity.unpacked_later(2))
    return results


def _list_array(x: list[Any]) -> np.ndarray[Any, Any] | None:
    """A flat list of ints or of floats as an array; None for any other list."""
    if not x:
        return None
    first = type(x[0])
    if first is int:
        for item in x:
            if type(item) is not int or not _INT_LOW <= item <= _INT_HIGH:
                return None
        return np.array(x, _INT64)
    if first is float:
        for item in x:
            if type(item) is not float:
                return None
        return np.array(x, np.float64)
    return None


def _given_back(results: Any, *, wrapped: bool) -> Any:
    """The outputs of a short path, as tensors or as arrays: one value, or a tuple."""
    if len(results) > 1:
        return tuple([wrap(r) for r in results] if wrapped else results)
    if not wrapped:
        return results[0]
    tensor = _new(Tensor)
    tensor.value = results[0]
    return tensor


def _lookup(evaluator: OrtEvaluator, key: tuple[Any, ...]) -> tuple[Any, Any]:
    """The short path of a call, and the key that it has; None for a call that can have none."""
    try:
        return key, evaluator.fast.get(key)
    except TypeError:  # an attribute that is a list
        pass
    try:
        hashable = tuple(
            # The text says the types of the elements too, and the sign of zero.
            ["list " + repr(k) if type(k) is list else k for k in key]
        )
        return hashable, evaluator.fast.get(hashable)
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
    recorder = next((x for x in everything if isinstance(x, CallRecorder)), None)
    if recorder is not None:
        if unpacked is not None:
            kwargs = {"_outputs": unpacked, **kwargs}
        return recorder.record_call(op.domain, op.name, args, kwargs)
    kind = foreign.kind_of(everything, inside=select.running() is not select.TOP)
    signature = op.signature
    if any(not isinstance(x, (np.ndarray, Tensor, int, float, str)) for x in everything):
        args = tuple([_argument(signature, n, x) for n, x in enumerate(args)])
        kwargs = {k: _argument(signature, k, x) for k, x in kwargs.items()}
    backend = backend_for(select.running().opset)
    bound = op.bind(args, kwargs)
    inputs = calls.input_values(backend, bound)
    count = arity.output_count(bound, unpacked)
    results = backend.emit(op, inputs, bound.attributes, count)
    if key is not None:
        _remember(evaluator, key, args, kwargs, bound, inputs, count, unpacked)
    shown = [foreign.give_back(r, kind) for r in results]
    return shown[0] if len(shown) == 1 else tuple(shown)


def _argument(signature: OpSignature | None, where: int | str, x: Any) -> Any:
    """A foreign tensor as an array; a list that can only be a sequence as one, a dict as a map."""
    if isinstance(x, dict) and not isinstance(x, MapValue):
        return MapValue(x)
    array = foreign.to_array(x)
    if array is not None:
        return array
    if isinstance(x, SequenceValue):
        return foreign.own_sequence(x)
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
            return own_list(x)
    return x


def own_list(items: Sequence[Any]) -> SequenceValue:
    """A Python list as a sequence; numbers in it take the element type of its tensors."""
    raw = [raw_value(_argument(None, 0, v)) for v in items]
    strong = next((DType.from_numpy(v.dtype) for v in raw if isinstance(v, np.ndarray)), None)
    values = []
    for v in raw:
        own = isinstance(v, np.generic)
        is_number = own or isinstance(v, (bool, int, float, str))
        values.append(as_value(as_array(v, None if own else strong) if is_number else v))
    return SequenceValue(values)


def _graph_value(values: Sequence[Any]) -> Any | None:
    """The first value that belongs to a graph being built, also inside lists."""
    for x in values:
        if isinstance(x, SymbolicValue):
            return x
        if isinstance(x, (list, tuple)):
            value = _graph_value(x)
            if value is not None:
                return value
    return None


def _remember(
    evaluator: OrtEvaluator,
    key: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    bound: BoundCall,
    inputs: Sequence[Any],
    count: int,
    unpacked: int | None,
) -> None:
    """Let the next call like this one take the short path, where it is safe to."""
    op = bound.op
    if op.signature is None or op.name == "Constant" or len(bound.inputs) != len(args):
        return
    if any(x is not y for x, y in zip(args, bound.inputs, strict=True)):
        return
    if not all(type(v) in _KEY_TYPES or isinstance(v, type) for v in kwargs.values()):
        return
    convert = []
    for n, (argument, value) in enumerate(zip(args, inputs, strict=True)):
        if argument is None:
            continue
        if not isinstance(value, Tensor) or type(value) is WeakTensor:
            return
        if not isinstance(argument, (np.ndarray, Tensor)):
            dtype = value.value.dtype
            if not _follows_from_kind(argument, dtype):
                return
            convert.append((n, dtype))
    prepared = evaluator.prepare(op, [raw_value(x) for x in inputs], bound.attributes, count)
    if prepared is None or len(prepared.names) != len(args) or not prepared.gives_tensors:
        return
    if facts(op.name, op.domain).has_bodies and len(prepared.kinds) != count:
        return
    fast = FastCall(op, prepared, tuple(convert) or None)
    if arity.is_open(op.signature):
        entry = evaluator.fast.get(key)
        by_count: dict[int | None, FastCall] = dict(entry) if type(entry) is dict else {}
        by_count[unpacked] = fast
        evaluator.remember(key, by_count)
    else:
        evaluator.remember(key, fast)


def _follows_from_kind(number: Any, dtype: np.dtype[Any]) -> bool:
    """Whether every number of this Python kind becomes `dtype` here, by a plain conversion."""
    if type(number) is bool:
        return dtype == _BOOL
    if type(number) is int or (type(number) is list and type(number[0]) is int):
        return dtype == _INT64 or dtype in _FLOATS
    if type(number) is float or (type(number) is list and type(number[0]) is float):
        return dtype in _FLOATS
    return False


set_dispatcher(dispatch)
