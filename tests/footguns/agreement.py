"""A script run every way: eager, in ONNX Runtime, and in onnx's reference."""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx.reference import ReferenceEvaluator

import onnxwright
from onnxwright import script
from onnxwright.errors import ScriptError

PACKAGE = Path(onnxwright.__file__).parent


_NAMES = ("script", "FLOAT", "FLOAT16", "DOUBLE", "BOOL", "INT8", "INT32", "INT64", "UINT8")


def from_text(source: str, file: str = "<text of a test>") -> Any:
    """The script `f` that a text defines, as if it stood in a file."""
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    space = {"op": onnxwright.opset18, **{name: getattr(onnxwright, name) for name in _NAMES}}
    exec(compile(source, file, "exec"), space)
    return space["f"]


def run_ort(model: onnx.ModelProto, *inputs: Any) -> list[np.ndarray]:
    """A model in ONNX Runtime, its inputs by position."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, {i.name: v for i, v in zip(session.get_inputs(), inputs, strict=True)})


def check_whole(model: onnx.ModelProto) -> None:
    """onnx's full check; a rank that is not known is given as one, since the checker wants some."""
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    if all(v.type.tensor_type.HasField("shape") or not v.type.HasField("tensor_type")
           for v in (*model.graph.input, *model.graph.output)):  # fmt: skip
        onnx.checker.check_model(model, full_check=True)


def _compare(found: Any, expected: Any, way: str) -> None:
    found = found if isinstance(found, (tuple, list)) else (found,)
    expected = expected if isinstance(expected, (tuple, list)) else (expected,)
    assert len(found) == len(expected), way
    for one, other in zip(found, expected):
        one, other = np.asarray(one), np.asarray(other)
        assert one.dtype == other.dtype, f"{way}: {one.dtype}, expected {other.dtype}"
        assert one.shape == other.shape, f"{way}: {one.shape}, expected {other.shape}"
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6, err_msg=way)


def check_agreement(
    script: Any,
    *inputs: Any,
    expected: Any,
    attributes: dict[str, Any] | None = None,
    reference: bool = True,
    **options: Any,
) -> onnx.ModelProto:
    """Every way to run a script gives what is expected."""
    given = dict(attributes or {})
    _compare(script(*inputs, **given), expected, "eager")
    if given:
        options["attributes"] = given
    model = script.to_model_proto(**options)
    check_whole(model)
    arrays = [np.asarray(value) for value in inputs]
    _compare(run_ort(model, *arrays), expected, "onnxruntime")
    if reference:
        feeds = {i.name: v for i, v in zip(model.graph.input, arrays, strict=True)}
        _compare(ReferenceEvaluator(model).run(None, feeds), expected, "reference")
    return model


def check_refusal(script: Any, code: str = "", *words: str, **options: Any) -> ScriptError:
    """Compiling a script raises a message of this code and words, with its place."""
    with pytest.raises(ScriptError) as caught:
        script.to_model_proto(**options)
    error = caught.value
    assert error.diagnostic.span is not None, str(error)
    assert not Path(error.diagnostic.span.file).is_relative_to(PACKAGE)
    if code:
        assert code in [d.code for d in error.diagnostics], str(error)
    for word in words:
        assert word in str(error)
    assert "/onnxwright/" not in str(error)
    return error


def agrees(*inputs: Any, expected: Any, **options: Any) -> Callable[[Any], Any]:
    """Makes a function the test of a script: of the inputs it gives what is expected.

    Several of them above one function are several calls, the first one first.
    """
    return _checked(lambda made: check_agreement(made, *inputs, expected=expected, **options))


def refuses(*code_and_words: str, **options: Any) -> Callable[[Any], Any]:
    """Makes a function the test of a script that is refused: the code, and words of the message."""
    return _checked(lambda made: check_refusal(made, *code_and_words, **options))


def _checked(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def decorate(program: Any) -> Any:
        checks = getattr(program, "checks", None)
        if checks is not None:
            checks.insert(0, check)
            return program
        checks = [check]

        def test() -> None:
            made = script()(program)
            for one in checks:
                one(made)

        test.checks = checks  # type: ignore[attr-defined]
        test.__name__, test.__doc__ = program.__name__, program.__doc__
        # Pytest names the place of the program, and sees that its parameters are no fixtures.
        test.__wrapped__ = program  # type: ignore[attr-defined]
        test.__signature__ = inspect.Signature()  # type: ignore[attr-defined]
        return test

    return decorate
