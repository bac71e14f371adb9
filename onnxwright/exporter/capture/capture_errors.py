"""Why a model could not be captured: the message, with what to do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.file_owners import Owner, owner_of
from onnxwright.errors import ExportError
from onnxwright.exporter.capture.session.errors import RefusedError
from onnxwright.exporter.capture.session.session import Choice
from onnxwright.exporter.places import is_of_torch, span_of_error

# -- what became of each way to capture a model, for the report ------------------------------------


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


def reason_of(error: BaseException) -> str:
    """The first lines of an error."""
    text = f"{type(error).__name__}: {error}".strip()
    lines = [line for line in text.splitlines() if line.strip()]
    return "\n".join(lines[:100])


# -- capture errors --------------------------------------------------------------------------------


def raise_uncaptured(errors: list[Exception], outcomes: list[Outcome]) -> NoReturn:
    """Report why a model cannot be captured; the first is the one closest to plain Python.

    Args:
        errors: what was raised, in order.
        outcomes: all strategies that were tried.
    """
    reasons: dict[str, list[str]] = {}
    for outcome in outcomes:
        if outcome.error:
            reasons.setdefault(_shortly(outcome.error), []).append(outcome.strategy)
    refused = next((e for e in errors if isinstance(e, RefusedError)), None)
    if refused is not None:
        try:
            fail(refused.message())
        except ExportError as error:
            raise error from errors[0]
    spans = [span_of_error(error) for error in errors]
    own = not is_of_torch(errors[0])
    hint = _OWN_ERROR if own and not _has_form(outcomes) else _hint(outcomes)
    try:
        fail(
            messages.CaptureFailed(
                hint=hint,
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
        ("pack_padded_sequence", "PackedSequence", "packed_sequences.Data"),
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
    (
        (".numpy() is not supported for tensor subclasses",),
        (
            "an array of numpy has values, and a tensor of a program that is captured has none: "
            "compute with functions of PyTorch, and take numbers by `x.item()` or `x.tolist()`"
        ),
    ),
)


_DATA_DEPENDENT = ("data-dependent branching", "GuardOnDataDependentSymNode")
# With the captures that were tried: only one by source rewrites functions that decide.
_DECIDES = {
    True: (
        "the program goes another way for other values of a tensor, in code that is not rewritten "
        "(in C, or a method that Python calls itself, such as `__bool__` and `__lt__`): call a "
        "function of Python,"
    ),
    False: (
        "the program goes another way for other values of a tensor: `capture='source'` takes most "
        "of that;"
    ),
}
_CHOICES = (
    " write the choice with `torch.where` or `torch.cond`, tell torch the range with "
    "`torch._check`, or answer it for all values: `assume={'file.py:12': True}`"
)


# What torch's messages say of a kind of failure -> what to do.  The first that is found is shown.
_HINTS = (
    *_FORMS,
    (_DATA_DEPENDENT, ""),
    (
        ("missing a required argument", "required positional argument"),
        "give example inputs for all arguments without a default: `export(model, args, kwargs)`",
    ),
    (("Unsupported input type",), "inputs are tensors: `torch.from_numpy(...)` makes one"),
    (
        ("two devices", "on the same device"),
        (
            "put the inputs, the weights and the other tensors of modules on one device; with "
            "weights on `meta` the inputs are on `meta`, too: `x.to('meta')`"
        ),
    ),
    (
        ("PyTorch does not see what", "fake tensor in the exported program"),
        (
            "this tensor has no numbers that PyTorch can see: is it a fake tensor, or made outside "
            "of PyTorch? Hold it as a buffer with numbers, or pass it as an input"
        ),
    ),
    (
        ("specialized it to be a constant", "specialized due to"),
        (
            "the program fixes a size that `dynamic_shapes` says is free; `Dim.AUTO` or a name in "
            "the place of `Dim.DYNAMIC` lets PyTorch decide"
        ),
    ),
    (
        ("UnsupportedOperatorException",),
        (
            "PyTorch has no rule for this operator with dynamic sizes: write it with others "
            "(sparse tensors dense, with `to_dense()`), or leave the sizes fixed"
        ),
    ),
    (
        ("Sparse CSR tensors", "Sparse CSC tensors", "Sparse BSR tensors", "Sparse BSC tensors"),
        "store `to_dense()` of a sparse tensor where the module is made",
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
            return hint or _DECIDES[any(o.strategy == "source" for o in outcomes)] + _CHOICES
    if any(o.strategy == "draft" for o in outcomes):
        return "the error before this one is torch's own"
    return "the error before this one is torch's own; `capture='draft'` may go further, and reports"


# Lines of torch's messages that are for those who work on torch.
_NOISE = re.compile(
    r"\s*(For |If you suspect|Caused by|Developer debug|The error above|consider using"
    r"|from user code|File \"|The following call|Hint: (For the common|This graph break)|# File)"
)


def _is_own_frame(line: str) -> bool:
    """Whether a line of a traceback names a file of this package."""
    start, _, rest = line.strip().partition('"')
    return start == "File " and owner_of(rest.partition('"')[0]) is Owner.ONNXWRIGHT


def _shortly(text: str) -> str:
    """The first lines of a message of torch that say something about the program."""
    text_lines = text.splitlines()
    own = {n + 1 for n, line in enumerate(text_lines) if _is_own_frame(line)}
    lines = [s.strip() for n, s in enumerate(text_lines) if n not in own and not _NOISE.match(s)]
    return "\n".join(line if len(line) <= 300 else f"{line[:297]}..." for line in lines[:2])
