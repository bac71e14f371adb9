"""The benchmarks run; what they measure is nobody's business here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent


def test_authoring_runs(run_python: Any) -> None:
    program = str(ROOT / "benchmarks" / "authoring.py")
    done = run_python(program, "--only", "onnxwright", "--repeat", "1", "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert all(value > 0 for values in figures.values() for value in values.values())
    assert {"import", "import + first compile, 200 lines", "peak memory, if + loop"} <= set(figures)


def test_eager_runs(run_python: Any) -> None:
    program = str(ROOT / "benchmarks" / "eager.py")
    done = run_python(program, "--repeat", "2", "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert "Add, 4 floats" in figures
    assert all(values["onnxwright"] > 0 for values in figures.values())


def test_builder_runs(run_python: Any) -> None:
    program = str(ROOT / "benchmarks" / "builder.py")
    done = run_python(program, "--nodes", "40", "400", "--repeat", "1", "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert {"onnxwright", "onnx.helper"} <= set(figures)
    assert all(value > 0 for values in figures.values() for value in values.values())


def test_scale_runs(run_python: Any) -> None:
    program = str(ROOT / "benchmarks" / "scale.py")
    done = run_python("-W", "ignore", program, "--nodes", "20", "40", "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert {"GraphBuilder", "to_model_proto", "to_script", "diff"} <= set(figures)
    assert all(value > 0 for values in figures.values() for value in values.values())


def test_optimize_runs(run_python: Any, tmp_path: Path) -> None:
    program = str(ROOT / "benchmarks" / "optimize.py")
    file = tmp_path / "figures.json"
    done = run_python(
        program, "--layers", "2", "--only", "onnxwright", "--runs", "1", "--json", str(file)
    )
    assert done.returncode == 0, done.stderr
    (rows,) = json.loads(file.read_text(encoding="utf-8")).values()
    assert rows["onnxwright"]["nodes"] < rows["original"]["nodes"]
    assert rows["onnxwright"]["wrong"] is None


def test_opinfo_vs_torchlib_runs(run_python: Any, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the samples are torch's")
    pytest.importorskip("expecttest", reason="torch's OpInfos import it")
    program = str(ROOT / "benchmarks" / "opinfo_vs_torchlib.py")
    file = tmp_path / "rows.json"
    done = run_python(program, "--op", "abs", "--only", "onnxwright", "--json", str(file))
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(file.read_text(encoding="utf-8"))
    assert row["opinfo"] == "abs"
    assert row["ours"] == row["samples"] > 0
    assert row["torchlib"] == 0
