"""Random statements around random expressions: what a script program is made of.

A block is written with the names that have a value at its start and returns those that have one
at its end, or None where the end is never reached; a name is read only where Python is sure to
have a value for it.
"""

from __future__ import annotations

import random

from tests.harness.program_expressions import Expressions, Scope, Slot

Lines = list[str]

NAMES = (
    "y",
    "z",
    "total",
    "cond",
    "infinite_loop",
    "trip_count",
    "Loop",
    "iter_num",
    "cond_in",
    "out",
    "_ret",
    "é",
    "If",
    "acc",
    "return_val",
    "flag",
    "output_0",
    "x_1",
    "body",
    "inputs",
)
ASSIGNED: tuple[Slot, ...] = (
    ("f", "AB"),
    ("f", "AB"),
    ("f", "B"),
    ("f", "B"),
    ("f", ""),
    ("i", "B"),
    ("i", ""),
    ("b", ""),
    ("b", "B"),
    ("n", ""),
    ("w", ""),
)


class Statements:
    """Writes one function body."""

    def __init__(self, rng: random.Random, gives: tuple[Slot, ...], fixed: frozenset[str]) -> None:
        self.rng = rng
        self.gives = gives
        self.fixed = fixed
        self.counter = 0
        self.budget = rng.randrange(4, 22)

    def body(self, scope: Scope) -> Lines:
        """The statements of a function that gives `self.gives` on every path."""
        lines, after = self.block(scope, loops=0, depth=0, top=True)
        if after is not None:
            lines.append(self._return(after))
        elif self.rng.random() < 0.2:
            lines.append("unreachable = op.Identity(1)")
        return lines

    # -- blocks --------------------------------------------------------------------------------

    def block(
        self, scope: Scope, *, loops: int, depth: int, top: bool = False
    ) -> tuple[Lines, Scope | None]:
        """A few statements; the scope after them, or None where it is never reached."""
        scope = scope.copy()
        lines: Lines = []
        mine: list[str] = []
        for _ in range(self.rng.randrange(3, 9) if top else self.rng.randrange(1, 4)):
            if self.budget <= 0:
                break
            self.budget -= 1
            roll = self.rng.random()
            if roll < 0.18 and depth < 3:
                new, after = self._if(scope, loops, depth)
            elif roll < 0.36 and loops < 2 and depth < 3:
                new, after = self._loop(scope, loops, depth)
            elif roll < (0.52 if loops else 0.42) and depth > 0 and not top:
                new, after = self._exit(scope, loops)
            else:
                new, after = self._simple(scope, mine, top and not loops)
            lines += new
            if after is None:
                return lines, None
            scope = after
        return lines or ["pass"], scope

    def _exit(self, scope: Scope, loops: int) -> tuple[Lines, Scope | None]:
        """A `return`, `break` or `continue`, mostly under an `if`."""
        word = self.rng.choice(("break", "continue", "return")) if loops else "return"
        line = self._return(scope) if word == "return" else word
        if self.rng.random() < 0.3:
            return [line], None
        condition = self._expressions(scope).condition()
        if self.rng.random() < 0.25:
            other, after = self.block(scope, loops=loops, depth=3)
            lines = [f"if {condition}:", f"    {line}", "else:", *_indented(other)]
            return lines, after
        return [f"if {condition}:", f"    {line}"], scope

    def _return(self, scope: Scope) -> str:
        values = [self._expressions(scope).expr(slot, 2) for slot in self.gives]
        return f"return {', '.join(values)}"

    # -- branches ------------------------------------------------------------------------------

    def _if(self, scope: Scope, loops: int, depth: int) -> tuple[Lines, Scope | None]:
        lines: Lines = []
        ends: list[Scope | None] = []
        for k in range(self.rng.choice((1, 1, 2, 3))):
            condition = self._expressions(scope).condition()
            inner, after = self.block(scope, loops=loops, depth=depth + 1)
            lines += [f"{'elif' if k else 'if'} {condition}:", *_indented(inner)]
            ends.append(after)
        if self.rng.random() < 0.6:
            inner, after = self.block(scope, loops=loops, depth=depth + 1)
            lines += ["else:", *_indented(inner)]
            ends.append(after)
        else:
            ends.append(scope)
        return lines, _meet(scope, ends)

    # -- loops ---------------------------------------------------------------------------------

    def _loop(self, scope: Scope, loops: int, depth: int) -> tuple[Lines, Scope | None]:
        first: Lines = []
        inside = scope.copy()
        roll = self.rng.random()
        if roll < 0.25:
            head, first, start = self._while(inside)
        elif roll < 0.65:
            start = []
            head = self._range(inside)
            if self.rng.random() < 0.3:
                name = head.split()[1]
                start = [f"{name} = {self.rng.choice(('0', '7', '-1'))}"]
                scope = scope.copy()
                scope.names[name] = ("n", "")
        else:
            start = []
            head = self._over_tensor(inside)
        fixed, self.fixed = self.fixed, self.fixed | {k for k in inside.names if k[:4] == "fuel"}
        body, _ = self.block(inside, loops=loops + 1, depth=depth + 1)
        self.fixed = fixed
        lines = [*start, head, *_indented(first + body)]
        if self.rng.random() < 0.2:
            inner, end = self.block(scope, loops=loops, depth=depth + 1)
            if end is None and not _may_break(body):
                return [*lines, "else:", *_indented(inner)], None
            lines += ["else:", *_indented(inner)]
        return lines, scope

    def _while(self, inside: Scope) -> tuple[str, Lines, Lines]:
        """A `while` that ends: some condition and a counter that runs out."""
        fuel = self._new("fuel")
        inside.names[fuel] = ("n", "")
        limit = self.rng.choice(("1", "3", "4"))
        condition = self._expressions(inside).condition()
        test = self.rng.choice(
            (
                f"{fuel} < {limit}",
                f"{fuel} < {limit} and {condition}",
                f"{condition} and {fuel} < {limit}",
                f"not ({fuel} >= {limit} or {condition})",
            )
        )
        return f"while {test}:", [f"{fuel} += 1"], [f"{fuel} = 0"]

    def _range(self, inside: Scope) -> str:
        """`range` with one to three arguments, known or computed."""
        name = self._new("i")
        write = self._expressions(inside)
        some = write.expr((self.rng.choice("in"), ""), 1)
        inside.names[name] = ("n", "")
        return self.rng.choice(
            (
                f"for {name} in range({self.rng.choice('01234')}):",
                f"for {name} in range({some} % 4):",
                f"for {name} in range({self.rng.choice(('-1', '1', '3'))}, {some} % 5):",
                f"for {name} in range({some} % 4, -2, -1):",
                f"for {name} in range(5, {some} % 4, -2):",
                f"for {name} in range(0, 5, {some} % 3 + 1):",
                f"for {name} in range(3, -1, -1):",
            )
        )

    def _over_tensor(self, inside: Scope) -> str:
        """A loop over rows or elements, alone, numbered or in pairs."""
        write = self._expressions(inside)
        matrix, vector = write.expr(("f", "AB"), 1), write.expr(("i", "B"), 1)
        second = write.expr(("f", "AB"), 1)
        row, other, index = self._new("row"), self._new("e"), self._new("k")
        first, last = write.leaf(("f", "B")), write.leaf(("f", "B"))
        style = self.rng.randrange(7)
        inside.names[row] = ("f", "B")
        if style == 5:
            return f"for {row} in [{first}, {last} + 1]:"
        if style == 6:
            inside.names[row] = ("n", "")
            return f"for {row} in ({self.rng.choice(('0, 2', '3, -1, 1', '2,'))}):"
        if style == 0:
            return f"for {row} in {matrix}:"
        if style == 1:
            inside.names[index] = ("n", "")
            return f"for {index}, {row} in enumerate({matrix}):"
        if style == 2:
            inside.names[other] = ("f", "B")
            return f"for {row}, {other} in zip({matrix}, {second}):"
        inside.names[row] = ("i", "")
        if style == 3:
            return f"for {row} in {vector}:"
        inside.names[index] = ("n", "")
        return f"for {index}, {row} in enumerate({vector}, {self.rng.choice(('0', '1', '2'))}):"

    # -- single statements ---------------------------------------------------------------------

    def _simple(self, scope: Scope, mine: list[str], top: bool) -> tuple[Lines, Scope]:
        scope = scope.copy()
        write = self._expressions(scope)
        changeable = [n for n in scope.names if n not in self.fixed and scope.names[n][0] in "fin"]
        roll = self.rng.random()
        if roll < 0.08 and mine:
            gone = mine.pop(self.rng.randrange(len(mine)))
            if gone in scope.names:
                del scope.names[gone]
                return [f"del {gone}"], scope
        if roll < 0.28 and changeable:
            return [self._augmented(write, self.rng.choice(changeable), scope)], scope
        if roll < 0.38:
            return self._tuple(scope, write, mine), scope
        if roll < 0.44:
            pair = self._same_pair(scope)
            if pair:
                return [f"{pair[0]}, {pair[1]} = {pair[1]}, {pair[0]}"], scope
        if roll < 0.47:
            return self._listed(scope, write, mine), scope
        if roll < 0.52:
            many = self._many(scope, write, mine)
            if many:
                return [many], scope
        slot = self.rng.choice(ASSIGNED)
        value = write.expr(slot, self.rng.choice((1, 2, 2, 3)))
        known = [n for n in scope.of(slot) if n not in self.fixed]
        if known and self.rng.random() < 0.6:
            return [f"{self.rng.choice(known)} = {value}"], scope
        name = self._new()
        if top and self.rng.random() < 0.2:
            free = [n for n in mine if n in scope.names]
            name = self.rng.choice(free) if free else name
        scope.names.pop(name, None)
        scope.names[name] = slot
        mine.append(name)
        return [f"{name} = {value}"], scope

    def _listed(self, scope: Scope, write: Expressions, mine: list[str]) -> Lines:
        """A Python list of tensors that is filled and read at once."""
        slot = self.rng.choice(ASSIGNED)
        values = [write.expr(slot, 1) for _ in range(3)]
        parts, name = self._new("parts"), self._new()
        scope.names[name] = slot
        mine.append(name)
        more = self.rng.choice((f"{parts}.append({values[2]})", f"{parts} += [{values[2]}]"))
        return [
            f"{parts} = [{values[0]}, {values[1]}]",
            more,
            f"{name} = {parts}[{self.rng.randrange(-3, 3)}]",
        ]

    def _augmented(self, write: Expressions, name: str, scope: Scope) -> str:
        slot = scope.names[name]
        if slot[0] == "n":
            return f"{name} {self.rng.choice(('+', '-'))}= {self.rng.choice(('1', '2', '3'))}"
        signs = ("+", "-", "*", "//", "%") if slot[0] == "i" else ("+", "-", "*", "/")
        sign = self.rng.choice(signs)
        if sign in ("//", "%", "/"):
            return f"{name} {sign}= {self.rng.choice(('2', '-2', '4'))}"
        return f"{name} {sign}= {self.rng.choice((write.expr(slot, 1), write.number(slot[0])))}"

    def _tuple(self, scope: Scope, write: Expressions, mine: list[str]) -> Lines:
        slots = [self.rng.choice(ASSIGNED) for _ in range(2)]
        values = [write.expr(slot, 1) for slot in slots]
        last = write.leaf(("f", "B"))
        names = [self._new() for _ in slots]
        for name, slot in zip(names, slots):
            scope.names[name] = slot
        mine += names
        left, right = ", ".join(names), ", ".join(values)
        if self.rng.random() < 0.3:
            extra = self._new()
            scope.names[extra] = ("f", "B")
            mine.append(extra)
            return [f"({left}), {extra} = ({right}), {last}"]
        return [f"{left} = {right}"]

    def _many(self, scope: Scope, write: Expressions, mine: list[str]) -> str:
        """Several results at once: of a helper, or of `Split`."""
        helpers = [(n, t, g) for n, (t, g) in scope.helpers.items() if len(g) > 1]
        if helpers and self.rng.random() < 0.7:
            name, takes, gives = self.rng.choice(helpers)
            call = write.call(name, takes, 2)
            names = [self._new() for _ in gives]
            scope.names.update(zip(names, gives))
            mine += names
            return f"{', '.join(names)} = {call}"
        if scope.sizes["A"] != 2:
            return ""
        names = [self._new() for _ in range(2)]
        source, other = write.expr(("f", "AB"), 1), write.leaf(("f", "AB"))
        for name in names:
            scope.names[name] = ("f", "AB")
        mine += names
        return f"{names[0]}, {names[1]} = {source} + {other}[:1], {other} - {source}[1:]"

    def _same_pair(self, scope: Scope) -> tuple[str, str] | None:
        for slot in self.rng.sample(ASSIGNED, len(ASSIGNED)):
            names = [n for n in scope.of(slot) if n not in self.fixed]
            if len(names) >= 2:
                one, two = self.rng.sample(names, 2)
                return one, two
        return None

    def _new(self, stem: str = "") -> str:
        self.counter += 1
        if not stem and self.counter <= len(NAMES):
            return NAMES[self.counter - 1]
        return f"{stem or 'v'}{self.counter}"

    def _expressions(self, scope: Scope) -> Expressions:
        write = Expressions(self.rng, scope)
        write.walrus = self.counter * 10
        self.counter += 1
        return write


def _meet(before: Scope, ends: list[Scope | None]) -> Scope | None:
    """What has the same kind of value on every path that gets here."""
    reached = [end for end in ends if end is not None]
    if not reached:
        return None
    meet = before.copy()
    meet.names = {
        name: slot
        for name, slot in reached[0].names.items()
        if all(end.names.get(name) == slot for end in reached)
    }
    return meet


def _may_break(body: Lines) -> bool:
    return any(line.strip() == "break" for line in body)


def _indented(lines: Lines) -> Lines:
    return ["    " + line for line in lines]
