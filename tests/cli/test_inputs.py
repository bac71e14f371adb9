"""Inputs of every type from the command line and from files, and outputs of every type."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

from onnxwright.cli.main import main

HEAD = '<ir_version: 10, opset_import: ["" : 18, "ai.onnx.ml" : 3]> g '
MODELS = {
    "sequence": "(seq(float[N]) s, int64 i) => (float[N] y, seq(float[N]) r) "
    "{ y = SequenceAt(s, i) r = Identity(s) }",
    "optional": "(optional(float[N]) o) => (bool y) { y = OptionalHasElement(o) }",
    "map": "(map(string, float) m) => (float[1, 3] y) "
    '{ y = ai.onnx.ml.DictVectorizer<string_vocabulary = ["a", "b", "c"]>(m) }',
    "maps": "(float[N, 2] x) => (seq(map(int64, float)) y) "
    "{ y = ai.onnx.ml.ZipMap<classlabels_int64s = [5, 7]>(x) }",
    "names": "(float[N] self, float[2] cls) => (float[N] y) { y = Add(self, cls) }",
    "default": "(float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Mul(x, w) }",
    "bytes": "(uint8[2] x) => (uint8[2] y) { y = Identity(x) }",
    "strings": "(string[N] x) => (string[N] y) { y = Identity(x) }",
    "brain": "(bfloat16[2] x) => (bfloat16[2] y) { y = Identity(x) }",
}


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in MODELS.items():
        onnx.save(parser.parse_model(HEAD + text), tmp_path / f"{name}.onnx")
    two = [np.ones(2, np.float32), np.zeros(3, np.float32)]
    (tmp_path / "s.pb").write_bytes(numpy_helper.from_list(two, "s").SerializeToString())
    np.savez(tmp_path / "s.npz", *two)
    optional = numpy_helper.from_optional(two[0], "o")
    (tmp_path / "o.pb").write_bytes(optional.SerializeToString())
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Command line after `run` -> what is printed.
CASES = [
    (["sequence.onnx", "--inputs", "s=[[1, 2], [3]]", "i=1"],
     ("y: FLOAT[1] = [3.]\nr: Sequence[FLOAT] of 2 =\n  [0]: FLOAT[2] = [1. 2.]\n"
     "  [1]: FLOAT[1] = [3.]\n")),
    (["sequence.onnx", "--inputs", "s=s.pb", "i=0"], "y: FLOAT[2] = [1. 1.]\n"),
    (["sequence.onnx", "--inputs", "s.pb", "i=0"], "y: FLOAT[2] = [1. 1.]\n"),
    (["sequence.onnx", "--inputs", "s=s.npz", "i=1"], "y: FLOAT[3] = [0. 0. 0.]\n"),
    (["sequence.onnx", "--random"], "r: Sequence[FLOAT] of 2 ="),
    (["optional.onnx", "--inputs", "o=null"], "y: BOOL[()] = False\n"),
    (["optional.onnx", "--inputs", "o=[1]"], "y: BOOL[()] = True\n"),
    (["optional.onnx", "--inputs", "o=o.pb"], "y: BOOL[()] = True\n"),
    (["optional.onnx"], "y: BOOL[()] = False\n"),
    (["map.onnx", "--inputs", 'm={"a": 1, "c": 3}'], "y: FLOAT[1, 3] = [[1. 0. 3.]]\n"),
    (["maps.onnx", "--inputs", "x=[[1, 2]]"], "{5: 1.0, 7: 2.0}"),
    (["names.onnx", "--inputs", "self=[1, 2]", "cls=[3, 4]"], "y: FLOAT[2] = [4. 6.]\n"),
    (["default.onnx", "--inputs", "x=[1, 1]", "w=[5, 6]"], "y: FLOAT[2] = [5. 6.]\n"),
    (["default.onnx", "--inputs", "x=[1, 1]"], "y: FLOAT[2] = [1. 2.]\n"),
    (["strings.onnx", "--inputs", 'x=["a", "b"]'], "y: STRING[2] = ['a' 'b']\n"),
    (["brain.onnx", "--inputs", "x=[1.5, 2]"], "y: BFLOAT16[2] = [1.5 2]\n"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda c: " ".join(c[0]))
def test_values_of_every_type_go_in_and_out(
    models: Path, case: tuple[list[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, shown = case
    status = main(["run", *arguments])
    out, err = capsys.readouterr()
    assert status == 0, err
    assert shown in out


WRONG = [
    (["sequence.onnx", "--inputs", "s=3", "i=0"], "is written as a list of its elements"),
    (["map.onnx", "--inputs", "m=[1]"], "is written as an object"),
    (["map.onnx", "--random"], "no value for m: no Map[STRING, FLOAT[()]] is drawn"),
    (["bytes.onnx", "--inputs", "x=[1, 300]"], "out of bounds for uint8"),
    (["bytes.onnx", "--inputs", "x=[1, -2]"], "out of bounds for uint8"),
    (["bytes.onnx", "--inputs", "x=[1, 1.5]"], "a number is not whole"),
    (["bytes.onnx", "--inputs", "x=[[1], [1, 2]]"], "x=[[1], [1, 2]]: "),
    (["bytes.onnx", "--inputs", "x=[1, 2]", "x=[3, 4]"], "x is given twice"),
    (["bytes.onnx", "--inputs", "x=s.npz"], "give it without a name"),
]  # fmt: skip


@pytest.mark.parametrize("case", WRONG, ids=lambda c: " ".join(c[0]))
def test_a_value_that_does_not_fit_is_told(
    models: Path, case: tuple[list[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, words = case
    status = main(["run", *arguments])
    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert words in err


def test_sequences_and_maps_are_json(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*arguments: str) -> Any:
        assert main(["run", *arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out)["outputs"]

    outputs = run("sequence.onnx", "--inputs", "s=[[1, 2], [3]]", "i=1")
    assert [item["data"] for item in outputs["r"]["items"]] == [[1, 2], [3]]
    outputs = run("maps.onnx", "--inputs", "x=[[1, 2]]")
    assert outputs["y"]["items"][0]["data"] == {"5": 1.0, "7": 2.0}
    outputs = run("brain.onnx", "--inputs", "x=[1.5, 2]")
    assert outputs["y"]["data"] == [1.5, 2.0]
