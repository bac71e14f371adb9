"""Whether an exported model computes what PyTorch computes: checker, runtime, two sets of sizes."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx
import torch
from torch.utils import _pytree as pytree

from onnxwright.exporter.program.running import hollow

# torch.testing's tolerances by dtype, ten times wider: whole networks add up rounding.
_TOLERANCES = {
    torch.float16: (1e-2, 1e-3),
    torch.bfloat16: (3e-2, 1e-2),
    torch.float32: (1e-4, 1e-5),
    torch.float64: (1e-6, 1e-7),
    torch.complex64: (1e-4, 1e-5),
    torch.complex128: (1e-6, 1e-7),
}


@dataclass(frozen=True)
class OutputCheck:
    """One output compared with PyTorch's.

    Fields:
        name: its place among the flattened results.
        run: which set of inputs: "given" or "other sizes".
        max_abs, max_rel: the largest absolute and relative difference.
        problem: why it does not do; empty if it does.
    """

    name: str
    run: str
    max_abs: float
    max_rel: float
    problem: str = ""


@dataclass
class Verification:
    """What a verification found.

    Fields:
        outputs: each output of each run.
        problems: what else is wrong: the checker, the runtime.
        notes: what was not verified, and why.
    """

    outputs: list[OutputCheck] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems and not any(o.problem for o in self.outputs)

    def summary(self) -> str:
        """One sentence."""
        wrong = [*self.problems, *(f"{o.name}: {o.problem}" for o in self.outputs if o.problem)]
        if wrong:
            return wrong[0] if len(wrong) == 1 else f"{wrong[0]} (and {len(wrong) - 1} more)"
        worst = max((o.max_abs for o in self.outputs), default=0.0)
        count = len(self.outputs)
        if not count:
            return "there was nothing to compare"
        agree = "1 output agrees" if count == 1 else f"{count} outputs agree"
        return f"{agree}, largest difference {worst:.3g}"

    def __str__(self) -> str:
        lines = [self.summary()]
        lines += [
            f"  {o.run}: {o.name}: max abs {o.max_abs:.3g}, max rel {o.max_rel:.3g}"
            + (f": {o.problem}" if o.problem else "")
            for o in self.outputs
        ]
        return "\n".join([*lines, *(f"  note: {n}" for n in self.notes)])


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


def compare(
    name: str, run: str, ours: Any, theirs: Any, rtol: float | None, atol: float | None
) -> OutputCheck:
    """Compare one output.

    Args:
        name, run: for the report.
        ours, theirs: tensors or plain values.
        rtol, atol: tolerances; by dtype if None.

    Returns:
        The differences.
    """
    if not isinstance(theirs, torch.Tensor) or not isinstance(ours, torch.Tensor):
        same = ours == theirs or (isinstance(theirs, float) and math.isclose(ours, theirs))
        problem = "" if same else f"{ours!r}, PyTorch has {theirs!r}"
        return OutputCheck(name, run, 0.0, 0.0, problem)
    theirs = theirs.detach()
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        got, wanted = (f"{t.dtype} {list(t.shape)}" for t in (ours, theirs))
        return OutputCheck(name, run, math.inf, math.inf, f"{got}, PyTorch has {wanted}")
    relative, absolute = _TOLERANCES.get(theirs.dtype, (0.0, 0.0))
    relative = relative if rtol is None else rtol
    absolute = absolute if atol is None else atol
    wide = torch.complex128 if theirs.is_complex() else torch.float64
    a, b = ours.to(wide), theirs.to(wide)
    both_nan = a.isnan() & b.isnan()
    same = both_nan | (a == b)
    gap = torch.where(same, torch.zeros_like(a.abs()), (a - b).abs())
    max_abs = float(gap.max()) if gap.numel() else 0.0
    scaled = torch.where(same, torch.zeros_like(gap), gap / b.abs().clamp_min(1e-12))
    max_rel = float(scaled.max()) if gap.numel() else 0.0
    close = torch.isclose(a, b, rtol=relative, atol=absolute, equal_nan=True)
    wrong = int((~close).sum())
    problem = "" if not wrong else f"{wrong} of {close.numel()} elements differ"
    return OutputCheck(name, run, max_abs, max_rel, problem)


def verify(
    program: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    *,
    rtol: float | None = None,
    atol: float | None = None,
) -> Verification:
    """Check a program: the model itself, the given inputs, and inputs of other sizes.

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
    _run(found, program, _fresh_module(program), "given", args, kwargs, rtol, atol)
    larger = _other_sizes(program, args, kwargs)
    if larger is not None:
        _run(found, program, _fresh_module(program), "other sizes", *larger, rtol, atol)
    return found


def _fresh_module(program: Any) -> Any:
    """The torch module; a copy where running it changes its buffers, which the model reads too."""
    module = program.exported_program.module()
    return copy.deepcopy(module) if program.changes_buffers else module


def _run(
    found: Verification,
    program: Any,
    module: Any,
    run: str,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    rtol: float | None,
    atol: float | None,
) -> None:
    given, named = copy.deepcopy(tuple(args)), copy.deepcopy(kwargs)
    try:
        with torch.no_grad():
            wanted = module(*given, **named)
    except Exception as error:  # noqa: BLE001 - whatever torch raises, there is nothing to compare
        # Inputs of other sizes are made up here: that these do not fit says nothing of the model.
        told = found.problems if run == "given" else found.notes
        told.append(f"PyTorch does not run the program on {run} inputs: {_line(error)}")
        return
    try:
        got, new_values = program.run_with_new_values(args, kwargs)
    except Exception as error:  # noqa: BLE001 - it is reported
        found.problems.append(f"the model fails on {run} inputs: {_line(error)}")
        return
    theirs, ours = pytree.tree_leaves(wanted), pytree.tree_leaves(got)
    for n, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        found.outputs.append(compare(f"output {n}", run, a, b, rtol, atol))
    written = _written(program, module, given, named)
    for name, value in new_values.items():
        if name in written:
            label = f"new value of {name}"
            found.outputs.append(compare(label, run, value, written[name], rtol, atol))


def _written(program: Any, module: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """The values that buffers and inputs have after a run in PyTorch, by their names."""
    found = dict(module.named_buffers())
    flat = program.flat_inputs(args, kwargs)
    for (entry, _), value in zip(program.user_inputs(), flat, strict=True):
        found[entry.node.name] = value
    return found


def _line(error: Exception) -> str:
    text = str(error).strip()
    return f"{type(error).__name__}: {text.splitlines()[0]}" if text else type(error).__name__


def _other_sizes(
    program: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The inputs with each dynamic size one larger; None where no size is dynamic."""
    flat = program.flat_inputs(tuple(args), dict(kwargs))
    fakes = [entry.node.meta.get("val") for entry, _ in program.user_inputs()]
    tensors = [
        (n, x, fake)
        for n, (x, fake) in enumerate(zip(flat, fakes, strict=True))
        if isinstance(x, torch.Tensor) and isinstance(fake, torch.Tensor)
    ]
    larger: dict[Any, int] = {}
    for _, x, fake in tensors:
        for now, size in zip(x.shape, fake.shape, strict=True):
            if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol and now > 0:
                larger[size.node.expr] = now + 1
    if not larger:
        return None
    for n, x, fake in tensors:
        for axis, size in enumerate(fake.shape):
            wanted = size.node.expr.subs(larger) if isinstance(size, torch.SymInt) else size
            if int(x.shape[axis]) not in (0, wanted) and wanted.is_number:
                x = x.index_select(axis, torch.arange(int(wanted)) % x.shape[axis])
        flat[n] = x
    spec = program.exported_program.call_spec.in_spec
    new_args, new_kwargs = pytree.tree_unflatten(flat, spec)
    return new_args, new_kwargs
