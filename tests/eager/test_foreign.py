"""Tensors of other libraries: torch where the program has imported it, anything with DLPack."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from onnxwright import FLOAT, script
from onnxwright import opset18 as op
from onnxwright.eager import Tensor, foreign

X = np.arange(3, dtype=np.float32)


class FakeTensor:
    """As much of a torch tensor as the conversion uses."""

    def __init__(self, array: np.ndarray, dtype: str | None = None, device: str = "cpu") -> None:
        self.array = array
        self.dtype = f"torch.{dtype or array.dtype.name}"
        self.device = device

    def detach(self) -> FakeTensor:
        return self

    cpu = contiguous = resolve_conj = resolve_neg = detach

    def numpy(self) -> np.ndarray:
        if self.dtype == "torch.bfloat16":
            raise TypeError("numpy has no bfloat16")
        return self.array

    def view(self, dtype: str) -> FakeTensor:
        name = dtype.removeprefix("torch.")
        if name == "bfloat16":
            return FakeTensor(self.array, "bfloat16")
        return FakeTensor(self.array.view(name))

    def to(self, device: str) -> FakeTensor:
        return FakeTensor(self.array, self.dtype.removeprefix("torch."), device)


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    module: Any = ModuleType("torch")
    module.Tensor = FakeTensor
    module.from_numpy = FakeTensor
    for name in ("int16", "uint8", "bfloat16"):
        setattr(module, name, f"torch.{name}")
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


def test_torch_tensors_come_back_as_torch_tensors(torch: Any) -> None:
    for _ in range(2):
        total = op.Add(FakeTensor(X, device="meta"), 1.0)
        assert isinstance(total, FakeTensor)
        assert total.array.tolist() == [1, 2, 3]
        assert total.device == "meta"
    assert type(op.Add(FakeTensor(X), Tensor(X))) is Tensor


def test_nothing_is_copied(torch: Any) -> None:
    assert foreign.to_array(FakeTensor(X)) is X
    assert np.shares_memory(foreign.to_torch(X).array, X)


def test_a_sequence_goes_in_again(torch: Any) -> None:
    sequence = op.SequenceConstruct(FakeTensor(X), FakeTensor(X + 1))
    assert all(isinstance(item, FakeTensor) for item in sequence)
    assert op.SequenceAt(sequence, 1).array.tolist() == (X + 1).tolist()

    @script()
    def longest(items: Sequence[FLOAT]) -> FLOAT:
        return op.ConcatFromSequence(items, axis=0)

    assert longest(sequence).array.size == 6


def test_bfloat16(torch: Any) -> None:
    carried = np.ones(2, ml_dtypes.bfloat16).view(np.int16)
    array = foreign.to_array(FakeTensor(carried, "bfloat16"))
    assert array is not None
    assert array.dtype == ml_dtypes.bfloat16
    back = foreign.to_torch(array)
    assert back.dtype == "torch.bfloat16"
    assert np.array_equal(back.array, carried)


def test_without_torch_nothing_is_a_torch_tensor() -> None:
    assert not foreign.is_torch(FakeTensor(X))


def test_dlpack() -> None:
    class Other:
        """An object of another library."""

        def __dlpack__(self, **options: Any) -> Any:
            return X.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return X.__dlpack_device__()

    assert np.shares_memory(foreign.to_array(Other()), X)
    assert op.Neg(Other()).tolist() == (-X).tolist()


def test_real_torch() -> None:
    real = pytest.importorskip("torch", reason="torch is an extra: `pip install torch`")
    x = real.arange(3, dtype=real.float32)
    total = op.Add(x, x)
    assert isinstance(total, real.Tensor)
    assert total.tolist() == [0, 2, 4]
    narrow = op.Cast(x, to=16)
    assert narrow.dtype == real.bfloat16
    assert op.Add(narrow.to(real.float32), x).tolist() == [0, 2, 4]
    parts = op.SplitToSequence(x, [1, 2])
    assert op.ConcatFromSequence(parts, axis=0).tolist() == [0, 1, 2]
    turned = real.arange(6, dtype=real.float32).reshape(2, 3).T
    assert op.Neg(turned).tolist() == (-turned).tolist()
    assert op.Neg(real.nn.Parameter(x)).tolist() == [0, -1, -2]
