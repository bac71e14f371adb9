"""Cases that only repeat lines of others are slow: how they are found, and the list."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.harness.blocks import marked
from tools import repeats
from tools.repeats import Measured

PROGRAM = """
def f(x):
    "What it does."
    if x:
        return [n for n in x]
    for n in (1, 2):
        x = x or n
    return x
"""


def test_every_block_of_a_function_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    code, count = marked(PROGRAM, "program.py", 0)
    flags = bytearray(count)
    monkeypatch.setattr("builtins.__blocks__", flags, raising=False)
    space: dict[str, Any] = {}
    exec(code, space)
    assert (list(flags), space["f"].__doc__) == ([0] * 5, "What it does.")
    assert space["f"]([3]) == [3]
    assert list(flags) == [1, 1, 0, 0, 0]
    assert space["f"](0) == 1
    assert list(flags) == [1] * 5


def measured(name: str, seconds: float, blocks: str, elsewhere: bool = False) -> Measured:
    return Measured(name, seconds, np.array([b == "1" for b in blocks]), elsewhere)


def test_a_case_is_left_out_if_others_run_its_blocks() -> None:
    table = [measured(f"t.py::t[{n}]", 1, blocks) for n, blocks in enumerate(("10", "11", "01"))]
    assert repeats.repeats(table, 0.5) == ["t.py::t[0]", "t.py::t[2]"]
    assert repeats.repeats(table, 2) == []
    single = [measured("t.py::one", 1, "1"), measured("t.py::other", 1, "1")]
    assert repeats.repeats(single, 0.5) == []
    processes = [measured(f"t.py::t[{n}]", 1, "1", elsewhere=True) for n in range(4)]
    assert repeats.repeats(processes, 0.5) == []


def test_a_quarter_of_a_table_stays() -> None:
    table = [measured(f"t.py::t[{n}]", 1, "1") for n in range(8)]
    others = [measured("t.py::other", 1, "1")]
    assert len(repeats.repeats([*table, *others], 0.5)) == 6
    kept = [f"t.py::t[{n}]" for n in range(2, 8)]
    assert repeats.repeats([*table[:2], *others], 0.5, kept) == []


def test_the_list_is_of_tests_that_exist() -> None:
    listed = repeats.LIST.read_text(encoding="utf-8").splitlines()
    assert listed == sorted(set(listed))
    assert [name for name in listed if not repeats.may_be_listed(name)] == []
    texts: dict[Path, str] = {}
    for name in listed:
        path, _, rest = name.partition("::")
        file = repeats.ROOT / path
        text = texts.setdefault(file, file.read_text(encoding="utf-8"))
        assert f"def {rest.partition('[')[0].rpartition('::')[2]}(" in text, name
