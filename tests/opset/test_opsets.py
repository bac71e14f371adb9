"""Opsets as values and as modules of operators."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from typing import Any

import pytest

import onnxwright.opset
from onnxwright.errors import OnnxwrightError
from onnxwright.opset import (
    DEFAULT_OPSET_VERSION,
    Opset,
    all_opsets,
    latest_opset,
    opset18,
    registry,
)
from tests.harness.tables import each


@each("opset", [opset18, Opset("my.domain", 1), Opset("ai.onnx.ml", 3)])
def test_an_opset_is_a_value(opset: Opset) -> None:
    assert pickle.loads(pickle.dumps(opset)) is opset
    assert copy.deepcopy(opset) is opset
    assert copy.copy(opset) is opset
    assert {opset: 1}[Opset(opset.domain, opset.version)] == 1
    with pytest.raises(AttributeError, match="cannot be changed"):
        opset.version = 3


def test_interned() -> None:
    assert Opset("", 18) is opset18
    assert Opset("ai.onnx", 18) is opset18
    assert Opset("", 18) is not Opset("", 17)
    assert opset18.Add is opset18.Add


def test_contents() -> None:
    assert "Add" in opset18
    assert "Gelu" not in opset18
    assert "Upsample" not in opset18
    assert 3 not in opset18
    assert opset18["Add"] is opset18.Add
    assert set(opset18) <= set(dir(opset18))
    assert list(Opset("my.domain", 1)) == []
    assert "Foo" not in Opset("my.domain", 1)
    assert hasattr(opset18, "Add")
    assert not hasattr(opset18, "Nope")
    assert not hasattr(Opset("my.domain", 1), "__array__")
    assert not hasattr(Opset("my.domain", 1), "_repr_html_")


@each(
    ("opset", "text"),
    [
        (opset18, "opset18"),
        (Opset("ai.onnx.ml", 3), "opset_ai_onnx_ml3"),
        (Opset("ai.onnx.preview.training", 1), "opset_ai_onnx_preview_training1"),
        (Opset("my.domain", 1), "Opset('my.domain', 1)"),
    ],
)
def test_text(opset: Opset, text: str) -> None:
    assert repr(opset) == text


UNKNOWN: list[tuple[Opset, str, str, str]] = [
    (opset18, "matmul", "OW501", "did you mean `MatMul`?"),
    (opset18, "MatMull", "OW501", "did you mean `MatMul`?"),
    (opset18, "batch_normalization", "OW501", "did you mean `BatchNormalization`?"),
    (opset18, "gelu", "OW501", "did you mean `Gelu`, which came with opset20?"),
    (opset18, "Scaler", "OW501", "`opset_ai_onnx_ml5.Scaler`"),
    (opset18, "Xyzzy", "OW501", "https://onnx.ai/onnx/operators/"),
    (opset18, "Gelu", "OW502", "it came with opset20"),
    (opset18, "Upsample", "OW502", "opset10 took it out"),
    (opset18, "Upsample", "OW502", "use `Resize` instead"),
    (Opset("ai.onnx.ml", 3), "Add", "OW501", f"`opset{registry.newest()}.Add`"),
    (Opset("", 999), "Add", "OW503", "the installed onnx knows opset1 to opset"),
    (Opset("ai.onnx.ml", 99), "Scaler", "OW503", "opset_ai_onnx_ml1 to opset_ai_onnx_ml"),
]


@each(("opset", "name", "code", "words"), UNKNOWN)
def test_unknown_operators(opset: Opset, name: str, code: str, words: str) -> None:
    with pytest.raises(OnnxwrightError) as caught:
        opset[name]
    assert caught.value.diagnostic.code == code
    assert words in str(caught.value)


@each("args", [(1, 2), ("a", 0), ("a", -1), ("a", "1"), ("a", 1.5), ("a", True)])
def test_what_is_no_opset(args: Any) -> None:
    with pytest.raises(TypeError, match="OW504"):
        Opset(*args)


def test_the_names_of_the_module() -> None:
    for domain in registry.domains():
        for version in range(1, registry.newest(domain) + 1):
            opset = Opset(domain, version)
            assert getattr(onnxwright.opset, repr(opset)) is opset
            assert all_opsets[domain, version] is opset
            assert repr(opset) in dir(onnxwright.opset)
    assert latest_opset is Opset("", registry.newest())
    assert DEFAULT_OPSET_VERSION <= registry.newest()
    for name in ("opset0", "opset999", "opset018", "opset_ai_onnx_ml99", "opset_nope1", "nope"):
        assert not hasattr(onnxwright.opset, name)
    with pytest.raises(AttributeError, match="knows opset1 to opset"):
        onnxwright.opset.opset999  # type: ignore[attr-defined]


def test_naming_an_opset_imports_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from onnxwright.opset import opset13, opset18, opset_ai_onnx_ml3, Opset\n"
        "from onnxwright.types import FLOAT\n"
        "from onnxwright.types.signature import signature_of\n"
        "def f(x: FLOAT['N', 3], axis: int = 1) -> FLOAT: ...\n"
        "signature_of(f)\n"
        "Opset('my.domain', 1)\n"
        "heavy = {'onnx', 'onnx_ir', 'onnxruntime', 'torch', 'ml_dtypes'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
