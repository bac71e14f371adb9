"""Writes `onnxwright/atenlib/kernels.py`: the types for which ONNX Runtime's CPU has no kernel.

Run it from the repository's root when the runtime that is aimed at changes:

    python -m tools.kernels            # write the file
    python -m tools.kernels --check    # only say whether it is current
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from onnxwright.eager.ort.kernels import kernel_types
from onnxwright.opset import Opset
from onnxwright.types.dtypes import DType

TARGET = Path(__file__).resolve().parents[1] / "onnxwright" / "atenlib" / "kernels.py"
VERSION = 23
TYPES = ("BFLOAT16", "DOUBLE", "BOOL", "INT8", "UINT8", "INT16", "UINT16", "INT32", "INT64")
# Operators that are functions of others in the runtime: their bodies have no BFLOAT16 kernels.
_CONTROL = {"If", "Loop", "Scan", "SequenceMap", "Constant", "ConstantOfShape", "Cast", "CastLike"}


def lacking() -> dict[str, dict[str, tuple[str, ...]]]:
    """Operator -> type variable -> types that its schema allows and no kernel takes."""
    opset = Opset("", VERSION)
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for name in opset:
        if name in _CONTROL:
            continue
        signature = opset.signature_of(name)
        assert signature is not None
        kernels = kernel_types("", name, signature.since_version)
        row: dict[str, tuple[str, ...]] = {}
        for param in signature.inputs:
            if kernels is not None and param.type_str not in kernels:
                continue
            have = frozenset() if kernels is None else kernels[param.type_str]
            checked = ("BFLOAT16",) if kernels is None else TYPES
            missing = tuple(
                t
                for t in checked
                if DType[t].onnx_name in param.types and DType[t].onnx_name not in have
            )
            if missing:
                row[param.type_str] = missing
        if row:
            found[name] = row
    return found


def text() -> str:
    """The module as Python."""
    import onnxruntime

    lines = [
        '"""The types for which ONNX Runtime\'s CPU has no kernel, written by `tools.kernels`."""',
        "",
        "from __future__ import annotations",
        "",
        f'RUNTIME = "{onnxruntime.__version__}"',
        f"OPSET = {VERSION}",
        "",
        "# Operator -> type variable of its schema -> types that are allowed, but not run.",
        "LACKING: dict[str, dict[str, tuple[str, ...]]] = {",
    ]
    lines += [f"    {name!r}: {row!r}," for name, row in sorted(lacking().items())]
    made = "\n".join([*lines, "}", ""])
    run = [sys.executable, "-m", "ruff", "format", "-", "--stdin-filename", str(TARGET)]
    return subprocess.run(run, input=made, capture_output=True, text=True, check=True).stdout


def main() -> int:
    """Write or check the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether it is current")
    wanted = text()
    if parser.parse_args().check:
        same = TARGET.read_text(encoding="utf-8") == wanted
        print("current" if same else "out of date: run `python -m tools.kernels`")
        return 0 if same else 1
    TARGET.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
