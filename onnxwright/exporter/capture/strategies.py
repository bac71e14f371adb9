"""The ways to capture a model as an ExportedProgram, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx.experimental.symbolic_shapes import PendingUnbackedSymbolNotFound

from onnxwright.exporter.capture.drafts import draft
from onnxwright.exporter.capture.quantized.modules import (
    raise_quantized,
    readable,
)
from onnxwright.exporter.capture.quantized.tensors import Quantized
from onnxwright.exporter.capture.replacements import torch_func
from onnxwright.exporter.capture.replacements.entries import changed
from onnxwright.exporter.capture.replacements.fakes import Substitutes
from onnxwright.exporter.capture.replacements.opaque_sizes import OpaqueSizes, poolers_scaled
from onnxwright.exporter.capture.replacements.size_tensors import SizeTensors
from onnxwright.exporter.capture.replacements.table import replace_attributes
from onnxwright.exporter.capture.source.choice_frames import results_checked
from onnxwright.exporter.capture.source.functions import Rewritten
from onnxwright.exporter.capture.source.hooks import hooks_decided
from onnxwright.exporter.capture.source.misread import Misread
from onnxwright.exporter.capture.source.observing import ValueDecisions
from onnxwright.exporter.capture.source.session import Choice
from onnxwright.exporter.capture.source.strategy import Found, by_source
from onnxwright.exporter.capture.source.swallowed import refusals_raised
from onnxwright.exporter.capture.torch_output import capture_torch_output
from onnxwright.exporter.capture.torchscript.graphs import has_scripts, scripts_readable
from onnxwright.exporter.torch_internals import pytree

Strategy = Callable[[Any, tuple[Any, ...], dict[str, Any], Any], ExportedProgram]


def non_strict(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dims: Any) -> Any:
    """Torch traces the Python of the model, with what it cannot trace by itself written out."""
    scripts = scripts_readable(model) if has_scripts(model) else nullcontext()
    sizes = SizeTensors(model if isinstance(model, torch.nn.Module) else None)
    with scripts, changed("non-strict", model), sizes, refusals_raised():
        return torch.export.export(model, args, kwargs, dynamic_shapes=dims, strict=False)


def strict(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dims: Any) -> Any:
    """Torch compiles the bytecode of the model."""
    with changed("strict", model):
        replace_attributes(of_users=True)
        return torch.export.export(model, args, kwargs, dynamic_shapes=dims, strict=True)


def substitutes(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dims: Any) -> Any:
    """Functions that decide are replaced by equivalents that do not."""
    with Substitutes(), changed("substitutes", model):
        return non_strict(model, args, kwargs, dims)


def with_torch_func(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dims: Any) -> Any:
    """The transformations of `torch.func` are removed before tracing."""
    with changed("torch.func", model):
        return non_strict(torch_func.without_transformations(model), args, kwargs, dims)


class Source:
    """The capture that rewrites Python; what it found is kept for the report.

    Args:
        first: what the capture without rewriting raised; None if it was not tried. The first
            capture with this strategy begins by rewriting the function that raised it.
        assume: answers of the user to decisions.
        functions: those that are rewritten from the start; others are added.
        keeps_loops: whether these are for the sake of their loops over dynamic sizes.
    """

    def __init__(
        self,
        first: BaseException | None = None,
        assume: Mapping[str, bool] | None = None,
        functions: Rewritten | None = None,
        keeps_loops: bool = False,
    ) -> None:
        self.keeps_loops = keeps_loops
        self.first, self.assume = first, assume
        self.functions = Rewritten() if functions is None else functions
        self.with_gradients = torch.is_grad_enabled()
        self.with_opaque_sizes = True
        self.choices: tuple[Choice, ...] = ()
        self.rewritten: tuple[str, ...] = ()
        self.decisions = ValueDecisions()
        self.answered: frozenset[str] = frozenset()
        self.unrolled: dict[tuple[str, int], str] = {}
        self.misread = Misread()

    def __call__(self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dims: Any) -> Any:
        """Capture, with functions that decide by values rewritten."""
        sizes = OpaqueSizes()

        def run() -> Any:
            sizes.names.clear()
            # What torch says of a try that fails is of use to nobody.
            with (
                capture_torch_output() as output,
                torch.set_grad_enabled(self.with_gradients),
                sizes if self.with_opaque_sizes else nullcontext(),
                hooks_decided(model),
                results_checked(model),
            ):
                program = substitutes(model, args, kwargs, dims)
            output.replay()
            return program

        def attempt() -> Any:
            try:
                return run()
            except PendingUnbackedSymbolNotFound:
                if not self.with_gradients:
                    raise
                # A write to `x[a:b]` with gradients makes the slice anew, and new sizes of it.
                self.with_gradients = False
                return run()

        def capture() -> Found:
            # Its function is rewritten once: another capture with this strategy begins with it.
            first, self.first = self.first, None
            return by_source(attempt, first, self.assume, self.functions, self.keeps_loops)

        with poolers_scaled(model, args, kwargs, dims):
            try:
                found = capture()
            except Exception:
                if not sizes.names:
                    raise
                # Python may need what is known of a size.
                self.with_opaque_sizes = False
                found = capture()
        self.choices = tuple(found.session.choices)
        self.rewritten = tuple(found.rewritten.names)
        self.decisions = ValueDecisions(
            self.choices, found.rewritten, tuple(found.session.absent), found.session.two_types
        )
        self.answered = frozenset(found.session.used)
        self.misread = found.misread
        reasons = found.session.unrolled
        self.unrolled = {place: str(e).partition("\n")[0] for place, e in reasons.items()}
        return found.result


def _source(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dims: Any) -> Any:
    return Source()(model, args, kwargs, dims)


def _quantized(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dims: Any) -> Any:
    given = pytree.tree_leaves((args, kwargs))
    if any(isinstance(x, torch.Tensor) and x.is_quantized for x in given):
        raise_quantized("an input")
    try:
        with readable(model):
            return non_strict(model, args, kwargs, dims)
    except Exception as error:
        if f"{Quantized.__module__}.{Quantized.__name__}" in str(error):
            raise_quantized("a result")
        raise


STRATEGIES: dict[str, Strategy] = {
    "non-strict": non_strict,
    "strict": strict,
    "substitutes": substitutes,
}
"""The ways to capture, in the order in which `capture="auto"` tries them."""


NAMED: dict[str, Strategy] = {
    **STRATEGIES,
    "source": _source,
    "torch.func": with_torch_func,
    "quantized": _quantized,
    "draft": draft,
}
"""The ways that can be asked for by name.  That for `torch.func` is tried where another failed in
it, that for quantized modules where there are some or another failed in a quantized tensor,
"source" where all failed because Python decides by values; a draft is never tried by itself, as it
assumes."""
