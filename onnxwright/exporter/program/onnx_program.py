"""`ONNXProgram`: the result of an export: compare it with PyTorch, change it, copy it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import onnx_ir as ir
from typing_extensions import Self

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.exporter import checks
from onnxwright.exporter.capture.pipeline import Captured
from onnxwright.exporter.further_inputs import Inputs
from onnxwright.exporter.program.divergence import FxDivergence, first_divergence
from onnxwright.exporter.program.verification import Verification
from onnxwright.exporter.program.verify import verify
from onnxwright.exporter.program.without_data import checked, rename
from onnxwright.exporter.program.writable import WritableProgram
from onnxwright.exporter.shown import some
from onnxwright.exporter.signature import MUTATIONS
from onnxwright.exporter.translate.building import Built, Settings
from onnxwright.ir import model_kinds
from onnxwright.optimizer.folding import optimize_traced
from onnxwright.optimizer.quantized_weights import dequantize_weights
from onnxwright.quantize.product_sums import write_sums

if TYPE_CHECKING:
    from onnxwright.exporter.report.export_report import Report


# Our ways of capture by the names that torch.onnx has for its own.
_STRATEGIES = {
    "non-strict": "TorchExportNonStrictStrategy",
    "source": "TorchExportNonStrictStrategy",
    "strict": "TorchExportStrictStrategy",
    "draft": "TorchExportDraftExportStrategy",
}


class ONNXProgram(WritableProgram):
    """An exported program.

    Attributes:
        model: the model; after a change, `release()` lets the next call see it.
        exported_program: the torch program it was made from.
        sizes: for which sizes of its inputs it is right: ranges and guards.
        module: the module it was captured from; None where `export` was given a program.
        by_values: what it decides by values; empty if it was not captured by source.
        examples: sizes on both sides of decisions by sizes that `verify` runs, by (flattened
            input, axis).
        report: what happened, step by step.
        further_inputs: inputs of the user beside the examples, by position and by name, which
            `verify` runs too where it is given no others.
        providers: the execution providers of ONNX Runtime that it runs on; None for the CPU.

    Source:
        torch.onnx.ONNXProgram, whose methods it has.

    Example:
        >>> import torch
        >>> from onnxwright.exporter import export
        >>> program = export(torch.nn.ReLU(), (torch.ones(2),))
        >>> program
        <ONNXProgram (input: FLOAT[2]) -> (relu), 1 nodes>
        >>> program(torch.tensor([-1.0, 3.0]))
        tensor([0., 3.])
    """

    def __init__(
        self, built: Built, captured: Captured, report: Report, settings: Settings
    ) -> None:
        super().__init__(built, captured, settings)
        self.module = captured.module
        self.by_values = captured.by_values
        self.examples = captured.examples
        self._captured = captured
        self.model.metadata_props.update(captured.sizes.metadata())
        self.report = report
        self.further_inputs: list[Inputs] = []

    def __repr__(self) -> str:
        graph = self.model.graph
        inputs = some([f"{v.name}: {v.type}{v.shape}" for v in graph.inputs])
        outputs = some([str(v.name) for v in graph.outputs])
        return f"<ONNXProgram ({inputs}) -> ({outputs}), {len(graph)} nodes>"

    def __enter__(self) -> Self:
        """The program itself; the end of the `with` releases its session and memory."""
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """A program with a copy of the model; weights and the torch program are shared."""
        built = dataclasses.replace(self._built, model=self.model.clone())
        program = type(self)(built, self._captured, self.report, self._settings)
        program.external_data = self.external_data
        program.providers = self.providers
        program.further_inputs = self.further_inputs
        return program

    def __copy__(self) -> Self:
        return self.__deepcopy__({})

    def __reduce_ex__(self, protocol: Any) -> Any:
        fail(
            messages.BadProgramInput(
                reason="a program cannot be pickled: it holds a PyTorch program and a session",
                hint="`program.save(path)` writes the model, which any process can run; "
                "`torch.export.save(program.exported_program, path)` writes what `export` takes",
                span=user_span(),
            )
        )

    @property
    def _capture_strategy(self) -> str | None:
        """How it was captured; `torch.onnx.testing.assert_onnx_program` asks."""
        names = [o.strategy for o in self.report.captures if not o.error]
        return _STRATEGIES.get(names[-1], names[-1]) if names else None

    def verify(
        self,
        args: Sequence[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
        *,
        more: Sequence[Inputs] | None = None,
        rtol: float | None = None,
        atol: float | None = None,
    ) -> Verification:
        """Compare the model with PyTorch: by the checker, on inputs, other sizes, other branches.

        A program that decides by values is run on changed inputs, until each side of each decision
        has run; `branches` of the result says which did.

        Args:
            args, kwargs: inputs of the module; those of the export if none are given.
            more: further inputs, each by position and by name: `((x, y), {})`; those of the export
                where `args` and `kwargs` are not given.
            rtol, atol: tolerances; by dtype if None.

        Returns:
            The largest differences of each output, and what is wrong.

        Example:
            >>> import torch
            >>> from onnxwright.exporter import export
            >>> program = export(torch.nn.ReLU(), (torch.ones(2),))
            >>> program.verify((torch.tensor([-1.0, 1.0]),)).ok
            True
        """
        self._check_weights()
        if more is None:
            more = self.further_inputs if args is None and kwargs is None else ()
        return verify(self, *self._examples(args, kwargs), more=more, rtol=rtol, atol=atol)

    def first_divergence(
        self,
        args: Sequence[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
        *,
        rtol: float | None = None,
        atol: float | None = None,
    ) -> FxDivergence | None:
        """The first node of the program whose value differs from PyTorch's.

        Values that random numbers are in are not compared.

        Args:
            args, kwargs: inputs of the module; those of the export if none are given.
            rtol, atol: tolerances; by dtype if None.

        Returns:
            The node, its line and module, and both values; None if all agree.

        Example:
            >>> import torch
            >>> from onnxwright.exporter import export
            >>> program = export(torch.nn.ReLU(), (torch.ones(2),))
            >>> program.first_divergence((torch.ones(2),)) is None
            True
        """
        inputs = self._examples(args, kwargs)
        return first_divergence(self, self._settings, *inputs, rtol=rtol, atol=atol)

    def _examples(
        self, args: Sequence[Any] | None, kwargs: dict[str, Any] | None
    ) -> tuple[Sequence[Any], dict[str, Any]]:
        """The given inputs, or those of the export."""
        example_inputs = self.exported_program.example_inputs
        if args is None and kwargs is None and example_inputs is not None:
            args, kwargs = example_inputs
        checks.inputs(() if args is None else args, kwargs)
        return tuple(args or ()), dict(kwargs or {})

    def with_model(self, model: ir.Model) -> Self:
        """The program with another model that has the same inputs and outputs.

        Args:
            model: the model, such as the optimized one of this program.

        Returns:
            A new program.
        """
        program = self.__copy__()
        program.model = program._built.model = model
        program.release()
        return program

    def optimize(self, *, weights: bool = True) -> None:
        """Remove repeated nodes, what nothing reads, and what is computed from weights alone.

        Initializers that are made of several weights follow these in `apply_weights`.

        Args:
            weights: False leaves weights as they are, with their names in the module: for models
                that are written without their data.
        """
        fixed = () if weights else tuple(self.model.graph.initializers)
        written = {e.target for e, _ in self._built.outputs if e.kind in MUTATIONS}
        optimize_traced(
            self.model, frozenset([*fixed, *(self._built.weights.get(n, n) for n in written)])
        )
        dequantize_weights(self.model, self._built.inner_weights)
        write_sums(self.model)
        self.release()

    def rename_axes(self, rename_mapping: Mapping[Any, str]) -> None:
        """Rename dynamic dimensions, in the model and in what calls say about them.

        Args:
            rename_mapping: the name of a dimension, or the dimension itself
                (`program.model.graph.inputs[0].shape[0]`), to its new name.

        Raises:
            ExportValueError: the model has no such dimension, or a name cannot be one (OW825).

        Source:
            torch.onnx.ONNXProgram.rename_axes.

        Example:
            >>> import torch
            >>> from onnxwright.exporter import export
            >>> dims = ({0: torch.export.Dim.DYNAMIC},)
            >>> program = export(torch.nn.ReLU(), (torch.ones(2),), dynamic_shapes=dims)
            >>> program.rename_axes({program.model.graph.inputs[0].shape[0]: "batch"})
            >>> program
            <ONNXProgram (input: FLOAT[batch]) -> (relu), 1 nodes>
        """
        mapping = checked(self.model, rename_mapping)
        rename(self.model, mapping)
        self.sizes = self.sizes.renamed(mapping)
        self.model.metadata_props.update(self.sizes.metadata())
        self._captured = dataclasses.replace(self._captured, sizes=self.sizes)
        self.release()


model_kinds.register(
    "onnxwright",
    "ONNXProgram",
    model_kinds.ModelKind(
        words="an ONNXProgram (that of torch.onnx too)",
        model=lambda program: program.model,
        restored=ONNXProgram.with_model,
        trusted=True,
    ),
)
