"""`torch.while_loop` beside decisions and loops of Python: the loop that it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onnxwright.exporter.capture.control.functions import bound
from onnxwright.exporter.capture.graphs.regions import tracer
from onnxwright.exporter.capture.loops.loops import while_
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.capture.values.state import State


def while_loop_of_torch(own: Callable[..., Any]) -> Callable[..., Any]:
    """`while_loop` of torch, as the loop that it is."""

    def while_loop(cond_fn: Any, body_fn: Any, carried_inputs: Any) -> Any:
        if current() is None or tracer() is None:
            return own(cond_fn, body_fn, carried_inputs)
        box, names = [tuple(carried_inputs)], ("the carried inputs",)

        def put(values: Any) -> None:
            box[0] = values[0]

        state = State(names, names, (lambda: box[0],), put)
        test, step = bound(cond_fn), bound(body_fn)
        while_(lambda: test(*box[0]), lambda: put([tuple(step(*box[0]))]), None, state)
        return box[0]

    return while_loop
