"""Without PyTorch, what needs it says what to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")

sys.meta_path.insert(0, Blocked())
import onnxwright as ow
try:
    {line}
except ModuleNotFoundError as error:
    print(error.name, error)
"""


@pytest.mark.parametrize(
    "line",
    [
        "ow.export",
        "ow.torch_backend()",
        "ow.observe",
        "ow.interop",
        "ow.torch_onnx.export",
        "from onnxwright.torch_onnx import export",
        "import onnxwright.torch_onnx.verification",
    ],
)
def test_what_to_install_is_said(line: str) -> None:
    code = BLOCKED.replace("{line}", line)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.startswith("torch PyTorch is not installed")
    assert "pip install 'onnxwright[torch]'" in done.stdout
