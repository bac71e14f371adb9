"""A model as an ExportedProgram: ways to capture, tried in a stated order, each one recorded."""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch.export import ExportedProgram

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.errors import ExportError
from onnxwright.exporter import checks
from onnxwright.exporter.capture import torch_func
from onnxwright.exporter.capture.attention_masks import empty_masks_skipped
from onnxwright.exporter.capture.decisions import Decision, decisions_recorded
from onnxwright.exporter.capture.drafts import draft
from onnxwright.exporter.capture.fakes import Substitutes, skip_noop_module_casts
from onnxwright.exporter.capture.flex_attention import flex_attention_written_out
from onnxwright.exporter.capture.forward_derivatives import zero_tangents_symbolic
from onnxwright.exporter.capture.held_state import Change, held_state_kept
from onnxwright.exporter.capture.ode_solvers import solvers_written_out
from onnxwright.exporter.capture.packed_sequences import sequences_padded
from onnxwright.exporter.capture.patches import in_onnx_export_for_dynamo, torch_patched
from onnxwright.exporter.capture.quantized.modules import (
    QuantizedValuesError,
    holds_packed,
    quantized_values,
    raise_quantized,
    readable,
)
from onnxwright.exporter.capture.quantized.tensors import Quantized
from onnxwright.exporter.capture.recurrences import recurrences_scanned
from onnxwright.exporter.capture.shapes import Wanted
from onnxwright.exporter.capture.size_tensors import SizeTensors
from onnxwright.exporter.capture.source.errors import RefusedError
from onnxwright.exporter.capture.source.functions import has_deciding_frame
from onnxwright.exporter.capture.source.observing import ValueDecisions
from onnxwright.exporter.capture.source.session import Choice
from onnxwright.exporter.capture.source.strategy import by_source
from onnxwright.exporter.capture.specialization import (
    fixed_values,
    forward_ad_unwound,
    lost_constants,
)
from onnxwright.exporter.capture.torch_output import capture_torch_output
from onnxwright.exporter.capture.torchscript import scripts_readable
from onnxwright.exporter.places import is_of_torch, span_of_error
from onnxwright.exporter.torch_lock import TORCH_LOCK

Strategy = Callable[[Any, tuple[Any, ...], dict[str, Any], Any], ExportedProgram]


@dataclass(frozen=True)
class Outcome:
    """What became of one way to capture.

    Fields:
        strategy: its name.
        seconds: how long it took.
        error: why it failed; empty if it worked.
        output: what torch printed and logged on the way.
        choices: decisions by values that the program has, of a capture by source.
        rewritten: the functions that decide them.
        answered: the keys of `assume` that answered a decision.
    """

    strategy: str
    seconds: float
    error: str = ""
    output: str = ""
    choices: tuple[Choice, ...] = ()
    rewritten: tuple[str, ...] = ()
    answered: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Capture:
    """A captured program.

    Fields:
        program: the program.
        relaxed: whether torch found the bounds of named dimensions by itself.
        decisions: what Python of the user decided by sizes.
        changes: the numbers of Python that the module changed.
        by_values: what it decides by values.
    """

    program: ExportedProgram
    relaxed: bool
    decisions: tuple[Decision, ...]
    changes: tuple[Change, ...] = ()
    by_values: ValueDecisions = field(default_factory=ValueDecisions)


def _non_strict(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dims: Any) -> Any:
    with (
        scripts_readable(model),
        skip_noop_module_casts(),
        sequences_padded(),
        flex_attention_written_out(),
        solvers_written_out(),
        recurrences_scanned(),
        torch_func.chunks_joined(),
        SizeTensors(model if isinstance(model, torch.nn.Module) else None),
    ):
        return torch.export.export(model, args, kwargs, dynamic_shapes=dims, strict=False)


def _strict(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dims: Any) -> Any:
    with in_onnx_export_for_dynamo():
        return torch.export.export(model, args, kwargs, dynamic_shapes=dims, strict=True)


def _substitutes(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dims: Any) -> Any:
    with Substitutes(), empty_masks_skipped():
        return _non_strict(model, args, kwargs, dims)


def _torch_func(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dims: Any) -> Any:
    with zero_tangents_symbolic():
        return _non_strict(torch_func.without_transformations(model), args, kwargs, dims)


class _Source:
    """The way of a capture that rewrites Python: what it found is kept for the report.

    Args:
        first: what the capture without rewriting raised; None if it was not tried.
        assume: answers of the user to decisions.
    """

    def __init__(
        self, first: BaseException | None = None, assume: Mapping[str, bool] | None = None
    ) -> None:
        self.first, self.assume = first, assume
        self.choices: tuple[Choice, ...] = ()
        self.rewritten: tuple[str, ...] = ()
        self.decisions = ValueDecisions()
        self.answered: frozenset[str] = frozenset()

    def __call__(self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dims: Any) -> Any:
        """Capture, with functions that decide by values rewritten."""

        def run() -> Any:
            # What torch says of a try that fails is of use to nobody.
            with capture_torch_output() as output:
                program = _substitutes(model, args, kwargs, dims)
            output.replay()
            return program

        found = by_source(run, self.first, self.assume)
        self.choices = tuple(found.session.choices)
        self.rewritten = tuple(found.rewritten.names)
        self.decisions = ValueDecisions(self.choices, found.rewritten)
        self.answered = frozenset(found.session.used)
        return found.result


def _source(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dims: Any) -> Any:
    return _Source()(model, args, kwargs, dims)


def _quantized(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dims: Any) -> Any:
    given = torch.utils._pytree.tree_leaves((args, kwargs))
    if any(isinstance(x, torch.Tensor) and x.is_quantized for x in given):
        raise_quantized("an input")
    try:
        with readable(model):
            return _non_strict(model, args, kwargs, dims)
    except Exception as error:
        if f"{Quantized.__module__}.{Quantized.__name__}" in str(error):
            raise_quantized("a result")
        raise


STRATEGIES: dict[str, Strategy] = {
    "non-strict": _non_strict,
    "strict": _strict,
    "substitutes": _substitutes,
}
"""The ways to capture, in the order in which `capture="auto"` tries them."""

NAMED: dict[str, Strategy] = {
    **STRATEGIES,
    "source": _source,
    "torch.func": _torch_func,
    "quantized": _quantized,
    "draft": draft,
}
"""The ways that can be asked for by name.  That for `torch.func` is tried where another failed in
it, that for quantized modules where there are some or another failed in a quantized tensor,
"source" where all failed because Python decides by values; a draft is never tried by itself, as it
assumes."""


def capture(
    model: Any,
    wanted: Wanted,
    how: str | Strategy,
    outcomes: list[Outcome],
    assume: Mapping[str, bool] | None = None,
) -> Capture:
    """Capture a model.

    Args:
        model: a module.
        wanted: example inputs, and which dimensions are dynamic.
        how: "auto", a name of `NAMED`, or a function
            `(model, args, kwargs, dynamic_shapes) -> ExportedProgram`.
        outcomes: what became of each way that was tried is added here.
        assume: answers to decisions by values, by `file.py:LINE` or the text of the condition.

    Returns:
        The program, and how it was captured.

    Raises:
        ExportError: none worked (OW821); the message has the reason of each.
        ExportValueError: there is no such strategy, or a function gave no program (OW825).
    """
    errors: list[Exception] = []
    second: Capture | None = None
    quantized = how == "auto" and holds_packed(model)
    waiting = _ways(wanted, "quantized" if quantized else how)
    if how == "source":
        waiting = _sources(wanted, None, assume)
    while waiting:
        name, way, inputs, relaxed = waiting.pop(0)
        if second is not None and way not in (_strict, _torch_func):
            continue
        begun = time.perf_counter()
        with TORCH_LOCK, capture_torch_output() as output:
            decisions: list[Decision] = []
            changes: list[Change] = []
            program, error = _tried(way, model, inputs, decisions, changes)
        seconds = time.perf_counter() - begun
        reason = "" if error is None else _reason(error)
        outcome = Outcome(name, seconds, reason, output.text)
        if isinstance(way, _Source):
            outcome = dataclasses.replace(
                outcome, choices=way.choices, rewritten=way.rewritten, answered=way.answered
            )
        outcomes.append(outcome)
        if error is not None:
            errors.append(error)
            if how == "auto" and not waiting and not isinstance(way, _Source):
                first = next((e for e in reversed(errors) if has_deciding_frame(e)), None)
                if first is not None and second is None:
                    waiting = _sources(wanted, first, assume)
            if how == "auto" and _is_about_func(error) and way is _non_strict:
                waiting = _ways(wanted, "torch.func") + waiting
            elif how == "auto" and way is _non_strict and _is_about_quantized(error):
                waiting = _ways(wanted, "quantized") + waiting
            continue
        found = Capture(_checked(program, name), relaxed, tuple(decisions), tuple(changes))
        if isinstance(way, _Source):
            found = dataclasses.replace(found, by_values=way.decisions)
        with_func = way is _non_strict and torch_func.is_used(found.program)
        lost = fixed_values(found.program) or (
            with_func and (relaxed or not _is_resolved(found.program))
        )
        if way is draft or how != "auto" or not lost:
            if way is not draft:
                output.replay()
            return found
        # Sizes became numbers of Python; tracing of Python may keep them.
        second = second or found
        if with_func:
            waiting = _ways(wanted, "torch.func") + waiting
    if second is not None:
        return second
    _raise_uncaptured(errors, outcomes)


def _sources(
    wanted: Wanted, first: Exception | None, assume: Mapping[str, bool] | None
) -> list[tuple[str, Strategy, Wanted, bool]]:
    """The capture by source, with all forms of the inputs."""
    ways = _ways(wanted, "source")
    return [(name, _Source(first, assume), inputs, relaxed) for name, _, inputs, relaxed in ways]


class LostConstantError(RuntimeError):
    """A captured program has a constant without numbers, in the place of something computed."""

    def __init__(self, name: str) -> None:
        super().__init__(f"PyTorch does not see what `{name}` is computed from")


def _is_about_func(error: Exception) -> bool:
    return isinstance(error, LostConstantError) or torch_func.comes_from_it(error)


def _is_resolved(program: ExportedProgram) -> bool:
    """Whether torch can write a program without the transformations of torch.func in it."""
    try:
        with TORCH_LOCK, capture_torch_output(), forward_ad_unwound():
            program.run_decompositions({})
    except Exception:  # noqa: BLE001 - torch raises many kinds
        return False
    return True


def _is_about_quantized(error: Exception) -> bool:
    """Whether a quantized tensor is what torch cannot capture."""
    signs = ("quantize", "Quantize", "quint8", "qint8", "qint32", "int_repr", "q_scale")
    return any(sign in str(error) for sign in signs)


def _tried(
    way: Strategy, module: Any, wanted: Wanted, decisions: list[Decision], changes: list[Change]
) -> tuple[Any, Any]:
    """What one way gives, or the error it raises."""
    try:
        # A draft names the lines of what it assumes by its own stack.
        recorded = nullcontext() if way is draft else decisions_recorded(decisions)
        with torch_patched(), recorded, held_state_kept(module, changes):
            program = way(module, wanted.args, wanted.kwargs, wanted.dynamic_shapes)
        lost = lost_constants(program) if isinstance(program, ExportedProgram) else []
        if lost:
            return None, LostConstantError(lost[0])
        if isinstance(program, ExportedProgram) and quantized_values(program):
            return None, QuantizedValuesError("the program has values of a quantized type")
        return program, None
    except ExportError:
        raise  # what is refused by name has no other way
    except Exception as error:  # noqa: BLE001 - torch raises many kinds; all are reported
        return None, error


def _checked(program: Any, name: str) -> ExportedProgram:
    """What a way to capture gave, if it is a program."""
    if isinstance(program, ExportedProgram):
        return program
    checks.raise_bad_argument(
        "capture",
        f"`{name}` gave an object of type {type(program).__name__}",
        "the function returns what `torch.export.export` gives, an `ExportedProgram`",
    )


def _raise_uncaptured(errors: list[Exception], outcomes: list[Outcome]) -> NoReturn:
    """Report why no strategy worked; the first is the one closest to plain Python."""
    reasons: dict[str, list[str]] = {}
    for outcome in outcomes:
        if outcome.error:
            reasons.setdefault(_shortly(outcome.error), []).append(outcome.strategy)
    refused = next((e for e in errors if isinstance(e, RefusedError)), None)
    if refused is not None:
        try:
            fail(refused.diagnostic())
        except ExportError as error:
            raise error from errors[0]
    spans = [span_of_error(error) for error in errors]
    own = not is_of_torch(errors[0])
    try:
        fail(
            messages.CaptureFailed(
                hint=_OWN_ERROR if own and not _has_form(outcomes) else _hint(outcomes),
                notes=tuple(f"{_each(ways, outcomes)}: {r}" for r, ways in reasons.items()),
                span=next((span for span in spans if span is not None), None) or user_span(),
            )
        )
    except ExportError as error:
        raise error from errors[0]


def _each(ways: list[str], outcomes: list[Outcome]) -> str:
    """The strategies with the same outcome, as text."""
    return "every way" if 2 < len(ways) == len(outcomes) else ", ".join(ways)


_OWN_ERROR = (
    "this line raised it, not PyTorch: does the model run on these inputs? What a module does "
    "outside of tensors (files, checks, other libraries) is run while it is captured"
)


# Forms that no export takes, whatever raises the error.
_FORMS = (
    (
        ("pack_padded_sequence", "PackedSequence", "_pack_padded_sequence"),
        (
            "the form of a packed sequence depends on the values of the lengths: run the recurrent "
            "module on the padded batch, and mask the outputs beyond each length"
        ),
    ),
    (
        ("torch.jit.script", "ScriptModule", "ScriptFunction", "TorchScript"),
        (
            "code of TorchScript cannot be captured: put the Python module it was scripted from in "
            "its place, without `torch.jit.script` or `torch.jit.load`"
        ),
    ),
)


# What torch's messages say of a kind of failure -> what to do.  The first that is found is shown.
_HINTS = (
    *_FORMS,
    (
        ("data-dependent branching", "GuardOnDataDependentSymNode"),
        (
            "the program goes another way for other values of a tensor: `capture='source'` takes "
            "most of that; write the choice with `torch.where` or `torch.cond`, tell torch the "
            "range with `torch._check`, or answer it for all values: `assume={'file.py:12': True}`"
        ),
    ),
    (
        ("missing a required argument", "required positional argument"),
        "give example inputs for all arguments without a default: `export(model, args, kwargs)`",
    ),
    (("Unsupported input type",), "inputs are tensors: `torch.from_numpy(...)` makes one"),
    (
        ("two devices", "on the same device"),
        "make the example inputs on the device of the weights: `x.to('meta')` for a hollow model",
    ),
    (
        ("specialized it to be a constant", "specialized due to"),
        (
            "the program fixes a size that `dynamic_shapes` says is free; `Dim.AUTO` or a name in "
            "the place of `Dim.DYNAMIC` lets PyTorch decide"
        ),
    ),
    (("Constraints violated",), "the sizes of the inputs are not as free as `dynamic_shapes` says"),
    (
        ("in output, which is not a known type", "unrecognized type"),
        (
            "results are tensors, numbers, strings, None, and tuples, lists and dicts of these; "
            "`torch.export.register_dataclass` lets PyTorch know a class of your own"
        ),
    ),
    (
        ("size mismatch", "same reduction dim", "shapes cannot be", "must match the size"),
        "the shapes of the example inputs do not fit the model: does it run on them?",
    ),
    (
        ("do not support aliasing", "Encountered aliasing"),
        "a branch or body hands on one of its inputs as it is: return `x.clone()`",
    ),
    (
        ("no fake impl", "fake kernel", "register_fake"),
        (
            "tell PyTorch what the operator gives with `@operator.register_fake`; "
            "`capture='draft'` takes it from the example inputs meanwhile"
        ),
    ),
)


def _has_form(outcomes: list[Outcome]) -> bool:
    """Whether a model has a form that no export takes."""
    text = "\n".join(o.error for o in outcomes)
    return any(sign in text for signs, _ in _FORMS for sign in signs)


def _hint(outcomes: list[Outcome]) -> str:
    text = "\n".join(o.error for o in outcomes)
    for signs, hint in _HINTS:
        if any(s.lower() in text.lower() for s in signs):
            return hint
    if any(o.strategy == "draft" for o in outcomes):
        return "the error before this one is torch's own"
    return "the error before this one is torch's own; `capture='draft'` may go further, and reports"


# Lines of torch's messages that are for those who work on torch.
_NOISE = re.compile(
    r"\s*(For |If you suspect|Caused by|Developer debug|The error above|consider using"
    r"|from user code|File \"|The following call|Hint: (For the common|This graph break)|# File)"
)


def _shortly(text: str) -> str:
    """The first lines of a message of torch that say something about the program."""
    lines = [line.strip() for line in text.splitlines() if not _NOISE.match(line)]
    return "\n".join(line if len(line) <= 300 else f"{line[:297]}..." for line in lines[:2])


def _ways(wanted: Wanted, how: str | Strategy) -> list[tuple[str, Strategy, Wanted, bool]]:
    """The ways to try, in order: name, function, inputs, whether bounds are torch's."""
    if callable(how):
        return [(getattr(how, "__name__", "given function"), how, wanted, False)]
    if how != "auto" and how not in NAMED:
        known = ", ".join(repr(n) for n in ("auto", *NAMED))
        checks.raise_bad_argument(
            "capture",
            f"there is no way {how!r}",
            f"choose one of {known}, or give a function",
        )
    found: list[tuple[str, Strategy, Wanted, bool]] = []
    relaxed, broadcasting = wanted.relaxed(), wanted.broadcasting()
    for name, way in STRATEGIES.items() if how == "auto" else ((how, NAMED[how]),):
        found.append((name, way, wanted, False))
        if relaxed is not None:
            found.append((f"{name}, bounds by torch", way, relaxed, True))
        if broadcasting is not None:
            found.append((f"{name}, sizes of 1 fixed", way, broadcasting, False))
    return found


def _reason(error: Exception) -> str:
    text = f"{type(error).__name__}: {error}".strip()
    lines = [line for line in text.splitlines() if line.strip()]
    return "\n".join(lines[:100])


def load_program(path: str | Path) -> ExportedProgram:
    """An exported program from a `.pt2` file.

    Args:
        path: the file.

    Returns:
        The program.

    Raises:
        ExportValueError: the file is missing or is none.
    """
    reason = "there is no such file"
    if Path(path).exists():
        try:
            with TORCH_LOCK, capture_torch_output():
                return torch.export.load(str(path))
        except Exception as error:  # noqa: BLE001 - torch raises many kinds
            reason = _reason(error).splitlines()[0]
    checks.raise_bad_argument(
        "model",
        f"`{path}` is not an exported program: {reason}",
        "give a module, or the path of a file written by torch.export.save",
    )
