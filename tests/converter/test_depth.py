"""Long chains and deep source: every model compiled can be read back, or the error has a place."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from onnxwright.converter.lower import functions
from onnxwright.converter.lower.statements.results import function_result
from onnxwright.errors import ScriptError
from tests.harness.loading import load_file

HEAD = (
    "from onnxwright import DOUBLE, FLOAT, INT64, script\n"
    "from onnxwright import opset20 as op\n\n\n"
    "@script()\n"
    "def f(x: FLOAT[2], i: INT64[()]) -> FLOAT[2]:\n"
)


def _elif(n: int, call: str = "i == {k}") -> str:
    word = ("if", "elif")
    arms = [f"    {word[k > 0]} {call.format(k=k)}:\n        y = x + {k}\n" for k in range(n)]
    return "".join(arms) + "    else:\n        y = -x\n    return y\n"


def _returns(n: int) -> str:
    arms = [f"    if i == {k}:\n        return x + {k}\n" for k in range(n)]
    return "".join(arms) + "    return -x\n"


def _ternaries(n: int) -> str:
    return "    return " + " ".join(f"x + {k} if i == {k} else" for k in range(n)) + " -x\n"


def _nested(n: int) -> str:
    heads = ["    " * (k + 1) + f"if i > {k}:\n" for k in range(n)]
    return "    y = x\n" + "".join(heads) + "    " * (n + 1) + "y = x + 1\n    return y\n"


def _between(n: int) -> str:
    arms = [f"    x = x + {k}\n    if i == {k}:\n        return x + 0\n" for k in range(n)]
    return "".join(arms) + "    return x - 1\n"


def _else_blocks(n: int, first: str = "z") -> str:
    """`else:` blocks that begin with a statement."""
    heads = ["", *("    " * k for k in range(1, n + 1))]
    text = "    y = x\n    z = 0.0\n"
    for k in range(n):
        indent = "    " + heads[k]
        text += f"{indent}if i == {k}:\n{indent}    y = x + z\n{indent}else:\n"
        text += f"{indent}    {first} = {first} + 2.0\n"
    return text + "    " * (n + 1) + "y = -x\n    return y\n"


COMPILED = {
    "between_40": (_between(40), 5, 15),
    "between_end": (_between(40), 99, 779),
    "else_blocks_40": (_else_blocks(40), 39, 78),
    "else_blocks_end": (_else_blocks(40), 40, None),
    "between_static": (_between(40).replace("if i ==", "if 20 =="), 0, 210),
    "elif_12": (_elif(12), 5, 5),
    "elif_32": (_elif(32), 31, 31),
    "elif_100": (_elif(100), 64, 64),
    "elif_else": (_elif(40), 99, None),
    "elif_calls": (_elif(40, "op.ReduceMax(x) * 0 + op.Cast(i, to=1) == {k}"), 17, 17),
    "elif_static_arms": (_elif(40, "({k} == 50 or i == {k})"), 39, 39),
    "elif_static_end": (_elif(40, "i == {k} or {k} == 20"), 33, 20),
    "returns_60": (_returns(60), 59, 59),
    "ternaries_150": (_ternaries(150), 149, 149),
    "ternaries_else": (_ternaries(40), 40, None),
    "nested_25": (_nested(25), 99, 1),
    "sum_500": ("    return x" + " + x * 0" * 500 + "\n", 0, 0),
    "parentheses_150": ("    return " + "-(" * 150 + "x" + ")" * 150 + "\n", 0, 0),
    "and_200": (
        "    return x if " + " and ".join(f"i != {k}" for k in range(200)) + " else -x\n",
        7,
        None,
    ),
}
REFUSED = {
    "items_2_63": ("    return op.Concat(*[x * k for k in range(2**63)], axis=0)\n", "OW317"),
    "items_2_17": (
        "    return op.Concat(*[x * k for k in range(2**17, 0, -1)], axis=0)\n",
        "OW317",
    ),
    "nested_31": (_nested(31), "OW319"),
    "nested_60": (_nested(60), "OW319"),
    "sum_1600": ("    return x" + " + x" * 1600 + "\n", "OW319"),
    "too_large_beside_floats": ("    return x + 10**400\n", "OW404"),
    "too_large_literal": (f"    return x * -{'9' * 400}\n", "OW404"),
    "too_large_in_a_call": ("    return op.Add(x, 10**400)\n", "OW404"),
    "too_large_to_print": ("    return x + 10**6000\n", "OW404"),
    "too_large_compared": ("    return op.Where(x < 10**400, x, x)\n", "OW404"),
    "too_large_in_a_list": ("    return x + [1.0, 10**400]\n", "OW404"),
    "too_large_beside_ints": ("    return x[i + 10**400]\n", "OW404"),
}


def _load(tmp_path: Path, body: str) -> Any:
    path = tmp_path / "deep.py"
    return load_file(path, HEAD + body).f


@pytest.mark.parametrize("name", COMPILED)
def test_a_deep_function_compiles_and_its_model_is_read_back(tmp_path: Path, name: str) -> None:
    body, i, added = COMPILED[name]
    before = sys.getrecursionlimit()
    f = _load(tmp_path, body)
    data = f.to_model_proto().SerializeToString()
    assert sys.getrecursionlimit() == before
    onnx.ModelProto.FromString(data)
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    x = np.array([1.0, 2.0], np.float32)
    inputs = {"x": x, "i": np.array(i)}
    (output,) = session.run(None, {v.name: inputs[v.name] for v in session.get_inputs()})
    np.testing.assert_allclose(output, -x if added is None else x + added)
    function = f.to_function_proto()
    onnx.FunctionProto.FromString(function.SerializeToString())


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_compiled_is_refused_with_a_place(tmp_path: Path, name: str) -> None:
    body, code = REFUSED[name]
    f = _load(tmp_path, body)
    with pytest.raises(ScriptError, match=code) as caught:
        f.to_model_proto()
    assert caught.value.diagnostic.span is not None
    assert caught.value.diagnostic.span.file.endswith("deep.py")


def test_a_function_is_lowered_once_for_all_calls_and_once_for_the_types_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 12
    chain = "".join(
        f"@script()\ndef f{k}(x):\n    return f{k - 1}(x) + f{k - 1}(x * {k})\n\n\n"
        for k in range(1, count)
    )
    source = (
        "from onnxwright import FLOAT, script\n\n\n@script()\ndef f0(x):\n    return x * 2\n\n\n"
        f"{chain}@script()\ndef main(x: FLOAT['N']) -> FLOAT['N']:\n    return f{count - 1}(x)\n"
    )
    lowered: list[str] = []

    def counted(low: Any, *rest: Any) -> Any:
        lowered.append(low.frame.name)
        return function_result(low, *rest)

    monkeypatch.setattr(functions, "function_result", counted)
    main = load_file(tmp_path / "chain.py", source).main
    assert len(main.to_model_proto().functions) == count
    times = {name: lowered.count(name) for name in lowered}
    assert times == {"main": 1, **{f"f{k}": 2 for k in range(count)}}
