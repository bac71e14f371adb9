"""The report of an export, filled while it runs, and given with its error."""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

import onnx_ir as ir
from torch.export import ExportedProgram

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue.models import CompilerBug
from onnxwright.errors import InternalError, OnnxwrightError, OnnxwrightWarning
from onnxwright.exporter import progress
from onnxwright.exporter.places import operator_text
from onnxwright.exporter.report.export_report import DEFAULT_REPORT, Report
from onnxwright.exporter.signature import MUTATIONS, ProgramOutput

_PACKAGES = ("onnxwright", "torch", "onnx", "onnx-ir", "onnxruntime")


@contextmanager
def report_on_exit(report: Report, where: bool | str | Path) -> Iterator[None]:
    """Run an export; its report is written at the end, and given with its error.

    Args:
        where: False, True, or the path of the report.

    Raises:
        OnnxwrightError: what the export raises, with the report as `report`; what it raised
            that it should not, as an `InternalError` (OW901).
    """
    path = Path(DEFAULT_REPORT if where is True else where) if where is not False else None
    try:
        yield
    except OnnxwrightError as error:
        _give(error, report, path)
        raise
    except (MemoryError, RecursionError, Warning):
        raise
    except Exception as error:
        reason = str(error).split("\n")[0].replace("{", "(").replace("}", ")")
        bug = CompilerBug(exception=type(error).__name__, reason=reason, span=user_span())
        internal = InternalError(bug)
        _give(internal, report, path)
        raise internal from error
    if path is not None:
        _written(report, path)


def _give(error: OnnxwrightError, report: Report, path: Path | None) -> None:
    """Give an error its report, and name the file of it."""
    report.error = str(error)
    error.report = report
    written = _written(report, path) if path is not None else None
    if written is not None:
        first, *more = error.diagnostics
        note = f"the report is in {written}"
        error.diagnostics = error.args = (first.with_notes(note), *more)


def _written(report: Report, path: Path) -> Path | None:
    """The file of a report; None with a warning where it cannot be written."""
    try:
        return report.save(path)
    except OSError as error:
        warnings.warn(f"the report of the export cannot be written: {error}", stacklevel=2)
        return None


@contextmanager
def warnings_recorded(report: Report) -> Iterator[None]:
    """Note our warnings inside in a report; they are shown as ever."""
    with warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always", OnnxwrightWarning)
        yield
    for one in recorded:
        if isinstance(one.message, OnnxwrightWarning):
            report.warnings.append(str(one.message))
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def operators(program: ExportedProgram) -> list[str]:
    """The operators of a program, those of its inner graphs too."""
    graphs = [m.graph for m in program.graph_module.modules() if hasattr(m, "graph")]
    return [
        operator_text(n.target) for graph in graphs for n in graph.nodes if n.op == "call_function"
    ]


def record_model(
    report: Report, model: ir.Model, outputs: Iterable[tuple[ProgramOutput, str | None]]
) -> None:
    """Record what a model has: its operators, inputs, outputs, and what it writes to.

    Args:
        outputs: for each result of the program, the name of the model's output or None.
    """
    graph = model.graph
    report.onnx_ops.update(node.op_type for node in graph)
    report.inputs = [f"{v.name}: {v.type}{v.shape}" for v in graph.inputs]
    report.outputs = [f"{v.name}: {v.type}{v.shape}" for v in graph.outputs]
    for entry, name in outputs:
        if entry.kind in MUTATIONS:
            report.mutations[entry.target] = name or ""


def versions() -> dict[str, str]:
    """The versions of the packages an export depends on."""
    versions = {name: _version(name) for name in _PACKAGES}
    return {name: version for name, version in versions.items() if version is not None}


@functools.cache
def _version(package: str) -> str | None:
    """The version that is installed, read from disk once; None where there is none."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


@contextmanager
def timed(report: Report, step: str) -> Iterator[None]:
    """Record the seconds of a step."""
    begun = time.perf_counter()
    try:
        with progress.step(step):
            yield
    finally:
        report.seconds[step] = time.perf_counter() - begun
