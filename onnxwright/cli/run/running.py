"""`onnxwright run MODEL`: a model on given or random inputs, whole or node by node."""

from __future__ import annotations

import io
import time
import zipfile
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxwright.cli.shared import values
from onnxwright.cli.shared.console import OK, Bar, CliError, print_json
from onnxwright.cli.shared.files import check_weights, load, write
from onnxwright.cli.shared.grammar import (
    DIMS,
    JSON,
    MODEL,
    SOURCES,
    argument,
    at_least,
    choice,
    command,
    flag,
    numbers,
)
from onnxwright.ir.text import clean

if TYPE_CHECKING:
    from onnxwright.cli.shared.files import Loaded


def check_provider(args: Namespace) -> None:
    """Refuse a provider that is not there, or beside an evaluator that has none."""
    if not args.provider:
        return
    if args.evaluator != "ort":
        raise CliError("--provider is for ONNX Runtime: leave --evaluator reference out")
    from onnxwright.eager.ort.sessions import runtime

    there = runtime().get_available_providers()
    for name in args.provider:
        if name not in there:
            raise CliError(f"there is no provider {name}; this ONNX Runtime has {', '.join(there)}")


def gather(loaded: Loaded, args: Namespace) -> dict[str, Any]:
    """The inputs that the options ask for."""
    return values.gather(
        loaded.proto, args.inputs, random=args.random, seed=args.seed, dims=numbers(args.dim)
    )


def outputs_of(
    loaded: Loaded, inputs: dict[str, Any], evaluator: str, providers: list[str] | None = None
) -> dict[str, Any]:
    """Run a model as a whole.

    Args:
        evaluator: "ort" or "reference".
        providers: execution providers of ONNX Runtime; the CPU if None.

    Returns:
        The outputs by name.

    Raises:
        EagerError: it cannot be run, or fails.
    """
    check_weights(loaded)
    if evaluator == "reference":
        from onnxwright.eager import debug
        from onnxwright.eager import evaluator as using

        with using("reference"):
            return dict(debug(loaded.source, inputs, keep="none").outputs)
    from onnxwright.eager import CompiledModel

    source: Any = str(loaded.path) if loaded.path is not None and _binary(loaded) else loaded.proto
    compiled = CompiledModel(source, providers=providers)
    # By place: an input may be called `self`.
    bound = [inputs.get(name) for name in compiled.input_names]
    more = {name: value for name, value in inputs.items() if name not in compiled.input_names}
    if more:  # initializers that are inputs, too: their default is not used
        results = compiled.run({**dict(zip(compiled.input_names, bound, strict=True)), **more})
        return dict(zip(compiled.output_names, results, strict=True))
    results = compiled(*bound)
    many = results if len(compiled.output_names) != 1 else (results,)
    return dict(zip(compiled.output_names, map(_plain, many), strict=True))


def _plain(value: Any) -> Any:
    """A tensor of eager mode as its array."""
    from onnxwright.eager import Tensor

    return value.value if isinstance(value, Tensor) else value


def _binary(loaded: Loaded) -> bool:
    return loaded.path is not None and loaded.path.suffix in (".onnx", ".ort", "")


# What says which inputs and which evaluator a command runs with.
INPUTS = (
    argument(
        "--inputs", "INPUT",
        "file.npz, name=file.npy, name=[1, 2] or tensor.pb; a sequence is a list of its "
        'elements, a map is {"key": 1}, an absent optional is null',
        nargs="+",
    ),
    flag("--random", "draw what is not given"),
    argument("--seed", None, "for --random (0)", type=at_least(0), default=0),
    DIMS,
    choice(
        "--evaluator", ("ort", "reference"),
        "ONNX Runtime (the default), or the reference evaluator of onnx", default="ort",
    ),
    argument(
        "--provider", "NAME",
        "an execution provider of ONNX Runtime, such as CUDAExecutionProvider; the CPU",
        action="append",
    ),
)  # fmt: skip


@command(
    "run",
    "run a model",
    [
        "onnxwright run model.onnx --random --dim N=4",
        "onnxwright run model.onnx --inputs x=x.npy 'scale=[1, 2]' -o results.npz",
        "onnxwright run model.py:fn --random --trace",
    ],
    MODEL,
    *INPUTS,
    flag("--trace", "run node by node, show every value"),
    choice("--stop-on", ("nan", "inf", "bad"), "with --trace: stop at the first such"),
    SOURCES,
    argument("-o --output", "FILE.npz", "save the outputs; - for a pipe"),
    JSON,
)
def _run(args: Namespace) -> int:
    if args.stop_on and not args.trace:
        raise CliError("--stop-on needs --trace")
    check_provider(args)
    loaded = load(args.model)
    inputs = gather(loaded, args)
    start = time.perf_counter()
    table = None
    if args.trace:
        table = traced(loaded, inputs, args)
        outputs = dict(table.outputs)
    else:
        outputs = outputs_of(loaded, inputs, args.evaluator, args.provider)
    seconds = time.perf_counter() - start
    if args.output:
        write(args.output, _archive(outputs))
    if args.output == "-":
        return OK
    if args.json:
        data: dict[str, Any] = {
            "seconds": seconds,
            "outputs": {name: values.as_data(value) for name, value in outputs.items()},
        }
        if table is not None:
            data["trace"] = table.as_dicts()
        print_json(data)
        return OK
    if table is not None:
        print("\n".join(map(clean, str(table).splitlines())))
        print()
    for name, value in outputs.items():
        print(values.as_text(name, value))
    return OK


def traced(loaded: Loaded, inputs: dict[str, Any], args: Namespace, keep: str = "none") -> Any:
    """Run a model node by node, with a bar; `keep` says which values stay, as for `debug`."""
    check_weights(loaded)
    from onnxwright.eager import OrtEvaluator, debug, evaluator

    chosen = args.evaluator if args.provider is None else OrtEvaluator(args.provider)
    bar = Bar(sum(len(node.output) for node in loaded.proto.graph.node), "running")
    try:
        with evaluator(chosen):
            return debug(
                loaded.source,
                inputs,
                keep=keep,
                stop_on=getattr(args, "stop_on", None),
                on_value=lambda _record, _value: bar.step(),
                sources=args.sources,
            )
    finally:
        bar.close()


def _archive(outputs: dict[str, Any]) -> bytes:
    import numpy as np

    buffer = io.BytesIO()
    arrays = {name: value for name, value in outputs.items() if isinstance(value, np.ndarray)}
    odd = [name for name, value in outputs.items() if name not in arrays or value.dtype == object]
    if odd:
        raise CliError(f"an .npz holds arrays of numbers only, which {', '.join(odd)} is not")
    # NOTE: not savez(**arrays): an output may be called `file`.
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            held = io.BytesIO()
            np.lib.format.write_array(held, np.asarray(array), allow_pickle=False)
            archive.writestr(f"{_safe(name)}.npy", held.getvalue())
    return buffer.getvalue()


def _safe(name: str) -> str:
    """A name inside an archive: no folders, whatever the model calls its output."""
    return name.replace("\\", "_").replace("/", "_") if Path(name).name != name else name
