"""An exported program as an ONNX model: inputs, weights, nodes, outputs."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import onnx_ir as ir
import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind

from onnxwright.atenlib.complexes import Complex, pack
from onnxwright.exporter.capture.control.held_state import with_buffers_joined
from onnxwright.exporter.capture.inputs.cache_names import cache_inputs, cache_outputs
from onnxwright.exporter.dimensions import Dimensions, dimensions_of
from onnxwright.exporter.places import operator_text, target_name
from onnxwright.exporter.report.export_report import TARGETS, Report
from onnxwright.exporter.signature import (
    MUTATIONS,
    WEIGHT_KINDS,
    Names,
    ProgramInput,
    ProgramOutput,
    checked_names,
    inputs_of,
    outputs_of,
    weight_of,
)
from onnxwright.exporter.torch_types import has_no_numbers, onnx_tensor
from onnxwright.exporter.translate import metadata, mutation
from onnxwright.exporter.translate.errors import raise_missing
from onnxwright.exporter.translate.lowerings import Lowerings
from onnxwright.exporter.translate.outlining import (
    Stack,
    outline_modules,
    outline_operators,
    stack_of,
)
from onnxwright.exporter.translate.results import MISSING, as_array
from onnxwright.exporter.translate.translator import Translator
from onnxwright.exporter.weights.wrappers import all_inner_tensors, is_wrapper
from onnxwright.optimizer.leftovers import STATE_SUFFIX
from onnxwright.optimizer.pretranspose_weights import pretranspose_weights
from onnxwright.semantics.graph_value import GraphValue

# An FX node, and for each of its values the name of the output (None for a plain number) and
# whether it is a complex pair.
NodeOutputs = list[tuple[Any, list[tuple[str | None, bool]]]]


@dataclass
class Settings:
    """How a program is translated.

    Fields:
        opset_version: the version of the standard opset.
        input_names, output_names: names for the flattened values.
        dimension_names: torch's symbol -> the user's name.
        lowerings: the functions to use.
        mutations: "outputs" or "drop": what becomes of new values of buffers and inputs.
        metadata: "full", "short" or "off".
        strict: make a result of another type or shape than torch's an error.
        modules_as_functions: True, or classes: calls of modules become model-local functions.
        functions: "aten": each ATen operator becomes a model-local function.
        target: "onnxruntime-cpu": compute in a wider type where that runtime has no kernel; "any".
        keep_weights: store no weight transposed, for models that are written without their data.
    """

    opset_version: int
    lowerings: Lowerings
    input_names: Names = None
    output_names: Names = None
    dimension_names: dict[str, str] = field(default_factory=dict)
    mutations: str = "outputs"
    metadata: str = "full"
    strict: bool = False
    modules_as_functions: Any = False
    functions: str | None = None
    target: str = TARGETS[0]
    keep_weights: bool = False


@dataclass
class Built:
    """A translated program.

    Fields:
        model: the model.
        program: the program it was made from, after functionalization where that was needed.
        inputs: for each placeholder that is a user input, the name of the model's input or None.
        outputs: for each result, the name of the model's output or None (a plain Python value).
        complex_inputs, complex_outputs: names whose value is a complex tensor as a real pair.
        weights: the name of each weight in the state dict -> its initializer.
        numbers: outputs that are Python numbers -> what makes one of the tensor's element.
        dimensions: the names of sizes.
        seconds: seconds of each step.
        nodes: (FX node name, number of ONNX nodes) of each translated node.
        inner_weights: the initializers that hold tensors of which a weight is made.
    """

    model: ir.Model
    program: ExportedProgram
    inputs: list[tuple[ProgramInput, str | None]]
    outputs: list[tuple[ProgramOutput, str | None]]
    complex_inputs: set[str]
    complex_outputs: set[str]
    numbers: dict[str, Any]
    weights: dict[str, str]
    dimensions: Dimensions
    seconds: dict[str, float]
    nodes: list[tuple[str, str, int]]
    inner_weights: tuple[str, ...] = ()


def build(
    program: ExportedProgram,
    settings: Settings,
    report: Report | None = None,
) -> Built:
    """Translate a program.

    Args:
        program: the exported program.
        settings: how.
        report: the report to write to.

    Returns:
        The model, and how it belongs to the program.

    Raises:
        ExportError: something has no ONNX; all missing operators are named at once.
    """
    seconds: dict[str, float] = {}
    begun = time.perf_counter()
    program = mutation.functional(with_buffers_joined(program))
    seconds["functionalize"] = time.perf_counter() - begun
    begun = time.perf_counter()
    builder = _Builder(program, settings, report=report)
    built = builder.build(seconds)
    seconds["translate"] = time.perf_counter() - begun
    return built


def build_with(program: ExportedProgram, settings: Settings) -> tuple[Built, NodeOutputs]:
    """Translate a program with the value of every node as a further output.

    Args:
        program: a program without writes that need functionalization.

    Returns:
        The translated program, and for each node the names of its outputs, each with whether it
        is a complex pair.
    """
    builder = _Builder(program, settings, every=True)
    return builder.build({}), builder.every_output


class _Builder:
    def __init__(
        self,
        program: ExportedProgram,
        settings: Settings,
        *,
        every: bool = False,
        report: Report | None = None,
    ) -> None:
        self.every = every
        self.report = report if report is not None else Report()
        self.every_result: list[tuple[Any, Any]] = []
        self.every_output: NodeOutputs = []
        self.program = program
        self.settings = settings
        self.dimensions = dimensions_of(program, dict(settings.dimension_names))
        self.notes = metadata.Notes(settings.metadata)
        self.counts: list[tuple[str, str, int]] = []
        self.stacks: dict[ir.Node, Stack] = {}
        self.sources: dict[ir.Node, tuple[str, str]] = {}
        self.t = Translator(
            settings.opset_version,
            settings.lowerings,
            self.dimensions,
            strict=settings.strict,
            watch=self._watch,
            report=self.report,
            target=settings.target,
        )
        self.inputs: list[tuple[ProgramInput, str | None]] = []
        self.shared: dict[Any, Any] = {}  # memory of a weight -> its name and value
        self.complex_inputs: set[str] = set()
        self.numbers: dict[str, Any] = {}
        self.weights: dict[str, str] = {}
        self.inner: dict[str, None] = {}  # the names of tensors of which a weight is made

    def _watch(self, node: Any, result: Any, before: int) -> None:
        new_nodes = self.t.recorder.scope.nodes[before:]
        self.counts.append((node.name, operator_text(node.target), len(new_nodes)))
        if self.every and len(self.t.recorder.scopes) == 1:
            self.every_result.append((node, result))
        self.notes.write(node, new_nodes)
        if self.settings.modules_as_functions:
            stack = stack_of(node)
            self.stacks.update((one, stack) for one in new_nodes if one not in self.stacks)
        if self.settings.functions == "aten":
            source = (node.name, target_name(node.target))
            self.sources.update((one, source) for one in new_nodes if one not in self.sources)

    def build(self, seconds: dict[str, float]) -> Built:
        entries = inputs_of(self.program)
        values = self._placeholders(entries)
        results = self.t.run(self.program.graph_module, values)
        raise_missing(self.t.missing, self.t.unresolved, self.settings.lowerings, self.report)
        outputs = outputs_of(self.program)
        for entry in entries:
            if entry.node in self.t.written:
                outputs.append(_written(entry))
                results.append(self.t.written[entry.node])
        names, kept, complex_outputs = self._results(outputs, results)
        if self.every:
            kept += self._every_value({name for name, _ in kept})
        model = self.t.backend.to_ir_model([v for _, v in kept], names=[n for n, _ in kept])
        model.producer_name = "onnxwright"
        self._rename_weights(model)
        changed = {o.target for o in outputs if o.kind is OutputKind.BUFFER_MUTATION}
        self._keep_values(model, [e for e in entries if e.target in changed])
        if not (self.every or self.settings.keep_weights):
            pretranspose_weights(model, {self.weights.get(name, name) for name in changed})
        if self.settings.functions == "aten":
            outline_operators(model, self.sources, self.weights.values())
        elif self.settings.modules_as_functions:
            chosen = self.settings.modules_as_functions
            outline_modules(model, self.stacks, self.weights.values(), chosen)
        if self.settings.metadata == "off":
            metadata.remove_origins(model)
        self.notes.finish(
            model, self.program, self.inputs, list(zip(outputs, names, strict=True)), self.weights
        )
        return Built(
            model,
            self.program,
            self.inputs,
            list(zip(outputs, names, strict=True)),
            self.complex_inputs,
            complex_outputs,
            self.numbers,
            self.weights,
            self.dimensions,
            seconds,
            self.counts,
            tuple(self.weights.get(n, n) for n in self.inner),
        )

    def _placeholders(self, entries: list[ProgramInput]) -> list[Any]:
        """A value for each placeholder; user inputs first, so that their names are free."""
        every = [e for e in entries if e.kind is InputKind.USER_INPUT]
        users = [e for e in every if not e.constant]
        caches = cache_inputs(self.program)
        own = [caches.get(n, e.node.name) for n, e in enumerate(every) if not e.constant]
        names = checked_names("input_names", self.settings.input_names, own)
        values: dict[Any, Any] = {}
        for entry, name in zip(users, names, strict=True):
            fake = entry.node.meta["val"]
            values[entry.node] = self.t.input(name, fake)
            if isinstance(values[entry.node], Complex):
                self.complex_inputs.add(name)
        named = dict(zip((e.node for e in users), names, strict=True))
        shared = self.shared
        for entry in entries:
            if entry.kind is InputKind.USER_INPUT:
                self.inputs.append((entry, named.get(entry.node)))
                values.setdefault(entry.node, entry.value)
            elif entry.kind is InputKind.CONSTANT_TENSOR and not entry.node.users:
                values[entry.node] = None
            elif entry.kind in WEIGHT_KINDS:
                values[entry.node] = self._weight(entry, shared)
            else:
                values[entry.node] = None
        return [values[e.node] for e in entries]

    def _weight(self, entry: ProgramInput, shared: dict[Any, Any]) -> Any:
        """The value of a weight; tied weights are one."""
        tensor = weight_of(self.program, entry)
        key = _memory(tensor)
        if key not in shared:
            # Numbers of a plain tensor attribute are part of the program, where it has any.
            fixed = entry.kind is InputKind.CONSTANT_TENSOR and not has_no_numbers(tensor)
            shared[key] = (entry.target, self.t.weight(entry.target, tensor, fixed=fixed))
        name, value = shared[key]
        if is_wrapper(tensor):
            held = dict(all_inner_tensors(name, tensor))
            own = all_inner_tensors(entry.target, tensor)
            self.weights.update(zip((n for n, _ in own), held, strict=True))
            self.inner.update(dict.fromkeys(held))
        else:
            self.weights[entry.target] = name
        return value

    def _keep_values(self, model: ir.Model, entries: list[ProgramInput]) -> None:
        """Copy buffers that the program changes: a later call of the module changes its own."""
        for entry in entries:
            tensor = weight_of(self.program, entry)
            held = model.graph.initializers.get(self.weights[entry.target])
            if held is not None and not is_wrapper(tensor) and not tensor.is_complex():
                held.const_value = onnx_tensor(tensor.detach().clone(), str(held.name))

    def _rename_weights(self, model: ir.Model) -> None:
        """Know weights by the names they have got: one may be called like an input."""
        held = {n: v.const_value for n, v in model.graph.initializers.items()}
        before = {
            str(n): getattr(tensor, "first_name", None) or tensor.name
            for n, tensor in held.items()
            if tensor is not None
        }
        new_names = {first_name: name for name, first_name in before.items() if first_name != name}
        if new_names:
            self.weights = {n: new_names.get(name, name) for n, name in self.weights.items()}

    def _every_value(self, taken: set[str]) -> list[tuple[str, Any]]:
        """The results of all nodes as outputs."""
        outputs: list[tuple[str, Any]] = []
        for node, result in self.every_result:
            names: list[tuple[str | None, bool]] = []
            several = result if isinstance(result, (tuple, list)) else [result]
            for n, value in enumerate(several):
                pair = isinstance(value, Complex)
                if not pair and not hasattr(value, "kind"):
                    names.append((None, False))
                    continue
                name = f"{node.name}.value.{n}"
                assert name not in taken
                outputs.append((name, pack(self.t.op, value) if pair else value))
                names.append((name, pair))
            self.every_output.append((node, names))
        return outputs

    def _results(
        self, entries: list[ProgramOutput], results: list[Any]
    ) -> tuple[list[str | None], list[tuple[str, Any]], set[str]]:
        """The values that become outputs, and their names."""
        node = next(n for n in self.program.graph.nodes if n.op == "output")
        own: list[str] = []
        symbolic: dict[int, Any] = {}
        chosen: list[tuple[int, Any]] = []
        order = [n for n, e in enumerate(entries) if e.kind not in MUTATIONS]
        if self.settings.mutations == "outputs":
            order += [n for n, e in enumerate(entries) if e.kind in MUTATIONS]
        sources = list(node.args[0]) + [None] * len(results)
        results_of_user = [n for n, e in enumerate(entries) if e.kind is OutputKind.USER_OUTPUT]
        caches = {results_of_user[n]: name for n, name in cache_outputs(self.program).items()}
        returned: dict[int, int] = {}  # a value of the graph -> the result that it is
        same: dict[int, int] = {}  # a new value -> the result that it is, too
        for n in order:
            value = results[n]
            if isinstance(value, GraphValue):
                if entries[n].kind in MUTATIONS and id(value.value) in returned:
                    same[n] = returned[id(value.value)]
                    continue
                returned.setdefault(id(value.value), n)
            if value is None or value is MISSING or isinstance(value, str):
                continue
            if isinstance(value, (bool, int, float)):
                value = self.t.op.constant(as_array(value))
            fake = getattr(sources[n], "meta", {}).get("val")
            if isinstance(fake, (torch.SymInt, torch.SymFloat, torch.SymBool)):
                symbolic[n] = {"SymInt": int, "SymFloat": float}.get(type(fake).__name__, bool)
            chosen.append((n, value))
            own.append(caches.get(n) or self._result_name(n, entries[n], sources[n]))
        inputs = {name for _, name in self.inputs if name is not None}
        names = checked_names("output_names", self.settings.output_names, own, inputs)
        output_names: list[str | None] = [None] * len(entries)
        kept: list[tuple[str, Any]] = []
        pairs = set()
        for (n, value), name in zip(chosen, names, strict=True):
            output_names[n] = name
            if n in symbolic:
                self.numbers[name] = symbolic[n]
            if isinstance(value, Complex):
                pairs.add(name)
                value = pack(self.t.op, value)
            kept.append((name, value))
        for n, first in same.items():
            output_names[n] = output_names[first]
        return output_names, kept, pairs

    @staticmethod
    def _result_name(n: int, entry: ProgramOutput, source: Any) -> str:
        if entry.kind is OutputKind.BUFFER_MUTATION:
            return f"{entry.target}{STATE_SUFFIX}"
        if entry.kind is OutputKind.USER_INPUT_MUTATION:
            return f"{entry.target}_new"
        return getattr(source, "name", f"output_{n}")


def _written(entry: ProgramInput) -> ProgramOutput:
    """The result that holds the new value of a buffer or input."""
    if entry.kind is InputKind.USER_INPUT:
        return ProgramOutput(OutputKind.USER_INPUT_MUTATION, entry.node.name, False, None)
    return ProgramOutput(OutputKind.BUFFER_MUTATION, entry.target, False, None)


def _memory(tensor: torch.Tensor) -> Any:
    """What two tensors have in common only if they are the same numbers in the same memory."""
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.device.type == "meta":
        return id(tensor)
    if tensor.numel() == 0 or tensor.layout is not torch.strided:
        return id(tensor)
    return (tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()))
