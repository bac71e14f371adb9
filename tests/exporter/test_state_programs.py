"""Programs that keep state: never silently wrong; after an export the process is as it was."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import onnxwright as ow
from onnxwright.exporter.capture.control.settings import SETTINGS
from tests.exporter import state_programs
from tests.exporter.state_programs import PROGRAMS
from tests.harness.modules import module_with

POSITIVE, NEGATIVE = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([-4.0, -5.0, 1.0])
CALLS = [POSITIVE, NEGATIVE, POSITIVE * 2, NEGATIVE, POSITIVE]


def is_same(one: Any, two: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return type(one) is type(two) and torch.equal(one, two)
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, two))
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(is_same(v, two[k]) for k, v in one.items())
    if isinstance(one, (list, tuple)):
        return len(one) == len(two) and all(map(is_same, one, two))
    return type(one) is type(two) and bool(one == two)


def _run(module: Any, x: Any) -> Any:
    with torch.no_grad():
        return module(x.clone()).clone()


def _wanted(name: str) -> tuple[list[Any], list[Any]]:
    """What several calls give, and what each call gives of the first state."""
    make = PROGRAMS[name].make
    fresh = []
    for x in CALLS:
        state_programs.reset()
        fresh.append(_run(make()[0], x))
    state_programs.reset()
    module = make()[0]
    return [_run(module, x) for x in CALLS], fresh


def outcome_of(program: Any, name: str, texts: list[str]) -> str:
    calls, fresh = _wanted(name)
    given = [torch.as_tensor(np.asarray(program(x))) for x in CALLS[:1]]
    given += [torch.as_tensor(np.asarray(program(x))) for x in CALLS[1:]]
    if any("OW839" in text for text in texts):
        matches = all(map(torch.allclose, given, fresh)) or all(map(torch.allclose, given, calls))
        return "reported" if matches else "wrong"
    if any(str(output.name).endswith(".new") for output in program.model.graph.outputs):
        return "output" if all(map(torch.allclose, given, fresh)) else "silently wrong"
    return "right" if all(map(torch.allclose, given, calls)) else "silently wrong"


@pytest.mark.parametrize("name", PROGRAMS)
def test_state_is_right_or_reported_or_refused(name: str) -> None:
    state_programs.reset()
    module, look = PROGRAMS[name].make()
    before = look()
    program = None
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            program = ow.export(module, (POSITIVE.clone(),))
        except ow.OnnxwrightError as error:
            outcome = error.diagnostic.code
    assert is_same(look(), before), "the export changed the state"
    # The next call is the first one.
    given = _run(module, POSITIVE)
    state_programs.reset()
    torch.testing.assert_close(given, _run(PROGRAMS[name].make()[0], POSITIVE))
    texts = [str(w.message) for w in found]
    assert not any("assigned during export" in text for text in texts), "OW839 has its line"
    if program is not None:
        outcome = outcome_of(program, name, texts)
    assert outcome == PROGRAMS[name].outcome


@module_with(lambda inner, error: {"inner": inner, "error": error})
def _Interrupted(self, x: Any) -> Any:
    self.inner(x)
    raise self.error


@pytest.mark.share(4)
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_process_is_as_before_after_an_export_that_failed(
    name: str, error: type[BaseException]
) -> None:
    state_programs.reset()
    module, look = PROGRAMS[name].make()
    before, forwards = look(), torch.nn.Module._call_impl
    with pytest.raises((error, ow.OnnxwrightError)):
        ow.export(_Interrupted(module, error), (POSITIVE.clone(),))
    assert is_same(look(), before)
    assert torch.nn.Module._call_impl is forwards


COUNTS = {"steps": 0}


def test_what_another_thread_writes_is_left_alone() -> None:
    stop = threading.Event()
    log: list[int] = []

    def work() -> None:
        while not stop.is_set():
            COUNTS["steps"] += 1
            log.append(COUNTS["steps"])
            stop.wait(0.0002)

    COUNTS["steps"] = 0
    thread = threading.Thread(target=work)
    thread.start()
    try:
        ow.export(state_programs.Decides(torch.relu), (POSITIVE,))
    finally:
        stop.set()
        thread.join()
    assert COUNTS["steps"] == len(log)
    assert log == list(range(1, len(log) + 1))


class ChangesSettings(torch.nn.Module):  # type: ignore[misc]
    def forward(self, x: Any) -> Any:
        torch.set_default_dtype(torch.float64)
        torch.set_num_threads(torch.get_num_threads() + 1)
        torch.use_deterministic_algorithms(mode=True)
        sys.setrecursionlimit(sys.getrecursionlimit() + 1)
        os.chdir(tempfile.gettempdir())
        return x * 2


def test_settings_of_the_process_are_as_before() -> None:
    before = [setting.read() for setting in SETTINGS]
    with pytest.warns(ow.OnnxwrightWarning, match="OW839.*the default dtype"):
        ow.export(ChangesSettings(), (POSITIVE,))
    assert [setting.read() for setting in SETTINGS] == before


# -- tensors that stand for those of a module ------------------------------------------------------


def _marked() -> dict[str, Any]:
    weight, buffer = torch.nn.Parameter(torch.ones(3)), torch.nn.Buffer(torch.ones(3))
    weight.scale, buffer.scale = 3.0, 4.0
    part, other = torch.nn.Tanh(), torch.nn.ReLU()  # with two names, and with one
    return {"w": weight, "b": buffer, "kept": [weight], "sizes": {weight: 5.0},
            "one": part, "two": part, "other": other}  # fmt: skip


STAND_INS: dict[str, Any] = {
    "attribute": lambda m, x: x * m.w.scale + m.b.scale,
    "getattr": lambda m, x: x * getattr(m.w, "scale", 1.0) + getattr(m.b, "other", 2.0),
    "hasattr": lambda m, x: x * (2 if hasattr(m.w, "scale") else 3) + hasattr(m.w, "other"),
    "type": lambda m, x: x * (2 if type(x) is torch.Tensor else 3) + (type(m.w) is type(m.kept[0])),
    "class": lambda m, x: x * (2 if m.w.__class__ is torch.nn.Parameter else 3),
    "identity": lambda m, x: x * (2 if m.w is m.kept[0] else 3) + (m.b is m.kept[0]),
    "id": lambda m, x: x * (2 if id(m.w) == id(m.kept[0]) else 3),
    "part": lambda m, x: m.one(x) * (2 if m.one is m.two else 3) + (4 if m.one is m.other else 5),
    "class of a part": lambda m, x: m.one(x) * (2 if type(m.other) is torch.nn.ReLU else 3),
    "parts": lambda m, x: m.one(x) * (2 if m.two in [m.other, m.one] else 3),
    "key": lambda m, x: x * m.sizes.get(m.w, 1.0) + (6 if m.w in m.sizes else 7),
}


@pytest.mark.parametrize("name", STAND_INS)
def test_parameters_are_to_the_program_what_they_are_outside_of_a_capture(name: str) -> None:
    module = module_with(_marked)(lambda self, x: STAND_INS[name](self, x))()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ow.OnnxwrightWarning)
        program = ow.export(module, (POSITIVE,))
    torch.testing.assert_close(program(NEGATIVE), module(NEGATIVE))
