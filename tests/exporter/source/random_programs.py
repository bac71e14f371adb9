# ruff: noqa: T201, S311 - a command prints; random programs need no secrets
"""Random PyTorch programs that decide by values, against eager PyTorch at other values and sizes.

    python -m tests.exporter.source.random_programs --count 100 --seed 7 -n 2
    python -m tests.exporter.source.random_programs --wide --count 100

prints each program that differs or is refused, with its seed, and how many there are of each.  All
numbers are multiples of powers of two, and small, so that no rounding turns a decision.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from onnxwright import exporter
from onnxwright.diagnostics.span import register_source
from onnxwright.errors import OnnxwrightError, OnnxwrightWarning
from onnxwright.sweep.cluster import Cluster, Lost, run_tasks

RESULT = "return x, y, s, k, self.count, self.last, seen, held"
_DIMS = ({0: torch.export.Dim.DYNAMIC},)


class Writer:
    """Writes one program.

    Args:
        seed: of the random choices.
    """

    result = RESULT

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.loops = 0

    def program(self) -> str:
        """The text of a module class `Model`, with functions that it calls."""
        self.lines = ["import torch", ""]
        for n in range(2):
            self.lines += [f"def helper{n}(x, y):", "    s, k, flag = x.max(), 1, False"]
            self.lines += self.locals(1)
            self.block(1, 1, returns="return x", helpers=n)
            self.lines += ["    return x - y", ""]
        self.lines += ["class Model(torch.nn.Module):"]
        # State that called functions change: an attribute, a dict, an outer variable.
        self.lines += ["    count, last = 0, None", "    def bump(self, x):"]
        self.lines += ["        self.count += 1", "        self.last = x * 0.5", "        return x"]
        self.lines += ["    def method(self, x, y):"]
        self.lines.append("        s, k, flag = y.sum(), 2, True")
        self.lines += self.locals(2)
        self.block(2, 1, returns="return y", helpers=2)
        self.lines += ["        return y + x", "", "    def forward(self, x):"]
        self.lines += ["        x = x.clone()", "        y = x * 0.5", "        s = x.sum()"]
        self.lines += ["        k, flag = 1, False", "        self.count, self.last = 0, y"]
        self.lines += ["        held, seen = {'a': x, 'n': 0}, 0", "        def note(value):"]
        self.lines += [
            "            nonlocal seen",
            "            seen += 1",
            "            held['a'] = y",
        ]
        self.lines += ["            return value", *self.locals(2)]
        self.block(2, 2, returns=self.result, helpers=3)
        self.lines.append(f"        {self.result}")
        return "\n".join(self.lines) + "\n"

    def locals(self, indent: int) -> list[str]:
        """Variables of a function, at its start."""
        del indent
        return []

    def add(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def pick(self, *options: Any) -> Any:
        return self.random.choice(options)

    # -- expressions -------------------------------------------------------------------------------

    def tensor(self, helpers: int) -> str:
        c = self.pick("0.5", "1", "2", "k", "s.clamp(-2, 2)")
        a, b = self.pick("x", "y"), self.pick("x", "y")
        options = [
            f"({a} + {c}).clamp(-8, 8)", f"{a} - {b}", f"{a} * 0.5", f"{a}.abs()", f"-{a}",
            f"torch.relu({a})", f"torch.where({a} > {b}, {a}, {c} + {b} * 0)",
            f"({a} if {self.condition(1)} else {b})", f"{a}.roll(1, 1)",
        ]  # fmt: skip
        options += [f"helper{n}({a}, {b})" for n in range(min(helpers, 2))]
        options += [f"{self.pick('max', 'min')}({a}, {b}, key=lambda t: t.sum())"]
        if helpers == 3:
            options += [f"self.bump({a})", f"note({a})", "held['a']"]
        options += [f"self.method({a}, {b})"] if helpers == 3 else []
        return self.pick(*options)

    def scalar(self) -> str:
        a = self.pick("x", "y")
        return self.pick(
            f"{a}.sum().clamp(-8, 8)", f"{a}.max()", f"{a}[0, 1]", "s * 0.5", "-s", f"{a}[1].min()",
            "(s + k).clamp(-8, 8)", f"max({a}.min(), s)", f"sum(r.max() for r in ({a}[0], {a}[1]))",
        )  # fmt: skip

    def number(self) -> str:
        return self.pick("k + 1", "k - 2", "k % 3", "2", "-1", "k * 2 % 5")

    def condition(self, depth: int) -> str:
        a, c = self.pick("x", "y"), self.pick("-1", "0", "0.5", "1", "3")
        simple = [
            f"{a}.sum() > {c}", f"{a}.max() < {c}", f"s > {c}", "k > 1", f"(x > y + {c}).any()",
            "s < k", "flag", f"{c} < s < 4", f"{a}[0, 0] == {c}", "k in (1, 2)",
            f"any(r.max() > {c} for r in ({a}[0], {a}[1]))", f"{c} < {a}.max() <= s + 2",
            f"all([{a}.min() < {c}, s > {c}])",
        ]  # fmt: skip
        if depth and self.random.random() < 0.4:
            one, two = self.condition(depth - 1), self.condition(depth - 1)
            return self.pick(f"{one} and {two}", f"{one} or {two}", f"not ({one})")
        return self.pick(*simple)

    # -- statements --------------------------------------------------------------------------------

    def block(
        self, indent: int, depth: int, returns: str, helpers: int, loop: bool = False
    ) -> None:
        for _ in range(self.random.randint(1, 2)):
            self.statement(indent, depth, returns, helpers, loop)

    def statement(self, indent: int, depth: int, returns: str, helpers: int, loop: bool) -> None:
        kind = self.random.random()
        if depth and kind < 0.35:
            self.decision(indent, depth, returns, helpers, loop)
        elif depth and kind < 0.5:
            self.loop(indent, depth, returns, helpers)
        elif depth and kind < 0.55:
            self.tried(indent, helpers)
        elif depth == 2 and kind < 0.6 and not loop:
            self.optional(indent, helpers)
        elif kind < 0.65 and loop:
            self.add(indent, f"if {self.condition(1)}:")
            self.add(indent + 1, self.pick("break", "continue", returns))
        else:
            self.add(indent, self.assignment(helpers))

    def assignment(self, helpers: int) -> str:
        a = self.pick("x", "y")
        return self.pick(
            f"{a} = {self.tensor(helpers)}", f"{a} = {self.tensor(helpers)}", "x, y = y, x",
            f"s = {self.scalar()}", f"k = {self.number()}", "k += 1", "y = y + 1",
            "y = y * 1; y += 0.5",
            f"flag = {self.condition(1)}", "y = y.clone(); y[:1] += s",
            "x = x.clone(); x[:, 1:3] *= 0.5", "y = x.clone(); y[0] = s",
            "x = y.clone(); x[:, 1] += k",
        )  # fmt: skip

    def decision(self, indent: int, depth: int, returns: str, helpers: int, loop: bool) -> None:
        self.add(indent, f"if {self.condition(2)}:")
        self.block(indent + 1, depth - 1, returns, helpers, loop)
        if self.random.random() < 0.2:
            self.add(indent + 1, self.pick(returns, *(("break", "continue") if loop else ())))
        if self.random.random() < 0.3:
            self.add(indent, f"elif {self.condition(1)}:")
            self.block(indent + 1, depth - 1, returns, helpers, loop)
        if self.random.random() < 0.6:
            self.add(indent, "else:")
            self.block(indent + 1, depth - 1, returns, helpers, loop)

    def tried(self, indent: int, helpers: int) -> None:
        """A `try` whose `except` takes any error, with a decision in it."""
        self.add(indent, "try:")
        self.decision(indent + 1, 1, "pass", helpers, False)
        self.add(indent, "except Exception:")
        self.add(indent + 1, "y = y * 100")
        if self.random.random() < 0.5:
            self.add(indent, "else:")
            self.add(indent + 1, self.assignment(helpers))

    def optional(self, indent: int, helpers: int) -> None:
        """A variable that is `None`, a tensor or a text, and code that asks."""
        self.loops += 1
        name = f"m{self.loops}"
        if self.random.random() < 0.5:
            self.add(indent, f"{name} = None if {self.condition(1)} else {self.tensor(helpers)}")
            self.add(indent, f"if {name} is not None:")
            self.add(indent + 1, f"x = x - {name} * 0.5")
        else:
            self.add(indent, f"{name} = 'up' if {self.condition(1)} else 'down'")
            self.add(indent, f"if {name} == 'up':")
            self.add(indent + 1, self.assignment(helpers))

    def loop(self, indent: int, depth: int, returns: str, helpers: int) -> None:
        self.loops += 1
        count = f"n{self.loops}"
        if self.random.random() < 0.6:
            # What only the test reads must go round as well.
            going, goes = f"g{self.loops}", self.random.random() < 0.4
            test = going if goes else f"({self.condition(1)})"
            self.add(indent, f"{count} = 0")
            if goes:
                self.add(indent, f"{going} = {self.condition(1)}")
            self.add(indent, f"while {count} < 3 and {test}:")
            self.add(indent + 1, f"{count} += 1")
            if goes:
                self.add(indent + 1, f"{going} = {self.condition(1)}")
        else:
            self.add(indent, f"for {count} in {self.pick('range(3)', 'range(1, 10, 4)')}:")
        self.block(indent + 1, depth - 1, returns, helpers, loop=True)
        if self.random.random() < 0.25:
            self.add(indent, "else:")
            self.block(indent + 1, 0, returns, helpers)


# From this seed on programs are those of `wide_programs`.
WIDE = 1_000_000


def model_of(seed: int) -> tuple[Any, str]:
    """A random module and its text."""
    writer = Writer
    if seed >= WIDE:
        from tests.exporter.source.wide_programs import (  # noqa: PLC0415 - it imports this module
            WideWriter,
        )

        writer = WideWriter
    text = writer(seed).program()
    name = f"<random program {seed}>"
    register_source(name, text)
    space: dict[str, Any] = {"__name__": "random_program"}
    exec(compile(text, name, "exec"), space)  # noqa: S102 - text of this file's own
    return space["Model"]().eval(), text


def inputs(seed: int) -> list[torch.Tensor]:
    """Matrices of quarters, of several sizes."""
    made = []
    for n in range(8):
        torch.default_generator.manual_seed(seed * 100 + n)
        made.append(torch.randint(-8, 9, (2 + n % 3, 4)) * (0.25, 0.5)[n % 2] + (n % 4 - 2) * 0.5)
    return made


@dataclass(frozen=True)
class Outcome:
    """What came of a random program.

    Fields:
        kind: `right`, `wrong`, `told` (wrong, after a warning) or `refused`, both with the code of
            the message, `crashed`, or `raises` if PyTorch raises an error.
        text: what is wrong; empty if nothing.
    """

    kind: str
    text: str = ""


def outcome_of(seed: int) -> Outcome:
    """What comes of the export of a random program."""
    module, _ = model_of(seed)
    given = inputs(seed)
    if seed >= WIDE:
        with contextlib.suppress(Exception):
            for x in given:
                module(x.clone())
            given = [*given, None]
        if given.pop() is not None:
            return Outcome("raises")
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            program = exporter.export(module, (given[0],), dynamic_shapes=_DIMS, capture="source")
    except OnnxwrightError as error:
        return Outcome(f"refused {error.diagnostic.code}", str(error))
    except Exception:  # noqa: BLE001 - all that is raised is a finding
        return Outcome("crashed", traceback.format_exc(limit=-3))
    problem = _difference(module, program, given)
    told = [w.message for w in seen if isinstance(w.message, OnnxwrightWarning)]
    if problem and told:
        return Outcome(f"told {told[0].diagnostic.code}", f"{told[0]}\n{problem}")
    return Outcome("wrong", problem) if problem else Outcome("right")


def _difference(module: Any, program: Any, given: list[torch.Tensor]) -> str:
    for x in given:
        wanted = pytree.tree_leaves(module(x.clone()))
        try:
            found = pytree.tree_leaves(program(x.clone()))
        except Exception:  # noqa: BLE001 - as above
            return traceback.format_exc(limit=-2)
        for n, (a, b) in enumerate(zip(found, wanted, strict=True)):
            one, two = torch.as_tensor(a).double(), torch.as_tensor(b).double()
            if one.shape != two.shape or not torch.allclose(one, two, atol=1e-5):
                return f"result {n} of {x.tolist()}:\n{one}\nin place of\n{two}"
    return ""


def problem_of(seed: int) -> str:
    """What is wrong with the export of a random program; empty if nothing."""
    return outcome_of(seed).text


def main() -> int:
    """Check a number of random programs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--wide", action="store_true", help="programs of `wide_programs`")
    parser.add_argument("--text", action="store_true", help="print each program that fails")
    parser.add_argument("-n", type=int, default=0, help="processes; 0 for this one")
    parser.add_argument("--scheduler", help="run on this dask scheduler")
    given = parser.parse_args()
    first = given.seed + (WIDE if given.wide else 0)
    seeds = {str(seed): seed for seed in range(first, first + given.count)}
    kinds: Counter[str] = Counter()
    for name, found in run_tasks(outcome_of, seeds, Cluster(given.n, given.scheduler)):
        outcome = Outcome("lost", found.why) if isinstance(found, Lost) else found
        kinds[outcome.kind] += 1
        if outcome.text:
            print(f"-- {name} {outcome.kind}")
            if given.text:
                print(model_of(seeds[name])[1])
            print(outcome.text[:1500], flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in kinds.most_common()))
    good = kinds["right"] + kinds["raises"]
    print(f"{good} of {given.count} programs are right")
    return int(good < given.count)


if __name__ == "__main__":
    raise SystemExit(main())
