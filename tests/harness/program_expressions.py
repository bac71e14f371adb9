"""Random expressions of a wanted type and shape, for random script programs.

A slot is what a name holds: a kind and a shape.  Kinds: `f` a float tensor (float32 or float64,
one per program), `i` int64, `b` bool, and the Python numbers `n` (int) and `w` (float).  Shapes:
`""` a scalar, `"B"` a vector, `"AB"` a matrix.  An expression never divides by zero and never reads
outside a tensor; what may still overflow is thrown away by the oracle.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

Slot = tuple[str, str]

FLOATS = ("0.5", "1.5", "-0.25", "2.0", "-1.75", "0.125", "3", "-2", "1")
INTS = ("1", "2", "3", "-1", "-2", "5", "0")
DIVISORS = ("2", "4", "-2", "0.5", "3", "-3")


@dataclass
class Scope:
    """The names that have a value here, and what may be called."""

    names: dict[str, Slot]
    sizes: dict[str, int]
    helpers: dict[str, tuple[tuple[Slot, ...], tuple[Slot, ...]]] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()

    def of(self, slot: Slot) -> list[str]:
        """The names holding exactly this, in order of first binding."""
        return [name for name, held in self.names.items() if held == slot]

    def copy(self) -> Scope:
        """The same names; binding one more does not change this scope."""
        return Scope(dict(self.names), self.sizes, self.helpers, self.hidden)


class Expressions:
    """Writes expressions; one per program, so that the seed decides everything."""

    def __init__(self, rng: random.Random, scope: Scope) -> None:
        self.rng = rng
        self.scope = scope
        self.walrus = 0

    # -- choosing ------------------------------------------------------------------------------

    def expr(self, slot: Slot, depth: int = 2) -> str:
        """An expression that has exactly this kind and shape."""
        if depth <= 0:
            return self.leaf(slot)
        if slot[0] in "nw":
            return self._number(depth) if slot[0] == "n" else self._weak_float(depth)
        makers = {"f": self._float, "i": self._int, "b": self._bool}
        if self.rng.random() < 0.08:
            return self._ternary(slot, depth)
        if self.rng.random() < 0.08:
            called = self._helper_call(slot, depth)
            if called:
                return called
        return makers[slot[0]](slot[1], depth)

    def leaf(self, slot: Slot) -> str:
        """A name, or the shortest way to such a value."""
        names = self.scope.of(slot)
        if names and self.rng.random() < 0.9:
            # What was bound last is read most, so that little of a program is dead.
            return self.rng.choice(names[-2:] if self.rng.random() < 0.5 else names)
        kind, shape = slot
        if kind == "n":
            return self.rng.choice(INTS)
        if kind == "w":
            return self.rng.choice(FLOATS[:6])
        if kind == "b":
            return self._compare(shape, 0)
        if shape == "":
            vector = self.leaf((kind, "B"))
            return self.rng.choice(
                (f"{vector}[0]", f"{vector}[-1]", f"op.ReduceSum({vector}, keepdims=0)")
            )
        if kind == "f" and shape == "B":
            return self.rng.choice((f"{self.leaf(('f', 'AB'))}[0]", f"{self.base('f')}[-1, :]"))
        if kind == "i" and shape == "B":
            return self.base("i")
        return self.base("f")

    def base(self, kind: str) -> str:
        """A parameter that is always there."""
        shape = "AB" if kind == "f" else "B"
        return self.scope.of((kind, shape))[0]

    def pick(self, *options: Callable[[], str]) -> str:
        """One of several ways to write it."""
        return self.rng.choice(options)()

    def number(self, kind: str) -> str:
        """A Python number that fits beside a tensor of this kind."""
        if self.rng.random() < 0.6:
            return self.rng.choice(FLOATS if kind == "f" else INTS)
        names = self.scope.of(("n", "")) + (self.scope.of(("w", "")) if kind == "f" else [])
        return self.rng.choice(names) if names else "2"

    # -- tensors -------------------------------------------------------------------------------

    def _beside(self, kind: str, shape: str, depth: int) -> str:
        """A second operand: same shape, a smaller one, or a Python number."""
        roll = self.rng.random()
        if roll < 0.35:
            return self.number(kind)
        if roll < 0.5:
            return self.expr((kind, ""), depth - 1)
        if roll < 0.7 and shape == "AB":
            return self.expr((kind, "B"), depth - 1)
        return self.expr((kind, shape), depth - 1)

    def _arithmetic(self, kind: str, shape: str, depth: int) -> str:
        left, right = self.expr((kind, shape), depth - 1), self._beside(kind, shape, depth)
        sign = self.rng.choice(("+", "-", "*", "+", "-"))
        if self.rng.random() < 0.3:
            left, right = right, left
        return f"({left} {sign} {right})"

    def _division(self, kind: str, shape: str, depth: int) -> str:
        left = self.expr((kind, shape), depth - 1)
        signs = ("/", "//", "%") if kind == "f" else ("//", "%")
        divisors = DIVISORS if kind == "f" else ("2", "3", "-2", "-3")
        sign = self.rng.choice(signs)
        if self.rng.random() < 0.3:
            return f"({left} {sign} (abs({self.expr((kind, shape), depth - 1)}) + 1))"
        return f"({left} {sign} {self.rng.choice(divisors)})"

    def _either(self, kind: str, shape: str, depth: int) -> str:
        left, right = (self.expr((kind, shape), depth - 1) for _ in range(2))
        return self.pick(
            lambda: (
                f"op.Where({self.expr(('b', shape if shape != 'AB' else ''), depth - 1)},"
                f" {left}, {right})"
            ),
            lambda: f"op.Max({left}, {right})",
            lambda: f"op.Min({left}, {right})",
        )

    def _unary(self, kind: str, shape: str, depth: int) -> str:
        inner = self.expr((kind, shape), depth - 1)
        return self.rng.choice((f"(-{inner})", f"abs({inner})", f"op.Neg({inner})", f"(+{inner})"))

    def _float(self, shape: str, depth: int) -> str:
        special = {"": self._float_scalar, "B": self._float_vector, "AB": self._matrix}[shape]
        return self.pick(
            lambda: self._arithmetic("f", shape, depth),
            lambda: self._arithmetic("f", shape, depth),
            lambda: self._division("f", shape, depth),
            lambda: self._unary("f", shape, depth),
            lambda: self._either("f", shape, depth),
            lambda: f"({self.expr(('f', shape), depth - 1)} ** 2)",
            lambda: f"op.Relu({self.expr(('f', shape), depth - 1)})",
            lambda: special(depth),
            lambda: special(depth),
            lambda: special(depth),
        )

    def _float_scalar(self, depth: int) -> str:
        matrix, vector = self.expr(("f", "AB"), depth - 1), self.expr(("f", "B"), depth - 1)
        i, j = self.index("A", depth), self.index("B", depth)
        return self.pick(
            lambda: f"op.ReduceSum({matrix}, keepdims=0)",
            lambda: f"{matrix}[{i}, {j}]",
            lambda: f"{matrix}[{i}][{j}]",
            lambda: f"{vector}[{j}]",
            lambda: f"({vector} @ {vector})",
            lambda: f"op.ReduceSum({matrix}[{self._slice(depth)}], keepdims=0)",
            lambda: f"op.ReduceSum({matrix}[:, {self._slice(depth)}], keepdims=0)",
            lambda: f"op.ReduceSum({vector}[{self._slice(depth)}], keepdims=0)",
            lambda: f"op.ReduceSum({vector}[{self.expr(('b', 'B'), depth - 1)}], keepdims=0)",
            lambda: f"op.ReduceSum({matrix}[{matrix} > {self.rng.choice(FLOATS)}], keepdims=0)",
            lambda: f"sum({vector})",
            lambda: f"{self.rng.choice(('min', 'max'))}({vector}[{j}], {matrix}[{i}, {j}])",
        )

    def _float_vector(self, depth: int) -> str:
        matrix, vector = self.expr(("f", "AB"), depth - 1), self.expr(("f", "B"), depth - 1)
        i, j = self.index("A", depth), self.index("B", depth)
        rows, columns = self._indices("A", depth), self._indices("B", depth)
        axis = self.rng.choice((0, -2))
        return self.pick(
            lambda: f"{matrix}[{i}]",
            lambda: f"{matrix}[{i}, :]",
            lambda: f"{matrix}[{i}, ...]",
            lambda: f"{matrix}[{i}, {columns}]",
            lambda: f"{matrix}[{rows}, {columns}]",
            lambda: f"{matrix}[{rows}, {j}]",
            lambda: f"{matrix}.T[:, {i}]",
            lambda: f"{vector}[{columns}]",
            lambda: f"{vector}[::-1]",
            lambda: f"{vector}[None][0]",
            lambda: f"op.ReduceSum({matrix}, [{axis}], keepdims=0)",
            lambda: f"sum({matrix})",
            lambda: f"({matrix}[{i}] @ ({matrix}.T @ {matrix}))",
            lambda: f"op.Concat({vector}[1:], {vector}[:1], axis=0)",
            lambda: f"op.Concat({vector}[::2], {vector}[1::2], axis=0)",
            lambda: f"{matrix}[{i}:, ...][0, ...]" if i.isdigit() else f"{matrix}[{i}]",
        )

    def _matrix(self, depth: int) -> str:
        matrix, vector = self.expr(("f", "AB"), depth - 1), self.expr(("f", "B"), depth - 1)
        axis = self.rng.choice((0, 1, -1))
        head, tail = ("[:1]", "[1:]") if axis == 0 else ("[:, :1]", "[:, 1:]")
        count = self.rng.choice((2, 3))
        name = self._fresh()
        return self.pick(
            lambda: f"{matrix}[{self._indices('A', depth, size='A')}]",
            lambda: f"{matrix}[::-1]",
            lambda: f"{matrix}[:, ::-1]",
            lambda: f"{matrix}[..., ::-1]",
            lambda: f"({matrix} + {vector}[None])",
            lambda: f"({matrix} * {matrix}[:, {self.index('B', depth)}][:, None])",
            lambda: f"({matrix} - {matrix}[:, :1])",
            lambda: f"({matrix} - {matrix}[-1:])",
            lambda: f"{matrix}.T.T",
            lambda: f"op.Concat({matrix}{tail}, {matrix}{head}, axis={axis})",
            lambda: (
                f"op.Concat(*[{matrix}[{name} : {name} + 1] for {name} in"
                f" range({self.scope.sizes['A']})], axis=0)"
            ),
            lambda: f"sum([{matrix} * {name} for {name} in range({count})])",
            lambda: f"[{matrix}, {matrix} + 1][{self.rng.choice((0, 1, -1))}]",
            lambda: f"({matrix} @ {matrix}.T @ {matrix})",
            lambda: f"{matrix}[None, ..., None][0, :, :, 0]",
        )

    def _int(self, shape: str, depth: int) -> str:
        if shape == "":
            return self.pick(
                lambda: self._arithmetic("i", "", depth),
                lambda: self._division("i", "", depth),
                lambda: self._either("i", "", depth),
                lambda: self._unary("i", "", depth),
                lambda: f"{self.expr(('i', 'B'), depth - 1)}[{self.index('B', depth)}]",
                lambda: f"op.ReduceSum({self.expr(('i', 'B'), depth - 1)}, keepdims=0)",
                lambda: f"({self.expr(('i', 'B'), depth - 1)}[0] + {self.number('i')})",
            )
        return self.pick(
            lambda: self._arithmetic("i", "B", depth),
            lambda: self._division("i", "B", depth),
            lambda: self._either("i", "B", depth),
            lambda: self._unary("i", "B", depth),
            lambda: f"({self.expr(('i', 'B'), depth - 1)} ** 2)",
            lambda: f"{self.expr(('i', 'B'), depth - 1)}[::-1]",
            lambda: f"{self.expr(('i', 'B'), depth - 1)}[{self._indices('B', depth)}]",
        )

    # -- truth ---------------------------------------------------------------------------------

    def condition(self, depth: int = 2) -> str:
        """A scalar truth, for `if` and `while`."""
        return self.expr(("b", ""), depth)

    def _bool(self, shape: str, depth: int) -> str:
        def inner() -> str:
            return self.expr(("b", shape), depth - 1)

        both = self.rng.choice(("&", "|", "^"))
        options = [
            lambda: self._compare(shape, depth),
            lambda: self._compare(shape, depth),
            lambda: f"op.Not({inner()})",
            lambda: f"op.And({inner()}, {inner()})",
            lambda: f"op.Or({inner()}, {inner()})",
        ]
        if shape == "B":
            options += [lambda: f"(~{inner()})", lambda: f"({inner()} {both} {inner()})"]
        else:
            options += [
                lambda: f"({inner()} and {inner()})",
                lambda: f"({inner()} or {inner()})",
                lambda: f"(not {inner()})",
                lambda: self._chain(depth),
                lambda: self._walrus(depth),
            ]
        return self.rng.choice(options)()

    def _compare(self, shape: str, depth: int) -> str:
        kind = self.rng.choice("ffi" if depth > 0 or shape else "fin")
        sign = self.rng.choice(("<", ">", "<=", ">=", "==", "!="))
        if kind == "n":
            return f"({self.expr(('n', ''), 1)} {sign} {self.expr(('n', ''), 1)})"
        left = self.expr((kind, shape), depth - 1) if depth > 0 else self.leaf((kind, shape))
        right = self.number(kind)
        if depth > 0 and self.rng.random() < 0.5:
            right = self.expr((kind, shape), depth - 1)
        return f"({left} {sign} {right})"

    def _chain(self, depth: int) -> str:
        kind = self.rng.choice("fi")
        signs = [self.rng.choice(("<", "<=", ">", "!=")) for _ in range(2)]
        first, second, third = (self.expr((kind, ""), depth - 1) for _ in range(3))
        return f"({first} {signs[0]} {second} {signs[1]} {third})"

    def _walrus(self, depth: int) -> str:
        """A name bound inside an expression; it is read at once, never later."""
        name = self._fresh()
        return f"(({name} := {self.expr(('f', ''), depth - 1)}) > {name} * {name})"

    def _ternary(self, slot: Slot, depth: int) -> str:
        left, right = self.expr(slot, depth - 1), self.expr(slot, depth - 1)
        return f"({left} if {self.condition(depth - 1)} else {right})"

    # -- Python numbers ------------------------------------------------------------------------

    def _number(self, depth: int) -> str:
        inner = self.expr(("n", ""), depth - 1)
        sign = self.rng.choice(("+", "-", "*"))
        known = self.scope.of(("f", "AB"))
        return self.pick(
            lambda: f"({inner} {sign} {self.rng.choice(INTS)})",
            lambda: f"({inner} {sign} {self.expr(('n', ''), depth - 1)})",
            lambda: f"({inner} {self.rng.choice(('//', '%'))} {self.rng.choice(('2', '3', '-3'))})",
            lambda: f"len({self.rng.choice(known)})",
            lambda: f"{self.rng.choice(known)}.shape[{self.rng.choice((0, 1, -1))}]",
            lambda: self.rng.choice(INTS),
        )

    def _weak_float(self, depth: int) -> str:
        inner = self.expr(("w", ""), depth - 1)
        return self.pick(
            lambda: f"({inner} {self.rng.choice(('+', '-', '*'))} {self.rng.choice(FLOATS[:6])})",
            lambda: f"({inner} / {self.rng.choice(('2', '4', '0.5'))})",
            lambda: self.rng.choice(FLOATS[:6]),
        )

    # -- positions -----------------------------------------------------------------------------

    def index(self, axis: str, depth: int) -> str:
        """One position on an axis, from either end, known or computed."""
        size = self.scope.sizes[axis]
        roll = self.rng.random()
        if roll < 0.55 or depth <= 1:
            return str(self.rng.randrange(-size, size))
        inner = self.expr((self.rng.choice("in"), ""), depth - 2)
        return f"{inner} % {size}" if roll < 0.85 else f"-({inner} % {size}) - 1"

    def _indices(self, axis: str, depth: int, size: str = "B") -> str:
        """Several positions on an axis, as many as the axis `size` has."""
        if size == "B" and self.rng.random() < 0.7:
            limit = self.scope.sizes[axis]
            return f"{self.expr(('i', 'B'), depth - 1)} % {limit}"
        limit = self.scope.sizes[axis]
        picks = [self.rng.randrange(-limit, limit) for _ in range(self.scope.sizes[size])]
        return f"[{', '.join(map(str, picks))}]"

    def _slice(self, depth: int) -> str:
        """A slice with any of its three parts; it may be empty."""

        def part() -> str:
            roll = self.rng.random()
            if roll < 0.35:
                return ""
            if roll < 0.75:
                return str(self.rng.randrange(-4, 5))
            return self.expr((self.rng.choice("in"), ""), max(depth - 2, 0))

        step = self.rng.choice(("", "", ":2", ":-1", ":-2"))
        return f"{part()}:{part()}{step}"

    # -- calls ---------------------------------------------------------------------------------

    def _helper_call(self, slot: Slot, depth: int) -> str:
        fitting = [
            (name, takes) for name, (takes, gives) in self.scope.helpers.items() if gives == (slot,)
        ]
        if not fitting:
            return ""
        name, takes = self.rng.choice(fitting)
        return self.call(name, takes, depth)

    def call(self, name: str, takes: tuple[Slot, ...], depth: int) -> str:
        """A call of a helper function."""
        return f"{name}({', '.join(self.expr(slot, depth - 1) for slot in takes)})"

    def _fresh(self) -> str:
        self.walrus += 1
        return f"w{self.walrus}"
