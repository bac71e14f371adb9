"""A model's metadata names files: which of them are read, and what becomes of text of a model."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser

import onnxwright as ow
from onnxwright.cli.main import main
from onnxwright.errors import OnnxwrightError
from onnxwright.testing import assert_isomorphic, diff

SECRET = "KEY = 'hunter2-hunter2'"
X = np.array([1.0, 2.0], np.float32)


def model(origin: str, ops: str = "h = Neg(x) y = Exp(h)") -> onnx.ModelProto:
    """A model whose nodes all name a place."""
    head = '<ir_version: 10, opset_import: ["" : 18]> g (float[N] x) => (float[N] y)'
    made = parser.parse_model(f"{head} {{ {ops} }}")
    for node in made.graph.node:
        node.metadata_props.add(key="onnxwright.origin", value=origin)
    return made


def everything(origin: str, folder: Path, **options: Any) -> str:
    """Every text in which a line of source could stand."""
    made, other = model(origin), model(origin, "h = Abs(x) y = Exp(h)")
    path = folder / "m.onnx"
    path.write_bytes(made.SerializeToString())
    run = ow.debug(made, [X], **options)
    texts = [str(run), run._repr_html_(), str(run.as_dicts()), *(r.source for r in run)]
    texts += [str(ow.first_divergence(made, other, [X], **options))]
    for bad in (model(origin, "h = Reshape(x, x) y = Exp(h)"), model(origin, "y = Nonsense(x)")):
        for call in (lambda m: ow.run_model(m, [X]), lambda m: ow.debug(m, [X], **options)):
            with pytest.raises(OnnxwrightError) as caught:
                call(bad)
            texts.append(str(caught.value))
    shown = ow.show(made, **options)
    texts += [
        str(shown),
        shown.html(),
        shown._repr_html_(),
        str(diff(made, other)),
        diff(made, other).html(),
    ]
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        main(["run", str(path), "--trace", "--random", "--dim", "N=2"])
        main(["show", str(path), "--html", str(folder / "page.html")])
    texts += [out.getvalue(), (folder / "page.html").read_text(encoding="utf-8")]
    return "\n".join(texts)


@pytest.fixture
def secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module of the user's with a key in it, imported in this process."""
    path = tmp_path / "ow_settings_for_test.py"
    path.write_text(SECRET + "\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    __import__("ow_settings_for_test")
    yield path  # type: ignore[misc]
    del sys.modules["ow_settings_for_test"]


@pytest.mark.parametrize("place", ["{path}:1:1", "{name}:1:1", "{path}:1:1-1:9", "./{name}:1:1"])
def test_no_line_of_a_file_that_a_model_names_is_shown(
    place: str, secret: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = everything(place.format(path=secret, name=secret.name), tmp_path)
    assert "hunter2" not in found
    assert secret.name in found


def test_the_system_and_linecache_are_not_read(tmp_path: Path) -> None:
    assert "root:" not in everything("/etc/passwd:1:1", tmp_path)
    assert "A model's metadata" not in everything(f"{__file__}:1:1", tmp_path)


@pytest.mark.parametrize("kind", ["fifo", "device", "folder"])
def test_what_is_not_a_file_does_not_hang(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.py"
    make: dict[str, Callable[[], Any]] = {
        "fifo": lambda: os.mkfifo(path),
        "device": lambda: path.symlink_to("/dev/zero"),
        "folder": path.mkdir,
    }
    make[kind]()
    everything(f"{path}:1:1", tmp_path)
    everything(f"{path}:1:1", tmp_path, sources=[path])


def test_lines_of_files_that_the_user_names_are_shown(secret: Path, tmp_path: Path) -> None:
    for sources in (secret, str(secret), [secret], tmp_path):
        run = ow.debug(model(f"{secret.name}:1:1"), [X], sources=sources)
        assert run.records[0].source == SECRET
    found = ow.first_divergence(
        model(f"{secret}:1:1"), model("b.py:1:1", "h = Abs(x) y = Exp(h)"), [X], sources=[secret]
    )
    assert SECRET in str(found)
    path = tmp_path / "m.onnx"
    path.write_bytes(model(f"{secret.name}:1:1").SerializeToString())
    out = io.StringIO()
    with redirect_stdout(out):
        main(["run", str(path), "--trace", "--random", "--dim", "N=2", "--sources", str(secret)])
    assert "hunter2" in out.getvalue()


@ow.script()
def compiled_here(x: ow.FLOAT["N"]) -> ow.FLOAT["N"]:  # type: ignore[name-defined]  # noqa: F821
    """A script of this file."""
    y = ow.opset18.Neg(x)  # this line is shown
    return y


def test_lines_of_what_this_process_compiled_are_shown() -> None:
    run = ow.debug(compiled_here.to_model_proto(), [X])
    assert "this line is shown" in run.records[0].source


HOSTILE = "\x1b[31mred\x1b]0;title\x07\u202etxt.exe\u2066\x9b2J\r\x08"


def named(name: str) -> onnx.ModelProto:
    """A model in which a name stands wherever text can."""
    made = model(f"{name}.py:1:1", "h = Neg(x) y = Exp(h)")
    graph = made.graph
    graph.name = made.doc_string = graph.doc_string = made.producer_name = name
    for node in graph.node:
        node.name = node.doc_string = name
        node.metadata_props.add(key=name, value=name)
    graph.node[0].output[0] = graph.node[1].input[0] = name
    graph.node[0].attribute.add(name=name, type=3, s=name.encode())
    graph.node[0].domain = name
    graph.input[0].type.tensor_type.shape.dim[0].dim_param = name
    graph.initializer.add(name=name + "w", data_type=8, dims=[1], string_data=[name.encode()])
    made.opset_import.add(domain=name, version=1)
    return made


def test_texts_of_a_model_are_cleaned(tmp_path: Path) -> None:
    made = named(HOSTILE)
    other = named(HOSTILE + "2")
    path = tmp_path / "m.onnx"
    path.write_bytes(made.SerializeToString())
    found = diff(made, other)
    texts = [str(found), found.brief(), found.summary(), found.html(), repr(found)]
    with pytest.raises(AssertionError) as caught:
        assert_isomorphic(made, other)
    texts.append(str(caught.value))
    shown = ow.show(made)
    texts += [str(shown), shown.html(), str(shown.summary), repr(shown)]
    for call in (
        lambda: ow.run_model(made, [X]),
        lambda: ow.debug(made, [X]),
        lambda: ow.CompiledModel(made),
        lambda: ow.debug(made, [X], until=HOSTILE * 2),
        lambda: ow.debug(made, {HOSTILE * 2: X}),
        lambda: ow.run_model(named("a"), {HOSTILE: X}),
        lambda: ow.show(path.with_name(f"{HOSTILE}.onnx")),
    ):
        with pytest.raises(OnnxwrightError) as refused:
            call()
        texts.append(str(refused.value))
    plain = named(HOSTILE)
    plain.graph.node[0].domain = ""
    del plain.graph.node[0].attribute[:]
    twin = onnx.ModelProto()
    twin.CopyFrom(plain)
    twin.graph.node[0].op_type = "Abs"
    texts += [str(ow.debug(plain, [X])), ow.debug(plain, [X])._repr_html_()]
    texts += [str(ow.first_divergence(plain, twin, [X]))]
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        for command in ("show", "to-script", "run", "check"):
            main([command, str(path), *(["--random"] if command == "run" else [])])
        main(["diff", str(path), str(path)])
    texts.append(out.getvalue())
    for text in texts:
        bad = {c for c in text if not (c.isprintable() or c in "\n\t")}
        assert not bad, text
