"""Operators of com.microsoft in the reference evaluator, beside ONNX Runtime's kernels."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest

import onnxwright as ow
from onnxwright.eager.contrib import KERNELS, reference_operators
from tests.eager.contrib_cases import PARTS
from tests.harness.tables import each

MS = ow.Opset("com.microsoft", 1)
RNG = np.random.default_rng(0)


def floats(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


def bytes_of(*shape: int) -> Any:
    return RNG.integers(0, 256, size=shape).astype(np.uint8)


def _convs() -> Any:
    x, w, b = floats(2, 4, 5, 6), floats(6, 2, 3, 3), floats(6)
    for activation, params in (
        ("Relu", []), ("Sigmoid", []), ("Tanh", []), ("LeakyRelu", [0.2]),
        ("HardSigmoid", [0.3, 0.4]), ("Clip", [-0.5, 0.5]),
    ):  # fmt: skip
        parameters = {"activation_params": params} if params else {}
        attrs = {"group": 2, "pads": [1, 0, 1, 0], "strides": [2, 1], "activation": activation}
        yield f"FusedConv {activation}", (x, w, b), {**attrs, **parameters}
    yield "FusedConv without a bias", (x, w), {"group": 2, "activation": "Relu"}
    yield "FusedConv and a sum", (x, w, b, floats(2, 6, 3, 4)), {"group": 2, "activation": "Relu"}


def _gemms() -> Any:
    for activation, params in (
        ("Relu", {}), ("Softplus", {}), ("Softsign", {}), ("Sigmoid", {}), ("Tanh", {}),
        ("Elu", {"activation_alpha": 0.7}), ("LeakyRelu", {"activation_alpha": 0.2}),
        ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4}),
    ):  # fmt: skip
        attrs = {"transB": 1, "alpha": 0.5, "beta": 2.0, "activation": activation}
        yield (
            f"FusedGemm {activation}",
            (floats(3, 4), floats(5, 4), floats(5)),
            {**attrs, **params},
        )
    yield "FusedGemm without a bias", (floats(3, 4), floats(4, 5)), {"activation": "Relu"}


def _products() -> Any:
    yield "FusedMatMul", (floats(2, 3, 4), floats(4, 5)), {"alpha": 0.5}
    yield "FusedMatMul transA", (floats(2, 4, 3), floats(2, 4, 5)), {"transA": 1}
    yield "FusedMatMul transB", (floats(6, 2, 3, 4), floats(2, 5, 4)), {"transB": 1}
    yield "FusedMatMul both", (floats(4, 3), floats(5, 4)), {"transA": 1, "transB": 1, "alpha": 2.0}
    for batch in ("transBatchA", "transBatchB"):
        for last in ({}, {"transA": 1}, {"transB": 1}):
            a = floats(3, 2, 4) if batch == "transBatchA" else floats(2, 3, 4)
            a = np.swapaxes(a, 0, 2) if "transA" in last and batch == "transBatchA" else a
            a = np.swapaxes(a, 1, 2) if "transA" in last and batch == "transBatchB" else a
            b = floats(4, 2, 5) if batch == "transBatchB" else floats(2, 4, 5)
            b = np.swapaxes(b, 0, 2) if "transB" in last and batch == "transBatchB" else b
            b = np.swapaxes(b, 1, 2) if "transB" in last and batch == "transBatchA" else b
            yield f"FusedMatMul {batch} {''.join(last)}", (a, b), {batch: 1, **last}


def _rows() -> Any:
    x, bias = floats(2, 3, 8) * 3, floats(8)
    yield "Gelu", (x,), {}
    yield "BiasGelu", (x, bias), {}
    yield "FastGelu", (x,), {}
    yield "FastGelu and a bias", (x, bias), {}
    yield "QuickGelu", (x,), {}
    yield "QuickGelu of a factor", (x,), {"alpha": -0.5}
    for shape in ((2, 8), (2, 3, 8)):
        rows = floats(*shape), floats(*shape), floats(8)
        yield f"SkipLayerNormalization {shape}", rows, {}
        yield f"SkipLayerNormalization {shape}, all", (*rows, floats(8), bias), {"epsilon": 1e-3}
    yield "SkipLayerNormalization, sum", (*rows, None, bias), {"outputs": (0, 3)}


def _attention() -> Any:
    q, k, v = floats(2, 3, 8), floats(2, 5, 8), floats(2, 5, 12)
    yield "MultiHeadAttention", (q, k, v), {"num_heads": 2}
    yield "MultiHeadAttention scale", (q, k, v), {"num_heads": 4, "scale": 0.3}
    yield "MultiHeadAttention bias", (q, k, v, floats(28)), {"num_heads": 2}
    mask = floats(1, 2, 3, 5)
    yield "MultiHeadAttention mask", (q, k, v, None, None, mask), {"num_heads": 2}
    square = (q, q, q)
    yield "MultiHeadAttention causal", square, {"num_heads": 2, "unidirectional": 1}


def _quantized() -> Any:
    for bits, k, block in ((4, 32, 16), (4, 40, 16), (8, 32, 16), (2, 32, 16)):
        blocks, n = -(-k // block), 3
        attrs = {"K": k, "N": n, "bits": bits, "block_size": block}
        b = bytes_of(n, blocks, block * bits // 8)
        scales, zeros = floats(n, blocks), bytes_of(n, -(-blocks * bits // 8))
        yield f"MatMulNBits {bits} {k}", (floats(2, 4, k), b, scales), attrs
        yield f"MatMulNBits {bits} {k} zeros", (floats(4, k), b, scales, zeros), attrs
    attrs = {"K": 32, "N": 3, "bits": 4, "block_size": 16}
    b, scales = bytes_of(3, 2, 8), floats(3, 2)
    yield "MatMulNBits bias", (floats(4, 32), b, scales, None, None, floats(3)), attrs
    indices = np.array([[0, 4], [2, 2]])
    for bits in (4, 8):
        table, zeros = bytes_of(5, 32 * bits // 8), bytes_of(5, 2 * bits // 8)
        attrs = {"bits": bits, "block_size": 16}
        yield f"GatherBlockQuantized {bits}", (table, indices, floats(5, 2)), attrs
        yield f"GatherBlockQuantized {bits} zeros", (table, indices, floats(5, 2), zeros), attrs
    for kind in (ml_dtypes.int4, ml_dtypes.uint4):
        table = RNG.integers(0, 8, size=(5, 32)).astype(kind)
        zeros = RNG.integers(0, 8, size=(5, 2)).astype(kind)
        attrs = {"block_size": 16}
        yield f"GatherBlockQuantized {kind}", (table, indices, floats(5, 2)), attrs
        yield f"GatherBlockQuantized {kind} zeros", (table, indices, floats(5, 2), zeros), attrs


CASES = {
    name: (inputs, attributes)
    for part in (_convs, _gemms, _products, _rows, _attention, _quantized, *PARTS)
    for name, inputs, attributes in part()
}


@each("name", CASES)
def test_the_reference_computes_what_the_kernels_do(name: str) -> None:
    inputs, attributes = CASES[name]
    model = one_node(name.split(" ")[0].rstrip(","), inputs, **attributes)
    feed = [x for x in inputs if x is not None]
    expected = ow.run_model(model, feed)
    with ow.evaluator("reference"):
        got = ow.run_model(model, feed)
    assert len(got) == len(expected)
    for one, other in zip(expected, got, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        # Kernels of integers may round what lies between two of them another way.
        unit = 1 if one.dtype.itemsize == 1 and name.startswith(("QL", "QG")) else 1e-5
        np.testing.assert_allclose(other.astype(float), one.astype(float), rtol=1e-5, atol=unit)


def one_node(
    name: str,
    inputs: Any,
    outputs: tuple[int, ...] = (0,),
    types: Any = None,
    **attributes: Any,
) -> Any:
    """A model of one operator, for values of these types and shapes."""
    input_names = [f"x{n}" if x is not None else "" for n, x in enumerate(inputs)]
    output_names = [f"y{n}" if n in outputs else "" for n in range(max(outputs) + 1)]
    node = onnx.helper.make_node(name, input_names, output_names, domain=MS.domain, **attributes)
    make = onnx.helper.make_tensor_value_info
    kinds = [
        make(n, ow.DType.from_numpy(x.dtype).value, x.shape)
        for n, x in zip(input_names, inputs, strict=True)
        if x is not None
    ]
    typed = {n: ow.DType.from_numpy(np.dtype(kind)).value for n, kind in (types or {}).items()}
    results = [
        make(y, typed.get(n, onnx.TensorProto.FLOAT), None) for n, y in enumerate(output_names) if y
    ]
    opsets = [onnx.helper.make_opsetid("", 18), onnx.helper.make_opsetid(MS.domain, 1)]
    graph = onnx.helper.make_graph([node], name, kinds, results)
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10)


def test_every_operator_has_a_case() -> None:
    assert {name.split(" ")[0].rstrip(",") for name in CASES} == set(KERNELS)
    assert {kind.__name__ for kind in reference_operators()} == set(KERNELS)


def test_packed_heads_are_the_same_rows() -> None:
    """The CPU of ONNX Runtime has no kernel for these forms of MultiHeadAttention."""
    q, k, v = (floats(2, 3, 2, 4) for _ in range(3))
    rows = [x.reshape(2, 3, 8) for x in (q, k, v)]
    with ow.evaluator("reference"):
        plain = MS.MultiHeadAttention(*rows, num_heads=2)
        for packed in ((np.stack([q, k, v], 3),), (rows[0], np.stack([k, v], 3))):
            got = MS.MultiHeadAttention(*packed, num_heads=2)
            np.testing.assert_allclose(np.asarray(got), np.asarray(plain), rtol=1e-6)


@each("way", ["run_model", "debug", "CompiledModel"])
def test_every_way_to_run_a_model_asks_the_evaluator(way: str) -> None:
    asked: list[str] = []

    class Recording(ow.eager.ReferenceEvaluator):
        def run_op(self, op: Any, *args: Any) -> Any:
            asked.append(op.name)
            return super().run_op(op, *args)

    x = floats(2, 3)
    model = one_node("QuickGelu", (x,))
    with ow.evaluator(Recording()):
        if way == "run_model":
            (got,) = ow.run_model(model, [x])
        elif way == "debug":
            got = ow.debug(model, [x]).outputs["y0"]
        else:
            got = ow.CompiledModel(model)(x)
    assert asked == ["QuickGelu"]
    np.testing.assert_allclose(got, ow.run_model(model, [x])[0], rtol=1e-5)


def test_zero_points_of_groups_are_those_of_the_group() -> None:
    """ONNX Runtime's kernel leaves them out where `g_idx` is given; the description does not."""
    b, scales, zeros = bytes_of(1, 2, 8), floats(1, 2), bytes_of(1, 1)
    groups = np.array([0, 1] * 16, np.int32)
    with ow.evaluator("reference"):
        eye = np.eye(32, dtype=np.float32)
        attrs = {"K": 32, "N": 1, "bits": 4, "block_size": 16}
        got = np.asarray(MS.MatMulNBits(eye, b, scales, zeros, groups, **attrs)).ravel()
    integers = np.stack([b & 15, b >> 4], axis=-1).ravel().astype(np.float32)
    low_high = np.array([zeros[0, 0] & 15, zeros[0, 0] >> 4], np.float32)
    np.testing.assert_allclose(got, (integers - low_high[groups]) * scales[0][groups], rtol=1e-6)


def test_what_is_not_known_is_an_error() -> None:
    """Never a result that ignores an input or an attribute."""
    x = floats(2, 3, 8)
    mask, w = np.ones(5, np.int32), floats(8, 24)
    calls = [
        ("activation 'Gone'", lambda: MS.FusedGemm(floats(2, 2), floats(2, 2), activation="Gone")),
        ("a mask of the shape", lambda: MS.Attention(x, w, None, mask, num_heads=2)),
        ("gone", lambda: MS.QuickGelu(x, gone=1)),
    ]
    for words, call in calls:
        with ow.evaluator("reference"), pytest.raises(ow.errors.EagerError, match=words):
            call()


def test_an_operator_of_the_users_own_comes_first() -> None:
    from onnx.reference.op_run import OpRun

    class QuickGelu(OpRun):  # type: ignore[misc] # a class of onnx without types
        op_domain = "com.microsoft"

        def _run(self, x: Any) -> Any:
            return (x * 0,)

    own = ow.eager.ReferenceEvaluator(new_ops=[QuickGelu])
    assert not MS.QuickGelu(floats(3), _evaluator=own).any()
