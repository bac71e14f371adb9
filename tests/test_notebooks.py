"""Notebooks: errors show their message first, cells have their numbers, and ours run whole."""

from __future__ import annotations

import html
import importlib
import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

import onnxwright as ow
from onnxwright.diagnostics.shown_text import ShownText
from onnxwright.optimizer.report import OptimizeReport

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
NEEDED = ("nbclient", "nbformat", "ipykernel")

# Runs the cells of a notebook in a kernel and prints what each of them shows.
RUN = """
import json, sys
import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=300, allow_errors=True, kernel_name="python3").execute()
print(json.dumps([cell.get("outputs", []) for cell in notebook.cells]))
"""


@pytest.fixture
def run_notebook(run_python: Any, tmp_path: Path) -> Any:
    lacking = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if lacking:
        pytest.skip(f"{', '.join(lacking)} is not installed: it is of the extra `docs`")

    def run(path: Path) -> list[list[dict[str, Any]]]:
        program = tmp_path / "run.py"
        program.write_text(RUN, encoding="utf-8")
        done = run_python(str(program), str(path))
        assert done.returncode == 0, done.stderr
        found: list[list[dict[str, Any]]] = json.loads(done.stdout.splitlines()[-1])
        return found

    return run


def cells(tmp_path: Path, *sources: str) -> Path:
    path = tmp_path / "session.ipynb"
    data = {
        "cells": [
            {"cell_type": "code", "execution_count": None, "id": f"cell-{n}", "metadata": {},
             "outputs": [], "source": source}
            for n, source in enumerate(sources)
        ],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }  # fmt: skip
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_a_session_with_mistakes(run_notebook: Any, tmp_path: Path) -> None:
    """The message comes first; the place is the cell's number; no frame of ours is shown."""
    outputs = run_notebook(
        cells(
            tmp_path,
            "import numpy as np\nimport onnxwright as ow\nfrom onnxwright import FLOAT, script\n"
            "from onnxwright import opset18 as op",
            '@script()\ndef f(x: FLOAT["N"]) -> FLOAT["N"]:\n    return op.Reluu(x)\n'
            "f.to_model_proto()",
            "def add(x, y):\n    return op.Add(x, y)\n\n"
            "def outer():\n    return add(np.ones(2, np.float32), np.ones(2, np.int64))\n\nouter()",
            'ow.run_model(b"no model", [])',
            '@script()\ndef g(x: FLOAT["N", "D"]) -> FLOAT["N", "D"]:\n    return op.Relu(x)\n'
            "print(g)",
            "g",
        )
    )
    (unknown,), (types,), (model,) = outputs[1:4]
    assert unknown["ename"] == "ScriptAttributeError"
    shown = unknown["traceback"]
    assert shown[1] == "error[OW501]: opset18 has no operator `Reluu`"
    assert shown[2] == " --> In[2]:3:12"
    assert len(shown) < 10
    text = "\n".join(types["traceback"])
    assert types["traceback"][1].startswith("error[OW401]")
    assert " --> In[3]:2:12" in text
    assert "called from:" in text
    assert "  In[3]:5 in outer: return add(np.ones(2, np.float32), np.ones(2, np.int64))" in text
    for error in (unknown, types, model):
        lines = "\n".join(error["traceback"])
        assert "ipykernel" not in lines
        assert "dispatch.py" not in lines
    assert outputs[4][0]["text"] == "<script this.g(x: FLOAT['N', 'D']) -> FLOAT['N', 'D']>\n"
    assert (
        "<svg" in outputs[5][0]["data"]["text/html"] or "<pre" in outputs[5][0]["data"]["text/html"]
    )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_our_notebooks_run(run_notebook: Any, path: Path) -> None:
    if "torch" in path.read_text(encoding="utf-8"):
        pytest.importorskip("torch", reason="the notebook exports a PyTorch module")
    outputs = run_notebook(path)
    wrong = [out for cell in outputs for out in cell if out["output_type"] == "error"]
    assert not wrong, "\n".join(wrong[0]["traceback"])
    shown = [out for cell in outputs for out in cell if "text/html" in out.get("data", {})]
    assert len(shown) >= 1


def test_there_are_two_notebooks() -> None:
    assert len(NOTEBOOKS) >= 2
    for path in NOTEBOOKS:
        saved = json.loads(path.read_text(encoding="utf-8"))["cells"]
        assert all(not cell.get("outputs") for cell in saved), f"clear the outputs of {path.name}"


def test_a_graph_under_construction_is_shown_and_stays_open() -> None:
    g = ow.GraphBuilder(name="part")
    x = g.input("x", ow.FLOAT["N", 3])
    assert g._repr_html_() == "<pre>part (x: FLOAT[N, 3]) -&gt; ()</pre>"
    y = g.op.Relu(x)
    g.output(y, "y")
    shown = g._repr_html_()
    assert "part (x: FLOAT[N, 3]) -&gt; (y: FLOAT[N, 3])" in shown
    assert "Relu(x)" in shown
    g.output(g.op.Neg(y), "z")
    assert [o.name for o in g.to_model_proto().graph.output] == ["y", "z"]
    assert "Neg(" in g._repr_html_()


def test_reports_are_shown_with_their_columns() -> None:
    report = OptimizeReport(nodes=(3, 1), failed={"<b>": "x"})
    assert report._repr_html_() == f"<pre>{html.escape(str(report))}</pre>"
    for kind in ("quantize.report.QuantizeReport", "quantize.half.HalfReport",
                 "testing.proving.Proof"):  # fmt: skip
        module, name = kind.rsplit(".", 1)
        found = getattr(importlib.import_module(f"onnxwright.{module}"), name)
        assert issubclass(found, ShownText)


def test_an_exported_program_and_its_report_are_shown() -> None:
    torch = pytest.importorskip("torch", reason="the exporter takes PyTorch programs")
    program = ow.export(torch.nn.ReLU(), (torch.ones(2),), verify=True)
    assert "Relu" in program._repr_html_()
    assert "<table>" in program._repr_html_()
    assert program.report._repr_markdown_() == program.report.markdown()
    assert program.report.verification._repr_html_().startswith("<pre>")
