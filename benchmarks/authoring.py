"""Authoring beside onnxscript: import time, decorate + to_model_proto, peak memory, in one run.

    python benchmarks/authoring.py              # needs the extra `bench`
    python benchmarks/authoring.py --repeat 3 --json

Every figure is the median of several fresh processes, the libraries taking turns, so that a busy
moment of the machine meets them all.  Without onnxscript installed its column stays empty.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = ("onnxwright", "onnxscript")
INNER = 15  # repeated compiles in one process

HEAD = "from {library} import FLOAT, INT64, script\nfrom {library} import opset18 as op\n\n\n"

STRAIGHT = '''\
@script()
def f(x: FLOAT["N", 64], w: FLOAT[64, 64], b: FLOAT[64]) -> FLOAT["N", 64]:
    """A transformer's feed-forward block."""
    mean = op.ReduceMean(x, keepdims=1)
    centred = x - mean
    variance = op.ReduceMean(centred * centred, keepdims=1)
    normal = centred / op.Sqrt(variance + 0.00001)
    hidden = op.MatMul(normal, w) + b
    active = hidden * 0.5 * (op.Erf(hidden / 1.4142135) + 1.0)
    out = op.MatMul(active, w) + b
    return x + out
'''

BRANCHES = '''\
@script()
def f(x: FLOAT["N"], n: INT64) -> FLOAT["N"]:
    """A loop with carried values and an `if` in it."""
    total = op.Identity(x)
    scale = op.Identity(x)
    for i in range(n):
        if op.ReduceSum(total) > 10.0:
            total = total * 0.5
            scale = scale + 1.0
        else:
            total = total + scale
            scale = scale - 0.5
    if op.ReduceSum(scale) > 0.0:
        result = total + scale
    else:
        result = total - scale
    return result
'''


def long_script(lines: int) -> str:
    """A function of about `lines` statements, each an operator call or two."""
    steps = (
        "y{0} = op.Relu(y{1}) + x",
        "y{0} = y{1} * 0.5 - y{2}",
        "y{0} = op.Max(y{1}, y{2})",
        "y{0} = op.Softmax(y{1}, axis=-1)",
        "y{0} = op.Where(y{1} > y{2}, y{1}, x)",
    )
    body = ["y0 = op.Identity(x)", "y1 = op.Abs(x)"]
    body += [steps[n % len(steps)].format(n, n - 1, n - 2) for n in range(2, lines - 1)]
    body.append(f"return y{lines - 2} + y{lines - 3}")
    head = '@script()\ndef f(x: FLOAT["N", 8]) -> FLOAT["N", 8]:\n'
    return head + "\n".join(f"    {line}" for line in body) + "\n"


SCRIPTS: dict[str, str] = {
    "straight line": STRAIGHT,
    "if + loop": BRANCHES,
    "200 lines": long_script(200),
}

# What is asked of onnxwright: (figure, words, does it hold for (ours, numpy's, onnxscript's)).
Aim = Callable[[float, float, float], bool]
AIMS: dict[str, tuple[str, Aim]] = {
    "import": (
        "<= 1.2x numpy + 15 ms, <= 1/3 of onnxscript",
        lambda ours, numpy, theirs: ours <= 1.2 * numpy + 0.015 and ours <= theirs / 3,
    ),
    "import + first compile": ("<= onnxscript", lambda ours, _, theirs: ours <= theirs),
    "repeated compile": ("<= 1/2 of onnxscript", lambda ours, _, theirs: ours <= theirs / 2),
}


def load(path: Path) -> ModuleType:
    """The module of a file, imported anew."""
    spec = importlib.util.spec_from_file_location("benchmarked", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["benchmarked"] = module
    spec.loader.exec_module(module)
    return module


def peak_memory() -> int:
    """The largest resident size of this process so far, in bytes (0 where unknown)."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size * 1024


def child_import(statement: str) -> dict[str, float]:
    """In a fresh process: how long a statement takes."""
    start = time.perf_counter()
    exec(statement, {})  # noqa: S102 (one of our own import statements)
    return {"seconds": time.perf_counter() - start, "memory": peak_memory()}


def child_compile(library: str, folder: str) -> dict[str, float]:
    """In a fresh process: the first compile and later ones of the script in a folder."""
    path = Path(folder) / f"{library}.py"
    cold = time.perf_counter()
    importlib.import_module(library)
    start = time.perf_counter()
    load(path).f.to_model_proto()
    first = time.perf_counter() - start
    cold = time.perf_counter() - cold
    memory = peak_memory()
    repeated = []
    gc.collect()
    for _ in range(INNER):
        start = time.perf_counter()
        load(path).f.to_model_proto()
        repeated.append(time.perf_counter() - start)
    found = {"first": first, "cold": cold, "memory": memory}
    return {**found, "repeated": statistics.median(repeated)}


def in_fresh_process(cache: Path, *arguments: str) -> dict[str, float]:
    """The result of one of the functions above, in a process of its own."""
    environment = dict(os.environ)
    # Byte code of everything in one place, whether it may be written where it belongs or not.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPYCACHEPREFIX"] = str(cache)
    environment["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(ROOT), environment.get("PYTHONPATH")])
    )
    command = [sys.executable, str(Path(__file__).resolve()), "--child", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed:\n{done.stderr}")
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def median(results: list[dict[str, float]], key: str) -> float:
    """The median of one figure."""
    return statistics.median(result[key] for result in results)


def measure(libraries: tuple[str, ...], repeat: int, folder: Path) -> dict[str, dict[str, float]]:
    """All figures: name -> library -> seconds or bytes."""
    figures: dict[str, dict[str, float]] = {}
    cache = folder / "byte_code"

    imports = {
        "import": {"numpy": "import numpy", **{name: f"import {name}" for name in libraries}},
        "import names to decorate with": {
            "numpy": "import numpy",
            **{name: f"from {name} import FLOAT, script, opset18" for name in libraries},
        },
    }
    for what, statements in imports.items():
        results: dict[str, list[dict[str, float]]] = {name: [] for name in statements}
        for turn in range(repeat + 1):
            for name, statement in statements.items():
                result = in_fresh_process(cache, "import", statement)
                if turn:  # the first turn fills the disk cache and writes byte code
                    results[name].append(result)
        figures[what] = {name: median(found, "seconds") for name, found in results.items()}

    for what, text in SCRIPTS.items():
        place = folder / what.replace(" ", "_")
        place.mkdir()
        for library in libraries:
            path = place / f"{library}.py"
            path.write_text(HEAD.format(library=library) + text, encoding="utf-8")
        results = {name: [] for name in libraries}
        for turn in range(repeat + 1):
            for name in libraries:
                result = in_fresh_process(cache, "compile", name, str(place))
                if turn:
                    results[name].append(result)
        for key, title in (
            ("cold", f"import + first compile, {what}"),
            ("first", f"first compile alone, {what}"),
            ("repeated", f"repeated compile, {what}"),
            ("memory", f"peak memory, {what}"),
        ):
            figures[title] = {name: median(found, key) for name, found in results.items()}
    return figures


def shown(title: str, value: float | None) -> str:
    """A figure with its unit."""
    if value is None:
        return "-"
    if "memory" in title:
        return f"{value / 2**20:.1f} MB"
    return f"{value * 1000:.2f} ms"


def report(figures: dict[str, dict[str, float]]) -> str:
    """The figures as a table, with the ratio and whether the aim is met."""
    rows = [("", "numpy", "onnxwright", "onnxscript", "ratio", "aim")]
    for title, values in figures.items():
        ours, theirs = values.get("onnxwright"), values.get("onnxscript")
        ratio = f"{ours / theirs:.2f}" if ours and theirs else "-"
        aim = AIMS.get(title.split(",")[0])
        verdict = ""
        if aim is not None:
            verdict = aim[0]
            if ours is not None and theirs is not None:
                met = aim[1](ours, values.get("numpy", 0.0), theirs)
                verdict += ": met" if met else ": NOT met"
        cells = [shown(title, values.get(name)) for name in ("numpy", *LIBRARIES)]
        rows.append((title, *cells, ratio, verdict))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column in (0, 5) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def main(argv: list[str] | None = None) -> int:
    """Measure and print.

    Args:
        argv: the arguments; the process's own if not given.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser(prog="benchmarks/authoring.py")
    parser.add_argument("--repeat", type=int, default=7, help="fresh processes per figure")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--only", choices=LIBRARIES, help="measure one library alone")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.child:
        kind, *rest = options.child
        child: Any = {"import": child_import, "compile": child_compile}[kind]
        print(json.dumps(child(*rest)))
        return 0
    libraries = (options.only,) if options.only else LIBRARIES
    if "onnxscript" in libraries and importlib.util.find_spec("onnxscript") is None:
        print("onnxscript is not installed (extra `bench`): nothing to compare with")
        libraries = ("onnxwright",)
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(libraries, options.repeat, Path(folder))
    print(json.dumps(figures, indent=2) if options.json else report(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
