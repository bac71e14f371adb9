"""One Loop node: its body is lowered until the types of what it carries are stable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from onnxwright.converter.frontend import hir
from onnxwright.converter.lower.loops.carried import AnyLoop, Carried, Slot
from onnxwright.converter.lower.memory import newly_stale
from onnxwright.converter.lower.regions import Region
from onnxwright.converter.lower.state import Lowering
from onnxwright.converter.lower.statements.binding import name_value
from onnxwright.diagnostics.catalogue import control_flow as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.ir import adapters
from onnxwright.ir.builder import detach
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import TensorType


def lower_loop(
    low: Lowering,
    s: AnyLoop,
    region: Region,
    trip: GraphValue | None,
    first: GraphValue | None,
    start: Callable[[GraphValue], None],
    cond_out: Callable[[], GraphValue | None],
    *,
    at_least_once: bool,
) -> None:
    """Lower the body until the types of what it carries are stable, then emit the Loop."""
    recorder = low.b.recorder
    state = Carried(low, s, region, at_least_once)
    region.shared = frozenset(low.regions.shared_names(s.carried, low.frame, low.frames()))
    for _ in range(12):
        mark = recorder.checkpoint()
        with low.regions.inside(region):
            body = _body(low, s, state, start, cond_out)
        if body.stable:
            break
        recorder.rollback(mark)
    else:
        fail(
            messages.LoopTypes(name=state.unstable, before="one type", after="another", span=s.span)
        )
    _emit_loop(low, s, state, body, trip, first)


def _body(
    low: Lowering,
    s: AnyLoop,
    state: Carried,
    start: Callable[[GraphValue], None],
    cond_out: Callable[[], GraphValue | None],
) -> _Body:
    """Lower the body once with the carried types as they are thought to be."""
    recorder, b = low.b.recorder, low.b
    before = low.frame.env
    recorder.push()
    try:
        low.frame.env = dict(before)
        kind = TensorType(DType.INT64, ())
        number = b.wrap(recorder.input("iter_num", kind), kind, "int")
        flag = recorder.input("cond_in", TensorType(DType.BOOL, ()))
        state.enter(low.frame.env)
        start(number)
        low.execute(s.body)
        again = cond_out()
        if again is None:
            again = b.wrap(flag, TensorType(DType.BOOL, ()))
        stable = state.leave(low.frame.env)
        stale = newly_stale(before, low.frame.env)
        before.update(stale)
        stable = stable and not stale
        outputs = state.results(low.frame.env) if stable else []
        first = len(outputs) - len(state.scanned) if stable else 0
        names = [slot.name for slot in state.scanned] if stable else []
        return _Body(stable, again, outputs, dict(zip(names, outputs[first:], strict=True)))
    except BaseException:
        recorder.drop()
        raise
    finally:
        low.frame.env = before


def _emit_loop(
    low: Lowering,
    s: AnyLoop,
    state: Carried,
    body: _Body,
    trip: GraphValue | None,
    first: GraphValue | None,
) -> None:
    recorder = low.b.recorder
    graph = recorder.pop([body.again.value, *(v.value for v in body.outputs)], "body")
    b = low.at(s.span)
    if first is None:
        # NOTE: always given: some runtimes take an absent condition for false.
        first = b.constant(np.array(True))
    inits = state.inits()
    slots = [*state.carried, *state.scanned]
    count = len(slots)
    if count == 0:
        for node in reversed(list(graph)):
            detach(node)
        state.finish(low.frame.env, [])
        return
    results = b.emit(b.opset["Loop"], (trip, first, *inits), {"body": graph}, count)
    values = []
    for value, slot, init in zip(results, slots, [*inits, *[None] * count], strict=False):
        if init is None:
            values.append(_scan_output(low, value, slot, body))
            continue
        kind = slot.kind.kind if slot.kind.kind is not None else value.kind
        recorder.set_type(value.value, kind)
        adapters.set_type(value.value, kind)
        info = recorder.info(value.value)
        info.same_dtype_as = info.same_dtype_as or recorder.same_dtype_as(init.value) or init.value
        named = b.wrap(value.value, kind, slot.kind.weak)
        if not slot.name.startswith(hir.INTERNAL):
            name_value(low, named, slot.name)
        values.append(named)
    state.finish(low.frame.env, values)


def _scan_output(low: Lowering, value: GraphValue, slot: Slot, body: _Body) -> GraphValue:
    """A scan output: what the body gives, with an axis for the iterations before its own."""
    kind_of_scan = body.scans[slot.name].kind
    shape = kind_of_scan.shape if isinstance(kind_of_scan, TensorType) else None
    dtype = kind_of_scan.dtype if isinstance(kind_of_scan, TensorType) else None
    kind = TensorType(dtype, None if shape is None else (None, *shape))
    low.b.recorder.set_type(value.value, kind)
    adapters.set_type(value.value, kind)
    named = low.b.wrap(value.value, kind)
    if not slot.name.startswith(hir.INTERNAL):
        name_value(low, named, slot.name)
    return named


@dataclass
class _Body:
    stable: bool
    again: GraphValue
    outputs: list[GraphValue]
    scans: dict[str, GraphValue]
