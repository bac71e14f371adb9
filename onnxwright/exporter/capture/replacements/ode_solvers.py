"""Solvers of torchdiffeq while capturing: their loops are loops of the model.

Torchdiffeq decides by times and errors in Python: the direction of time, whether a step was good
enough, which step a wanted time is in.  Here the same formulas are computed with tensors, for times
that come from anywhere: solvers of fixed steps are one `scan` over the steps, adaptive ones a
`while_loop` within a `scan` over the wanted times.  Where the step size underflows, torchdiffeq
raises an error; the results are NaN here.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from onnxwright.exporter.capture.replacements.changes import Changes
from onnxwright.exporter.capture.replacements.traced_loops import is_traced, scan, while_loop

_HOME = "torchdiffeq._impl"
# Where a checked function keeps the shapes of the tensors that its state is joined of.
_JOINED = "shapes_of_state"


@dataclass(frozen=True)
class _Tableau:
    """The numbers of a Runge-Kutta method, read before the capture."""

    alpha: list[float]
    beta: list[list[float]]
    solution: list[float]
    error: list[float]
    middle: list[float]


def solvers_written_out(changes: Changes, model: Any) -> None:
    """`odeint` of torchdiffeq is captured with its loops."""
    names = ("odeint", "adjoint", "misc", "solvers", "rk_common")
    modules = [sys.modules.get(f"{_HOME}.{name}") for name in names]
    if None not in modules:
        for home, name, value in _Solvers(*modules).all():
            changes.attribute(home, name, value)


class _Solvers:
    """What torchdiffeq is while capturing.

    Args:
        odeint, adjoint, misc, solvers, rk: its modules.
    """

    def __init__(self, odeint: Any, adjoint: Any, misc: Any, solvers: Any, rk: Any) -> None:
        self.odeint, self.adjoint, self.misc = odeint, adjoint, misc
        self.fixed, self.adaptive = solvers.FixedGridODESolver, rk.RKAdaptiveStepsizeODESolver
        self.check_inputs = misc._check_inputs
        self.fixed_integrate = self.fixed.integrate
        self.adaptive_integrate = self.adaptive.integrate
        self.tableaus = {
            kind: _read(kind) for kind in odeint.SOLVERS.values() if issubclass(kind, self.adaptive)
        }

    def all(self) -> list[tuple[Any, str, Any]]:
        """Objects, names of their attributes, and what these are."""
        one_by_one = staticmethod(_grid_of_steps)
        return [
            (self.odeint, "_check_inputs", self._checked),
            (self.adjoint, "_check_inputs", self._checked),
            (self.misc, "_flat_to_shape", _flat_to_shape),
            (self.adjoint, "OdeintAdjointMethod", self._without_adjoint()),
            (self.misc, "_check_timelike", lambda *_: None),
            (self.misc, "_assert_increasing", lambda *_: None),
            (self.misc, "_nextafter", torch.nextafter),
            (self.misc, "_mixed_norm", _mixed_norm),
            (self.misc, "_tuple_tol", _tolerances),
            (self.fixed, "_grid_constructor_from_step_size", one_by_one),
            (self.fixed, "integrate", self._fixed()),
            (self.adaptive, "integrate", self._adaptive()),
        ]

    def _without_adjoint(self) -> Any:
        """The autograd function of the adjoint method: its forward pass alone."""
        odeint = self.odeint

        class Forward:
            @staticmethod
            def apply(
                shapes: Any, func: Any, y0: Any, t: Any, rtol: Any, atol: Any, method: Any,
                options: Any, event_fn: Any, *_: Any,
            ) -> Any:  # fmt: skip
                return odeint.odeint(
                    func, y0, t, rtol=rtol, atol=atol, method=method, options=options,
                    event_fn=event_fn,
                )  # fmt: skip

        return Forward

    def _checked(
        self, func: Any, y0: Any, t: Any, rtol: Any, atol: Any, method: Any, options: Any,
        event_fn: Any, solvers: Any,
    ) -> Any:  # fmt: skip
        """Checked arguments, with times that increase."""
        if not is_traced() or event_fn is not None:
            return self.check_inputs(func, y0, t, rtol, atol, method, options, event_fn, solvers)
        options = dict(options or {})
        joined = getattr(func, _JOINED, None)
        if not isinstance(func, self.misc._PerturbFunc):
            direction = torch.where(t[0] > t[-1], -1.0, 1.0).to(t.dtype)
            func = _directed(func, direction, self.misc._all_callback_names)
            t = t * direction
            for name in ("step_t", "jump_t"):
                if options.get(name) is not None:
                    options[name] = options[name] * direction
            if options.get("grid_constructor") is not None:
                options["grid_constructor"] = _directed_grid(options["grid_constructor"], direction)
        # Of one time only, torchdiffeq asks for no direction.
        checked = self.check_inputs(func, y0, t[:1], rtol, atol, method, options, event_fn, solvers)
        shapes, func, y0, _, *rest = checked
        setattr(func, _JOINED, shapes or joined)
        return (None, func, y0, t, *rest)  # torchdiffeq itself would fix the number of times

    def _has_callbacks(self, func: Any) -> bool:
        nothing = self.misc._null_callback
        names = self.misc._all_callback_names
        return any(getattr(func, name, nothing) is not nothing for name in names)

    def _fixed(self) -> Callable[..., Any]:
        changes = self

        def integrate(solver: Any, t: Any) -> Any:
            if not is_traced() or changes._has_callbacks(solver.func):
                return changes.fixed_integrate(solver, t)
            return _separate(solver, _fixed_steps(solver, t))

        return integrate

    def _adaptive(self) -> Callable[..., Any]:
        changes = self

        def integrate(solver: Any, t: Any) -> Any:
            tableau = changes.tableaus.get(type(solver))
            fixed_times = solver.step_t is not None or solver.jump_t is not None
            if (
                not is_traced()
                or tableau is None
                or fixed_times
                or changes._has_callbacks(solver.func)
            ):
                return changes.adaptive_integrate(solver, t)
            steps = _AdaptiveSteps(solver, tableau, changes.misc.Perturb)
            return _separate(solver, steps.solution(t))

        return integrate


def _separate(solver: Any, states: Any) -> Any:
    """States as the tensors that they were joined of, if they were."""
    shapes = getattr(solver.func, _JOINED, None)
    return states if shapes is None else _flat_to_shape(states, (1,), shapes)


def _read(kind: Any) -> _Tableau:
    tableau = kind.tableau
    return _Tableau(
        tableau.alpha.tolist(),
        [row.tolist() for row in tableau.beta],
        tableau.c_sol.tolist(),
        tableau.c_error.tolist(),
        kind.mid.tolist(),
    )


def _directed(func: Any, direction: Any, callbacks: Sequence[str]) -> Any:
    """A function of times that increase, for one of times in either order."""

    def directed(t: Any, y: Any) -> Any:
        slope = func(t * direction.to(t.dtype), y)
        if isinstance(slope, tuple):
            return tuple(x * direction.to(x.dtype) for x in slope)
        return slope * direction.to(slope.dtype)

    for name in callbacks:
        if hasattr(func, name):
            setattr(directed, name, getattr(func, name))
    return directed


def _directed_grid(constructor: Callable[..., Any], direction: Any) -> Callable[..., Any]:
    return lambda func, y0, t: constructor(func, y0, t * direction) * direction


def _grid_of_steps(step_size: Any) -> Callable[..., Any]:
    """Times one step apart; the last step ends with the last time."""

    def grid(func: Any, y0: Any, t: Any) -> Any:
        count = torch.ceil((t[-1] - t[0]) / step_size + 1).to(torch.int64).item()
        torch._check(count >= 2)
        times = torch.arange(count, dtype=torch.int64).to(t.dtype) * step_size + t[0]
        return torch.cat([times[:-1], t[-1:]])

    grid.is_finer = True  # type: ignore[attr-defined]
    return grid


def _flat_to_shape(tensor: Any, length: Any, shapes: Any) -> Any:
    """The tensors that a state was joined of."""
    front = tensor.shape[: len(length)]
    parts, begin = [], 0
    for shape in shapes:
        end = begin + math.prod(shape)
        parts.append(tensor[..., begin:end].reshape([*front, *shape]))
        begin = end
    return tuple(parts)


def _mixed_norm(tensors: Any) -> Any:
    """The largest of the root mean squares of tensors."""
    norms = [x.abs().pow(2).mean().sqrt() for x in tensors]
    return torch.stack(norms).amax() if norms else 0.0


def _tolerances(name: str, tolerance: Any, shapes: Any) -> Any:
    """A tolerance for each number of a joined state, of one for each tensor."""
    if not isinstance(tolerance, (tuple, list)):
        return tolerance
    pairs = zip(tolerance, shapes, strict=True)
    return torch.cat([torch.as_tensor(x).expand(math.prod(shape)) for x, shape in pairs])


def _over(x: Any, y: Any) -> Any:
    """Numbers for each row, of the type of the rows and with their axes."""
    return x.to(y.abs().dtype).reshape([-1, *[1] * (y.ndim - 1)])


def _fixed_steps(solver: Any, t: Any) -> Any:
    """States at wanted times, by steps between the times of a grid."""
    grid = solver.grid_constructor(solver.func, solver.y0, t)
    starts, ends = grid[:-1], grid[1:]
    cubic = solver.interp == "cubic" and grid is not t

    def step(y: Any, t0: Any, t1: Any) -> Any:
        change, slope = solver._step_func(solver.func, t0, t1 - t0, t1, y)
        after = (y + change).to(y.dtype)
        return [after], [after, *((slope, solver.func(t1, after)) if cubic else ())]

    if hasattr(solver, "prev_f"):  # multistep methods: each step is of its own form
        steps = range(int(starts.shape[0]))
        states, slopes = _one_by_one(step, solver.y0, [(starts[n], ends[n]) for n in steps])
    else:
        _, (states, *slopes) = scan(step, [solver.y0], [starts, ends])
    states = torch.cat([solver.y0.unsqueeze(0), states])
    if grid is t:
        return states
    # The first step that ends at a wanted time or behind it.
    index = torch.searchsorted(ends.contiguous(), t.contiguous())
    t0, t1, y0, y1 = starts[index], ends[index], states[index], states[index + 1]
    h = _over((t - t0) / (t1 - t0), y0)
    if not cubic:
        return torch.where(h == 1, y1, y0 + h * (y1 - y0))
    f0, f1 = (x[index] for x in slopes)
    dt = _over(t1 - t0, y0)
    h00, h10 = (1 + 2 * h) * (1 - h) * (1 - h), h * (1 - h) * (1 - h)
    h01, h11 = h * h * (3 - 2 * h), h * h * (h - 1)
    return h00 * y0 + h10 * dt * f0 + h01 * y1 + h11 * dt * f1


def _one_by_one(step: Callable[..., Any], y: Any, times: Any) -> tuple[Any, list[Any]]:
    """The results of steps, each written out."""
    rows = []
    for t0, t1 in times:
        (y,), stage = step(y, t0, t1)
        rows.append(stage)
    states, *slopes = (torch.stack(column) for column in zip(*rows))
    return states, slopes


class _AdaptiveSteps:
    """Steps of an embedded Runge-Kutta method whose errors choose their size.

    Args:
        solver: of torchdiffeq.
        tableau: its numbers.
        perturb: torchdiffeq's names of the sides of a time.
    """

    def __init__(self, solver: Any, tableau: _Tableau, perturb: Any) -> None:
        self.solver, self.tableau, self.perturb = solver, tableau, perturb

    def solution(self, t: Any) -> Any:
        """States at wanted times.

        Args:
            t: the times, increasing.

        Returns:
            The states, stacked.
        """
        y0, t = self.solver.y0, t.to(self.solver.dtype)
        f0 = self.solver.func(t[0], y0)
        first = self.solver.first_step
        dt = self._first_step(t[0], f0) if first is None else first
        start = [y0, f0, t[0], t[0], dt, torch.ones((), dtype=torch.bool), *[y0] * 5]

        def advance(*values: Any) -> Any:
            *state, end = values
            state = while_loop(lambda *s: (end > s[3]) & s[5], self._step, state)
            t0, t1, good = state[2], state[3], state[5]
            x = ((end - t0) / (t1 - t0)).to(y0.abs().dtype)
            e, d, c, b, a = state[6:]
            interpolated = e + x * (d + x * (c + x * (b + x * a)))
            return state, [torch.where(good, interpolated, torch.nan)]

        rows = scan(advance, start, [t[1:]])[1][0]
        return torch.cat([y0.unsqueeze(0), rows])

    def _step(
        self, y0: Any, f0: Any, before: Any, t0: Any, dt: Any, good: Any, *old: Any
    ) -> list[Any]:
        """One step: the next state; the same with a smaller step where the error was too large."""
        s = self.solver
        dt = torch.where(torch.isfinite(dt), dt, s.min_step).clamp(s.min_step, s.max_step)
        t1 = t0 + dt
        y1, k, error = self._stages(y0, f0, t0, dt, t1)
        allowed = s.atol + s.rtol * torch.maximum(y0.abs(), y1.abs())
        ratio = s.norm(error / allowed).abs()
        accept = ((ratio <= 1) & ~(dt > s.max_step)) | (dt <= s.min_step)
        fit = self._fit(y0, y1, k, dt.to(y0.abs().dtype))
        longer = torch.where(ratio < 1, torch.ones_like(s.dfactor), s.dfactor)
        ratio = ratio.to(dt.dtype)
        factor = torch.minimum(s.ifactor, torch.maximum(s.safety / ratio ** (1 / s.order), longer))
        following = (dt * factor).clamp(s.min_step, s.max_step)
        return [
            torch.where(accept, y1, y0),
            torch.where(accept, k[-1], f0),
            t0,
            torch.where(accept, t1, t0),
            following,
            (t1 > t0) & torch.isfinite(y0.abs()).all(),
            *(torch.where(accept, new, one) for new, one in zip(fit, old)),
        ]

    def _stages(self, y0: Any, f0: Any, t0: Any, dt: Any, t1: Any) -> tuple[Any, list[Any], Any]:
        """The state after a step, all derivatives, and an estimate of the error."""
        kind, names = y0.abs().dtype, self.perturb
        t0, dt, t1 = t0.to(kind), dt.to(kind), t1.to(kind)
        k, y1 = [f0], y0
        for alpha, beta in zip(self.tableau.alpha, self.tableau.beta):
            last = alpha == 1.0
            y1 = y0 + _combined(beta, k, dt)
            time = t1 if last else t0 + alpha * dt
            k.append(self.solver.func(time, y1, perturb=names.PREV if last else names.NONE))
        solution = self.tableau.solution
        if solution[-1] != 0 or solution[:-1] != self.tableau.beta[-1]:
            y1 = y0 + _combined(solution, k, dt)
        return y1, k, _combined(self.tableau.error, k, dt)

    def _fit(self, y0: Any, y1: Any, k: list[Any], dt: Any) -> list[Any]:
        """The polynomial of order 4 between two states, by increasing powers."""
        middle = y0 + _combined(self.tableau.middle, k, dt)
        f0, f1 = k[0], k[-1]
        return [
            y0,
            dt * f0,
            dt * (f1 - 4 * f0) - 11 * y0 - 5 * y1 + 16 * middle,
            dt * (5 * f0 - 3 * f1) + 18 * y0 + 14 * y1 - 32 * middle,
            2 * dt * (f1 - f0) - 8 * (y1 + y0) + 16 * middle,
        ]

    def _first_step(self, t0: Any, f0: Any) -> Any:
        """A size of the first step (Hairer, Norsett, Wanner: Solving Ordinary Differential
        Equations I, II.4).
        """
        s = self.solver
        y0, order = s.y0, s.order - 1
        scale = s.atol + y0.abs() * s.rtol
        d0, d1 = s.norm(y0 / scale).abs(), s.norm(f0 / scale).abs()
        small = torch.full_like(d0, 1e-6)
        h0 = torch.where((d0 < 1e-5) | (d1 < 1e-5), small, 0.01 * d0 / d1)
        f1 = s.func(t0 + h0, y0 + h0.to(y0.abs().dtype) * f0)
        d2 = (s.norm((f1 - f0) / scale) / h0).abs()
        tiny = (d1 <= 1e-15) & (d2 <= 1e-15)
        by_slope = (0.01 / torch.maximum(d1, d2)) ** (1.0 / (order + 1))
        h1 = torch.where(tiny, torch.maximum(small, h0 * 1e-3), by_slope)
        return torch.minimum(100 * h0, h1.abs()).to(t0.dtype)


def _combined(weights: Sequence[float], values: Sequence[Any], scale: Any) -> Any:
    """A sum of values by weights, those of 0 left out."""
    total = None
    for weight, value in zip(weights, values):
        if weight:
            term = value * (weight * scale)
            total = term if total is None else total + term
    assert total is not None
    return total
