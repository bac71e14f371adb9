"""The ways to capture a model as an ExportedProgram, by name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import torch
from torch.export import ExportedProgram

from onnxwright.exporter.capture.assumptions.joined_sides import SizeDecision
from onnxwright.exporter.capture.control.replacement_table import replace_attributes
from onnxwright.exporter.capture.decisions.size_amounts import Amounts, Arguments
from onnxwright.exporter.capture.drafts import draft
from onnxwright.exporter.capture.frontend.capture_by_source import by_source
from onnxwright.exporter.capture.frontend.observing import ValueDecisions
from onnxwright.exporter.capture.frontend.rewritten_functions import Rewritten, decide_hooks
from onnxwright.exporter.capture.graphs.unread import remove_unread
from onnxwright.exporter.capture.lists.torch_functions import ListFunctions
from onnxwright.exporter.capture.quantized.modules import raise_quantized, readable
from onnxwright.exporter.capture.quantized.operators import QuantizedTensors
from onnxwright.exporter.capture.quantized.tensors import Quantized
from onnxwright.exporter.capture.replacements import torch_func
from onnxwright.exporter.capture.replacements.entries import changed
from onnxwright.exporter.capture.replacements.opaque_sizes import (
    OpaqueSizes,
    scale_poolers,
    scales_of_poolers,
)
from onnxwright.exporter.capture.replacements.size_tensors import SizeTensors
from onnxwright.exporter.capture.replacements.slice_writes import SliceWrites
from onnxwright.exporter.capture.replacements.substitutes import Substitutes
from onnxwright.exporter.capture.replacements.torch_functions import FUNCTIONS
from onnxwright.exporter.capture.session.call_handlers import CallHandler
from onnxwright.exporter.capture.session.changes import Entry
from onnxwright.exporter.capture.session.session import Choice, Session
from onnxwright.exporter.capture.session.session import current as session
from onnxwright.exporter.capture.torch_calls import TorchCalls
from onnxwright.exporter.capture.torch_output import TorchOutput
from onnxwright.exporter.capture.values.calls import Candidates, OtherNames, check_results
from onnxwright.exporter.capture.values.texts import PythonCalls
from onnxwright.exporter.torch_internals import pytree

Strategy = Callable[[Any, tuple[Any, ...], dict[str, Any], Any], ExportedProgram]


def non_strict(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dims: Any) -> Any:
    """Torch traces the Python of the model, with what it cannot trace by itself written out."""
    return _traced(model, args, kwargs, dims)


def _traced(
    model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dims: Any, *handlers: CallHandler
) -> Any:
    """The same, with more handlers of calls of torch."""
    with changed("non-strict", model):
        return _exported(model, args, kwargs, dims, *handlers)


def _exported(
    model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dims: Any, *handlers: CallHandler
) -> Any:
    """The same, where the changes for it are made."""
    module = model if isinstance(model, torch.nn.Module) else None
    sizes, now = SizeTensors(module, FUNCTIONS["non-strict"]), session()
    if now is not None:
        now.number_of = sizes.number_of
    calls = TorchCalls(OtherNames(), sizes, *handlers)
    with calls:
        return torch.export.export(model, args, kwargs, dynamic_shapes=dims, strict=False)


def strict(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dims: Any) -> Any:
    """Torch compiles the bytecode of the model."""
    with changed("strict", model):
        replace_attributes(of_users=True)
        return torch.export.export(model, args, kwargs, dynamic_shapes=dims, strict=True)


def substitutes(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dims: Any) -> Any:
    """Functions that decide are replaced by equivalents that do not."""
    with changed("substitutes", model):
        return _traced(model, args, kwargs, dims, Substitutes(FUNCTIONS["substitutes"]))


def with_torch_func(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dims: Any) -> Any:
    """The transformations of `torch.func` are removed before tracing."""
    with changed("torch.func", model):
        return non_strict(torch_func.without_transformations(model), args, kwargs, dims)


class Source:
    """The capture in which functions decide by values; what it found is kept for the report.

    Args:
        assume: answers of the user to decisions.
        keeps_loops: whether loops over dynamic sizes are loops of the program.
        with_sizes: whether decisions by sizes are exported for both sides.
    """

    def __init__(
        self,
        assume: Mapping[str, bool] | None = None,
        keeps_loops: bool = False,
        with_sizes: bool = False,
    ) -> None:
        self.assume, self.keeps_loops, self.with_sizes = assume, keeps_loops, with_sizes
        self.output = TorchOutput()
        self.sizes: tuple[SizeDecision, ...] = ()
        self.functions = Rewritten()
        self.choices: tuple[Choice, ...] = ()
        self.rewritten: tuple[str, ...] = ()
        self.decisions = ValueDecisions()
        self.answered: frozenset[str] = frozenset()
        self._session: Session | None = None

    def __call__(self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dims: Any) -> Any:
        """Capture, with the decisions of functions rewritten."""
        scales = scales_of_poolers(model, args, kwargs, dims)
        further = (decide_hooks, check_results, functools.partial(scale_poolers, scales))

        def run(entries: Iterable[Entry]) -> Any:
            with changed("source", model, *entries, *further):
                return _exported(model, args, kwargs, dims, *handlers())

        def handlers() -> Iterator[CallHandler]:
            yield from (PythonCalls(), Substitutes(FUNCTIONS["substitutes"]))
            yield from (SliceWrites(), Candidates(), ListFunctions(), OpaqueSizes())
            now = self._session = session()
            if now is not None and now.sizes is not None:
                yield Arguments(Amounts(now.sizes))

        captured = by_source(run, self.assume, self.functions, self.keeps_loops, self.with_sizes)
        self.choices = tuple(captured.session.choices)
        places = {(choice.file, choice.line) for choice in self.choices}
        self.rewritten = tuple(captured.rewritten.names_of(places))
        self.decisions = ValueDecisions(
            self.choices,
            captured.rewritten,
            tuple(captured.session.absent),
            captured.session.left_out,
            captured.session.two_types,
        )
        self.answered = frozenset(captured.session.used)
        if captured.session.sizes is not None:
            self.sizes = tuple(captured.session.sizes.joined)
        remove_unread(captured.result.graph_module)
        return captured.result

    @property
    def unrolled(self) -> dict[tuple[str, int], str]:
        """Why loops over sizes are unrolled, by their lines; also of a capture that failed."""
        reasons = {} if self._session is None else self._session.unrolled
        return {place: str(e).partition("\n")[0] for place, e in reasons.items()}


def _source(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dims: Any) -> Any:
    return Source()(model, args, kwargs, dims)


def _quantized(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dims: Any) -> Any:
    leaves = pytree.tree_leaves((args, kwargs))
    if any(isinstance(x, torch.Tensor) and x.is_quantized for x in leaves):
        raise_quantized("an input")
    try:
        with readable(model):
            return _traced(model, args, kwargs, dims, QuantizedTensors())
    except Exception as error:
        if f"{Quantized.__module__}.{Quantized.__name__}" in str(error):
            raise_quantized("a result")
        raise


NAMED: dict[str, Strategy] = {
    "non-strict": non_strict,
    "strict": strict,
    "substitutes": substitutes,
    "source": _source,
    "torch.func": with_torch_func,
    "quantized": _quantized,
    "draft": draft,
}
"""The ways that can be asked for by name.

`capture="auto"` begins with "source" ("quantized" for quantized modules), and goes on with
"non-strict" where that refuses the model; with "torch.func" or "quantized" where the model has one
of these.  The others are never tried by themselves: a draft assumes.
"""
