"""Linear recurrences of state space models, over a length that is known at run time.

Transformers computes them with a Python loop over the length of the example, which fixes it.  Where
the length is dynamic, the same recurrence is one `scan` over the times here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn import functional

from onnxwright.exporter.capture.decisions.conditional import Outputs
from onnxwright.exporter.capture.graphs.emitting import emit
from onnxwright.exporter.capture.graphs.regions import Region, empty, operand_values, tracer

# -- loops of functions in a program that is captured: `scan` of torch -----------------------------
# A function is run once, where it stands, on tensors without values; what it computes becomes the
# body.  It may read weights and other tensors of the program.


def is_traced() -> bool:
    """Whether a program is captured now."""
    return tracer() is not None


def scan(
    step: Callable[..., tuple[Sequence[Any], Sequence[Any]]],
    start: Sequence[Any],
    rows: Sequence[Any],
) -> tuple[list[Any], list[Any]]:
    """Tensors that are carried along the first axis of others.

    Args:
        step: takes the carried tensors and one row of each of the others; gives the next carried
            ones, of the same shapes and element types, and results.
        start: the carried tensors before the first row.
        rows: tensors of as many rows.

    Returns:
        The carried tensors after the last row, and the results of all rows, stacked.
    """
    start = [_copy(x) for x in start]
    count = len(start)
    with Region() as region:
        copies = [_copy(x) for x in (*start, *(x[0] for x in rows))]
        for x in copies:
            region.input(x)
        after, outputs = step(*copies)
        part = region.close([*after, *outputs])
    inputs = list(part.read)[: count + len(rows)]
    rest = [node for node in part.read if node not in inputs]
    results = Outputs(part)
    for value in (*after, *outputs):
        results.add(value, value, "a result", value.dtype)
    body = part.module([*inputs, *rest], results.nodes)
    length = rows[0].shape[0]
    emitted = emit(
        torch.ops.higher_order.scan,
        {"scan_combine_graph": body},
        (body, start, [x.contiguous() for x in rows], tuple(operand_values(rest))),
        [
            *(empty(x.shape, x.dtype) for x in start),
            *(empty([length, *x.shape], x.dtype) for x in outputs),
        ],
    )
    return list(emitted[:count]), list(emitted[count:])


def _copy(x: Any) -> Any:
    return x.clone(memory_format=torch.contiguous_format)


# -- recurrences -----------------------------------------------------------------------------------


def _is_fixed(size: Any) -> bool:
    return not is_traced() or not isinstance(size, torch.SymInt)


def selective_scan(own: Callable[..., Any]) -> Callable[..., Any]:
    """Mamba's recurrence: `s = exp(A dt) s + dt B x`, `y = s C`."""

    def run(
        hidden_states: Any, dt: Any, A: Any, B: Any, C: Any, D: Any = None,  # noqa: N803
        z: Any = None, delta_bias: Any = None, delta_softplus: bool = False,
        return_last_state: bool = False, **options: Any,
    ) -> Any:  # fmt: skip
        if _is_fixed(hidden_states.shape[2]):
            return own(
                hidden_states, dt, A, B, C, D=D, z=z, delta_bias=delta_bias,
                delta_softplus=delta_softplus, return_last_state=return_last_state, **options,
            )  # fmt: skip
        dtype = hidden_states.dtype
        dt = dt if delta_bias is None else dt + delta_bias.to(dt.dtype)[..., None]
        dt = functional.softplus(dt) if delta_softplus else dt
        # [time, batch, channels], and [time, batch, states] for B and C
        dt, x = dt.permute(2, 0, 1), hidden_states.permute(2, 0, 1)
        gains, reads = (v.permute(2, 0, 1) for v in (B, C))

        def step(state: Any, dt: Any, x: Any, gain: Any, read: Any) -> tuple[list[Any], list[Any]]:
            dt = dt.unsqueeze(-1)
            added = dt * gain.unsqueeze(1).float() * x.unsqueeze(-1).float()
            state = (torch.exp(A.unsqueeze(0) * dt) * state + added).to(state.dtype)
            return [state], [torch.matmul(state.to(dtype), read.unsqueeze(-1)).squeeze(-1)]

        kind = torch.promote_types(torch.promote_types(A.dtype, dt.dtype), torch.float32)
        start = torch.zeros([x.shape[1], x.shape[2], A.shape[-1]], dtype=kind)
        (state,), (rows,) = scan(step, [start], [dt, x, gains, reads])
        output = rows.permute(1, 2, 0)
        output = output if D is None else output + hidden_states * D[None, :, None]
        output = output if z is None else output * functional.silu(z)
        return (output, state) if return_last_state else output

    return run


def rnn_scan(own: Callable[..., Any]) -> Callable[..., Any]:
    """The recurrence of RecurrentGemma: `s = gate s + x`."""

    def run(
        self: Any, hidden_states: Any, recurrent_gate: Any, reset: Any, recurrent_states: Any,
        acc_dtype: torch.dtype = torch.float32,
    ) -> Any:  # fmt: skip
        if _is_fixed(hidden_states.shape[1]):
            return own(
                self, hidden_states, recurrent_gate, reset, recurrent_states, acc_dtype=acc_dtype
            )
        gates = (recurrent_gate * ~reset).transpose(0, 1)
        start = recurrent_states
        if start is None:
            start = torch.zeros([hidden_states.shape[0], hidden_states.shape[2]], dtype=acc_dtype)

        def step(state: Any, gate: Any, x: Any) -> tuple[list[Any], list[Any]]:
            state = gate.to(acc_dtype) * state + x.to(acc_dtype)
            return [state], [state.to(hidden_states.dtype)]

        inputs = [gates, hidden_states.transpose(0, 1)]
        (state,), (rows,) = scan(step, [start.to(acc_dtype)], inputs)
        return rows.transpose(0, 1), state

    return run


def weighted_keys(own: Callable[..., Any]) -> Callable[..., Any]:
    """RWKV's attention: means of the values by exponentials of the keys, that decay."""

    def run(
        time_decay: Any, time_first: Any, key: Any, value: Any, state: Any = None,
        return_state: bool = False,
    ) -> Any:  # fmt: skip
        if _is_fixed(key.shape[1]):
            return own(time_decay, time_first, key, value, state, return_state)
        decay = -torch.exp(time_decay)
        start = list(state) if state is not None else _no_keys(key)

        def step(above: Any, below: Any, most: Any, k: Any, v: Any) -> tuple[list[Any], list[Any]]:
            k = k.float()
            top = torch.maximum(most, k + time_first)
            old, new = torch.exp(most - top), torch.exp(k + time_first - top)
            output = (old * above + new * v) / (old * below + new)
            top = torch.maximum(most + decay, k)
            old, new = torch.exp(most + decay - top), torch.exp(k - top)
            return [old * above + new * v, old * below + new, top], [output.to(key.dtype)]

        states, (rows,) = scan(step, start, [key.transpose(0, 1), value.transpose(0, 1)])
        keeps = return_state or state is not None
        return rows.transpose(0, 1), list(states) if keeps else None

    return run


def _no_keys(key: Any) -> list[Any]:
    """The states before the first key."""
    sizes = [key.shape[0], key.shape[2]]
    zero = torch.zeros(sizes, dtype=torch.float32)
    return [zero, torch.zeros(sizes, dtype=torch.float32), zero - 1e38]
