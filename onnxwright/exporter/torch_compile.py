"""`torch_backend`: graphs that torch.compile captures, run as ONNX models."""

from __future__ import annotations

import functools
import itertools
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx_ir as ir
import torch
from onnx.reference import ReferenceEvaluator
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import GraphModule

from onnxwright.atenlib.complexes import Complex, pack
from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.eager.ort.sessions import check_providers
from onnxwright.exporter import checks
from onnxwright.exporter.dimensions import Dimensions
from onnxwright.exporter.program import saving
from onnxwright.exporter.program.running import Session
from onnxwright.exporter.shown import shown
from onnxwright.exporter.torch_types import onnx_tensor, to_complex, to_torch
from onnxwright.exporter.translate.errors import raise_missing
from onnxwright.exporter.translate.lowerings import Lowerings
from onnxwright.exporter.translate.results import as_array
from onnxwright.exporter.translate.translator import Translator
from onnxwright.ir.writing import write_file
from onnxwright.opset import DEFAULT_OPSET_VERSION

_DUMPING = threading.Lock()
Compiled = Callable[..., list[Any]]


def torch_backend(
    runtime: str | GraphModule = "ort",
    inputs: Sequence[Any] | None = None,
    *,
    opset_version: int = DEFAULT_OPSET_VERSION,
    custom_translation_table: Mapping[Any, Any] | None = None,
    fallback: Callable[[str], Any] | None = None,
    dump_dir: str | os.PathLike[str] | None = None,
    providers: Sequence[Any] | None = None,
) -> Any:
    """A backend for `torch.compile` that runs graphs as ONNX models, on the CPU.

    Where gradients are asked for, the forward pass is an ONNX model, and PyTorch computes the
    gradients.

    Args:
        runtime: "ort" for ONNX Runtime, "reference" for onnx.reference (slow, for debugging); or
            a graph of `torch.compile(backend=torch_backend)`, which is compiled for "ort".
        inputs: those of such a graph.
        opset_version: the version of the standard opset.
        custom_translation_table, fallback: functions for operators, as `export` takes them.
        dump_dir: a folder where each graph is written: `graph_0.onnx`, and as torch captured it in
            `graph_0.txt`; it is made if needed.
        providers: execution providers of ONNX Runtime in order of preference; the CPU if not given.
            Tensors stay on the CPU between graphs.

    Returns:
        What `torch.compile(backend=...)` takes: `torch_backend()`, or `torch_backend` itself.

    Raises:
        ExportValueError: the runtime or opset is unknown, or a function cannot be used (OW825).
        EagerValueError: the runtime does not have a provider (OW625).

    Source:
        torch._dynamo.backends.common.aot_autograd.

    Example:
        >>> import torch
        >>> double = torch.compile(lambda x: x * 2, backend=torch_backend())
        >>> double(torch.tensor([1.0, 2.0]))
        tensor([2., 4.])
    """
    if isinstance(runtime, GraphModule):
        return torch_backend()(runtime, inputs)
    if runtime not in ("ort", "reference"):
        checks.raise_bad_argument(
            "runtime",
            f"unknown runtime {shown(runtime)}",
            "choose 'ort' or 'reference'",
        )

    checks.opset(opset_version, checks.OLDEST_WRITTEN)
    check_providers(providers)
    if providers is not None and runtime == "reference":
        checks.raise_bad_argument(
            "providers",
            "the reference evaluator has none",
            "leave `providers` out, or choose the runtime 'ort'",
        )
    lowerings = Lowerings(custom_translation_table, fallback)
    folder = None if dump_dir is None else Path(dump_dir)

    def forward(module: GraphModule, inputs: Sequence[Any]) -> Compiled:
        # Dynamo's fake mode is of no use here, and would take constants for tensors of its own.
        with unset_fake_temporarily():
            t = Translator(opset_version, lowerings, Dimensions({}))
            return _compile(
                module, inputs, functools.partial(_runner, runtime, providers), t, folder
            )

    def backward(module: GraphModule, inputs: Sequence[Any]) -> Any:
        return make_boxed_func(module.forward)

    backend: Callable[[GraphModule, Sequence[Any]], Any] = aot_autograd(
        fw_compiler=forward, bw_compiler=backward, inference_compiler=forward
    )
    return backend


def _compile(
    module: GraphModule,
    inputs: Sequence[Any],
    runner: Callable[[ir.Model], Callable[[dict[str, Any]], list[Any]]],
    t: Translator,
    folder: Path | None,
) -> Compiled:
    """One graph of ATen operators as a callable on tensors."""
    names, values, pairs = [], [], []
    places = [n for n in module.graph.nodes if n.op == "placeholder"]
    for n, (place, example_input) in enumerate(zip(places, inputs, strict=True)):
        fake = place.meta.get("val", example_input)
        _check_device(fake)
        names.append(f"x{n}")
        values.append(t.input(names[-1], fake))
        pairs.append(isinstance(fake, torch.Tensor) and fake.is_complex())
    results = t.run(module, values)
    raise_missing(t.missing, t.unresolved, t.lowerings, t.report)
    kept, shapes = [], []
    numbers = [_number_type(out) for out in _outputs_of(module)]
    for value in results:
        if isinstance(value, (bool, int, float)):
            value = t.op.constant(as_array(value))
        shapes.append("none" if value is None else "pair" if isinstance(value, Complex) else "one")
        if value is not None:
            kept.append(pack(t.op, value) if isinstance(value, Complex) else value)
    if not kept:
        return lambda *_: [None] * len(results)
    outputs = [f"y{n}" for n in range(len(kept))]
    model = t.backend.to_ir_model(kept, names=outputs)
    if folder is not None:
        _dump(model, module, folder)
    run = runner(model)
    input_names = {v.name for v in model.graph.inputs}

    def call(*tensors: Any) -> list[Any]:
        feeds = {
            name: _array(x, pair)
            for name, x, pair in zip(names, tensors, pairs, strict=True)
            if name in input_names
        }
        arrays = iter(run(feeds))
        call_results: list[Any] = []
        for shape in shapes:
            if shape == "none":
                call_results.append(None)
                continue
            array = next(arrays)
            number = numbers[len(call_results)]
            if number is not None:
                call_results.append(number(array))
            else:
                call_results.append(to_complex(array) if shape == "pair" else to_torch(array))
        return call_results

    return call


def _dump(model: ir.Model, module: GraphModule, folder: Path) -> None:
    """Write a graph as a model, and as torch captured it, under the next free number."""
    folder.mkdir(parents=True, exist_ok=True)
    with _DUMPING:
        number = next(n for n in itertools.count() if not (folder / f"graph_{n}.onnx").exists())
        saving.save(model, folder / f"graph_{number}.onnx")
        text = module.print_readable(print_output=False)
        write_file(folder / f"graph_{number}.txt", text)


def _outputs_of(module: GraphModule) -> list[Any]:
    """What the output node of a graph holds, as a list."""
    results = next(n for n in module.graph.nodes if n.op == "output").args[0]
    return list(results) if isinstance(results, (list, tuple)) else [results]


def _number_type(output: Any) -> Callable[[Any], Any] | None:
    """What makes a number of Python of a result; None where it is a tensor.

    Sizes that the backward pass needs are numbers.
    """
    fake = getattr(output, "meta", {}).get("val", output)
    if isinstance(fake, (bool, torch.SymBool)):
        return bool
    if isinstance(fake, (int, torch.SymInt)):
        return int
    return float if isinstance(fake, (float, torch.SymFloat)) else None


def _check_device(fake: Any) -> None:
    if isinstance(fake, torch.Tensor) and fake.device.type != "cpu":
        fail(
            messages.BadProgramInput(
                reason=f"a tensor is on the device `{fake.device}`; the backend runs on the CPU",
                hint="move the module and its inputs: `.to('cpu')`",
                span=user_span(),
            )
        )


def _runner(
    runtime: str, providers: Sequence[Any] | None, model: ir.Model
) -> Callable[[dict[str, Any]], list[Any]]:
    if runtime == "ort":
        return Session(model, providers=providers).run
    evaluator = ReferenceEvaluator(ir.to_proto(model))
    return lambda feeds: list(evaluator.run(None, feeds))


def _array(x: Any, pair: bool) -> Any:
    if not isinstance(x, torch.Tensor):
        return as_array(x)
    if pair:
        x = torch.view_as_real(x.resolve_conj())
    return onnx_tensor(x.contiguous(), "x").numpy()
