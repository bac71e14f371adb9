"""What is not a model is named by what it is; so are data files that are not there."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser

import onnxwright as ow
from onnxwright.errors import ModelError, ModelNotFoundError
from tests.harness.tables import check_rows

TEXT = '<ir_version: 8, opset_import: ["" : 18]>\ng (float[3] x) => (float[3] y) { y = Relu(x) }\n'
MODEL = parser.parse_model(TEXT)
DATA = MODEL.SerializeToString()


def _npz() -> bytes:
    file = io.BytesIO()
    np.savez(file, a=np.ones(3))
    return file.getvalue()


# What a file that ends in .onnx holds, and words of the message.
FILES: dict[str, tuple[bytes, str]] = {
    "gzip": (gzip.compress(DATA), "compressed with gzip: decompress it first"),
    "bzip2": (bz2.compress(DATA), "compressed with bzip2"),
    "xz": (lzma.compress(DATA), "compressed with xz"),
    "npz": (_npz(), "a zip archive"),
    "safetensors": (b'\x0a\0\0\0\0\0\0\0{"a":1}   ' + b"\0" * 4, "a safetensors file"),
    "LFS": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "`git lfs pull`"),
    "page": (b"\n<!DOCTYPE html><html></html>", "it is a web page"),
    "text": (TEXT.encode(), "let the name of its file end in .onnxtxt"),
    "textproto": (b"ir_version: 8\ngraph {}", "let the name of its file end in .textproto"),
    "JSON": (b'{\n "irVersion": "8"}', "let the name of its file end in .json"),
    "cut": (DATA[:-3], f"its {len(DATA) - 3} bytes are damaged"),
    "nothing": (b"", "it is empty"),
}


def test_files_are_recognized(tmp_path: Path) -> None:
    def check(name: str) -> None:
        content, words = FILES[name]
        path = tmp_path / "model.onnx"
        path.write_bytes(content)
        for source in (path, content, io.BytesIO(content)):
            with pytest.raises(ModelError, match="OW741") as caught:
                ow.load(source)
            assert words in str(caught.value)

    check_rows(FILES, check)


def test_text_and_addresses_are_not_paths(tmp_path: Path) -> None:
    for source, words in (
        (TEXT, "it is text, not a path"),
        ("https://example.com/model.onnx", "it is an address"),
    ):
        with pytest.raises(ModelNotFoundError) as caught:
            ow.load(source)
        assert words in str(caught.value)
    (tmp_path / "model.onnxtxt").write_text(TEXT, encoding="utf-8")
    assert [node.op_type for node in ow.load(tmp_path / "model.onnxtxt").graph] == ["Relu"]


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(DATA)
    with path.open("rb") as file:
        pass
    with pytest.raises(ModelError, match="closed file"):
        ow.load(file)
    with path.open("ab") as file, pytest.raises(ModelError, match="given file is not an ONNX"):
        ow.load(file)


def _classes(package: str, name: str) -> Any:
    """An object of a class of another library, without the library."""
    return type(name, (), {"__module__": f"{package}.inner"})()


@pytest.mark.parametrize(
    ("package", "name", "words"),
    [
        ("torch", "Module", r"`onnxwright\.export\(module, example_inputs\)`"),
        ("torch", "ExportedProgram", r"`onnxwright\.export\(program\)`"),
        ("onnxruntime", "InferenceSession", "the model that the session was made from"),
    ],
)
def test_objects_of_other_libraries(package: str, name: str, words: str) -> None:
    with pytest.raises(ow.errors.ModelTypeError, match=words):
        ow.load(_classes(package, name))


def test_data_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes do not say where their data files are: the message does, in runs and in saves."""
    model = parser.parse_model(TEXT.replace("Relu(x)", "Add(x, w)"))
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(3, np.float32), "w"))
    folder, elsewhere = tmp_path / "folder", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    onnx.save(model, folder / "m.onnx", save_as_external_data=True, location="w", size_threshold=0)
    monkeypatch.chdir(elsewhere)
    data = (folder / "m.onnx").read_bytes()
    x = np.zeros(3, np.float32)
    for use in (
        lambda: ow.run_model(data, [x]),
        lambda: ow.save(data, folder / "n.onnx"),
        lambda: ow.save(data, elsewhere / "n.json"),
    ):
        with pytest.raises(ModelError, match="OW743") as caught:
            use()
        assert "looked for in the current directory" in str(caught.value)
    assert list(elsewhere.iterdir()) == []
    assert ow.run_model(folder / "m.onnx", [x])[0].tolist() == [1, 1, 1]
