"""The generated backend node tests of the installed onnx, through tracing: shapes and folding."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from onnxwright.errors import OnnxwrightError
from onnxwright.ir.adapters import from_type_proto
from onnxwright.ir.builder import Recorder
from onnxwright.opset.opsets import Opset
from onnxwright.tracing.backend import TracingBackend
from onnxwright.tracing.inline import Replay
from onnxwright.types import dims
from onnxwright.types.kinds import TensorType
from onnxwright.versions.one_call import converted_call
from tests.harness.node_cases import node_cases


def load() -> list[Any]:
    """All cases whose model is one standard node on tensors, by name."""
    return [case for case in node_cases() if _plain(case.model)]


def _plain(model: Any) -> bool:
    """Whether a model is of the default domain, with tensors for inputs."""
    tensors = all(i.type.WhichOneof("value") == "tensor_type" for i in model.graph.input)
    return tensors and any(o.domain in ("", "ai.onnx") for o in model.opset_import)


def trace(case: Any, inputs: list[np.ndarray], how: str) -> list[Any]:
    """The outputs of a case as traced values.

    `how` says what the inputs are: `constant`, `numbers` (small integers are constants, the others
    have their shape) or `names` (as numbers, but a dimension of n is called `D<n>`).
    """
    model = case.model
    version = next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
    b = TracingBackend(Recorder(), Opset("", version), converted_call)
    graph = ir.from_proto(model.graph)
    env: dict[Any, Any] = {}
    for value, array in zip(graph.inputs, inputs):
        small = array.dtype.kind in "iub" and array.size <= 16 and array.ndim <= 1
        if how == "constant" or (small and value is not graph.inputs[0]):
            env[value] = b.constant(array)
            continue
        shape: Any = array.shape
        if how == "names":
            shape = tuple(f"D{n}" if n > 1 else n for n in shape)
        proto = next(i for i in model.graph.input if i.name == value.name)
        kind = from_type_proto(proto.type)
        assert isinstance(kind, TensorType)
        env[value] = b.input(value.name or "x", TensorType(kind.dtype, shape))
    imports = {o.domain if o.domain != "ai.onnx" else "": o.version for o in model.opset_import}
    return Replay(b, imports).run(list(graph), list(graph.outputs), env)


def check(case: Any) -> tuple[int, int, list[str]]:
    """How many outputs were looked at, how many of them were folded, and what is wrong."""
    looked = folded = 0
    wrong: list[str] = []
    for inputs, expected in case.data_sets or ():
        if not all(isinstance(x, (np.ndarray, np.generic)) for x in (*inputs, *expected)):
            return 0, 0, []
        arrays = [np.asarray(x) for x in inputs]
        for how in ("constant", "numbers", "names"):
            try:
                values = trace(case, arrays, how)
            except NotImplementedError:
                return 0, 0, []
            except OnnxwrightError as error:
                wrong.append(f"{case.name} {how}: {str(error).splitlines()[0]}")
                continue
            for value, want in zip(values, expected):
                looked += 1
                folded += value.constant is not None
                wrong += [f"{case.name} {how}: {text}" for text in _compare(value, want)]
    return looked, folded, wrong


def _compare(value: Any, want: Any) -> list[str]:
    kind = value.kind
    if not isinstance(kind, TensorType):
        return []
    texts = []
    want = np.asarray(want)
    if kind.dtype is not None and kind.dtype.numpy != want.dtype and want.dtype.kind not in "USO":
        texts.append(f"{kind} for {want.dtype}")
    if kind.shape is not None:
        sizes = {f"D{n}": n for n in range(2, 5000)}
        sizes_of_shape = [dims.evaluate(d, sizes) for d in kind.shape]
        if len(sizes_of_shape) != want.ndim or any(
            m is not None and m != n for m, n in zip(sizes_of_shape, want.shape)
        ):
            texts.append(f"{kind} for {want.shape}")
    if value.constant is not None and value.constant.shape == want.shape:
        got = value.constant
        if got.dtype.kind in "fc" or want.dtype.kind not in "iubfcSUO":
            if not np.allclose(got.astype(np.complex128), want.astype(np.complex128),
                               rtol=1e-3, atol=1e-5, equal_nan=True):  # fmt: skip
                texts.append("another value")
        elif not np.array_equal(got, want):
            texts.append("another value")
    return texts


__all__ = ["check", "load"]
