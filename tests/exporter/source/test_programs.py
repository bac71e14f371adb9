"""Programs whose Python decides by values, captured by source, against PyTorch at other values."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the exporter takes PyTorch programs")

from torch.utils import _pytree as pytree  # noqa: E402

from onnxwright import exporter  # noqa: E402
from onnxwright.errors import ExportValueError  # noqa: E402
from tests.exporter.source import programs, random_programs  # noqa: E402

DYNAMIC = ({0: torch.export.Dim.DYNAMIC},)


def exported(module: Any, *args: Any, **options: Any) -> Any:
    """A program captured by source; what torch warns of is not what these tests are about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return exporter.export(module, args, dynamic_shapes=DYNAMIC, **options)


def same(program: Any, module: Any, x: Any) -> None:
    """Both give the same results."""
    wanted = pytree.tree_leaves(module(x.clone()))
    found = pytree.tree_leaves(program(x.clone()))
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(
            torch.as_tensor(a), torch.as_tensor(b), rtol=1e-4, atol=1e-4, check_dtype=False
        )


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_a_program_gives_what_pytorch_gives_for_all_inputs(name: str) -> None:
    module = programs.as_module(programs.PROGRAMS[name])
    inputs = programs.inputs()
    program = exported(module, inputs[1], capture="source")
    for x in inputs:
        same(program, module, x)


def test_the_inputs_take_every_way_of_the_programs() -> None:
    lines: dict[Any, set[int]] = {}

    def trace(frame: Any, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != programs.__file__:
            return None
        found = lines.setdefault(frame.f_code, set())
        if event == "line":
            found.add(frame.f_lineno)
        return trace

    modules = [programs.as_module(entry) for entry in programs.PROGRAMS.values()]
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        for module in modules:
            for x in programs.inputs():
                module(x)
    finally:
        sys.settrace(before)
    source = Path(programs.__file__).read_text(encoding="utf-8").splitlines()
    missing = [
        f"{code.co_name}:{line}: {source[line - 1].strip()}"
        for code, found in lines.items()
        for _, _, line in code.co_lines()
        if line is not None and line > code.co_firstlineno and line not in found
    ]
    never = ("raise ", "except ", "x = x - 1", "global ", "nonlocal ", "def ", "@", "assert ")
    found = [m for m in missing if not m.split(": ", 1)[1].startswith(never)]
    assert not found, "\n".join(found)


def test_auto_captures_by_source_where_the_other_ways_fail() -> None:
    module = programs.as_module(programs.PROGRAMS["if_else"])
    program = exported(module, programs.inputs()[0])
    ways = [(o.strategy, bool(o.error)) for o in program.report.captures]
    assert ways == [
        ("non-strict", True), ("strict", True), ("substitutes", True), ("source", False)
    ]  # fmt: skip
    last = program.report.captures[-1]
    assert [(c.kind, c.text) for c in last.choices] == [("If", "if x.sum() > 0:")]
    assert [name.split(" ")[0] for name in last.rewritten] == ["if_else"]


def test_functions_have_their_own_code_again_afterwards() -> None:
    entry = programs.PROGRAMS["if_returns"]
    before = entry.__code__
    exported(programs.as_module(entry), programs.inputs()[0], capture="source")
    assert entry.__code__ is before


def test_a_decision_is_answered_by_the_user() -> None:
    module = programs.as_module(programs.PROGRAMS["if_else"])
    x = programs.inputs()[0]
    program = exported(module, x, capture="source", assume={"x.sum() > 0": True})
    assert [c.kind for c in program.report.captures[-1].choices] == ["assumed"]
    assert "If" not in [node.op_type for node in program.model.graph]
    for given in (torch.ones(3, 4), torch.ones(2, 4) * 2):
        same(program, module, given)


def test_answers_are_by_line_as_well_and_all_are_used() -> None:
    module = programs.as_module(programs.PROGRAMS["if_else"])
    x = programs.inputs()[0]
    program = exported(module, x, capture="source")
    (choice,) = program.report.captures[-1].choices
    place = f"{Path(choice.file).name}:{choice.line}"
    answered = exported(module, x, assume={place: False})
    assert "If" not in [node.op_type for node in answered.model.graph]
    with pytest.raises(
        ExportValueError, match=rf"OW825(?s:.*)decided by a value is 'x.max(?s:.*){place}"
    ):
        exported(module, x, assume={"x.max() > 3": True})
    with pytest.raises(ExportValueError, match="decides nothing by a value"):
        exported(torch.nn.ReLU(), x, assume={"x.max() > 3": True})


def zipped(x: Any, y: Any) -> Any:
    total = x.sum() * 0
    if x.max() > -100:
        total = total + 1
    for a, b in zip(x, y):
        total = total * 2 + (a * b).sum()
    return total


def zipped_with_a_range(x: Any, y: Any) -> Any:
    total = x.sum() * 0
    if x.max() > -100:
        total = total + 1
    for i, a in zip(range(1, y.shape[0] + 5, 2), x):
        total = total * 2 + a.sum() * i
    return total


def enumerated(x: Any, y: Any) -> Any:
    total = y.sum() * 0
    if x.max() > -100:
        total = total + 1
    for i, k in enumerate(range(x.shape[0] - 1, -1, -1), 3):
        total = total * 2 + i * x[k].sum()
    for i, k in enumerate(range(1, x.shape[0] + 2, 3)):
        total = total + i * k
    return total


@pytest.mark.parametrize("function", [zipped, zipped_with_a_range, enumerated])
def test_iterables_of_run_time_length(function: Any) -> None:
    """`zip` ends with the shortest, and items are counted from where a range starts."""
    both = (*DYNAMIC, *DYNAMIC)
    given = (torch.ones(3, 2), torch.ones(4, 2))
    program = exporter.export(function, given, dynamic_shapes=both, capture="source")
    for rows, others in ((5, 2), (2, 6), (3, 3), (4, 7)):
        x, y = torch.randn(rows, 2), torch.randn(others, 2)
        torch.testing.assert_close(program(x, y), function(x, y), rtol=1e-4, atol=1e-4)


class Experts(torch.nn.ModuleDict):
    """The experts that some row asks for, by the name that their number has in a text."""

    def __init__(self) -> None:
        super().__init__({f"expert {i}": torch.nn.Linear(4, 4) for i in range(3)})

    def forward(self, x: Any) -> Any:
        which = x.argmax(-1) % 3
        out = torch.zeros_like(x)
        for i in torch.nn.functional.one_hot(which, 3).sum(0).nonzero():
            rows = torch.where(which == i)[0]
            out.index_add_(0, rows, self[f"expert {i[0]}"](x[rows]))
            if i == 2:
                break
        return out


def test_places_of_a_mask_of_fixed_size_are_gone_through_one_by_one() -> None:
    module = Experts().eval()
    program = exported(module, torch.randn(5, 4), capture="source")
    assert {c.kind for c in program.report.captures[-1].choices} == {"If"}
    for rows in (1, 2, 3, 20):
        same(program, module, torch.randn(rows, 4))


def test_the_report_names_decisions_and_checks_that_are_left_out() -> None:
    module = programs.as_module(programs.PROGRAMS["check_left_out"])
    program = exported(module, programs.inputs()[0], capture="source")
    text = program.report.markdown()
    assert "Decisions by values" in text
    assert text.count("check left out") == 2


@pytest.mark.parametrize("seed", range(10, 16))
def test_a_random_program(seed: int) -> None:
    """The fixed share of `python -m tests.exporter.source.random_programs`."""
    assert random_programs.problem_of(seed) == ""


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 5000, 100))
def test_five_thousand_random_programs(start: int) -> None:
    wrong = [seed for seed in range(start, start + 100) if random_programs.problem_of(seed)]
    assert not wrong
