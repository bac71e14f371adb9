"""What the footgun tests share: run a script every way and compare; expect a located error."""

from __future__ import annotations

from collections.abc import Callable

import onnx
import pytest

from onnxwright.errors import ScriptError
from tests.footguns.agreement import check_agreement, check_refusal


@pytest.fixture
def agree() -> Callable[..., onnx.ModelProto]:
    """`agree(script, *inputs, expected)`: every way to run it gives `expected`."""
    return check_agreement


@pytest.fixture
def refused() -> Callable[..., ScriptError]:
    """`refused(script, code, words)`: compiling raises that message, with its place."""
    return check_refusal
