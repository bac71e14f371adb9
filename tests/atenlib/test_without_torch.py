"""The ATen library and the builder never need torch, and the commands that do say so."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

BLOCKED = """
import sys
for name in ("torch", "expecttest", "onnxscript"):
    sys.modules[name] = None
"""


def run_blocked(run_python: Any, folder: Path, program: str) -> Any:
    path = folder / "program.py"
    path.write_text(BLOCKED + textwrap.dedent(program), encoding="utf-8")
    return run_python(str(path))


def test_functions_run_and_are_built(run_python: Any, tmp_path: Path) -> None:
    """Every module loads; one function runs eagerly, as a FunctionProto and in a traced graph."""
    program = """
    import numpy as np
    import onnxwright as ow
    from onnxwright.atenlib.widen import AtenTracingBackend
    from onnxwright.ir.builder import Recorder
    from onnxwright.semantics.ops import Ops
    from onnxwright.types.dtypes import DType
    from onnxwright.types.kinds import TensorType

    assert len(ow.atenlib.functions()) > 300
    add = ow.atenlib.find("aten::add.Tensor")
    x = np.array([1.0, 2.0], np.float32)
    print(add.run(x, x, alpha=3))
    print(add.to_function_proto("FLOAT[N]", "FLOAT[N]", alpha=3).name)
    backend = AtenTracingBackend(Recorder(), ow.opset23)
    a = backend.input("a", TensorType(DType.FLOAT, ("N",)))
    model = backend.to_model_proto([add(Ops(backend), a, a, alpha=3)])
    print(ow.run_model(model, {"a": x}))
    assert not [n for n in sys.modules if n.split(".")[0] == "torch" and sys.modules[n]]
    """
    done = run_blocked(run_python, tmp_path, program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["[4. 8.]", "add_Tensor"]
    assert "4., 8." in done.stdout.replace("4. 8.", "4., 8.").split("\n")[2]


def test_commands_say_what_is_lacking(run_python: Any, tmp_path: Path) -> None:
    for command in ("sweep", "coverage"):
        program = f"""
        from onnxwright.cli.main import main
        sys.exit(main(["{command}"]))
        """
        done = run_blocked(run_python, tmp_path, program)
        assert done.returncode == 2
        assert done.stderr.startswith(f"onnxwright {command}: `{command}` compares with PyTorch")
        assert "torch and expecttest is not installed" in done.stderr
