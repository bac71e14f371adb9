"""`x[i] = value` means the same in numpy, eager mode, compiled and traced; aliases are refused."""

from __future__ import annotations

import sys
import textwrap
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import onnxwright as ow
from onnxwright.eager.ort.compiled_models import CompiledModel
from onnxwright.errors import OnnxwrightError
from tests.harness.loading import load_file
from tests.harness.tables import each
from tests.semantics.written_cases import BODIES, OTHER, REFUSED

HEAD = (
    'x: FLOAT["N", 4], v: FLOAT[5], i: INT64[3], p: BOOL["N", 4], n: INT64[()], z: FLOAT[2, 3, 4]'
)
TEXT = """import numpy as np
from onnxwright import BOOL, FLOAT, INT64, script


def changed(y):
    y[0] = 9
    return y


def written(y):
    y[0] = 9


"""


def values(rows: int = 2) -> list[Any]:
    """The arguments."""
    rng = np.random.default_rng(rows)
    return [
        rng.integers(-5, 6, (rows, 4)).astype(np.float32),
        rng.integers(-5, 6, 5).astype(np.float32),
        np.array([3, 0, 2]),
        rng.integers(0, 2, (rows, 4)).astype(bool),
        np.array(3),
        rng.integers(-5, 6, (2, 3, 4)).astype(np.float32),
    ]


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """A plain function and a script for each case."""
    text = TEXT
    for kind, bodies in (("case", BODIES), ("refused", REFUSED), ("other", OTHER)):
        for number, body in enumerate(bodies):
            lines = textwrap.indent(body, "    ")
            text += f"def plain_{kind}_{number}(x, v, i, p, n, z):\n{lines}\n\n\n"
            text += f"@script()\ndef {kind}_{number}({HEAD}):\n{lines}\n\n\n"
    path = tmp_path_factory.mktemp("written") / "written_case_module.py"
    loaded = load_file(path, text, registered=True)
    yield loaded
    del sys.modules["written_case_module"]


def check(what: str, actual: Any, expected: Any) -> None:
    """Compare results."""
    actual = list(actual) if isinstance(actual, (list, tuple)) else [actual]
    expected = list(expected) if isinstance(expected, tuple) else [expected]
    assert len(actual) == len(expected), what
    for a, e in zip(actual, expected, strict=True):
        assert np.asarray(a).dtype == np.asarray(e).dtype, what
        np.testing.assert_allclose(a, e, rtol=1e-6, err_msg=what)


@each("number", range(len(BODIES)))
@pytest.mark.filterwarnings("ignore::onnxwright.errors.OnnxwrightWarning")
def test_every_mode_is_numpy(number: int, module: ModuleType) -> None:
    """Eager, compiled at two sizes."""
    plain = getattr(module, f"plain_case_{number}")
    script = getattr(module, f"case_{number}")
    arguments = values()
    check(f"eager {BODIES[number]}", script(*arguments), plain(*values()))
    check("the arguments", tuple(arguments), tuple(values()))
    model = CompiledModel(script.to_model_proto())
    for rows in (2, 3):
        check(f"compiled {BODIES[number]}", model(*values(rows)), plain(*values(rows)))


# A builder runs Python's own `if` and `for`, for which a run-time number is not enough.
TRACED = [n for n, body in enumerate(BODIES) if " if " not in f" {body}" and "for " not in body
          and "while " not in body]  # fmt: skip


@each("number", TRACED)
@pytest.mark.filterwarnings("ignore::onnxwright.errors.OnnxwrightWarning")
def test_values_of_a_builder_are_numpy(number: int, module: ModuleType) -> None:
    """The plain function on values of a builder."""
    plain = getattr(module, f"plain_case_{number}")
    g = ow.GraphBuilder()
    kinds = {
        "x": ow.FLOAT["N", 4], "v": ow.FLOAT[5], "i": ow.INT64[3], "p": ow.BOOL["N", 4],
        "n": ow.INT64[()], "z": ow.FLOAT[2, 3, 4],
    }  # fmt: skip
    returned = plain(*(g.input(name, kind) for name, kind in kinds.items()))
    for k, value in enumerate(returned if isinstance(returned, tuple) else (returned,)):
        g.output(value, f"out{k}")
    model = CompiledModel(g.to_model_proto())
    check(f"traced {BODIES[number]}", model(*values()), plain(*values()))


@each("number", range(len(REFUSED)))
@pytest.mark.filterwarnings("ignore::onnxwright.errors.OnnxwrightWarning")
def test_shared_memory_is_never_silently_different(number: int, module: ModuleType) -> None:
    """Compiling is refused with a place; eager mode is numpy's meaning, or refused as well."""
    script = getattr(module, f"refused_{number}")
    with pytest.raises(OnnxwrightError, match="OW868") as caught:
        script.to_model_proto()
    assert "written_case_module.py:" in str(caught.value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcome = run_or_error(script)
    if isinstance(outcome, OnnxwrightError):
        assert "OW868" in str(outcome)
    else:
        check("eager", outcome, getattr(module, f"plain_refused_{number}")(*values()))


@each("number", range(len(OTHER)))
@pytest.mark.filterwarnings("ignore::onnxwright.errors.OnnxwrightWarning")
def test_what_cannot_be_written_is_a_located_error(number: int, module: ModuleType) -> None:
    """Compiling says where; eager mode is numpy's meaning, or an error with its place."""
    script, code = getattr(module, f"other_{number}"), list(OTHER.values())[number]
    with pytest.raises(OnnxwrightError, match=code) as caught:
        script.to_model_proto()
    assert "written_case_module.py:" in str(caught.value)
    outcome = run_or_error(script)
    if isinstance(outcome, OnnxwrightError):
        assert "written_case_module.py:" in str(outcome)
    else:
        check("eager", outcome, getattr(module, f"plain_other_{number}")(*values()))


def test_names_of_a_builder_are_values_of_the_graph() -> None:
    """What is written into an object does not change what its name, or an output, is."""
    g = ow.GraphBuilder()
    x = g.input("x", ow.FLOAT[2])
    y = g.op.Neg(x, outputs=["y"])
    g.output(y, "first")
    y[0] = 7
    x[0] = 5
    g.output(g.op.Identity("x"), "second")
    g.output(g.value("y"), "third")
    g.output(y + x, "fourth")
    outputs = CompiledModel(g.to_model_proto())(np.array([1, 2], np.float32))
    assert [f.tolist() for f in outputs] == [[-1, -2], [1, 2], [-1, -2], [12, 0]]


def run_or_error(script: Any) -> Any:
    """What a script gives, or the error that it raises."""
    try:
        return script(*values())
    except OnnxwrightError as error:
        return error
