"""The compatibility matrix: what is installed, and first steps with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from onnxwright.cli.main import main
from tests.harness.oldest import LIMITS
from tools.matrix import ROOT as OF_TOOLS
from tools.matrix import TORCH_TESTS, floors, requirements, torch_requirements
from tools.matrix_installed import COMMANDS, data_files, first_example

ROOT = Path(__file__).resolve().parents[2]


def test_floors_are_those_of_the_project() -> None:
    found = floors((ROOT / "pyproject.toml").read_text(encoding="utf-8"), (3, 10))
    names = [entry.partition("==")[0] for entry in found]
    assert names == ["onnx", "onnx-ir", "onnxruntime", "numpy", "ml_dtypes", "typing_extensions"]
    assert requirements("newest", ["onnx==1.22"], (3, 13))[:2] == ["onnx==1.22", "onnx-ir"]


def test_data_files_hold_stubs_pages_and_the_viewer() -> None:
    found = data_files(ROOT / "onnxwright")
    wanted = {"py.typed", "opset/__init__.pyi", "viz/viewer.js", "diagnostics/pages/OW302.md"}
    assert wanted <= found


def test_the_first_example_and_commands_run_in_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = first_example((ROOT / "README.md").read_text(encoding="utf-8"))
    Path("first_model.py").write_text(text, encoding="utf-8")
    exec(compile(text, "first_model.py", "exec"), {"__name__": "first_model"})  # noqa: S102
    for line in COMMANDS:
        try:
            status = main(line.split())
        except SystemExit as ended:
            status = ended.code
        assert status in (0, None), (line, capsys.readouterr().err)


def test_the_oldest_pytorch_is_the_one_that_exports_ask_for() -> None:
    pytest.importorskip("torch")
    from onnxwright.exporter.torch_version import OLDEST, check

    oldest, models = torch_requirements("oldest")
    assert oldest == f"torch=={'.'.join(map(str, OLDEST))}.0"
    assert models.startswith("transformers>=")
    assert torch_requirements("2.14.1")[0] == "torch==2.14.1"
    assert torch_requirements("newest")[0] == "torch"
    assert all((OF_TOOLS / file).is_file() for file in TORCH_TESTS)
    for version in ("2.10.0", "2.13.0+cpu", "3.0.0a1", "development"):
        check(version)
    with pytest.raises(ImportError, match=r"PyTorch 2\.9\.1 .* need PyTorch 2\.10 or newer"):
        check("2.9.1")


def test_limits_of_old_versions_name_tests_that_exist() -> None:
    for limit in LIMITS:
        for test in limit.tests:
            path, _, name = test.partition("::")
            function = name.partition("[")[0]
            text = (ROOT / path).read_text(encoding="utf-8")
            assert f"def {function}" in text, f"{limit.package}: {test}"
