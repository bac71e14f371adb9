"""Texts as keys of dicts and modules and names of attributes: of a few numbers, of any number."""

from __future__ import annotations

import dataclasses
import logging
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import onnxwright as ow
from onnxwright.errors import ExportError, OnnxwrightWarning


@dataclasses.dataclass
class Held:
    """Its text is made by `dataclasses`."""

    value: Any


class Shown:
    """Its text is made by a method of its own."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Shown({self.value})"

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)


class Heads(torch.nn.Module):
    """Layers with names that have a number."""

    def __init__(self, body: Callable[..., Any]) -> None:
        super().__init__()
        torch.manual_seed(0)
        keys = ("0", "1", "2", "sum", "mean", "task_0", "task_1", "task_2")
        self.by_key = torch.nn.ModuleDict({key: torch.nn.Linear(4, 3) for key in keys})
        for n in range(3):
            setattr(self, f"head{n}", torch.nn.Linear(4, 3))
            self.register_buffer(f"scale_{n}", torch.full((4,), n + 1.0))
        self.names = ["sum", "mean", "2"]
        self.body = body

    def forward(self, x: Any, n: Any) -> Any:
        return self.body(self, x, n)


def by_text(m, x, n):
    return m.by_key[str(n.item())](x)


def by_f_string(m, x, n):
    return m.by_key[f"task_{int(n)}"](x)


def by_format(m, x, n):
    key = "task_{}".format(n.item())  # noqa: UP032 - old code has it
    return m.by_key[key](x) + m.by_key["task_" + str(int(n))](x)


def by_percent(m, x, n):
    return getattr(m, "scale_%d" % int(n)) * x  # noqa: UP031 - old code has it


def by_attribute(m, x, n):
    return getattr(m, f"head{n.item()}")(x)


def by_name(m, x, n):
    return m.by_key[m.names[int(n)]](x)


def by_membership(m, x, n):
    key = f"task_{n.item() + 1}"
    if key not in m.by_key:
        return torch.zeros(x.shape[0], 3)
    return m.by_key[key](x)


def by_default(m, x, n):
    return x * {"1": 2.0, "2": 5.0, "x": 7.0}.get(str(n.item()), 0.5)


def by_attribute_or_not(m, x, n):
    if hasattr(m, f"scale_{n.item() + 1}"):
        return x + 1
    return x - 1


def by_comparison(m, x, n):
    key = str(n.item())
    if key == "2":
        x = x + 1
    if key != "0":
        x = x * 3
    return x


def by_chosen_name(m, x, n):
    name = m.names[int(n)]
    if name == "sum":
        return x.sin()
    if name in ("mean", "other"):
        return x.cos()
    return x


def by_text_of_a_branch(m, x, n):
    key = f"task_{n.item()}" if x.sum() > 0 else f"task_{2 - n.item()}"
    return m.by_key[key](x)


def by_known_number(m, x, n):
    return m.by_key[f"task_{len(m.names) - 1}"](x * n.item())


def in_messages(m, x, n):
    count, largest = n.item(), x.max().item()
    if count == 7:
        raise ValueError(f"{count!r} of {x.shape[0]:>3}, {x.mean():.3f}")
    message = f"{count:03d} {largest:.2f} {count!s:>4} {x} {str(x)} {[x]!r}"
    logging.getLogger(__name__).debug(message)
    shown = f"{Shown(x)!r} {Shown(count):2d}"
    logging.getLogger(__name__).debug("%s %s", shown, [Shown(x), Shown(count)])
    if x.max() > 1:
        x = x - count
    return x if message else x + 1


def by_text_of_a_few(m, x, n):
    which = 0 if n > 1 else 2
    y = m.by_key[f"task_{which}"](x) + getattr(m, "head%d" % which)(x)  # noqa: UP031
    return y if str(which) == "0" else y * 2


def by_text_of_a_tensor(m, x, n):
    return x * 2 if "nan" in repr(x) else x


def by_text_of_a_list(m, x, n):
    return x * len(f"{[x, 1]}")


def by_joined_texts(m, x, n):
    return x * len(", ".join(str(v) for v in x[0].tolist()))


def by_text_of_a_dataclass(m, x, n):
    return x * len(str(Held(x)))


def by_text_of_an_object(m, x, n):
    return x * len(repr(Shown(x)))


def by_format_of_an_object(m, x, n):
    return x * len(f"{Shown(n.item()):d}")


def by_text_of_objects(m, x, n):
    return x * len(str([Shown(x)]))


def by_opaque_text(m, x, n):
    return x * len(format(Shown(x), ""))


def by_text_of_a_key(m, x, n):
    return x * len({str(x[0].tolist()), "%s" % m.scale_0})  # noqa: UP031 - old code has it


BODIES = (by_name, by_chosen_name, by_known_number, in_messages)
REFUSED = (
    by_text, by_f_string, by_format, by_percent, by_attribute, by_text_of_a_branch,
    by_membership, by_default, by_attribute_or_not, by_comparison, by_text_of_a_few,
    by_text_of_a_tensor, by_text_of_a_list, by_joined_texts, by_text_of_a_dataclass,
    by_text_of_a_key, by_text_of_an_object, by_format_of_an_object, by_text_of_objects,
    by_opaque_text,
)  # fmt: skip


@pytest.mark.share(5)
@pytest.mark.parametrize("body", BODIES, ids=lambda f: f.__name__)
def test_a_text_is_that_of_the_number(body: Callable[..., Any]) -> None:
    model = Heads(body).eval()
    batch = torch.export.Dim("batch", min=1, max=64)
    x = torch.linspace(-1, 2, 8).reshape(2, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxwrightWarning)
        program = ow.export(model, (x, torch.tensor(1)), dynamic_shapes=({0: batch}, None))
    for n in range(3):
        for rows in (x, -x, torch.cat([x, x + 1])):
            wanted = model(rows, torch.tensor(n))
            torch.testing.assert_close(program(rows, torch.tensor(n)), wanted)


@pytest.mark.parametrize("body", REFUSED, ids=lambda f: f.__name__)
def test_a_text_of_any_number_is_refused_with_its_line(body: Callable[..., Any]) -> None:
    with pytest.raises(ExportError, match=r"OW842(?s:.*)test_texts.py(?s:.*)layers\[n\]"):
        ow.export(Heads(body).eval(), (torch.ones(2, 4), torch.tensor(1)))


@pytest.mark.parametrize("body", [by_default, by_text_of_a_tensor, by_text_of_objects])
def test_a_text_that_is_taken_for_a_symbol_is_named(body: Callable[..., Any]) -> None:
    with pytest.warns(OnnxwrightWarning, match="OW885"):
        ow.export(Heads(body).eval(), (torch.ones(2, 4), torch.tensor(1)), capture="non-strict")


def test_printing_a_number_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    def body(m, x, n):
        print(f"n is {n.item()}")
        return x + n.item()

    program = ow.export(Heads(body).eval(), (torch.ones(2, 4), torch.tensor(1)))
    assert [one.strategy for one in program.report.captures] == ["source"]


def kept(x: Any) -> Any:
    texts: list[str] = []
    texts.append(str(x.shape[0]))
    return x * len(texts[0])


def printed(x: Any) -> Any:
    print(f"n is {x.shape[0]}")  # noqa: T201 - that is the case
    return x + 1


TEXTS_OF_SIZES: dict[str, tuple[Any, str]] = {
    "a text": (lambda x: x * len(f"{x.shape[0]}"), "OW842"),
    "a key": (lambda x: x * {"6": 1.0}.get(str(x.shape[0]), 2.0), "OW842"),
    "a representation": (lambda x: x * len(repr(x.shape)), "OW842"),
    "a list": (kept, "OW842"),
    "a size that is known": (lambda x: x * len(str(x.shape[1])), ""),
    "only printed": (printed, ""),
}


@pytest.mark.parametrize("what", TEXTS_OF_SIZES)
def test_texts_of_sizes_are_refused_or_named(what: str) -> None:
    function, code = TEXTS_OF_SIZES[what]
    if code == "OW842":
        with pytest.raises(ExportError, match=code):
            ow.export(function, (torch.ones(6, 4),), dynamic_shapes=({0: "n"},))
        return
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        program = ow.export(function, (torch.ones(6, 4),), dynamic_shapes=({0: "n"},))
    assert any("OW885" in str(w.message) for w in found) is bool(code)
    if not code:
        for n in (6, 3):
            torch.testing.assert_close(program(torch.ones(n, 4)), function(torch.ones(n, 4)))
