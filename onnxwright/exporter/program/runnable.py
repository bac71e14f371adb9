"""Run an exported model as the PyTorch module is called: arguments in, nested results out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.exporter.capture.inputs.sliding import mark_sliding
from onnxwright.exporter.capture.pipeline import Captured
from onnxwright.exporter.checks import raise_bad_argument
from onnxwright.exporter.program import calling, sessions
from onnxwright.exporter.program.running import Session
from onnxwright.exporter.program.sessions import called_by_torch_onnx, session_of
from onnxwright.exporter.signature import MUTATIONS, ProgramInput
from onnxwright.exporter.torch_internals import pytree
from onnxwright.exporter.torch_types import to_complex, to_torch
from onnxwright.exporter.translate.building import Built, Settings
from onnxwright.exporter.weights import initializers as weights_of_program


class RunnableProgram:
    """An exported model that is called like the module it was made from.

    Args:
        built: the model, and what its inputs and outputs are in the torch program.
        captured: the torch program and the sizes it is valid for.
        settings: the settings of the export; sessions are made for their target.
    """

    def __init__(self, built: Built, captured: Captured, settings: Settings) -> None:
        self.model: ir.Model = built.model
        self.exported_program: ExportedProgram = captured.program
        self.sizes = captured.sizes
        self._built = built
        self._settings = settings
        self._module = captured.module
        self._session: Session | None = None
        self.providers: Sequence[Any] | None = None

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
        if called_by_torch_onnx():
            args = self._as_nested(args, kwargs)
            return self.flat_results(self._arrays(args, kwargs))
        return self.nested(self._arrays(args, kwargs))

    def is_flat(self, args: Sequence[Any]) -> bool:
        """Whether positional arguments are the flattened inputs themselves."""
        leaf = all(pytree.tree_structure(a).is_leaf() for a in args)
        return leaf and len(args) == len(self.user_inputs())

    def _as_nested(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Arguments that may be flat, as the module takes them; those by keyword are put in."""
        if kwargs or not self.is_flat(args):
            return tuple(args)
        spec = self.exported_program.call_spec.in_spec
        positional, named = pytree.tree_unflatten(args, spec)
        kwargs.update(named)
        return tuple(positional)

    def flat_results(self, arrays: Sequence[Any]) -> tuple[torch.Tensor, ...]:
        """The outputs of the module as a flat tuple, complex ones as pairs of real numbers."""
        by_name = {v.name: a for v, a in zip(self.model.graph.outputs, arrays, strict=True)}
        tensors = []
        for entry, name in self._built.outputs:
            if entry.kind is not OutputKind.USER_OUTPUT:
                continue
            if entry.constant:
                if entry.value is not None:
                    tensors.append(torch.as_tensor(entry.value))
            elif name is not None:
                tensors.append(to_torch(by_name[name]))
        return tuple(tensors)

    def _arrays(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        feeds = self.feeds(args, kwargs)
        if not self.model.graph.outputs:  # a model without outputs: the runtime rejects it
            return []
        if self._session is None:
            self._check_weights()
            self._session = session_of(self.model, self._settings.target, providers=self.providers)
        return self._session.run(feeds)

    def run_with_new_values(
        self, args: Sequence[Any], kwargs: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, torch.Tensor]]:
        """Run the model, and also return the new values of what the module writes to.

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
        new_values = {
            entry.target: self._tensor(name, by_name)
            for entry, name in self._built.outputs
            if entry.kind in MUTATIONS and name is not None
        }
        return self.nested(arrays), new_values

    def call_reference(self, *args: Any, **kwargs: Any) -> Any:
        """Run the model in onnx's reference implementation, like the module.

        Args:
            args, kwargs: as the module takes them.

        Returns:
            What a call of the program gives.

        Raises:
            ExportTypeError: the inputs do not fit.

        Example:
            >>> import torch
            >>> from onnxwright.exporter import export
            >>> program = export(torch.nn.ReLU(), (torch.ones(2),))
            >>> program.call_reference(torch.tensor([-1.0, 3.0]))
            tensor([0., 3.])
        """
        feeds = self.feeds(args, kwargs)
        self._check_weights()
        arrays = sessions.reference_outputs(self.model, feeds)
        return self.flat_results(arrays) if called_by_torch_onnx() else self.nested(arrays)

    def compute_values(
        self,
        value_names: Sequence[str],
        args: Sequence[Any] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> tuple[torch.Tensor, ...]:
        """Values of the model beside its outputs.

        Args:
            value_names: names of values of the main graph, inputs and weights included.
            args, kwargs: as the module takes them.

        Returns:
            A tensor for each name; complex values as pairs of real numbers.

        Raises:
            ExportValueError: there is no value of that name (OW825).
            ExportTypeError: the inputs do not fit.

        Source:
            torch.onnx.ONNXProgram.compute_values.

        Example:
            >>> import torch
            >>> from onnxwright.exporter import export
            >>> program = export(lambda x: (x + 1).relu(), (torch.ones(2),))
            >>> program.compute_values(["add"], (torch.tensor([-3.0, 3.0]),))
            (tensor([-2.,  4.]),)
        """
        keyword_arguments = dict(kwargs or {})
        if called_by_torch_onnx():
            args = self._as_nested(args, keyword_arguments)
        feeds = self.feeds(args, keyword_arguments)
        self._check_weights()
        arrays = sessions.computed(
            self.model, value_names, feeds, self._settings.target, self.providers
        )
        return tuple(to_torch(a) for a in arrays)

    def initialize_inference_session(
        self, initializer: Callable[[Any], Any] | None = None, **options: Any
    ) -> Any:
        """Make the session that calls use.

        Args:
            initializer: a function from a model to an `onnxruntime.InferenceSession`, as
                torch.onnx takes it: of the bytes of the model, or of its path if they are too many
                for one file.
            options: `providers` and `session_options`, as ONNX Runtime has them; the program's
                providers if none are given.

        Returns:
            The `onnxruntime.InferenceSession`.

        Raises:
            ExportValueError: options are given beside `initializer` (OW825).
            EagerError: the runtime refuses the model, or the function gives no session (OW622).

        Example:
            >>> import torch
            >>> from onnxwright.exporter import export
            >>> program = export(torch.nn.ReLU(), (torch.ones(2),))
            >>> program.initialize_inference_session().get_inputs()[0].name
            'input'
        """
        self._check_weights()
        if initializer is not None:
            if options:
                hint = "let the function give them to the session that it makes"
                raise_bad_argument(next(iter(options)), "`initializer` is given as well", hint)
            options["initializer"] = initializer
        options.setdefault("providers", self.providers)
        self._session = session_of(self.model, self._settings.target, **options)
        return self._session.session

    def release(self) -> None:
        """Release the session and its memory; the next call makes another."""
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
            ExportTypeError: they are nested differently, a tensor has another type or shape, or
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
        arrays: dict[str, np.ndarray[Any, Any]] = {}
        for (entry, name), value in zip(entries, flat, strict=True):
            if name is None:
                calling.check_constant(entry.node.name, entry.value, value)
            elif name in kept:
                is_complex = name in self._built.complex_inputs
                arrays[name] = calling.array_of(name, value, kept[name], is_complex)
        calling.check_sizes(arrays, kept)
        calling.check_guards(self.sizes, entries, arrays)
        return arrays

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
            ExportTypeError: they are nested differently (OW826).
        """
        names = [str(name or entry.node.name) for entry, name in self.user_inputs()]
        absent = [name is None and entry.value is None for entry, name in self.user_inputs()]
        others: frozenset[str] = frozenset()
        if any(v is None for v in kwargs.values()) and self._module is not None:
            parameters = calling.parameters_of(self.exported_program)
            others = frozenset(inspect.signature(self._module.forward).parameters) - {*parameters}
        return calling.flat_inputs(self.exported_program, args, kwargs, names, absent, others)

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

    def _missing_weights(self) -> list[str]:
        return weights_of_program.missing_weights(self.model)

    def _check_weights(self) -> None:
        missing = self._missing_weights()
        if missing:
            fail(
                messages.BadProgramInput(
                    reason=f"{len(missing)} weights have no data yet, first `{missing[0]}`",
                    hint="the model was exported with fake or meta tensors: load them with "
                    "`program.apply_weights(...)`, or save with `include_initializers=False`",
                    span=user_span(),
                )
            )
