"""A Python number where an operator expects a tensor is promoted as torch promotes it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import onnxwright as ow
from onnxwright.atenlib.load import functions
from onnxwright.sweep.aten_schemas import find_operator
from tests.atenlib.one_op import check
from tests.harness.tables import each

aten = torch.ops.aten
FLOATS = torch.tensor([[0.5, -1.5, 2.0], [-0.25, 3.0, 4.0]])
TENSORS = {
    "float16": FLOATS.half(),
    "int64": torch.tensor([[3, 7, 1], [5, 1, 2]]),
}
FLOAT_NUMBERS, INTEGERS = (2.5, 3), (3,)
# What takes numbers of every kind, and what takes whole ones only.
BINARY = (
    "add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "rsub.Tensor", "remainder.Tensor",
    "fmod.Tensor", "floor_divide", "pow.Tensor_Tensor", "float_power.Tensor_Tensor",
    "atan2", "hypot", "copysign.Tensor", "maximum", "minimum", "fmax", "fmin",
    "eq.Tensor", "ne.Tensor", "lt.Tensor", "le.Tensor", "gt.Tensor", "ge.Tensor",
    "logical_and", "logical_or", "logical_xor", "xlogy.Tensor", "special_xlog1py",
    "logaddexp", "logaddexp2", "true_divide.Tensor", "isclose",
)  # fmt: skip
WHOLE = (
    "bitwise_and.Tensor", "bitwise_or.Tensor", "bitwise_xor.Tensor", "gcd", "lcm",
    "bitwise_left_shift.Tensor", "bitwise_right_shift.Tensor",
)  # fmt: skip


def overload(name: str) -> Any:
    return find_operator(f"aten::{name}")


def result_of(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What torch gives; only its Python functions wrap numbers, which tensors of rank 0 equal."""
    are_tensors = [str(a.type) in ("Tensor", "Optional[Tensor]") for a in target._schema.arguments]
    wrapped = [
        torch.tensor(a) if want and isinstance(a, (bool, int, float)) else a
        for a, want in zip(args, are_tensors, strict=False)
    ]
    return target(*wrapped, **kwargs)


def cases() -> list[Any]:
    accepted = []
    for names, numbers in ((BINARY, FLOAT_NUMBERS), (WHOLE, INTEGERS)):
        for name in names:
            for x in TENSORS.values():
                for number in numbers:
                    for args in ((number, x), (x, number)):
                        try:
                            result_of(overload(name), args, {})
                        except (RuntimeError, NotImplementedError):
                            continue  # torch does not take this either
                        accepted.append((name, args))
    return accepted


@each(("name", "args"), cases())
def test_a_number_beside_a_tensor(name: str, args: tuple[Any, ...]) -> None:
    target = overload(name)
    tolerance = (2e-3, 2e-3) if "logadd" in name or "xlog" in name else None
    check(target, *args, expected=result_of(target, args, {}), tol=tolerance)


X = FLOATS
OTHERS = {
    "div floor": (aten.div.Tensor_mode, (256, X), {"rounding_mode": "floor"}),
    "div trunc": (aten.div.Tensor_mode, (7.5, X), {"rounding_mode": "trunc"}),
    "div of integers": (aten.div.Tensor_mode, (256, TENSORS["int64"]), {"rounding_mode": "floor"}),
    "where": (aten.where.self, (X > 0, 1.5, X), {}),
    "where, two numbers": (aten.where.self, (X > 0, 1, 2.5), {}),
    "lerp": (aten.lerp.Tensor, (X, 2.0, X), {}),
    "addcmul": (aten.addcmul, (X, 2.0, X), {"value": 3}),
    "addcdiv": (aten.addcdiv, (2.0, X, 4.0), {}),
    "clamp": (aten.clamp.Tensor, (X, -0.5, 2), {}),
    "add of two numbers": (aten.add.Tensor, (2, 0.5), {}),
    "mul of two integers": (aten.mul.Tensor, (2, 3), {}),
    "comparison of two numbers": (aten.lt.Tensor, (2, 3.5), {}),
    "a function of a number": (aten.exp, (0.5,), {}),
    "a function of an integer": (aten.sqrt, (2,), {}),
    "a sum of a number": (aten.sum, (2,), {}),
    "a shape of a number": (aten.expand, (2.5, [2, 3]), {}),
    "a filling": (aten.full_like, (2.5, 3), {}),
    "polynomials": (aten.special_chebyshev_polynomial_t, (X, 3), {}),
    "zeta": (aten.special_zeta, (X.abs() + 2, 1.5), {}),
    "gradient": (aten.threshold_backward, (X, 1.0, 0), {}),
    "alpha": (aten.sub.Tensor, (3, X), {"alpha": 2}),
}


@each("what", OTHERS)
def test_other_operators(what: str) -> None:
    target, args, kwargs = OTHERS[what]
    target = getattr(target, "default", target)
    check(target, *args, expected=result_of(target, args, kwargs), **kwargs)


def test_every_tensor_of_the_table_may_be_a_number() -> None:
    """A parameter that torch's schema calls a tensor is annotated as a value; so it gets one."""
    wrong = []
    for name, entry in functions().items():
        operator = find_operator(name)
        if operator is None:
            continue
        for argument in operator._schema.arguments:
            parameter = entry.parameters.get(argument.name)
            if parameter is None or str(argument.type) not in ("Tensor", "Optional[Tensor]"):
                continue
            words = str(parameter.annotation).replace("|", " ").split()
            if "Value" not in words and "Complex" not in words and "Size" not in words:
                wrong.append(f"{name}: {parameter}")
    assert wrong == []


class Divided(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.div(256, x, rounding_mode="floor")


class Mapped(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.vmap(lambda row, i: row + i * -0.1)(x, torch.arange(2))


class Biased(torch.nn.Module):
    def forward(self, q: Any) -> Any:
        def closer(score: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
            return score + (j - i) * -0.1 + torch.div(1, h + 1)

        return torch.nn.attention.flex_attention.flex_attention(q, q, q, score_mod=closer)


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.parametrize(
    ("module", "shape"), [(Divided, (2, 3)), (Mapped, (2, 3)), (Biased, (1, 2, 16, 8))]
)
def test_exported(module: Any, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    x = torch.rand(shape) + 0.5
    program = ow.export(module(), (x,))
    torch.testing.assert_close(torch.as_tensor(program(x)), module()(x), rtol=1e-4, atol=1e-4)
