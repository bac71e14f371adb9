"""What a function returns: its body is lowered, and the result checked against its annotation."""

from __future__ import annotations

from typing import Any

from onnxwright.converter.frontend import hir
from onnxwright.converter.frontend.depth import room_for
from onnxwright.converter.lower.run_time_lists import item_type, sequence_value
from onnxwright.converter.lower.state import Lowering
from onnxwright.converter.lower.values import Poison, is_dynamic
from onnxwright.converter.pipeline import Front
from onnxwright.diagnostics.catalogue import control_flow as messages
from onnxwright.diagnostics.catalogue import models
from onnxwright.diagnostics.diagnostic import collecting, fail, located
from onnxwright.diagnostics.span import Span
from onnxwright.errors import InternalError, OnnxwrightError
from onnxwright.semantics.backend import Promotable, is_value
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.literals import as_value, describe, is_number_like, own_array
from onnxwright.types.annotations import ValueSpec
from onnxwright.types.kinds import OptionalType, SequenceType, TensorType, fits
from onnxwright.types.signature import FunctionSignature


def function_result(low: Lowering, signature: FunctionSignature, front: Front) -> Any:
    """Lower the body; what it returns, as a value or a tuple or list of values.

    Raises:
        ScriptError: something in it cannot be lowered, or a path returns nothing.
        InternalError: a bug of ours, with the place in the user's program.
    """
    try:
        with (
            room_for(front.parsed.depth),
            collecting(low.b.recorder.warnings),
            located(lambda: low.b.span),
        ):
            low.execute(front.body)
            value = low.frame.env.get(hir.RESULT, _MISSING)
            return _checked_result(low, value, signature, front)
    except (OnnxwrightError, RecursionError, Warning):
        raise
    except Exception as error:
        reason = str(error).replace("{", "(").replace("}", ")")
        name = type(error).__name__
        bug = models.CompilerBug(exception=name, reason=reason, span=low.b.span)
        raise InternalError(bug) from error


def _checked_result(low: Lowering, value: Any, signature: FunctionSignature, front: Front) -> Any:
    name = front.parsed.name
    span = low.result_span or front.parsed.unit.span
    if value is _MISSING or value is None:
        if signature.returns == () and value is not _MISSING:
            return ()
        what = "it ends without one" if value is _MISSING else "a `return` without a value"
        at = front.parsed.unit.span if value is _MISSING else span
        fail(messages.MissingReturn(name=name, what=what, span=at))
    if isinstance(value, Poison):
        fail(value.diagnostic.at(span))
    if isinstance(value, list) and _is_one_sequence(signature):
        value = _as_sequence(low, value, name)
    single = not (isinstance(value, (tuple, list)) and not _is_one_tensor(value, signature))
    items = [value] if single else list(value)
    returns = signature.returns
    if returns is not None and len(returns) != len(items) and low.handlers.checked:
        fail(
            messages.ReturnCount(
                name=name,
                got=_values(len(items)),
                expected=f"its annotation says {_values(len(returns))}",
                span=span,
            )
        )
    results = []
    for n, item in enumerate(items):
        spec = returns[n] if returns is not None and low.handlers.checked else None
        results.append(_result_value(low, item, spec, name, span))
    return results[0] if single else tuple(results)


def _result_value(
    low: Lowering, item: Any, spec: ValueSpec | None, name: str, span: Span
) -> GraphValue:
    b = low.at(span)
    if isinstance(item, Poison):
        fail(item.diagnostic.at(span))
    item = low.value(item)
    usable = is_value(item) or own_array(item) is not None or isinstance(item, (list, tuple))
    if not usable and not is_number_like(item) and not isinstance(item, Promotable):
        fail(messages.NothingReturned(name=name, what=describe(item), span=span))
    kinds = [] if spec is None else list(spec.types)
    weak = item.weak if isinstance(item, GraphValue) else None
    if not isinstance(item, GraphValue) or weak is not None:
        only = kinds[0].dtype if len(kinds) == 1 and isinstance(kinds[0], TensorType) else None
        if weak is not None and only is None:
            return item  # type: ignore[no-any-return]
        result: GraphValue = as_value(b, item, dtype=only)
        if only is None and not isinstance(item, GraphValue) and _kind(item) is not None:
            return _weak_constant(low, item, result)
        return result
    fitting = [*kinds, *map(OptionalType, kinds)] if spec is not None and spec.optional else kinds
    if kinds and item.kind is not None and not any(fits(item.kind, k) for k in fitting):
        shown = str(spec)
        fail(messages.ReturnType(name=name, got=str(item.kind), expected=shown, span=span))
    return item


def _weak_constant(low: Lowering, item: Any, value: GraphValue) -> GraphValue:
    """A number returned: for a caller it still is a number."""
    return low.b.as_weak(value, _kind(item))


_MISSING: Any = object()


def _kind(item: Any) -> str | None:
    if isinstance(item, bool):
        return "bool"
    if isinstance(item, (int, float)):
        return type(item).__name__ if type(item) in (int, float) else "float"
    return None


def _is_one_tensor(value: Any, signature: FunctionSignature) -> bool:
    """A returned list of numbers is one tensor, unless the annotation says several."""
    if isinstance(value, tuple) or is_dynamic(value):
        return False
    if signature.returns is not None and len(signature.returns) != 1:
        return False
    return is_number_like(value) and bool(value)


def _is_one_sequence(signature: FunctionSignature) -> bool:
    """Whether the annotation of the result is one sequence."""
    returns = signature.returns
    only = returns[0] if returns is not None and len(returns) == 1 else None
    if only is None or not only.types:
        return False
    return all(isinstance(t, SequenceType) for t in only.types)


def _as_sequence(low: Lowering, items: list[Any], name: str) -> Any:
    """A returned list as a sequence, which is what the annotation says."""
    item = item_type(low.b, items)
    if isinstance(item, str):
        return items
    return sequence_value(low.b, items, item, name)


def _values(n: int) -> str:
    return f"{n} value{'' if n == 1 else 's'}"
