"""Whether a model computes what its module computes: checker, runtime, sizes, branches."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx
import torch

from onnxwright.exporter.capture.assumptions.guards import Place
from onnxwright.exporter.capture.control.keeping import held_state_kept
from onnxwright.exporter.program.branch_inputs import BranchSearch, Inputs
from onnxwright.exporter.program.other_sizes import cause_of, other_sizes
from onnxwright.exporter.program.random_values import compared_without_values, random_outputs
from onnxwright.exporter.program.resizing import invented, is_integer, with_shapes
from onnxwright.exporter.program.running import hollow
from onnxwright.exporter.program.verification import OutputCheck, Verification, compare
from onnxwright.exporter.torch_internals import pytree
from onnxwright.exporter.torch_types import has_no_numbers


def check_model(model: Any) -> str:
    """What onnx.checker says against a model, without its weights; empty if nothing."""
    proto, taken = hollow(model)
    if taken:
        # The checker wants external data to exist: the names become inputs instead.
        kept = [i for i in proto.graph.initializer if i.name not in taken]
        for initializer in proto.graph.initializer:
            if initializer.name in taken:
                proto.graph.input.append(
                    onnx.helper.make_tensor_value_info(
                        initializer.name, initializer.data_type, list(initializer.dims)
                    )
                )
        del proto.graph.initializer[:]
        proto.graph.initializer.extend(kept)
    try:
        onnx.checker.check_model(proto, full_check=True)
    except Exception as error:  # noqa: BLE001 - the checker raises several kinds
        return f"onnx.checker: {str(error).strip().splitlines()[0]}"
    return ""


def verify(
    program: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    *,
    more: Sequence[Inputs] = (),
    rtol: float | None = None,
    atol: float | None = None,
) -> Verification:
    """Check a program: the model itself, the given inputs, other sizes, and other branches."""
    verification = Verification()
    problem = check_model(program.model)
    if problem:
        verification.problems.append(problem)
    check = _Check(program, verification, rtol, atol, random_outputs(program))
    for number, inputs in enumerate([(tuple(args), kwargs), *more]):
        run = f"further inputs {number}" if number else "given"
        reason = check.run(run, *inputs)
        if reason:
            verification.problems.append(
                f"PyTorch does not run the program on {run} inputs: {reason}"
            )
    check.flat_inputs = program.flat_inputs(tuple(args), dict(kwargs))
    verification.notes += [
        f"not verified: sizes where `{guard.text}` does not hold"
        for guard in program.sizes.decisions()
    ]
    if program.module is not None and program.by_values.at_run_time:
        check.search = BranchSearch(program.by_values, _reference(program))
        check.ends((tuple(args), dict(kwargs)))
    _run_sizes(check, args, kwargs, is_shown=bool(more))
    _run_branches(check, args, kwargs)
    return verification


def _run_sizes(
    check: _Check, args: Sequence[Any], kwargs: dict[str, Any], *, is_shown: bool
) -> None:
    """Compare at other sizes: those of one symbol and another, and both sides of decisions.

    Args:
        is_shown: whether the user gave inputs of other sizes.
    """
    program, verification = check.program, check.verification
    tried = check.first_of("other sizes", other_sizes(program, args, kwargs))
    # Sizes of 1 that the module does not take say nothing.
    check.first_of("smallest sizes", other_sizes(program, args, kwargs, (lambda n: 1,)))
    for places in program.examples[:_MOST_EXAMPLES]:
        check.first_of("sizes of both sides", _at_places(check, places))
    if not tried or is_shown:
        return
    # None of these sizes is refused by a guard, and the module runs with none of them.
    reason = f"PyTorch does not run the program on other sizes inputs: {tried}"
    if any(isinstance(x, torch.Tensor) and is_integer(x) for x in check.flat_inputs):
        verification.undecided.append(reason)
    else:
        verification.refused = reason


def _at_places(check: _Check, sizes: Mapping[Place, int]) -> Iterator[Inputs]:
    """The given inputs with other sizes, by (flattened input, axis)."""
    shapes: dict[int, list[int]] = {}
    for (n, axis), size in sizes.items():
        if axis is not None and check.flat_inputs[n].shape[axis]:
            shapes.setdefault(n, list(check.flat_inputs[n].shape))[axis] = size
    numbers = {n: size for (n, axis), size in sizes.items() if axis is None}
    spec = check.program.exported_program.call_spec.in_spec
    for flat in with_shapes(check.flat_inputs, shapes, numbers):
        yield pytree.tree_unflatten(flat, spec)


def _run_branches(check: _Check, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Compare on inputs that take other branches of decisions by values."""
    program, verification, search = check.program, check.verification, check.search
    if search is None:
        return
    example_inputs = (tuple(args), dict(kwargs))
    others = list(itertools.islice(other_sizes(program, args, kwargs), 1))
    smallest = list(itertools.islice(other_sizes(program, args, kwargs, (lambda n: 1,)), 1))
    with held_state_kept(program.module, [], writes_buffers=True):
        for inputs in (example_inputs, *others, *smallest):
            search.add(_copied(inputs))
        for inputs in search.find((example_inputs, *others)):
            check.run("other branches", *inputs)
    verification.branches = search.branches()
    verification.notes += [
        f"not verified: {side}; no inputs that were tried take it"
        for branch in verification.branches
        for side in branch.missing()
    ]
    verification.notes += [
        f"not verified: {text} for inputs that were tried" for text in search.stopped
    ]


@dataclass
class _Check:
    """Runs the module and the model on the same inputs.

    Fields:
        program: the program.
        verification: what is found is added here.
        rtol, atol: tolerances; by dtype if None.
        random: outputs that random numbers are in, as `random_outputs` gives them.
        flat_inputs: the flattened inputs of the user that others are made from.
        search: knows which inputs take which branches of decisions by values; None without such.
    """

    program: Any
    verification: Verification
    rtol: float | None
    atol: float | None
    random: Mapping[str, Sequence[bool]]
    flat_inputs: list[Any] = field(default_factory=list)
    search: BranchSearch | None = None

    def first_of(self, run: str, candidates: Iterator[Inputs]) -> str:
        """Compare on the first inputs that the module takes; why it takes none, else empty."""
        reason = ""
        for inputs in candidates:
            if not self.ends(inputs):
                reason = "a loop does not end"
                continue
            reason = self.run(run, *inputs)
            if not reason:
                break
        return reason

    def ends(self, inputs: Inputs) -> bool:
        """Whether the loops of the module end for inputs that were made for this check."""
        if self.search is None:
            return True
        with held_state_kept(self.program.module, [], writes_buffers=True):
            return self.search.ends(inputs)

    def run(self, run: str, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
        """Compare one run; why the module does not run on these inputs, else empty."""
        try:
            expected, written = self._values(_reference(self.program), args, kwargs)
        except Exception as error:  # noqa: BLE001 - whatever PyTorch raises is reported
            return _line(error)
        problem, checks = self._model_checks(run, args, kwargs, expected, written)
        places = self._invented(args, kwargs)
        if places and (problem or any(c.problem for c in checks)):
            with_given = self._with_given(args, kwargs, places)
            if with_given is not None:
                self.run(run, *with_given)
            if not self.verification.wrong:
                what = problem or next(f"{c.name}: {c.problem}" for c in checks if c.problem)
                self.verification.undecided.append(
                    f"{_made_up(self.program, places)} ({run}): {what}"
                )
            return ""
        if problem:
            self.verification.problems.append(problem)
        self.verification.outputs += checks
        if any(c.problem for c in checks) and not self.verification.step:
            self.verification.step = self._step(run, args, kwargs, expected, written)
            if self.verification.step == "capture":
                self.verification.cause = cause_of(lambda: self._agrees(run, args, kwargs))
        return ""

    def _agrees(self, run: str, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
        """Whether the module, as PyTorch runs it now, gives what the model gives."""
        try:
            expected, written = self._values(_reference(self.program), args, kwargs)
        except Exception:  # noqa: BLE001 - in this state the module does not take the inputs
            return False
        problem, checks = self._model_checks(run, args, kwargs, expected, written)
        return not problem and not any(c.problem for c in checks)

    def _model_checks(
        self,
        run: str,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        expected: dict[int, Any],
        written: dict[str, Any],
    ) -> tuple[str, list[OutputCheck]]:
        """What the model gives, compared; or why it fails."""
        try:
            got, new_values = self.program.run_with_new_values(args, kwargs)
        except Exception as error:  # noqa: BLE001 - whatever the runtime raises is reported
            return f"the model fails on {run} inputs: {_line(error)}", []
        ours = dict(enumerate(pytree.tree_leaves(got)))
        return "", self._compared(run, ours, new_values, expected, written)

    def _invented(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[int]:
        """The inputs whose numbers were made up, and may not be what the module takes."""
        if not self.flat_inputs:  # the inputs of the user themselves
            return []
        return invented(self.flat_inputs, self.program.flat_inputs(tuple(args), dict(kwargs)))

    def _with_given(
        self, args: Sequence[Any], kwargs: dict[str, Any], places: Sequence[int]
    ) -> Inputs | None:
        """The inputs with the user's numbers in place of made-up ones; None if sizes differ."""
        flat = list(self.program.flat_inputs(tuple(args), dict(kwargs)))
        if any(flat[n].shape != self.flat_inputs[n].shape for n in places):
            return None
        for n in places:
            flat[n] = self.flat_inputs[n]
        spec = self.program.exported_program.call_spec.in_spec
        inputs: Inputs = pytree.tree_unflatten(flat, spec)
        return inputs

    def _values(
        self, module: Any, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[dict[int, Any], dict[str, Any]]:
        """Results of a module, and what it wrote to buffers and inputs, by name."""
        with torch.no_grad(), held_state_kept(module, [], writes_buffers=True):
            # Copied inside of it: what the module writes to its inputs is a result, not state.
            positional, named = _copied((tuple(args), kwargs))
            results = module(*positional, **named)
        written = dict(module.named_buffers())
        flat = self.program.flat_inputs(positional, named)
        for (entry, _), value in zip(self.program.user_inputs(), flat, strict=True):
            written[entry.node.name] = value
        return dict(enumerate(pytree.tree_leaves(results))), written

    def _compared(
        self,
        run: str,
        ours: dict[int, Any],
        new_values: dict[str, Any],
        expected: dict[int, Any],
        written: dict[str, Any],
    ) -> list[OutputCheck]:
        checks = []
        for n in range(max(len(ours), len(expected))):
            if n not in ours or n not in expected:
                reason = f"{len(ours)} results, PyTorch has {len(expected)}"
                checks.append(OutputCheck(f"output {n}", run, math.inf, math.inf, reason))
                break
            checks.append(self._one(f"output {n}", run, ours[n], expected[n]))
        for name, value in new_values.items():
            if name in written:
                checks.append(self._one(f"new value of {name}", run, value, written[name]))
        return checks

    def _one(self, name: str, run: str, ours: Any, theirs: Any) -> OutputCheck:
        """Compare one output; its type and shape if it differs by random numbers."""
        check = compare(name, run, ours, theirs, self.rtol, self.atol)
        if not check.problem or name not in self.random:
            return check
        if name not in self.verification.random:
            self.verification.random.append(name)
            reason = "the model draws random numbers for it"
            self.verification.notes.append(f"not verified: the values of {name}; {reason}")
        return compared_without_values(name, run, ours, theirs, self.random[name])

    def _step(
        self,
        run: str,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        expected: dict[int, Any],
        written: dict[str, Any],
    ) -> str:
        """Which step a difference comes from: what was captured is compared with the module."""
        try:
            captured, changed = self._values(_captured(self.program), args, kwargs)
        except Exception:  # noqa: BLE001 - a guard of the captured program does not hold
            return "capture"
        changed = {n: v for n, v in changed.items() if n in written}
        checks = self._compared(run, captured, changed, expected, written)
        return "capture" if any(c.problem for c in checks) else "translation"


def _made_up(program: Any, places: Sequence[int]) -> str:
    """Which inputs have made-up numbers."""
    entries = program.user_inputs()
    names = [f"`{entries[n][1] or entries[n][0].node.name}`" for n in places]
    return f"a difference with made-up numbers in {', '.join(names)}"


def _copied(inputs: Any) -> Any:
    """Inputs that a run may write into."""
    try:
        return copy.deepcopy(inputs)
    except RuntimeError:  # tensors that remember how they were computed
        return pytree.tree_map_only(torch.Tensor, lambda x: x.detach().clone(), inputs)


def _captured(program: Any) -> Any:
    """What PyTorch captured, as a module; a copy where running it changes its buffers."""
    module = program.exported_program.module()
    return copy.deepcopy(module) if program.changes_buffers else module


def _reference(program: Any) -> Any:
    """The module that was exported, so that its state stays as it is.

    What was captured, where there is no module, or none with numbers.
    """
    module = program.module
    if module is None or any(has_no_numbers(t) for t in _state(module)):
        return _captured(program)
    shared = {id(p): p for p in module.parameters()}
    if not program.changes_buffers:
        shared |= {id(b): b for b in module.buffers()}
    try:
        return copy.deepcopy(module, shared)
    except Exception:  # noqa: BLE001 - some hold what cannot be copied, such as a lock
        return module


def _state(module: torch.nn.Module) -> list[torch.Tensor]:
    return [*module.parameters(), *module.buffers()]


def _line(error: Exception) -> str:
    text = str(error).strip()
    return f"{type(error).__name__}: {text.splitlines()[0]}" if text else type(error).__name__


# How many sizes are run of decisions by sizes of which one side is exported for all sizes.
_MOST_EXAMPLES = 6
