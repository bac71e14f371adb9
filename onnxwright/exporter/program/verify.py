"""Whether a model computes what its module computes: checker, runtime, sizes, branches."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx
import torch
from torch.utils import _pytree as pytree

from onnxwright.exporter.capture.assumptions.branches import Leaf, leaves, resized
from onnxwright.exporter.capture.held_state import held_state_kept
from onnxwright.exporter.capture.source.observing import Branch, ValueDecisions
from onnxwright.exporter.program.branch_inputs import BranchSearch
from onnxwright.exporter.program.output_checks import OutputCheck, compare
from onnxwright.exporter.program.random_values import compared_without_values, random_outputs
from onnxwright.exporter.program.running import hollow
from onnxwright.exporter.torch_types import has_no_numbers

_STEPS = {
    "capture": "the program that PyTorch captured differs from the module",
    "translation": "the model differs from the program that PyTorch captured",
}


@dataclass
class Verification:
    """What a verification found.

    Fields:
        outputs: each output of each run.
        problems: what else is wrong: the checker, the runtime.
        notes: what was not verified, and why.
        step: where a difference comes from: "capture" (PyTorch's program differs from the module)
            or "translation" (the model differs from PyTorch's program); empty without one.
        branches: decisions by values, and which of their sides were run.
        random: outputs whose values differ by random numbers; types and shapes are compared.
    """

    outputs: list[OutputCheck] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    step: str = ""
    branches: list[Branch] = field(default_factory=list)
    random: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems and not any(o.problem for o in self.outputs)

    def summary(self) -> str:
        """One sentence."""
        wrong = [*self.problems, *(f"{o.name}: {o.problem}" for o in self.outputs if o.problem)]
        if wrong:
            first = wrong[0] if len(wrong) == 1 else f"{wrong[0]} (and {len(wrong) - 1} more)"
            return f"{first}; {_STEPS[self.step]}" if self.step else first
        worst = max((o.max_abs for o in self.outputs), default=0.0)
        count = len(self.outputs)
        if not count:
            return "there was nothing to compare"
        agree = "1 output agrees" if count == 1 else f"{count} outputs agree"
        text = f"{agree}, largest difference {worst:.3g}"
        items = [branch for branch in self.branches if branch.kind == "Item"]
        others = [branch for branch in self.branches if branch.kind != "Item"]
        if others:
            text += f"; {_ran(others)} sides of decisions by values were run"
        if items:
            text += f"; {_ran(items)} items chosen by values were run"
        if self.random:
            text += "; the model draws random numbers: values not compared of "
            text += ", ".join(self.random)
        return text

    def __str__(self) -> str:
        lines = [self.summary()]
        lines += [
            f"  {o.run}: {o.name}: max abs {o.max_abs:.3g}, max rel {o.max_rel:.3g}"
            + (f": {o.problem}" if o.problem else "")
            for o in self.outputs
        ]
        return "\n".join([*lines, *(f"  note: {n}" for n in self.notes)])


def _ran(branches: Sequence[Branch]) -> str:
    """How many of their sides ran."""
    return f"{sum(len(b.ran) for b in branches)} of {sum(b.sides for b in branches)}"


def check_model(model: Any) -> str:
    """What onnx.checker says against a model; its weights are not needed.

    Args:
        model: an onnx_ir model.

    Returns:
        The first sentence of what is wrong; empty if nothing is.
    """
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
    rtol: float | None = None,
    atol: float | None = None,
) -> Verification:
    """Check a program: the model itself, the given inputs, other sizes, and other branches.

    Args:
        program: an `ONNXProgram`.
        args, kwargs: inputs of the module.
        rtol, atol: tolerances; by dtype if None.

    Returns:
        What was found.
    """
    found = Verification()
    problem = check_model(program.model)
    if problem:
        found.problems.append(problem)
    check = _Check(program, found, rtol, atol, random_outputs(program))
    reason = check.run("given", args, kwargs)
    if reason:
        found.problems.append(f"PyTorch does not run the program on given inputs: {reason}")
    found.notes += [
        f"not verified: sizes where `{guard.text}` does not hold"
        for guard in program.sizes.decisions()
    ]
    tried = ""
    for others in other_sizes(program, args, kwargs):
        tried = check.run("other sizes", *others)
        if not tried:
            break
    for others in other_sizes(program, args, kwargs, (lambda n: 1,)):
        check.run(
            "smallest sizes", *others
        )  # sizes that the module itself does not take say nothing
    for leaf in leaves(program.tree) if program.tree is not None else ():
        if leaf.example:
            flat = resized(program.flat_inputs(tuple(args), dict(kwargs)), leaf.example)
            spec = program.exported_program.call_spec.in_spec
            reason = check.run(_sizes_text(leaf), *pytree.tree_unflatten(flat, spec))
            if reason:
                found.problems.append(f"PyTorch does not run at {_sizes_text(leaf)}: {reason}")
    for sizes in program.examples[:_MOST_EXAMPLES]:
        flat = resized(program.flat_inputs(tuple(args), dict(kwargs)), sizes)
        spec = program.exported_program.call_spec.in_spec
        check.run("sizes of both sides", *pytree.tree_unflatten(flat, spec))
    _run_branches(check, args, kwargs)
    if tried:
        # None of these sizes is refused by a guard, and the module runs with none of them.
        found.problems.append(f"PyTorch does not run the program on other sizes inputs: {tried}")
    return found


def _run_branches(check: _Check, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Compare on inputs that take other branches of decisions by values."""
    program, found = check.program, check.found
    decisions: ValueDecisions = program.by_values
    if program.module is None or not decisions.at_run_time:
        return
    given = (tuple(args), dict(kwargs))
    others = list(itertools.islice(other_sizes(program, args, kwargs), 1))
    smallest = list(itertools.islice(other_sizes(program, args, kwargs, (lambda n: 1,)), 1))
    with held_state_kept(program.module, [], writes_buffers=True):
        search = BranchSearch(decisions, _reference(program))
        for inputs in (given, *others, *smallest):
            search.add(_copied(inputs))
        for inputs in search.find((given, *others)):
            check.run("other branches", *inputs)
    found.branches = search.branches()
    found.notes += [
        f"not verified: {side}; no inputs that were tried take it"
        for branch in found.branches
        for side in branch.missing()
    ]


def _sizes_text(leaf: Leaf) -> str:
    """The sizes that a side of a decision was captured with."""
    given = dict(
        sorted(
            (leaf.sizes.names.get(leaf.sizes.places[p], leaf.sizes.places[p]), n)
            for p, n in leaf.example.items()
        )
    )
    return ", ".join(f"{name} = {n}" for name, n in given.items())


@dataclass
class _Check:
    """Runs the module and the model on the same inputs.

    Fields:
        program: the program.
        found: what is found is added here.
        rtol, atol: tolerances; by dtype if None.
        random: outputs that random numbers are in, as `random_outputs` gives them.
    """

    program: Any
    found: Verification
    rtol: float | None
    atol: float | None
    random: Mapping[str, Sequence[bool]]

    def run(self, run: str, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
        """Compare one run; why the module does not run on these inputs, else empty."""
        try:
            wanted, written = self._values(_reference(self.program), args, kwargs)
        except Exception as error:  # noqa: BLE001 - whatever PyTorch raises is reported
            return _line(error)
        try:
            got, new_values = self.program.run_with_new_values(args, kwargs)
        except Exception as error:  # noqa: BLE001 - as above
            self.found.problems.append(f"the model fails on {run} inputs: {_line(error)}")
            return ""
        ours = dict(enumerate(pytree.tree_leaves(got)))
        checks = self._compared(run, ours, new_values, wanted, written)
        self.found.outputs += checks
        if any(c.problem for c in checks) and not self.found.step:
            self.found.step = self._step(run, args, kwargs, wanted, written)
        return ""

    def _values(
        self, module: Any, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[dict[int, Any], dict[str, Any]]:
        """Results of a module, and what it wrote to buffers and inputs, by name."""
        given, named = _copied((tuple(args), kwargs))
        with torch.no_grad(), held_state_kept(module, [], writes_buffers=True):
            results = module(*given, **named)
        written = dict(module.named_buffers())
        flat = self.program.flat_inputs(given, named)
        for (entry, _), value in zip(self.program.user_inputs(), flat, strict=True):
            written[entry.node.name] = value
        return dict(enumerate(pytree.tree_leaves(results))), written

    def _compared(
        self,
        run: str,
        ours: dict[int, Any],
        new_values: dict[str, Any],
        wanted: dict[int, Any],
        written: dict[str, Any],
    ) -> list[OutputCheck]:
        checks = []
        for n in range(max(len(ours), len(wanted))):
            if n not in ours or n not in wanted:
                reason = f"{len(ours)} results, PyTorch has {len(wanted)}"
                checks.append(OutputCheck(f"output {n}", run, math.inf, math.inf, reason))
                break
            checks.append(self._one(f"output {n}", run, ours[n], wanted[n]))
        for name, value in new_values.items():
            if name in written:
                checks.append(self._one(f"new value of {name}", run, value, written[name]))
        return checks

    def _one(self, name: str, run: str, ours: Any, theirs: Any) -> OutputCheck:
        """Compare one output; its type and shape if it differs by random numbers."""
        found = compare(name, run, ours, theirs, self.rtol, self.atol)
        if not found.problem or name not in self.random:
            return found
        if name not in self.found.random:
            self.found.random.append(name)
            reason = "the model draws random numbers for it"
            self.found.notes.append(f"not verified: the values of {name}; {reason}")
        return compared_without_values(name, run, ours, theirs, self.random[name])

    def _step(
        self,
        run: str,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        wanted: dict[int, Any],
        written: dict[str, Any],
    ) -> str:
        """Which step a difference comes from: what was captured is compared with the module."""
        try:
            captured, changed = self._values(_captured(self.program), args, kwargs)
        except Exception:  # noqa: BLE001 - a guard of the captured program does not hold
            return "capture"
        changed = {n: v for n, v in changed.items() if n in written}
        checks = self._compared(run, captured, changed, wanted, written)
        return "capture" if any(c.problem for c in checks) else "translation"


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

# From the size of the given inputs to others, in the order in which they are tried.
_OTHERS: tuple[Callable[[int], int], ...] = (
    lambda n: n + 1,
    lambda n: 2 * n,
    lambda n: n + 2,
    lambda n: n - 1,
    lambda n: n // 2,
    lambda n: 3 * n,
)


def other_sizes(
    program: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    others: Sequence[Callable[[int], int]] = _OTHERS,
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """The inputs with other dynamic sizes, for which the program was captured.

    Args:
        program: an `ONNXProgram`.
        args, kwargs: inputs of the module.
        others: from the size of the given inputs to another one.

    Returns:
        Inputs of the module; none where no size is dynamic.
    """
    flat = program.flat_inputs(tuple(args), dict(kwargs))
    fakes = [entry.node.meta.get("val") for entry, _ in program.user_inputs()]
    tensors = [
        (n, x, fake)
        for n, (x, fake) in enumerate(zip(flat, fakes, strict=True))
        if isinstance(x, torch.Tensor) and isinstance(fake, torch.Tensor)
    ]
    now = {
        size.node.expr: int(n)
        for _, x, fake in tensors
        for n, size in zip(x.shape, fake.shape, strict=True)
        if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol and n > 0
    }
    seen: list[dict[Any, int]] = [now]
    for other in others if now else ():
        chosen = {s: _within(other(n), program.sizes.ranges.get(str(s))) for s, n in now.items()}
        if chosen in seen or min(chosen.values()) < 1:
            continue
        seen.append(chosen)
        found = _resized(program, flat, tensors, chosen)
        values = program.flat_inputs(*found)
        known = [v if isinstance(v, (torch.Tensor, int)) else None for v in values]
        if not program.sizes.check(known):
            yield found


def _within(size: int, found: tuple[int, int | None] | None) -> int:
    """The size of a range that is nearest."""
    low, high = found or (0, None)
    size = max(size, low)
    return size if high is None else min(size, high)


def _resized(
    program: Any, flat: list[Any], tensors: list[tuple[int, Any, Any]], sizes: dict[Any, int]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The inputs with given sizes of torch's symbols; elements are repeated."""
    values = list(flat)
    for n, x, fake in tensors:
        for axis, size in enumerate(fake.shape):
            wanted = size.node.expr.subs(sizes) if isinstance(size, torch.SymInt) else size
            if int(x.shape[axis]) not in (0, wanted) and wanted.is_number:
                x = x.index_select(axis, torch.arange(int(wanted)) % x.shape[axis])
        values[n] = x
    spec = program.exported_program.call_spec.in_spec
    new_args, new_kwargs = pytree.tree_unflatten(values, spec)
    return new_args, new_kwargs
