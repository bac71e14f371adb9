"""What a module holds beside its buffers: reported, and as it was when the export has ended."""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import gc
import os
import random
import secrets
import threading
import time
import types
import uuid
import warnings
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch

import onnxwright as ow
from onnxwright.exporter.capture.control.held_state import run_unchanged
from tests.exporter import state_programs
from tests.harness.modules import module_with


@module_with(lambda: {"n": 0})
def _Attribute(self, x: Any) -> Any:
    self.n += 1
    return x + self.n


class _Class(torch.nn.Module):  # type: ignore[misc]
    k = 1.5

    def forward(self, x: Any) -> Any:
        type(self).k *= 2
        return x + self.k


@module_with(lambda: {"counts": {"n": 3}, "last": [5]})
def _Items(self, x: Any) -> Any:
    self.counts["n"] -= 1
    self.last[0] += 1
    return x * self.counts["n"] + self.last[0]


@module_with(lambda: {"inner": _Attribute(), "first": True})
def _First(self, x: Any) -> Any:
    if self.first:
        self.first = False
        return self.inner(x)
    return x


class _Objects(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.obj = types.SimpleNamespace(c=0, inner=types.SimpleNamespace(k=1.5))
        self.all = [types.SimpleNamespace(n=7)]
        self.obj.itself = self.obj

    def forward(self, x: Any) -> Any:
        self.obj.c += 1
        self.obj.inner.k *= 2
        self.all[0].n -= 1
        return x * self.obj.c + self.obj.inner.k + self.all[0].n


def _counter() -> Any:
    n = 0

    def count(x: Any) -> Any:
        nonlocal n
        n += 1
        return x * n

    return count


COUNTED = {
    "attribute": (_Attribute, ["`n` from 0 to 1"]),
    "class": (_Class, ["`_Class.k` from 1.5 to 3.0"]),
    "items": (_Items, ["`counts['n']` from 3 to 2", "`last[0]` from 5 to 6"]),
    "plain objects": (
        _Objects,
        ["`obj.c` from 0 to 1", "`obj.inner.k` from 1.5 to 3.0", "`all[0].n` from 7 to 6"],
    ),
    "first call": (_First, ["`first` from True to False", "`inner.n` from 0 to 1"]),
    "nonlocal": (_counter, ["`n` from 0 to 1"]),
}


@pytest.mark.parametrize("name", COUNTED)
def test_numbers_that_are_counted_up_are_reported(name: str) -> None:
    make, wanted = COUNTED[name]
    x = torch.ones(2)
    module, other = make(), make()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        program = ow.export(module, (x,), verify=True)
    texts = [str(w.message) for w in found if "OW839" in str(w.message)]
    assert len(texts) == len(wanted)
    assert all(any(w in text for text in texts) for w in wanted)
    # The module is as it was: its first run is the one of a module that was not exported.
    torch.testing.assert_close(program(x), other(x))
    if name != "class":
        torch.testing.assert_close(program(x), module(x))


@module_with(lambda: {"n": torch.zeros(1)})
def _Tensor(self, x: Any) -> Any:
    self.n.add_(1)
    return x + self.n


@module_with(lambda: {"state": types.SimpleNamespace(n=torch.zeros(1))})
def _Nested(self, x: Any) -> Any:
    self.state.n.add_(1)
    return x + self.state.n


class _Registered(_Nested):
    """The tensor is a buffer, and is written by its other name."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("n", self.state.n)


class _BothNames(_Registered):
    def forward(self, x: Any) -> Any:
        self.state.n.view(1)[0] += x[0]
        self.n.mul_(2)
        return x + self.n + self.state.n


class _Rows(_Nested):
    """More than one element, written in place by its other name."""

    def __init__(self) -> None:
        super().__init__()
        self.state.n = torch.zeros(3, 2)
        self.register_buffer("rows", self.state.n)

    def forward(self, x: Any) -> Any:
        self.state.n.index_copy_(0, torch.tensor([1]), x)
        return self.rows * 2


class _Table(_Tensor):
    """More than one element, and not a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.n = torch.arange(6.0).reshape(3, 2)[1:]


HELD = {
    "table": (_Table, (1, 2)),
    "attribute": (_Tensor, (1,)),
    "nested": (_Nested, (1,)),
    "registered": (_Registered, (1,)),
    "both names": (_BothNames, (1,)),
    "rows": (_Rows, (1, 2)),
}


@pytest.mark.parametrize("name", HELD)
def test_a_tensor_that_is_written_begins_as_the_module_has_it(name: str) -> None:
    make, shape = HELD[name]
    x, module = torch.ones(shape), make()
    program = ow.export(module, (x,), verify=True)
    assert len(program.model.graph.outputs) == 2
    torch.testing.assert_close(program(x), make()(x))
    torch.testing.assert_close(program(x), module(x))


class _Wide(torch.nn.Module):  # type: ignore[misc]
    def forward(self, x: Any) -> Any:
        return x - x.mean(0)


@module_with(lambda: {"kind": "blocks", "layer": torch.nn.Identity()})
def _Switching(self, x: Any) -> Any:
    """As BigBird: short inputs replace a module in it, and a text says so."""
    if self.kind == "blocks" and x.shape[0] <= 8:
        self.kind, self.layer = "full", _Wide()
    return self.layer(x)


def test_texts_and_modules_that_are_replaced_are_reported_and_put_back() -> None:
    module = _Switching()
    inner = torch.nn.Sequential(module)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        program = ow.export(inner, (torch.rand(4, 2),), dynamic_shapes=({0: "n"},), verify=True)
    texts = [str(w.message) for w in found]
    assert sum("OW839" in t for t in texts) == 2
    assert any("`0.kind` from 'blocks' to 'full'" in t for t in texts)
    assert any("`0.layer` from Identity to _Wide" in t for t in texts)
    assert module.kind == "blocks"
    assert type(module.layer) is torch.nn.Identity
    # What is right for short inputs is not what the module computes of long ones.
    assert any("OW833" in t for t in texts)
    with pytest.raises(ow.errors.ExportTypeError, match="OW826"):
        program(torch.rand(9, 2))
    short = torch.rand(3, 2)
    torch.testing.assert_close(program(short), short - short.mean(0))


class _Cache:
    rows: Any = None


@module_with(lambda: {"cache": _Cache(), "inner": torch.nn.Identity()})
def _SetsAttributes(self, x: Any) -> Any:
    if not hasattr(self, "last"):
        self.last, self.count = x * 2, 3
    self.cache.rows, self.cache.sizes = x, [x.shape[0]]
    self.inner.out = {"x": x}
    return self.last + self.count + x


@pytest.mark.parametrize("how", ["auto", "source", "non-strict"])
def test_attributes_that_a_capture_sets_are_gone_afterwards(how: str) -> None:
    model = _SetsAttributes()
    before = [dict(vars(one)) for one in (model, model.inner, model.cache)]
    dims = ({0: torch.export.Dim.DYNAMIC},)
    program = ow.export(model, (torch.ones(3),), dynamic_shapes=dims, capture=how)
    assert [dict(vars(one)) for one in (model, model.inner, model.cache)] == before
    torch.testing.assert_close(program(torch.ones(5)), torch.full((5,), 6.0))


def test_attributes_that_a_comparison_sets_are_gone_afterwards() -> None:
    """A run with the example inputs sets them to these inputs."""
    model = _SetsAttributes()
    before = [dict(vars(one)) for one in (model, model.inner, model.cache)]
    program = ow.export(model, (torch.ones(3),), verify=True)
    assert program.verify((torch.full((3,), 2.0),), {}).ok
    assert [dict(vars(one)) for one in (model, model.inner, model.cache)] == before


RESULTS: list[Any] = []


@module_with(lambda: {"layers": torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(2))})
def HooksAtTheFirstCall(self, x: Any) -> Any:
    """It collects the results of its layers by hooks that the first call adds."""
    if not getattr(self, "has_hooks", False):
        for layer in self.layers:
            layer.register_forward_hook(lambda module, args, result: RESULTS.append(result))
        self.has_hooks = True
    RESULTS.clear()
    for layer in self.layers:
        x = layer(x)
    return sum(RESULTS)


def test_hooks_of_the_first_call_are_added_once() -> None:
    """The next call after an export, and a comparison, give what the first call would give."""
    module, x = HooksAtTheFirstCall().eval(), torch.ones(2, 3)
    first = module.layers[0](x)
    wanted = first + module.layers[1](first)
    program = ow.export(module, (x,))
    assert program.verify().ok
    torch.testing.assert_close(program(x), wanted)
    torch.testing.assert_close(module(x), wanted)


class _Row:
    def __init__(self) -> None:
        self.values = [object()]


ROWS = [[_Row() for _ in range(50)] for _ in range(50)]


def _scaled(x: Any) -> Any:
    scale = 2.0

    def times(v: Any) -> Any:
        return v * scale

    if x.sum() > 0:
        scale = 3.0
    return times(x)


def test_data_beside_a_model_is_not_searched_for_what_the_capture_made(monkeypatch) -> None:
    """A variable that the capture made is in no global: not all that globals lead to is visited."""
    from onnxwright.exporter.capture.control import reaching

    visited = []
    original = reaching._held

    def counted(value: Any, names: set[str]) -> Any:
        visited.append(value)
        return original(value, names)

    monkeypatch.setattr(reaching, "_held", counted)
    program = ow.export(_scaled, (torch.ones(3),))
    np.testing.assert_array_equal(program(-np.ones(3, np.float32)), [-2, -2, -2])
    assert len(visited) < len(ROWS) * len(ROWS[0])


@module_with(lambda: {"n": 0, "seen": [], "held": [torch.zeros(2)]})
def _Everything(self, x: Any) -> Any:
    self.n += 1
    self.seen.append(self.n)
    self.held[0].add_(1)
    return x + self.n + len(self.seen) + self.held[0] + random.random() + _size_of(x)


@functools.lru_cache
def _size_of(x: Any) -> int:
    _CALLS.append(x)
    return len(_CALLS)


_CALLS: list[Any] = []


def test_each_of_many_runs_begins_with_what_the_first_began_with() -> None:
    module = _Everything()
    state = random.getstate()
    for rows in (2, 3, 2):  # the second one fails
        with contextlib.nullcontext() if rows == 2 else pytest.raises(RuntimeError):
            run_unchanged(module, (torch.ones(rows),), {})
        assert (module.n, module.seen, _CALLS) == (0, [], [])
        assert torch.equal(module.held[0], torch.zeros(2))
        assert random.getstate() == state


def test_what_is_patched_while_a_function_first_runs_is_not_put_back() -> None:
    """A capture sees its file then, with the value of the patch."""
    state_programs.reset()

    class Patched(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            with mock.patch.object(state_programs, "COUNT", 5):
                return x * state_programs.of_globals()[0]

    program = ow.export(Patched(), (torch.ones(3),))
    assert state_programs.COUNT == 0
    assert program(torch.ones(3)).tolist() == [5.0, 5.0, 5.0]


def test_an_attribute_of_a_class_that_has_any_attribute_is_not_asked() -> None:
    class Anything:
        asked = 0

        def __getattr__(self, name: str) -> Any:
            Anything.asked += 1
            return self

    class Holds(torch.nn.Module):  # type: ignore[misc]
        anything = Anything()

        def forward(self, x: Any) -> Any:
            return x * 2

    program = ow.export(Holds(), (torch.ones(3),))
    assert program(torch.ones(3)).tolist() == [2.0, 2.0, 2.0]
    assert Anything.asked == 0


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("is_frozen", [False, True])
def test_the_garbage_collector_is_as_it_was(is_frozen: bool, fails: bool) -> None:
    """Objects are told by their age with `gc.freeze`, which a program may use by itself, too."""

    def forward(x: Any) -> Any:
        thread = threading.current_thread()
        thread.runs = getattr(thread, "runs", 0) + 1
        return x[0, 0, 0, 0] if fails else x * thread.runs

    if is_frozen:
        gc.freeze()
    try:
        before = gc.get_freeze_count()
        expected = pytest.raises(ow.ExportError) if fails else pytest.warns(match="OW839.*runs")
        with expected:
            ow.export(forward, (torch.ones(2),))
        # Some of the frozen objects may be gone since; none was added.
        assert (0 < gc.get_freeze_count() <= before) if is_frozen else not gc.get_freeze_count()
        assert not hasattr(threading.current_thread(), "runs")
    finally:
        gc.unfreeze()


_CLOCKS: dict[str, Any] = {
    "time.time": lambda: time.time(),
    "time.perf_counter": lambda: time.perf_counter(),
    "time.localtime": lambda: time.localtime().tm_sec,
    "datetime.datetime.now": lambda: dt.datetime.now().microsecond,  # noqa: DTZ005 - any clock
    "datetime.date.today": lambda: dt.date.today().day,  # noqa: DTZ011 - any clock
    "os.urandom": lambda: os.urandom(1)[0],
    "uuid.uuid4": lambda: uuid.uuid4().int % 7,
    "secrets.randbelow": lambda: secrets.randbelow(9),
}


@pytest.mark.parametrize("name", _CLOCKS)
def test_what_gives_another_value_at_each_call_is_reported(name: str) -> None:
    module = state_programs.Module(lambda x: x + _CLOCKS[name]())
    with pytest.warns(ow.OnnxwrightWarning, match=rf"OW903.*`{name}`"):
        ow.export(module, (torch.ones(3),))


def test_a_time_that_is_given_is_not_the_clock() -> None:
    module = state_programs.Module(lambda x: x + time.gmtime(86_400).tm_mday)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ow.OnnxwrightWarning)
        program = ow.export(module, (torch.ones(3),))
    np.testing.assert_array_equal(program(torch.ones(3)), np.full(3, 3.0))


class _Computed(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value

    @functools.cached_property
    def kept(self) -> Any:
        return self.value

    def forward(self, x: Any) -> Any:
        if isinstance(self.kept, list):
            self.kept.append(1)
        return x * len(self.kept)


@pytest.mark.parametrize(("value", "is_reported"), [((1, 2), False), ([1], True)])
def test_a_property_that_keeps_its_value_is_reported_where_it_changes_later(
    value: Any, is_reported: bool
) -> None:
    module = _Computed(value)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        program = ow.export(module, (torch.ones(3),))
    assert any("OW839" in str(w.message) for w in found) is is_reported
    assert "kept" not in vars(module)
    np.testing.assert_array_equal(program(torch.ones(3)), np.full(3, 2.0))


def test_locals_have_the_names_of_the_function_alone() -> None:
    def forward(self: Any, x: Any) -> Any:
        scale = 2
        return x * locals()["scale"] + len(locals()), x * len(dir()), eval("x + scale")  # noqa: S307

    module = module_with(dict)(forward)()
    x = torch.ones(2)
    for given, wanted in zip(ow.export(module, (x,))(x), module(x), strict=True):
        np.testing.assert_array_equal(np.asarray(given), wanted.numpy())
