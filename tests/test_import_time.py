"""`import onnxwright` and decorating functions load nothing heavy.

Nothing here is timed: what is not imported costs nothing on any machine.
"""

from __future__ import annotations

import json
import textwrap
from typing import Any

import pytest

HEAVY = ("onnx", "onnx_ir", "onnxruntime", "onnxscript", "torch", "ml_dtypes")

REPORT = """
import json, sys
print(json.dumps(sorted(
    {name.split(".")[0] for name in sys.modules}
    | {name for name in sys.modules if name.startswith("onnxwright.")}
)))
"""


def loaded(run_python: Any, program: str, tmp_path: Any) -> set[str]:
    """The top-level packages, and the modules of onnxwright, that a program leaves loaded."""
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(program) + REPORT, encoding="utf-8")
    done = run_python(str(path))
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


PROGRAMS = {
    "the package": "import onnxwright as ow",
    "names used to decorate": "from onnxwright import FLOAT, INT64, script, opset18 as op",
    "a decorated function": """
        import onnxwright as ow
        from onnxwright import FLOAT, script, opset18 as op

        @script()
        def f(x: FLOAT["N", 3], axis: int = 1) -> FLOAT["N", 3]:
            return op.Softmax(x + 1.0, axis=axis)

        @script(ow.Opset("my.domain", 1), default_opset=op)
        def g(x: FLOAT[...]):
            if op.ReduceSum(x) > 0:
                return f(x)
            return op.Unknown(x)
    """,
}


def test_without_torch_everything_else_can_be_imported(run_python: Any, tmp_path: Any) -> None:
    """`from onnxwright import *` leaves out what needs PyTorch."""
    path = tmp_path / "program.py"
    path.write_text(
        "import sys\nsys.modules['torch'] = None\nfrom onnxwright import *\n"
        "print(script.__name__, 'export' in globals())"
    )
    done = run_python(str(path))
    assert done.stdout.split() == ["script", "False"], done.stderr


@pytest.mark.parametrize("what", PROGRAMS)
def test_nothing_heavy_is_loaded(run_python: Any, tmp_path: Any, what: str) -> None:
    assert not loaded(run_python, PROGRAMS[what], tmp_path).intersection(HEAVY)


def test_import_does_not_load_numpy_or_the_rooms(run_python: Any, tmp_path: Any) -> None:
    """The facade is lazy: a bare import loads no room at all."""
    modules = loaded(run_python, "import onnxwright", tmp_path)
    rooms = {name for name in modules if name.count(".") == 1 and name.startswith("onnxwright.")}
    bottom = ("errors", "version", "deferred_sympy", "op_dispatch")
    assert rooms <= {f"onnxwright.{name}" for name in bottom}


def test_decorating_does_not_compile(run_python: Any, tmp_path: Any) -> None:
    """A function that cannot compile is decorated without complaint, and without the converter."""
    program = """
        from onnxwright import script, opset18 as op

        @script()
        def f(x):
            with x:
                yield nobody
    """
    modules = loaded(run_python, program, tmp_path)
    assert not any(name.startswith("onnxwright.converter.") for name in modules)


def test_compiling_does_not_load_onnxruntime(run_python: Any, tmp_path: Any) -> None:
    """Only running needs a runtime."""
    program = """
        from onnxwright import FLOAT, script, opset18 as op

        @script()
        def f(x: FLOAT["N"]) -> FLOAT["N"]:
            return op.Relu(x)

        f.to_model_proto()
    """
    modules = loaded(run_python, program, tmp_path)
    assert not modules & {"onnxruntime", "onnxscript", "torch"}
    assert "onnx" in modules


def test_commands_load_what_they_need(run_python: Any, tmp_path: Any) -> None:
    """Help of any command needs no numpy, and the listing of a model no eager mode."""
    start = "from onnxwright.cli.main import main\n"
    help_only = loaded(
        run_python, start + "try: main(['--version'])\nexcept SystemExit: pass", tmp_path
    )
    assert not help_only.intersection((*HEAVY, "numpy"))
    program = (
        start
        + """
import onnx
text = '<ir_version: 8, opset_import: ["" : 18]> g (float[2] x) => (float[2] y) { y = Abs(x) }'
onnx.save(onnx.parser.parse_model(text), "m.onnx")
assert main(["show", "m.onnx"]) == 0
"""
    )
    shown = loaded(run_python, program, tmp_path)
    assert "onnxwright.eager" not in shown
    assert not shown & {"onnxruntime", "torch"}
