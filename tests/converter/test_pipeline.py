"""The visible list of stages names what is there."""

from __future__ import annotations

import importlib

from onnxwright.converter.pipeline import STAGES
from tests.harness.tables import each


@each("name", [name for name, _, _ in STAGES])
def test_a_stage_is_a_function_of_its_name_in_its_room(name: str) -> None:
    """`normalize.single_exit` is a function in the room of that name, or in the room before it."""
    home = "onnxwright" if name.startswith("ir.") else "onnxwright.converter"
    room, _, function = name.rpartition(".")
    places = [f"{home}.{name}", f"{home}.{room}" if room else home]
    modules = [m for m in map(_module, places) if m is not None]
    names = {function, f"{function}_function"}
    assert any(callable(getattr(m, w, None)) for m in modules for w in names), name


def _module(name: str) -> object | None:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None
