"""230 models whose bytes stay: a refactoring that should change no model is checked by them.

    python -m tests.harness.fixed_models                 # which models differ from the table
    python -m tests.harness.fixed_models --write FOLDER  # the models as files, to compare commits
    python -m tests.harness.fixed_models --accept        # write `tests/golden/models.txt` anew

The table has a line for each model: what made it, and the SHA-256 of its bytes.  Nothing in the set
needs PyTorch: compiled scripts, traced operator calls, optimized models, models of other opsets,
and the text of decompiled models.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import onnx

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "tests" / "golden" / "models.txt"

# Seeds of random scripts that make models, of random operator calls, and the numbers of models.
SCRIPTS, CALLS, OPTIMIZED, CONVERTED, DECOMPILED = 80, 40, 60, 30, 20
COUNT = SCRIPTS + CALLS + OPTIMIZED + CONVERTED + DECOMPILED

Maker = Callable[[], "onnx.ModelProto | str"]


@functools.cache
def makers() -> dict[str, Maker]:
    """What makes each model, by its name in the table."""
    return dict([*_scripts(), *_calls(), *_of_stored_models()])


def _scripts() -> Iterator[tuple[str, Maker]]:
    """Random scripts with branches, loops and functions, compiled."""
    from tests.harness.programs import load_program, make_program

    def compiled(seed: int) -> onnx.ModelProto:
        main = load_program(make_program(seed), f"<script {seed}>")
        model: onnx.ModelProto = main.to_model_proto()
        return model

    for seed in range(SCRIPTS):
        yield f"script/{seed}", partial(compiled, seed)


def _calls() -> Iterator[tuple[str, Maker]]:
    """Random operator calls, traced."""
    from onnxwright.ir.builder import Recorder
    from onnxwright.semantics.ops import Ops
    from onnxwright.tracing.backend import TracingBackend
    from onnxwright.types.dtypes import DType
    from onnxwright.types.kinds import TensorType
    from onnxwright.versions.one_call import converted_call
    from tests.builder.programs import OPSET, SHAPES, Program

    def traced(seed: int) -> onnx.ModelProto:
        backend = TracingBackend(Recorder(), OPSET, converted_call)
        types = {n: DType.INT64 if n == "ints" else DType.FLOAT for n in SHAPES}
        values = [backend.input(n, TensorType(types[n], shape)) for n, shape in SHAPES.items()]
        program: Any = Program(seed)
        outputs = program.run(Ops(backend), values)[len(values) :]
        names = [f"out_{n}" for n in range(len(outputs))]
        model: onnx.ModelProto = backend.to_model_proto(outputs, names=names)
        return model

    for seed in range(CALLS):
        yield f"calls/{seed}", partial(traced, seed)


def _of_stored_models() -> Iterator[tuple[str, Maker]]:
    """Models as other converters write them, and stored exports: optimized, converted, as text."""
    import onnxwright as ow
    from tests.optimizer.corpus.dialects import MODELS
    from tests.optimizer.corpus.stored import names, stored

    def of(name: str, change: Callable[..., Any], *more: Any) -> Any:
        model = MODELS[name].make() if name in MODELS else stored(name).model
        return change(model, *more)

    for name in _some(sorted([*MODELS, *names()]), OPTIMIZED):
        yield f"optimized/{name}", partial(of, name, ow.optimize)
    # ONNX Runtime's transformers uses operators that the opset of its models does not have.
    standard = sorted(name for name in MODELS if not name.startswith("ort_transformers."))
    for n, name in enumerate(_some(standard, CONVERTED)):
        opset = (17, 21, 23)[n % 3]
        yield f"opset {opset}/{name}", partial(of, name, ow.convert_version, opset)
    for name in _some(sorted(MODELS, reverse=True), DECOMPILED):
        yield f"decompiled/{name}", partial(of, name, ow.to_script)


def _some(names: Sequence[str], count: int) -> list[str]:
    """So many of the names, evenly spread."""
    return [names[n * len(names) // count] for n in range(count)]


def contents(maker: Maker) -> bytes:
    """The bytes of a model, without the version of this package, or those of a text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = maker()
    if isinstance(made, str):
        return made.encode()
    made.ClearField("producer_version")
    data: bytes = made.SerializeToString(deterministic=True)
    return data


def digest(maker: Maker) -> str:
    """SHA-256 of a model, so much of it as the table has."""
    return hashlib.sha256(contents(maker)).hexdigest()[:24]


def digests() -> dict[str, str]:
    """The digest of each model, by its name."""
    return {name: digest(maker) for name, maker in makers().items()}


def stored_digests() -> dict[str, str]:
    """The table."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, name in (line.split("  ", 1) for line in lines)}


def differences(found: dict[str, str]) -> list[str]:
    """What is not as in the table, a line each.

    Args:
        found: what `digests` gave.
    """
    table = stored_digests()
    lines = []
    for name in sorted(table | found):
        if name not in table:
            lines.append(f"{name}: is new")
        elif name not in found:
            lines.append(f"{name}: is gone")
        elif table[name] != found[name]:
            lines.append(f"{name}: differs")
    return lines


def write(folder: Path) -> None:
    """Write the models as files.

    Args:
        folder: where; it is made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, maker in makers().items():
        data = contents(maker)
        suffix = ".py" if name.startswith("decompiled") else ".onnx"
        (folder / (name.replace("/", "_").replace(" ", "_") + suffix)).write_bytes(data)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare with the table, or write it.

    Args:
        arguments: those of the command line, without the program.

    Returns:
        The exit status: 1 if models differ.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.harness.fixed_models")
    parser.add_argument("--accept", action="store_true", help="write the table")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write the models as files")
    given = parser.parse_args(arguments)
    if given.write is not None:
        write(given.write)
        return 0
    found = digests()
    if given.accept:
        lines = [f"{digest}  {name}\n" for name, digest in found.items()]
        TABLE.write_text("".join(lines), encoding="utf-8")
        print(f"{len(found)} models")
        return 0
    lines = differences(found)
    print("\n".join([*lines, f"{len(lines)} of {len(found)} models differ"]))
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
