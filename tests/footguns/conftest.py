"""What the footgun tests share: run a script every way and compare; expect a located error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx.reference import ReferenceEvaluator

import onnxwright
from onnxwright.errors import ScriptError

PACKAGE = Path(onnxwright.__file__).parent


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


@pytest.fixture
def agree() -> Callable[..., onnx.ModelProto]:
    """`agree(script, *inputs, expected)`: every way to run it gives `expected`."""

    def check(
        script: Any,
        *inputs: Any,
        expected: Any,
        attributes: dict[str, Any] | None = None,
        reference: bool = True,
        **options: Any,
    ) -> onnx.ModelProto:
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

    return check


@pytest.fixture
def refused() -> Callable[..., ScriptError]:
    """`refused(script, code, words)`: compiling raises that message, with its place."""

    def check(script: Any, code: str = "", *words: str, **options: Any) -> ScriptError:
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

    return check
