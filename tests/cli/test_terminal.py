"""The command in a pseudo-terminal: colour, a progress bar, no binary on the screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import parser

SCRIPT = "two scripts.py:model"


def test_colour_is_for_terminals(terminal: Any) -> None:
    status, seen = terminal("show", SCRIPT)
    assert status == 0
    assert "\x1b[1;36mRelu\x1b[0m" in seen
    status, seen = terminal("show", SCRIPT, NO_COLOR="1")
    assert "\x1b" not in seen
    status, seen = terminal("show", SCRIPT, "--color", "never")
    assert "\x1b" not in seen


def test_long_work_shows_how_far_it_is_and_clears_up(terminal: Any) -> None:
    status, seen = terminal("compare", SCRIPT, SCRIPT, "--random", "--runs", "4")
    assert status == 0
    assert "comparing [############" in seen
    assert "100%" in seen
    shown = seen.rsplit("\r\x1b[K", 1)
    assert "%" not in shown[1]
    assert "all outputs agree in 4 runs" in shown[1]


def test_no_binary_goes_to_a_terminal(terminal: Any) -> None:
    status, seen = terminal("compile", SCRIPT, "-o", "-")
    assert status == 2
    assert "the result is binary" in seen


def test_nobody_waits_for_a_pipe_that_is_not_there(terminal: Any) -> None:
    status, seen = terminal("show", "-")
    assert status == 2
    assert "standard input is a terminal" in seen


def test_a_mistake_in_a_terminal_is_coloured_and_short(terminal: Any) -> None:
    status, seen = terminal("compile", "two scripts.py:scale")
    assert status == 1
    assert "OW701" in seen
    assert "\x1b[" in seen
    assert "Traceback" not in seen


@pytest.mark.parametrize("arguments", [("a.onnx", "b.onnx")])
def test_a_difference_is_coloured(terminal: Any, folder: Path, arguments: tuple[str, ...]) -> None:
    text = '<ir_version: 10, opset_import: ["" : 18]> g (float[2] x) => (float[2] y) {y = %s(x)}'
    for name, op in zip(arguments, ("Relu", "Neg"), strict=True):
        onnx.save(parser.parse_model(text % op), folder / name)
    status, seen = terminal("diff", *arguments)
    assert status == 1
    assert "\x1b[31m" in seen
    assert "\x1b[32m" in seen
