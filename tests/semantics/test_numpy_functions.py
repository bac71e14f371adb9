"""numpy's functions and methods mean the same in numpy, eager mode, compiled and traced models."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import onnxwright as ow
from onnxwright.eager.ort.compiled_models import CompiledModel
from tests.harness.loading import load_file
from tests.semantics.numpy_cases import ALL

W = np.arange(6, dtype=np.float32).reshape(2, 3)
CHUNKS = [list(ALL[n : n + 25]) for n in range(0, len(ALL), 25)]
ARGUMENTS: dict[str, str] = {
    "x": 'FLOAT["N", 3]',
    "y": 'FLOAT["N", 3]',
    "z": "FLOAT[2, 3, 4]",
    "v": "FLOAT[5]",
    "i": 'INT64["N", 3]',
    "k": "INT32[4]",
    "s": "INT8[4]",
    "u": "UINT8[4]",
    "p": 'BOOL["N", 3]',
    "d": "DOUBLE[4]",
    "c": "FLOAT[()]",
    "n": 'FLOAT["M"]',
}
TYPES = {
    "x": ow.FLOAT["N", 3], "y": ow.FLOAT["N", 3], "z": ow.FLOAT[2, 3, 4], "v": ow.FLOAT[5],
    "i": ow.INT64["N", 3], "k": ow.INT32[4], "s": ow.INT8[4], "u": ow.UINT8[4],
    "p": ow.BOOL["N", 3], "d": ow.DOUBLE[4], "c": ow.FLOAT[()], "n": ow.FLOAT["M"],
}  # fmt: skip


def values(seed: int = 0) -> dict[str, Any]:
    """The arrays of the cases."""
    rng = np.random.default_rng(seed)
    rows = 2 if seed == 0 else 4

    def floats(*shape: int) -> Any:
        return np.round(rng.normal(0, 2, shape), 2).astype(np.float32)

    return {
        "x": floats(rows, 3),
        "y": floats(rows, 3) + np.float32(5),
        "z": floats(2, 3, 4),
        "v": floats(5),
        "i": rng.integers(0, 5, (rows, 3)),
        "k": rng.integers(-9, 9, 4).astype(np.int32),
        "s": rng.integers(-100, 100, 4).astype(np.int8),
        "u": rng.integers(0, 250, 4).astype(np.uint8),
        "p": rng.integers(0, 2, (rows, 3)).astype(bool),
        "d": rng.normal(size=4),
        "c": np.array(1.5, np.float32),
        "n": np.array([1, np.nan, 3, np.inf], np.float32),
    }


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """One module with a script for each case."""
    head = ", ".join(f"{name}: {text}" for name, text in ARGUMENTS.items())
    text = "import numpy as np\nfrom onnxwright import *\nfrom onnxwright import script\n"
    text += "from onnxwright import BOOL, DOUBLE, FLOAT, INT8, INT32, INT64, UINT8\n"
    text += "W = np.arange(6, dtype=np.float32).reshape(2, 3)\n\n\n"
    for number, cases in enumerate(CHUNKS):
        body = "".join(f"    r{n} = {case}\n" for n, case in enumerate(cases))
        results = ", ".join(
            f"{'*' * isinstance(plain(case), (list, tuple))}r{n}" for n, case in enumerate(cases)
        )
        text += f"@script()\ndef chunk_{number}({head}):\n{body}    return ({results},)\n\n\n"
    path = tmp_path_factory.mktemp("numpy") / "numpy_case_module.py"
    module = load_file(path, text, registered=True)
    yield module
    del sys.modules["numpy_case_module"]


def plain(case: str) -> Any:
    """What numpy gives, on the first arrays."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(case, {"np": np, "W": W, **values()})  # noqa: S307 - cases of our own


def expected(case: str, inputs: dict[str, Any]) -> list[Any]:
    """What numpy gives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return flat(eval(case, {"np": np, "W": W, **inputs}))  # noqa: S307 - cases of our own


def flat(result: Any) -> list[Any]:
    """The arrays of a result."""
    if isinstance(result, (list, tuple)):
        return [a for item in result for a in flat(item)]
    return [result.numpy() if isinstance(result, ow.Tensor) else np.asarray(result)]


def check(what: str, case: str, result: Any, arrays: list[Any]) -> None:
    """Compare element types, shapes and values."""
    got = flat(result)
    assert len(got) == len(arrays), (what, case)
    for a, e in zip(got, arrays, strict=True):
        sized = case.endswith((".ndim", ".size", ".shape")) or "np.s" in case[:4]
        if not (sized and e.dtype == np.int64):
            assert a.dtype == e.dtype, (what, case, a.dtype, e.dtype)
        assert a.shape == e.shape, (what, case, a.shape, e.shape)
        loose = e.dtype == np.float16
        np.testing.assert_allclose(
            a, e, rtol=2e-3 if loose else 2e-5, atol=2e-5, err_msg=f"{what}: {case}"
        )


@pytest.mark.parametrize("number", range(len(CHUNKS)))
@pytest.mark.filterwarnings("ignore::onnxwright.errors.OnnxwrightWarning")
def test_every_mode_is_numpy(number: int, scripts: ModuleType) -> None:
    """Eager, compiled at two sizes, and traced."""
    cases, script = CHUNKS[number], getattr(scripts, f"chunk_{number}")
    inputs, other = values(), values(1)
    arrays = [expected(case, inputs) for case in cases]
    check_all("eager", cases, script(*inputs.values()), arrays)
    model = CompiledModel(script.to_model_proto())
    check_all("compiled", cases, model(*inputs.values()), arrays)
    again = [expected(case, other) for case in cases]
    check_all("compiled again", cases, model(*other.values()), again)
    check_all("traced", cases, traced(cases)(*inputs.values()), arrays)


def check_all(what: str, cases: list[str], results: Any, arrays_by_case: list[list[Any]]) -> None:
    """Compare the results of several cases."""
    arrays = flat(list(results) if isinstance(results, (list, tuple)) else [results])
    assert len(arrays) == sum(map(len, arrays_by_case)), what
    for case, one in zip(cases, arrays_by_case, strict=True):
        check(what, case, arrays[: len(one)], one)
        arrays = arrays[len(one) :]


def traced(cases: list[str]) -> CompiledModel:
    """The cases on values of a builder."""
    g = ow.GraphBuilder()
    inputs = {name: g.input(name, kind) for name, kind in TYPES.items()}
    for number, case in enumerate(cases):
        result = eval(case, {"np": np, "W": W, **inputs})  # noqa: S307 - cases of our own
        for n, value in enumerate(result if isinstance(result, (list, tuple)) else [result]):
            g.output(value, f"out{number}_{n}")
    return CompiledModel(g.to_model_proto())


def test_padding_that_differs_by_axis_is_refused() -> None:
    with pytest.raises(ow.errors.ScriptTypeError, match="OW867(?s:.*)constant_values"):
        np.pad(ow.Tensor(np.ones(2, np.float32)), 1, constant_values=(1, 2))
