"""The parameters of every ATen function are those of torch's schema."""

from __future__ import annotations

from typing import Any

import torch  # noqa: F401 - the schemas are torch's

from onnxwright.atenlib.load import functions
from onnxwright.atenlib.op import AtenFunction
from onnxwright.atenlib.rules import like
from onnxwright.sweep.aten_schemas import count_returned, find_operator, problems
from tests.harness.tables import each

ENTRIES = list(dict.fromkeys(functions().values()))
# What torch always has; others come with packages of their own.
LOADED = ("aten", "prims", "quantized_decomposed")


def _has_schema(entry: AtenFunction) -> bool:
    namespace = entry.name.split("::")[0]
    return namespace in LOADED or any(map(find_operator, entry.names))


def test_parameters_are_those_of_torch() -> None:
    """Names, order, what is given by position only, and defaults."""
    checked = [entry for entry in ENTRIES if _has_schema(entry)]
    assert {e.name: differences for e in checked if (differences := list(problems(e)))} == {}
    # Functions on Python's numbers have no schema; some packages register operators when imported.
    others = {entry.name.split("::")[0] for entry in ENTRIES if not _has_schema(entry)}
    assert others <= {"_operator", "math", "builtins", "torch", "torch_nn", "torchvision"}
    assert len(checked) > 800


def entry_of(body: Any, *names: str) -> AtenFunction:
    return AtenFunction(names, body, like("self"), ())


WRONG = {
    "no such operator": (lambda op, self: self, "aten::nope"),
    "missing parameter `memory`": (lambda op, self: self, "aten::tril"),
    "torch has no parameter `k`": (lambda op, self, diagonal=0, k=1: self, "aten::tril"),
    "`diagonal` is 1 by default, in torch 0": (lambda op, self, diagonal=1: self, "aten::tril"),
    "`diagonal` must be given": (lambda op, self, diagonal: self, "aten::tril"),
    "in torch it must be given": (lambda op, self, other=1: self, "aten::fmod.Tensor"),
    "the order of the parameters": (lambda op, other, self: self, "aten::fmod.Tensor"),
    "are given by position in torch": (
        lambda op, self, k, *, dim=-1, largest=True, sorted=True: self,  # noqa: A006
        "aten::topk",
    ),
}


@each("what", WRONG)
def test_a_difference_is_found(what: str) -> None:
    """The check of this file has a check."""
    body, name = WRONG[what]
    told = " ".join(problems(entry_of(body, name)))
    assert what.replace("`memory`", "`diagonal`") in told


def test_overloads_may_share_a_body() -> None:
    """What one overload lacks needs a default there."""

    def body(op: Any, self: Any, dim: Any = None, keepdim: Any = False, dtype: Any = None) -> Any:
        return self

    def strict(op: Any, self: Any, dim: Any, keepdim: Any = False, dtype: Any = None) -> Any:
        return self

    assert list(problems(entry_of(body, "aten::sum", "aten::sum.dim_IntList"))) == []
    assert list(problems(entry_of(strict, "aten::sum.dim_IntList"))) == []
    (told,) = problems(entry_of(strict, "aten::sum", "aten::sum.dim_IntList"))
    assert told == "aten::sum: torch has no parameter `dim` here, and it has no default"


@each(
    ("name", "right", "wrong"),
    [
        ("aten::abs", "x", ["x"]),
        ("aten::topk", ("v", "i"), ("v",)),
        ("aten::unbind.int", ["a", "b", "c"], "a"),
    ],
)
def test_returned_values_are_counted(name: str, right: Any, wrong: Any) -> None:
    """The sweep asks this of every call."""
    target = find_operator(name)
    assert count_returned(target, right) == ""
    assert count_returned(target, wrong).startswith(f"{name.split('.')[0]} returns")
