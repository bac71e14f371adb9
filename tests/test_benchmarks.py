"""The benchmarks run; what they measure is nobody's business here."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from benchmarks import run
from tests.harness.forked import TORCH

ROOT = Path(__file__).resolve().parent.parent


def test_authoring_runs(run_python: Any) -> None:
    program = str(ROOT / "benchmarks" / "authoring.py")
    done = run_python(program, "--only", "onnxwright", "--repeat", "1", "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert all(value > 0 for values in figures.values() for value in values.values())
    assert {"import", "import + first compile, 200 lines", "peak memory, if + loop"} <= set(figures)


def test_eager_runs(run_loaded: Any) -> None:
    program = str(ROOT / "benchmarks" / "eager.py")
    done = run_loaded(program, "--repeat", "2", "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert "Add, 4 floats" in figures
    assert all(values["onnxwright"] > 0 for values in figures.values())


def test_builder_runs(run_loaded: Any) -> None:
    program = str(ROOT / "benchmarks" / "builder.py")
    done = run_loaded(program, "--nodes", "40", "400", "--repeat", "1", "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert {"onnxwright", "onnx.helper"} <= set(figures)
    assert all(value > 0 for values in figures.values() for value in values.values())


def test_scale_runs(run_loaded: Any) -> None:
    program = str(ROOT / "benchmarks" / "scale.py")
    done = run_loaded("-W", "ignore", program, "--nodes", "20", "40", "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert {"GraphBuilder", "to_model_proto", "to_script", "diff"} <= set(figures)
    assert all(value > 0 for values in figures.values() for value in values.values())


def test_optimize_runs(run_loaded: Any, tmp_path: Path) -> None:
    program = str(ROOT / "benchmarks" / "optimize.py")
    file = tmp_path / "figures.json"
    done = run_loaded(
        program, "--layers", "2", "--only", "onnxwright", "--runs", "1", "--json", str(file)
    )
    assert done.returncode == 0, done.stderr
    (rows,) = json.loads(file.read_text(encoding="utf-8")).values()
    assert rows["onnxwright"]["nodes"] < rows["original"]["nodes"]
    assert rows["onnxwright"]["wrong"] is None


def test_decompile_runs(run_loaded: Any) -> None:
    program = str(ROOT / "benchmarks" / "decompile.py")
    done = run_loaded(program, "--layers", "1", "--repeat", "1", "--json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout).values()
    assert row["onnxwright"] > 0


FIGURES: dict[str, Any] = {
    "authoring": {"repeated compile, if + loop": {"onnxwright": 3.0, "onnxscript": 4.0}},
    "eager": {"Add": {"onnxwright": 0.9, "raw": 1.0, "onnxscript": 90.0}},
    "builder": {
        "onnxwright": {"1000 nodes, us each": 60.0, "growth": 1.1},
        "spox": {"1000 nodes, us each": 600.0},
    },
    "export": {"mlp": {"capture": 1.2, "convert": 50.0, "nodes": 1.0, "run": 0.9}},
    "optimize": {
        "stack": {
            "original": {"nodes": 9, "ms": 2.0},
            "onnxwright": {"nodes": 4, "seconds": 1.0, "ms": 1.0, "wrong": None},
            "peer": {"nodes": 5, "seconds": 2.0, "ms": 1.0, "wrong": None},
            "wrong peer": {"nodes": 1, "seconds": 0.1, "ms": 0.1, "wrong": "y differs"},
            "crash": {"trouble": "no answer"},
        }
    },
    "decompile": {"100 nodes": {"onnxwright": 0.3, "onnxscript": 0.1}},
    "sweep": [
        {"samples": 10, "ours": 10, "torchlib": 5, "ours_seconds": 1.0, "torchlib_seconds": 4.0}
    ],
}


def test_the_page_of_benchmarks(run_loaded: Any, tmp_path: Path) -> None:
    """Figures of every benchmark are read; a row that misses its aim is marked."""
    assert set(FIGURES) == set(run.PARTS)
    rows = []
    for part, figures in FIGURES.items():
        for found in run.PARTS[part].read(figures):
            spread = [found.value, found.value * 0.9, found.value * 1.1]
            rows.append(run.Row(part, found.name, found.unit, found.aim, found.more, spread))
    values = {(row.part, row.name, row.unit): row for row in rows}
    assert values["optimize", "stack: nodes", "x the fewest"].median == 0.8
    missed = [row.name for row in rows if row.met is False]
    assert missed == ["repeated compile, if + loop"]
    data = {"machine": run.machine(), "rows": [asdict(row) for row in rows]}
    (tmp_path / "old.json").write_text(json.dumps(data), encoding="utf-8")
    program = str(ROOT / "benchmarks" / "run.py")
    out = str(tmp_path / "new")
    done = run_loaded(program, "--again", str(tmp_path / "old.json"), "--out", out)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "new.md").read_text(encoding="utf-8")
    row = "| repeated compile, if + loop | 0.75 x onnxscript | 0.675 to 0.825 | "
    assert f"{row}**missed**: at most 0.5 |" in text
    page = (tmp_path / "new.html").read_text(encoding="utf-8")
    assert page.count("class=missed") == len(missed)
    assert page.count("<svg") == len(rows)
    assert json.loads((tmp_path / "new.json").read_text(encoding="utf-8")) == data


@pytest.mark.slow  # tests/atenlib/test_opinfo.py runs the same samples in the default run
def test_opinfo_vs_torchlib_runs(run_loaded: Any, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the samples are torch's")
    pytest.importorskip("expecttest", reason="torch's OpInfos import it")
    program = str(ROOT / "benchmarks" / "opinfo_vs_torchlib.py")
    file = tmp_path / "rows.json"
    done = run_loaded(
        program, "--op", "abs", "--only", "onnxwright", "--json", str(file), preload=TORCH
    )
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(file.read_text(encoding="utf-8"))
    assert row["opinfo"] == "abs"
    assert row["ours"] == row["samples"] > 0
    assert row["torchlib"] == 0


def test_contrib_runs(run_loaded: Any) -> None:
    program = str(ROOT / "benchmarks" / "contrib.py")
    options = ["--model", "BERT-base", "--batch", "1", "--threads", "1", "--seconds", "0.01"]
    done = run_loaded(program, "QuickGelu (alpha", "MultiHeadAttention", *options)
    assert done.returncode == 0, done.stderr
    rows = done.stdout.splitlines()
    assert len(rows) == 2
    assert all(row.count(" ms") == 2 for row in rows)
