"""The source of a function is the text that it was made from, or an error says that it is not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onnxwright as ow
from onnxwright import FLOAT, script
from onnxwright import opset18 as op
from tests.harness.loading import load_file

HEAD = "from onnxwright import FLOAT, script\nfrom onnxwright import opset18 as op\n\n\n"
X = np.array([1.0, 2.0], np.float32)

# A body, and the same body edited so that lines and byte code stay as they are.
EDITS = {
    "a number": ("return x + 1.0", "return x + 5.0"),
    "its type": ("return x + 1", "return x + 1."),
    "its sign": ("return x * 0.0", "return x * -0.0"),
    "an operator's name": ("return op.Relu(x)", "return op.Sqrt(x)"),
    "a string": ("return op.Einsum(x, equation='a->a')", "return op.Einsum(x, equation='b->b')"),
    "a tuple": ("return x + (1.0, 2.0)", "return x + (1.0, 3.0)"),
    "a local's name": ("y = x; return y", "z = x; return z"),
    "inside a lambda": ("return (lambda v: v + 1.0)(x)", "return (lambda v: v + 2.0)(x)"),
    "with an assert": (
        "assert X is not None\n    return x + 1.0",
        "assert X is not None\n    return x + 5.0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", EDITS)
def test_a_file_edited_after_its_import_is_refused(what: str, tmp_path: Path) -> None:
    """Eager calls run what was imported: a model of anything else would differ from them."""
    before, after = EDITS[what]
    program = HEAD + "X = 1\n\n\n@script\ndef f(x: FLOAT['N']):\n    {}\n"
    path = tmp_path / "edited.py"
    path.write_text(program.format(before))
    module = load_file(path)
    path.write_text(program.format(after))
    with pytest.raises(ow.ScriptError, match="OW203"):
        module.f.to_model_proto()
    path.write_text(program.format(before))
    assert load_file(path).f.to_model_proto().graph.node


def generated(text: str) -> Any:
    space: dict[str, Any] = {"script": script, "op": op, "FLOAT": FLOAT}
    exec(text, space)
    return space["f"]


def test_generated_functions_of_one_shape_are_distinguished() -> None:
    """Functions that differ in a constant or an operator only, all from `exec`."""
    functions = []
    for n in range(9):
        text = f"@script\ndef f(x: FLOAT['N']):\n    return x + {n}.0\n"
        functions.append(generated(text))
    for n, function in enumerate(functions):
        (y,) = ow.run_model(function.to_model_proto(), {"x": X})
        np.testing.assert_array_equal(y, X + n)
        np.testing.assert_array_equal(function(X), y)
    scripts = []
    for name in ("Relu", "Neg", "Exp"):
        text = f"@script\ndef f(x: FLOAT['N']):\n    return op.{name}(x)\n"
        scripts.append(generated(text))
    names = [f.to_model_proto().graph.node[0].op_type for f in scripts]
    assert names == ["Relu", "Neg", "Exp"]


def test_a_given_text_with_other_numbers_is_refused() -> None:
    """`source=` is held to the function, too."""
    space: dict[str, Any] = {"op": op, "FLOAT": FLOAT}
    exec("def f(x: FLOAT['N']):\n    return x + 1.0\n", space)
    wrong = script(source="def f(x: FLOAT['N']):\n    return x + 2.0\n")(space["f"])
    with pytest.raises(ow.ScriptError, match="OW203"):
        wrong.to_model_proto()
    right = script(source="    def f(x: FLOAT['N']):\n        return x + 1.0\n")(space["f"])
    assert right.to_model_proto().graph.node


def test_functions_with_asserts_compile_under_a_test_runner() -> None:
    """pytest rewrites `assert` in this very module; the function still has its source."""

    @script
    def checked(x: FLOAT["N"]):
        assert X is not None, "there is an input"
        return x + 1.0

    assert "pytest" in sys.modules
    assert checked.to_model_proto().graph.node[-1].op_type == "Add"
