"""Every command in the C locale, where Python decodes paths and arguments as ASCII."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import onnx

SCRIPT = """\
from onnxwright import FLOAT, script, opset20 as op

@script()
def é(xé: FLOAT["Né", 2]) -> FLOAT["Né", 2]:
    \'\'\'é ∑ 漢\'\'\'
    yé = op.Relu(xé) + 1.0
    return op.Identity(yé, _name="é")
"""
COMMANDS = (
    "compile sé.py:é -o mé.onnx",
    "check sé.py",
    "show mé.onnx",
    "show sé.py --html sé.html",
    "show mé.onnx --json",
    "to-script mé.onnx",
    "to-script mé.onnx -o té.py",
    "diff mé.onnx sé.py",
    "diff mé.onnx té.py --brief",
    "optimize mé.onnx -o ué.onnx --report --keep yé",
    "run mé.onnx --random --dim Né=2",
    "run sé.py --inputs xé=[[1,2]] --trace",
    "compare mé.onnx ué.onnx --random --dim Né=2",
    "convert mé.onnx --opset 18 -o vé.onnx",
    "extract mé.onnx --inputs xé --outputs yé -o wé.onnx",
    "rename mé.onnx --inputs xé=aß --dims Né=Mé -o ré.onnx",
    "set-shapes mé.onnx --dim Né=3 -o wé.onnx",
    "compose mé.onnx ué.onnx --connect output=xé --prefix é_ -o wé.onnx",
    "migrate sé.py",
)
RUN = """
import sys
from onnxwright.cli.main import main
for line in sys.argv[1:]:
    print("==", main(line.split()), line)
"""


def test_every_command_works_in_the_c_locale(tmp_path: Path) -> None:
    (tmp_path / "sé.py").write_text(SCRIPT, encoding="utf-8")
    (tmp_path / "run.py").write_text(RUN)
    keep = {k: v for k, v in os.environ.items() if k in ("PATH", "PYTHONPATH", "HOME")}
    done = subprocess.run(
        [sys.executable, "run.py", *COMMANDS], cwd=tmp_path,
        env={**keep, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        capture_output=True, check=False,
    )  # fmt: skip
    ends = [line.split()[1] for line in done.stdout.split(b"\n") if line.startswith(b"== ")]
    assert ends == [b"0"] * len(COMMANDS), done.stdout + done.stderr
    model = onnx.load(tmp_path / "ré.onnx")
    assert [i.name for i in model.graph.input] == ["aß"]
    assert {p.value for n in model.graph.node for p in n.metadata_props} >= {"sé.py:7:12"}
    assert "op.Relu(" in (tmp_path / "té.py").read_text(encoding="utf-8")
    assert "sé.py" in (tmp_path / "sé.html").read_text(encoding="utf-8")
