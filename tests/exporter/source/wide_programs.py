# ruff: noqa: S311 - random programs need no secrets
"""Random PyTorch programs with lists, None, texts, dictionaries, modules and tensors that grow.

    python -m tests.exporter.source.random_programs --wide --count 100 --seed 7 -n 2

They are those of `random_programs`, with variables that are None, lists that loops change, texts
that choose a module, tensors with other sizes after an iteration, and loops over rows.
"""

from __future__ import annotations

from tests.exporter.source.random_programs import RESULT, Writer

WIDE_RESULT = (
    f"{RESULT}, (s * 0 if best is None else best.sum()), len(rows), "
    "(torch.stack(rows).sum() if len(rows) > 0 else s), grown, counts, table[kind]"
)


class WideWriter(Writer):
    """Writes one program with all of that."""

    result = WIDE_RESULT

    def program(self) -> str:
        """The text of a module class `Model`, with functions and modules that it calls."""
        text = super().program().splitlines()
        self.lines = []
        for n in range(2):
            self.lines += [f"class Part{n}(torch.nn.Module):", "    def forward(self, x):"]
            self.lines += ["        y, s, k, flag = x * 0.5, x.min(), 1, False"]
            self.lines += self.locals(2)
            self.block(2, 1, returns="return x", helpers=0)
            self.lines += ["        return x + y * 0.5", ""]
        at = text.index("class Model(torch.nn.Module):")
        made = [*text[:at], *self.lines, text[at]]
        made += [
            "    def __init__(self):",
            "        super().__init__()",
            "        parts = {'up': Part0(), 'down': Part1(), 'flat': torch.nn.ReLU()}",
            "        self.parts = torch.nn.ModuleDict(parts)",
        ]
        return "\n".join([*made, *text[at + 1 :]]) + "\n"

    def locals(self, indent: int) -> list[str]:
        """Variables of a function."""
        lines = [
            "best, rows, kind, grown, counts = None, [], 'flat', x[:1], [0, 0, 0]",
            "table = {'up': 1, 'down': 2, 'flat': 3}",
        ]
        return ["    " * indent + line for line in lines]

    def statement(self, indent: int, depth: int, returns: str, helpers: int, loop: bool) -> None:
        """One statement."""
        if self.random.random() < 0.55:
            super().statement(indent, depth, returns, helpers, loop)
            return
        kind = self.random.random()
        if kind < 0.25:
            self.maybe_none(indent)
        elif kind < 0.5:
            self.list_change(indent)
        elif kind < 0.62:
            self.text_change(indent, helpers)
        elif kind < 0.74:
            self.growth(indent)
        elif kind < 0.84:
            self.add(indent, self.counting())
        elif depth:
            self.rows_loop(indent, depth, returns, helpers)
        else:
            self.add(indent, self.assignment(helpers))

    def maybe_none(self, indent: int) -> None:
        """A variable that may be None."""
        a = self.pick("x", "y")
        row = self.pick(f"{a}[0]", f"{a}[-1] * 0.5", f"{a}.amax(0)", f"{a}.sum(0).clamp(-4, 4)")
        test, change = self.pick(
            ("best is None", f"best = {row}"),
            (f"best is None or best.sum() < ({row}).sum()", f"best = {row}"),
            (f"best is not None and ({self.condition(1)})", f"{a} = {a} - best * 0.5"),
            ("best is not None", "best = None"),
            (self.condition(1), f"best = {row}"),
            (self.condition(1), "best = None"),
        )
        self.add(indent, f"if {test}:")
        self.add(indent + 1, change)
        if self.random.random() < 0.3:
            self.add(indent, "else:")
            self.add(indent + 1, self.pick("best = x[0]", "k = 2", "y = y * 0.5"))

    def list_change(self, indent: int) -> None:
        """A list that gets longer, shorter or another item."""
        a = self.pick("x", "y")
        kind = self.random.random()
        if kind < 0.5:
            self.add(indent, self.pick(
                f"rows.append({a}[0])", f"rows += [{a}[-1] * 0.5]", f"rows = rows + [{a}[0]]",
                f"rows.extend([{a}[0], {a}[1]])", f"rows.append({a}[0] - 1)",
            ))  # fmt: skip
            return
        self.add(indent, f"if len(rows) > {self.pick('0', '1', '2')}:")
        self.add(indent + 1, self.pick(
            "rows.pop()", f"{a} = {a} + rows.pop() * 0.5", "rows[-1] = rows[-1] * 0.5",
            f"rows[0] = {a}[0]", "s = rows[-1].sum().clamp(-8, 8)", "rows = rows[1:]",
            f"{a} = ({a} + torch.stack(rows).sum(0)).clamp(-8, 8)", "rows = []", "del rows[-1]",
            "rows.clear()", "k = len(rows)", "rows.pop(0)",
        ))  # fmt: skip

    def text_change(self, indent: int, helpers: int) -> None:
        """A text that decides, or chooses a module."""
        a = self.pick("x", "y")
        options = [
            f"kind = 'up' if {self.condition(1)} else 'down'",
            f"kind = 'flat' if {self.condition(1)} else kind",
            f"k = table[kind] + {self.pick('0', '1')}",
            f"{a} = {a} * 0.5 if kind == 'up' else {a}",
            "flag = kind in ('up', 'flat')",
        ]
        options += [f"{a} = self.parts[kind]({a})"] * 2 if helpers == 3 else []
        self.add(indent, self.pick(*options))

    def growth(self, indent: int) -> None:
        """A tensor that gets longer or shorter."""
        a = self.pick("x", "y")
        if self.random.random() < 0.5:
            self.add(indent, f"grown = torch.cat([grown, {a}[:1]])")
            return
        self.add(indent, f"if grown.shape[0] > {self.pick('1', '2', '3')}:")
        self.add(indent + 1, self.pick(
            "grown = grown[1:]", "grown = grown[:-1]", f"{a} = {a} + grown[-1] * 0.5",
            "s = grown.sum().clamp(-8, 8)", "k = grown.shape[0]",
        ))  # fmt: skip

    def counting(self) -> str:
        """A count, at a place or of rows."""
        a, c = self.pick("x", "y"), self.pick("-1", "0", "1")
        return self.pick(
            "counts[k % 3] += 1", f"counts[int({a}[0].argmax()) % 3] += 1", "counts[0] = k",
            f"k = sum(1 for r in {a} if r.sum() > {c})", "counts[1], counts[0] = counts[0], k",
            f"k = len([r for r in {a} if r.max() > {c}])", "y = y.clone(); y[:1, k % 2:] += 0.5",
        )  # fmt: skip

    def rows_loop(self, indent: int, depth: int, returns: str, helpers: int) -> None:
        """A loop over the rows of a matrix."""
        self.loops += 1
        n, a = f"i{self.loops}", self.pick("x", "y")
        if self.random.random() < 0.5:
            self.add(indent, f"for {n} in {a}:")
            use = self.pick(f"y = y + {n} * 0.5", f"s = {n}.sum()", f"rows.append({n})",
                            f"best = {n}", f"k = int({n}.argmax())")  # fmt: skip
        else:
            self.add(indent, f"for {n} in range({a}.shape[0]):")
            use = self.pick(
                f"s = x[{n}].sum()", f"y = y.clone(); y[{n}] = x[{n}] * 0.5",
                f"rows.append(x[{n}])", f"k = {n}", f"counts[{n} % 3] += 1",
            )  # fmt: skip
        self.add(indent + 1, use)
        self.block(indent + 1, depth - 1, returns, helpers, loop=True)
