"""`ONNXProgram`: what an export gives: the model, and how it is called like the PyTorch module."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils import _pytree as pytree
from typing_extensions import Self

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.exporter import checks
from onnxwright.exporter.capture.pipeline import Captured
from onnxwright.exporter.capture.sliding import mark_sliding
from onnxwright.exporter.program import calling, saving
from onnxwright.exporter.program.divergence import FxDivergence, first_divergence
from onnxwright.exporter.program.running import Session, hollow
from onnxwright.exporter.program.sessions import session_of
from onnxwright.exporter.program.verify import Verification, verify
from onnxwright.exporter.signature import MUTATIONS, ProgramInput
from onnxwright.exporter.torch_types import to_complex, to_torch
from onnxwright.exporter.translate.building import Built, Settings
from onnxwright.exporter.weights import initializers as weights_of_program
from onnxwright.optimizer.folding import optimize_traced
from onnxwright.optimizer.quantized_weights import dequantize_weights

if TYPE_CHECKING:
    import onnx
    import torch

    from onnxwright.exporter.report.export_report import Report
    from onnxwright.viz.showing import Shown


class ONNXProgram:
    """An exported program.

    Attributes:
        model: the model; after a change, `release()` lets the next call see it.
        exported_program: the torch program it was made from.
        sizes: for which sizes of its inputs it is right: ranges and guards.
        module: the module it was captured from; None where `export` was given a program.
        tree: the programs of both sides of decisions by sizes; None without `size_branches`.
        report: what happened, step by step.

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
        self.model: ir.Model = built.model
        self.exported_program: ExportedProgram = captured.program
        self.sizes = captured.sizes
        self.module = captured.module
        self.tree = captured.tree
        self._captured = captured
        self.model.metadata_props.update(captured.sizes.metadata())
        self.report = report
        # Where `save` puts weights if it is not told.
        self.external_data: bool | str | None = None
        self._built = built
        self._settings = settings
        self._session: Session | None = None

    def __repr__(self) -> str:
        graph = self.model.graph
        inputs = _some([f"{v.name}: {v.type}{v.shape}" for v in graph.inputs])
        outputs = _some([str(v.name) for v in graph.outputs])
        return f"<ONNXProgram ({inputs}) -> ({outputs}), {len(graph)} nodes>"

    def __enter__(self) -> Self:
        """The program itself; at the end of the `with`, its session and memory go."""
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """A program whose model may be changed apart; weights and the torch program are shared."""
        built = dataclasses.replace(self._built, model=self.model.clone())
        made = type(self)(built, self._captured, self.report, self._settings)
        made.external_data = self.external_data
        return made

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
    def model_proto(self) -> onnx.ModelProto:
        """The model as a ModelProto, weights included."""
        self._check_weights()
        proto: onnx.ModelProto = ir.to_proto(self.model)
        return proto

    # -- running -----------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the model in ONNX Runtime, like the module.

        Args:
            args, kwargs: as the module takes them, by position or by keyword; tensors, arrays of
                numpy, Python numbers.

        Returns:
            What the module returns, nested in the same way; numbers as numbers.

        Raises:
            ExportTypeError: the inputs do not fit.
            EagerError: the runtime failed.
        """
        return self.nested(self._arrays(args, kwargs))

    def _arrays(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        feeds = self.feeds(args, kwargs)
        if not self.model.graph.outputs:  # all is known: the runtime takes no such model
            return []
        if self._session is None:
            self._check_weights()
            self._session = session_of(self.model, self._settings.target)
        return self._session.run(feeds)

    def run_with_new_values(
        self, args: Sequence[Any], kwargs: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, torch.Tensor]]:
        """Run the model, and give the new values of what the module writes to as well.

        Args:
            args, kwargs: as the module takes them.

        Returns:
            What the module returns, and by the name of each buffer and input that is written to
            its new value; none with `mutations="drop"`.

        Raises:
            ExportTypeError: the inputs do not fit.
            EagerError: the runtime failed.

        Example:
            >>> import torch
            >>> from onnxwright.exporter import export
            >>> program = export(lambda x: x.add_(1), (torch.ones(2),))
            >>> program.run_with_new_values((torch.zeros(2),))
            (tensor([1., 1.]), {'x': tensor([1., 1.])})
        """
        arrays = self._arrays(args, dict(kwargs or {}))
        by_name = dict(zip((v.name for v in self.model.graph.outputs), arrays, strict=True))
        values = {
            entry.target: self._tensor(name, by_name)
            for entry, name in self._built.outputs
            if entry.kind in MUTATIONS and name is not None
        }
        return self.nested(arrays), values

    def initialize_inference_session(self, **options: Any) -> Any:
        """Make the session that calls use.

        Args:
            options: `providers` and `session_options`, as ONNX Runtime has them.

        Returns:
            The `onnxruntime.InferenceSession`.

        Example:
            >>> import torch
            >>> from onnxwright.exporter import export
            >>> program = export(torch.nn.ReLU(), (torch.ones(2),))
            >>> program.initialize_inference_session().get_inputs()[0].name
            'input'
        """
        self._check_weights()
        self._session = session_of(self.model, self._settings.target, **options)
        return self._session.session

    def release(self) -> None:
        """Let the session and its memory go; the next call makes another."""
        self._session = None

    def feeds(
        self, args: Sequence[Any], kwargs: dict[str, Any] | None = None
    ) -> dict[str, np.ndarray[Any, Any]]:
        """The inputs of the model for arguments of the module.

        Args:
            args, kwargs: as the module takes them.

        Returns:
            An array for each input of the model.

        Raises:
            ExportTypeError: they are nested in another way, a tensor has another type or shape, or
                a value that is part of the model differs (OW826).

        Example:
            >>> import torch
            >>> from onnxwright.exporter import export
            >>> program = export(torch.nn.ReLU(), (torch.ones(2),))
            >>> program.feeds((torch.zeros(2),))
            {'input': array([0., 0.], dtype=float32)}
        """
        flat = self.flat_inputs(tuple(args), dict(kwargs or {}))
        entries = self.user_inputs()
        kept = {v.name: v for v in self.model.graph.inputs}
        found: dict[str, np.ndarray[Any, Any]] = {}
        for (entry, name), value in zip(entries, flat, strict=True):
            if name is None:
                calling.check_constant(entry.node.name, entry.value, value)
            elif name in kept:
                is_complex = name in self._built.complex_inputs
                found[name] = calling.array_of(name, value, kept[name], is_complex)
        calling.check_sizes(found, kept)
        calling.check_guards(self.sizes, entries, found)
        return found

    def user_inputs(self) -> list[tuple[ProgramInput, str | None]]:
        """The inputs of the module, flattened: what each is, and its name in the model or None."""
        return [e for e in self._built.inputs if e[0].kind is InputKind.USER_INPUT]

    @property
    def translated(self) -> ExportedProgram:
        """The torch program as it was translated: without writes that only torch can resolve."""
        return self._built.program

    @property
    def changes_buffers(self) -> bool:
        """Whether running the module gives buffers new values."""
        return any(e.kind is OutputKind.BUFFER_MUTATION for e, _ in self._built.outputs)

    def flat_inputs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Arguments of the module, flattened.

        Args:
            args, kwargs: as the module takes them.

        Returns:
            A value for each entry of `user_inputs()`.

        Raises:
            ExportTypeError: they are nested in another way (OW826).
        """
        names = [str(name or entry.node.name) for entry, name in self.user_inputs()]
        return calling.flat_inputs(self.exported_program, args, kwargs, names)

    def nested(self, arrays: Sequence[Any]) -> Any:
        """What the module would return, from the outputs of the model.

        Args:
            arrays: the outputs in the model's order.

        Returns:
            Tensors, numbers and None, nested as the module's result.

        Example:
            >>> import torch
            >>> from onnxwright.exporter import export
            >>> program = export(torch.nn.ReLU(), (torch.ones(2),))
            >>> program.nested([np.zeros(2, np.float32)])
            tensor([0., 0.])
        """
        by_name = {v.name: a for v, a in zip(self.model.graph.outputs, arrays, strict=True)}
        flat = []
        for entry, name in self._built.outputs:
            if entry.kind is not OutputKind.USER_OUTPUT:
                continue
            flat.append(entry.value if entry.constant else self._tensor(name, by_name))
        spec = self.exported_program.call_spec.out_spec
        assert spec is not None
        result = pytree.tree_unflatten(flat, spec)
        mark_sliding(result)
        return result

    def _tensor(self, name: str | None, by_name: dict[str | None, Any]) -> Any:
        if name is None:
            return None
        if name in self._built.complex_outputs:
            return to_complex(by_name[name])
        tensor = to_torch(by_name[name])
        symbolic = self._built.numbers.get(name)
        return symbolic(tensor.item()) if symbolic is not None else tensor

    def verify(
        self,
        args: Sequence[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
        *,
        rtol: float | None = None,
        atol: float | None = None,
    ) -> Verification:
        """Compare the model with PyTorch: by the checker, on inputs, and on inputs of other sizes.

        Args:
            args, kwargs: inputs of the module; those of the export if none are given.
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
        return verify(self, *self._examples(args, kwargs), rtol=rtol, atol=atol)

    def first_divergence(
        self,
        args: Sequence[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
        *,
        rtol: float | None = None,
        atol: float | None = None,
    ) -> FxDivergence | None:
        """The first node of the program whose value parts from PyTorch's.

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
        given = self._examples(args, kwargs)
        return first_divergence(self, self._settings, *given, rtol=rtol, atol=atol)

    def _examples(
        self, args: Sequence[Any] | None, kwargs: dict[str, Any] | None
    ) -> tuple[Sequence[Any], dict[str, Any]]:
        """The given inputs, or those of the export."""
        known = self.exported_program.example_inputs
        if args is None and kwargs is None and known is not None:
            args, kwargs = known
        checks.inputs(() if args is None else args, kwargs)
        return tuple(args or ()), dict(kwargs or {})

    def with_model(self, model: ir.Model) -> Self:
        """The program with another model that takes and gives the same.

        Args:
            model: the model, such as the optimized one of this program.

        Returns:
            A new program.
        """
        made = self.__copy__()
        made.model = made._built.model = model
        made.release()
        return made

    def optimize(self) -> None:
        """Remove repeated nodes, what nothing reads, and what is computed from weights alone.

        Initializers that are made of several weights follow these in `apply_weights`.
        """
        written = {e.target for e, _ in self._built.outputs if e.kind in MUTATIONS}
        optimize_traced(self.model, frozenset(self._built.weights.get(n, n) for n in written))
        dequantize_weights(self.model, self._built.inner_weights)
        self.release()

    # -- looking -----------------------------------------------------------------------------------

    def show(self, *, dims: Mapping[str, int] | None = None) -> Shown:
        """The model as a typed listing, figures and a picture.

        Args:
            dims: sizes of symbolic dimensions, for the estimates.

        Returns:
            What `onnxwright.show` gives for the model.

        Example:
            >>> import torch
            >>> from onnxwright.exporter import export
            >>> program = export(torch.nn.ReLU(), (torch.ones(2),))
            >>> program.show().summary.operators
            {'Relu': 1}
        """
        from onnxwright.viz import show

        model = hollow(self.model)[0] if self._missing_weights() else self.model
        return show(model, dims=dims)

    def to_script(self, **options: Any) -> str:
        """The model as Python that compiles to it again.

        Args:
            options: as `onnxwright.to_script` takes them; `weights="npz"` or `"external"` where
                the weights are large.

        Returns:
            The text of a module.

        Raises:
            ScriptValueError: the weights have no numbers, or the options do not fit.

        Example:
            >>> import torch
            >>> from onnxwright.exporter import export
            >>> program = export(torch.nn.ReLU(), (torch.ones(2),))
            >>> "op.Relu(" in program.to_script()
            True
        """
        from onnxwright.decompiler import to_script

        self._check_weights()
        return to_script(self.model, **options)

    # -- weights -----------------------------------------------------------------------------------

    def apply_weights(self, weights: Any) -> None:
        """Put numbers into a model that was exported with fake or meta tensors, or replace them.

        Args:
            weights: a state dict; the path of a `.safetensors` or `.pt` file; or a list of such
                paths.  Files are mapped into memory, not read whole.

        Raises:
            ExportValueError: a weight is unknown, or has another shape or type (OW825).

        Source:
            The safetensors format; torch.load with mmap.

        Example:
            >>> import torch
            >>> from onnxwright.exporter import export
            >>> program = export(
            ...     torch.nn.Linear(2, 1, device="meta"), (torch.ones(1, 2, device="meta"),)
            ... )
            >>> program.apply_weights({"weight": torch.ones(1, 2), "bias": torch.zeros(1)})
            >>> program(torch.ones(1, 2))
            tensor([[2.]])
        """
        weights_of_program.apply(self.model, self._built.weights, weights)
        self.release()

    def _missing_weights(self) -> list[str]:
        return weights_of_program.missing_weights(self.model)

    def _check_weights(self) -> None:
        missing = self._missing_weights()
        if missing:
            fail(
                messages.BadProgramInput(
                    reason=f"{len(missing)} weights have no numbers yet, first `{missing[0]}`",
                    hint="the model was exported with fake or meta tensors: give the numbers with "
                    "`program.apply_weights(...)`, or save with `include_initializers=False`",
                    span=user_span(),
                )
            )

    # -- files -------------------------------------------------------------------------------------

    def save(
        self,
        path: str | Path,
        *,
        external_data: bool | str | None = None,
        threshold: int = 1024,
        include_initializers: bool = True,
        keep_initializers_as_inputs: bool = False,
    ) -> Path:
        """Write the model.

        Args:
            path: where to.
            external_data: True: weights beside the model in one file `NAME.data`; "per_tensor":
                one file a weight in a folder `NAME.weights`; False: everything in the model; None:
                beside it where the model would be larger than 1.5 GB.
            threshold: weights of fewer bytes stay in the model.
            include_initializers: write the weights at all.
            keep_initializers_as_inputs: list weights as inputs too.

        Returns:
            The path.  Files of an earlier save with other options stay.

        Raises:
            ExportValueError: the options contradict each other, or the model does not fit in one
                file.
            OSError: the file cannot be written; files of before are left as they were.

        Example:
            >>> import torch
            >>> from onnxwright.exporter import export
            >>> program = export(torch.nn.ReLU(), (torch.ones(2),))
            >>> program.save("relu.onnx").name
            'relu.onnx'
        """
        if include_initializers:
            self._check_weights()
        return saving.save(
            self.model,
            Path(path),
            external_data=self.external_data if external_data is None else external_data,
            threshold=threshold,
            include_initializers=include_initializers,
            keep_initializers_as_inputs=keep_initializers_as_inputs,
        )


def _some(words: list[str]) -> str:
    """Words of a list; of a long one, the first and how many more."""
    return ", ".join(words if len(words) <= 8 else [*words[:6], f"... {len(words) - 6} more"])
