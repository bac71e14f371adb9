"""`onnxwright migrate`: what is rewritten, what is left with a note, and what is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from onnxwright.cli.main import main
from onnxwright.cli.migrate.migration import migrate, to_annotated, to_brackets
from tests.harness.tables import each

REWRITTEN = {
    "from onnxscript import script, FLOAT\n": "from onnxwright import script, FLOAT\n",
    "from onnxscript.onnx_opset import opset15 as op\n": (
        "from onnxwright.onnx_opset import opset15 as op\n"
    ),
    "import onnxscript\n\n@onnxscript.script()\ndef f(x):\n    return x\n": (
        "import onnxwright\n\n@onnxwright.script()\ndef f(x):\n    return x\n"
    ),
    "import onnxscript as oxs\noxs.script\n": "import onnxwright as oxs\noxs.script\n",
    "import onnxscript.testing\nonnxscript.testing.assert_isomorphic\n": (
        "import onnxwright.testing\nonnxwright.testing.assert_isomorphic\n"
    ),
    "é = 1; from onnxscript import script\n": "é = 1; from onnxwright import script\n",
    "def f():\n    from onnxscript import (\n        script,\n    )\n": (
        "def f():\n    from onnxwright import (\n        script,\n    )\n"
    ),
    "x = 'onnxscript'  # onnxscript\n": "x = 'onnxscript'  # onnxscript\n",
}
TORCH = {
    '"""Doc."""\nimport torch\n\ntorch.onnx.export(m, (x,), "m.onnx", opset_version=18)\n': (
        '"""Doc."""\nimport torch\nfrom onnxwright import torch_onnx\n\n'
        'torch_onnx.export(m, (x,), "m.onnx", opset_version=18)\n'
    ),
    "from torch.onnx import export\n": "from onnxwright.torch_onnx import export\n",
}
NOTED = {
    "from onnxscript.rewriter import pattern\n": (1, "onnxwright.rewrite"),
    "import onnxscript.optimizer\n": (1, "onnxwright.optimize"),
    "import onnxscript\n\nonnxscript.version_converter\n": (3, "convert_version"),
    "from onnxscript import script\n\ndef f(x, y):\n    return x % y\n": (4, "op.Mod(fmod=1)"),
    "from onnxscript import no_such_name\n": (1, "no counterpart"),
}


@each("text", REWRITTEN)
def test_imports_of_onnxscript_are_rewritten(text: str) -> None:
    assert migrate(text).text == REWRITTEN[text]
    assert migrate(migrate(text).text).text == REWRITTEN[text]


@pytest.mark.parametrize("text", TORCH)
def test_exports_of_torch_onnx_are_rewritten(text: str) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    assert migrate(text).text == TORCH[text]


@each("text", NOTED)
def test_what_is_different_has_a_note(text: str) -> None:
    line, words = NOTED[text]
    notes = migrate(text).notes
    assert [n.line for n in notes] == [line]
    assert words in notes[0].text


def test_torch_onnx_without_a_counterpart_has_a_note() -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    migrated = migrate("import torch\ntorch.onnx.symbolic_opset9.relu(g, x)\n")
    assert [n.line for n in migrated.notes] == [2]
    assert "custom_translation_table" in migrated.notes[0].text


def test_a_file_is_changed_only_when_asked(tmp_path, capsys) -> None:
    path = tmp_path / "model.py"
    path.write_text("from onnxscript import script\n")
    assert main(["migrate", str(path)]) == 1
    assert main(["migrate", str(path), "--diff"]) == 0
    assert "+from onnxwright import script" in capsys.readouterr().out
    assert path.read_text() == "from onnxscript import script\n"
    assert main(["migrate", str(path), "--write"]) == 0
    assert path.read_text() == "from onnxwright import script\n"
    assert main(["migrate", str(path)]) == 0
    path.write_text("def broken(:\n")
    assert main(["migrate", str(path)]) == 2


@each(
    ("text", "expected"),
    [
        (
            "import torch.onnx as tonnx\ntonnx.export(m, (x,), 'm.onnx')\n",
            "import onnxwright.torch_onnx as tonnx\ntonnx.export(m, (x,), 'm.onnx')\n",
        ),
        (
            "from torch import onnx\nonnx.export(m, (x,), 'm.onnx')\n",
            "from onnxwright import torch_onnx as onnx\nonnx.export(m, (x,), 'm.onnx')\n",
        ),
        (
            "from torch import onnx as o\no.export(m, (x,))\n",
            "from onnxwright import torch_onnx as o\no.export(m, (x,))\n",
        ),
        (
            "import torch as th\nth.onnx.export(m, (x,))\nimport onnx\n",
            (
                "import torch as th\nfrom onnxwright import torch_onnx\n"
                "torch_onnx.export(m, (x,))\nimport onnx\n"
            ),
        ),
        (
            "from torch.onnx.utils import export\n",
            "from onnxwright.torch_onnx.utils import export\n",
        ),
        (
            "import torch.onnx.symbolic_helper as sym\nsym.parse_args('v')\n",
            "import onnxwright.torch_onnx.symbolic_helper as sym\nsym.parse_args('v')\n",
        ),
        (
            "import torch\nt = torch\nt.onnx.export(m, (x,))\n",
            (
                "import torch\nfrom onnxwright import torch_onnx\nt = torch\n"
                "torch_onnx.export(m, (x,))\n"
            ),
        ),
        (
            "import torch as th\ndef f():\n  a = b = th\n  if o := b.onnx:\n    o.export(m)\n",
            (
                "import torch as th\nfrom onnxwright import torch_onnx\ndef f():\n  a = b = th\n"
                "  if o := torch_onnx:\n    o.export(m)\n"
            ),
        ),
    ],
)
def test_torch_onnx_under_another_name(text: str, expected: str) -> None:
    assert migrate(text).text == expected


def test_other_names_of_torch_onnx_without_a_counterpart() -> None:
    text = "import torch.onnx as t\nt.JitScalarType.from_value(x)\n"
    migrated = migrate(text)
    assert migrated.text == text
    assert [(note.line, "JitScalarType" in note.text) for note in migrated.notes] == [(2, True)]
    migrated = migrate("import torch\no = torch.onnx\no.export(m)\no.JitScalarType.from_value(x)\n")
    assert "o = torch.onnx\ntorch_onnx.export(m)\no.JitScalarType" in migrated.text
    assert [note.line for note in migrated.notes] == [4]


FILES = Path(__file__).parent / "migrate"


@pytest.mark.parametrize(
    "name", sorted(p.name for p in FILES.glob("*.py") if not p.name.endswith(".migrated.py"))
)
def test_a_whole_file(name: str) -> None:
    """`x.py` becomes `x.migrated.py`; the lines `# line: text` at its end are the notes."""
    pytest.importorskip("torch", reason="torch is not installed")
    migrated = migrate((FILES / name).read_text(encoding="utf-8"))
    said = "".join(f"# {n.line}: {n.text}\n" for n in migrated.notes)
    expected = (FILES / name).with_suffix(".migrated.py").read_text(encoding="utf-8")
    assert migrated.text + said == expected
    compile(migrated.text, name, "exec")
    assert migrate(migrated.text).text == migrated.text


@pytest.mark.parametrize("encoding", ["utf-8-sig", "latin-1", "utf-8"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_encoding_and_line_ends_stay(encoding: str, newline: str, tmp_path: Path) -> None:
    lines = [
        f"# -*- coding: {encoding} -*-" if encoding == "latin-1" else "#!/usr/bin/env python",
        "from torch import nn, onnx",
        "s = '\xe9'",
        "from onnxscript import ir, script",
        "",
    ]
    path = tmp_path / "model.py"
    path.write_bytes(newline.join(lines).encode(encoding))
    assert main(["migrate", str(path), "--write"]) == 0
    expected = [
        lines[0],
        "from onnxwright import torch_onnx as onnx",
        "from torch import nn",
        lines[2],
        "import onnx_ir as ir",
        "from onnxwright import script",
        "",
    ]
    assert path.read_bytes() == newline.join(expected).encode(encoding)


HEAD = "import onnxwright as ow\nfrom onnxwright import FLOAT, Tensor\n"
# Short form -> long form; `Shape` where the words would not be read as dimensions.
LONG_FORMS = {
    'FLOAT["N", 3]': 'Annotated[FLOAT, "N", 3]',
    "FLOAT[6]": "Annotated[FLOAT, 6]",
    'ow.INT64["2*N + 1", None] | None': 'Annotated[ow.INT64, "2*N + 1", None] | None',
    "list[tuple[FLOAT[1], Tensor[2]]]": "list[tuple[Annotated[FLOAT, 1], Annotated[Tensor, 2]]]",
    "FLOAT[\n    'N',  # rows\n    3,\n]": "Annotated[FLOAT,\n    'N',  # rows\n    3,\n]",
    "FLOAT[()]": "Annotated[FLOAT, Shape[()]]",
    "FLOAT[SIZE, 3]": "Annotated[FLOAT, Shape[SIZE, 3]]",
    'FLOAT["batch size"]': 'Annotated[FLOAT, Shape["batch size"]]',
    "ow.FLOAT[()]": "Annotated[ow.FLOAT, ow.Shape[()]]",
}


@each("short", LONG_FORMS)
@each("program", ["def f(x: {}): ...\n", "def f() -> {}: ...\n", "x: {} = y\n", "I = {}\nx: I\n"])
def test_annotations_are_written_in_the_long_form_and_back(short: str, program: str) -> None:
    before = HEAD + program.format(short)
    annotated = to_annotated(before)
    assert program.format(LONG_FORMS[short]) in annotated.text
    assert "from typing import Annotated\n" in annotated.text
    assert ("from onnxwright import Shape" in annotated.text) is (" Shape[" in LONG_FORMS[short])
    assert annotated.notes == ()
    assert to_annotated(annotated.text).text == annotated.text
    assert to_brackets(annotated.text).text == before


def test_both_forms_mean_the_same() -> None:
    from onnxwright.types.signature import signature_of

    text = HEAD + "SIZE = 4\ndef f(" + "".join(f"p{n}: {k}, " for n, k in enumerate(LONG_FORMS))
    text = text.replace('"batch size"', '"batch"') + ") -> None: ...\n"
    spaces: list[dict[str, Any]] = [{}, {}]
    for space, program in zip(spaces, (text, to_annotated(text).text), strict=True):
        exec(program, space)
    short, long = (str(signature_of(space["f"])) for space in spaces)
    assert short == long


@each(
    ("short", "long"),
    [
        ("FLOAT[...]", "FLOAT"),
        ('FLOAT[("N", 3)]', 't.Annotated[FLOAT, "N", 3]'),
        ('t.Annotated[FLOAT["N"], "the rows"]', 't.Annotated[FLOAT, Shape["N"], "the rows"]'),
    ],
)
def test_annotations_that_change_otherwise(short: str, long: str) -> None:
    annotated = to_annotated(f"import typing as t\n{HEAD}def f(x: {short}): ...\n")
    assert f"def f(x: {long}): ..." in annotated.text


def test_what_is_no_annotation_stays() -> None:
    text = HEAD + 'y = op.Cast(x, to=FLOAT["N"])\ng.input("x", FLOAT["N", 3])\n'
    assert to_annotated(text).text == text
    text = "from other import FLOAT\n" + 'def f(x: FLOAT["N"]): ...\n'
    assert to_annotated(text).text == text


def test_descriptions_and_quotes_have_a_note() -> None:
    annotated = to_annotated(HEAD + "def f(x: \"FLOAT['N']\"): ...\n")
    assert [(n.line, "in quotes" in n.text) for n in annotated.notes] == [(3, True)]
    text = (
        HEAD + "from typing import Annotated\n" + 'def f(x: Annotated[FLOAT, "N", "the rows"]): ...'
    )
    assert to_brackets(text).text == text
    assert [n.line for n in to_brackets(text).notes] == [4]


def test_the_command_writes_either_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.py"
    before = HEAD + 'def f(x: FLOAT["N"]): ...\n'
    path.write_text(before)
    assert main(["migrate", str(path), "--annotated"]) == 1
    assert main(["migrate", str(path), "--annotated", "--write"]) == 0
    assert 'x: Annotated[FLOAT, "N"]' in path.read_text()
    assert main(["migrate", str(path), "--brackets", "--write"]) == 0
    assert path.read_text() == before
    with pytest.raises(SystemExit):
        main(["migrate", str(path), "--brackets", "--annotated"])
