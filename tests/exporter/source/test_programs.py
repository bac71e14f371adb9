"""Programs whose Python decides by values, captured by source, against PyTorch at other values."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

import onnxwright as ow
from onnxwright import exporter
from onnxwright.errors import ExportError, ExportValueError
from onnxwright.exporter.program.running import Session
from tests.exporter.source import (
    programs,
    programs_of_aliases,
    programs_of_choices,
    programs_of_constants,
    programs_of_effects,
    programs_of_iterables,
    programs_of_lists,
    programs_of_loops,
    programs_of_names,
    programs_of_numbers,
    programs_of_objects,
    programs_of_returns,
    random_programs,
)

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


TABLES = (
    programs, programs_of_objects, programs_of_loops, programs_of_constants, programs_of_lists,
    programs_of_iterables, programs_of_choices, programs_of_effects, programs_of_numbers,
    programs_of_names, programs_of_returns, programs_of_aliases,
)  # fmt: skip
ALL = {name: program for table in TABLES for name, program in table.PROGRAMS.items()}


def table_of(name: str) -> str:
    """The file in which a program stands."""
    return next(table.__name__ for table in TABLES if name in table.PROGRAMS)


@pytest.mark.share(10, by=table_of)
@pytest.mark.parametrize("name", ALL)
def test_a_program_gives_what_pytorch_gives_for_all_inputs(name: str) -> None:
    module = programs.as_module(ALL[name])
    inputs = programs.inputs()
    program = exported(module, inputs[1], capture="source")
    for x in inputs:
        same(program, module, x)


MORE = {**programs_of_constants.MORE, **programs_of_lists.MORE}


@pytest.mark.slow
@pytest.mark.parametrize("name", MORE)
def test_more_programs(name: str) -> None:
    module = programs.as_module(MORE[name])
    inputs = programs.inputs()
    program = exported(module, inputs[1], capture="source")
    for x in inputs:
        same(program, module, x)


@pytest.mark.slow
def test_lists_that_both_sides_of_a_loop_replace_fix_the_number_of_rows() -> None:
    """There may be no first row, which would say what the lists hold."""
    program_of = programs_of_lists.lists_that_both_sides_replace
    module, x = programs.as_module(program_of), programs.inputs()[1]
    with pytest.warns(ow.OnnxwrightWarning, match="OW827.*declared dynamic"):
        program = ow.export(module, (x,), dynamic_shapes=({0: "n"},), capture="source")
    for given in (x, -x, x - 1):
        same(program, module, given)


REFUSED = {
    **programs_of_objects.REFUSED, **programs_of_choices.REFUSED, **programs_of_numbers.REFUSED,
    **programs_of_effects.REFUSED, **programs_of_names.REFUSED,
    **programs_of_iterables.REFUSED, **programs_of_lists.REFUSED, **programs_of_aliases.REFUSED,
}  # fmt: skip


@pytest.mark.share(5)
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_captured_is_refused(name: str) -> None:
    module = programs.as_module(REFUSED[name])
    of_changes = {
        **programs_of_effects.REFUSED, **programs_of_names.REFUSED,
        **programs_of_iterables.REFUSED, **programs_of_aliases.REFUSED,
    }  # fmt: skip
    code = "OW8(8[67]|43)" if name in of_changes else "OW8[2458]"
    with pytest.raises(ExportError, match=code):
        exported(module, programs.inputs()[1], capture="source")


@pytest.mark.parametrize("name", programs_of_names.STATE)
def test_new_values_of_tensors_that_the_module_holds(name: str) -> None:
    """They are further outputs of the model, whichever name they were written under."""
    inputs = programs.inputs(8)
    start = programs.as_module(programs_of_names.STATE[name])
    program = exported(start, inputs[1], capture="source")
    names = [v.name for v in program.model.graph.outputs]
    assert any(name.endswith(".new") for name in names)
    for x in inputs:
        module = programs.as_module(programs_of_names.STATE[name])
        results = Session(program.model).run(program.feeds((x,)))
        wanted = pytree.tree_leaves(module(x))
        held = {"plain": module.plain, "lifted_tensor_0": module.rows[0]}
        held |= dict(module.named_buffers())
        wanted += [held[name.removesuffix(".new")] for name in names[len(wanted) :]]
        for a, b in zip(results, wanted, strict=True):
            torch.testing.assert_close(torch.as_tensor(a), b)


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


def test_auto_captures_by_source_where_python_reads_a_value() -> None:
    module = programs.as_module(programs.PROGRAMS["if_else"])
    program = exported(module, programs.inputs()[0])
    ways = [(o.strategy, bool(o.error)) for o in program.report.captures]
    assert ways == [("source", False)]
    last = program.report.captures[-1]
    assert [(c.kind, c.text) for c in last.choices] == [("If", "if x.sum() > 0:")]
    assert [name.split(" ")[0] for name in last.rewritten] == ["if_else"]


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


def rows_of_sides(x: Any) -> Any:
    out = []
    for r in x:
        if r.sum() > 0:
            out.append(r * 2)
        else:
            out.append(-r)
    return torch.stack(out)


def rows_of_a_comprehension(x: Any) -> Any:
    return torch.stack([r * 2 if r.sum() > 0 else -r for r in x], dim=1)


def rows_of_a_count(x: Any) -> Any:
    parts = []
    for i in range(int((x > 0).sum())):
        parts.append(x[:1] * i)
    return torch.cat(parts) if parts else x


def rows_of_boxes(x: Any) -> Any:
    boxes = x[(x[:, 0] > 0).nonzero().squeeze(1)]
    sums, firsts = [], []
    for box in boxes:
        y = box * 2
        if y.max() > 1:
            y = y - 1
        sums.append(y.sum())
        firsts.append(y[:2])
    if len(sums) == 0:
        return x.sum(), x.sum()
    return torch.stack(sums).sum(), torch.stack(firsts, 1).max()


def rows_on_one_side(x: Any) -> Any:
    kept = [x[0]]
    for r in x:
        if r.sum() > 0:
            kept.append(r)
            kept.append(r + 1)
    kept.append(x[0] * 3)
    return torch.stack(kept), len(kept), kept[-2]


def rows_until_one_ends_it(x: Any) -> Any:
    kept = []
    total = x.sum() * 0
    for r in x:
        total = total + r.sum()
        kept += [r * total]
        if r.max() > 1.5:
            break
    return torch.stack(kept), total


def rows_gone_through_again(x: Any) -> Any:
    kept = []
    for r in x:
        kept.append(r - 1 if r.sum() > 0 else r)
    total = x[0] * 0
    for k in kept:
        total = total * 2 + k
    return total, torch.stack([k * 3 for k in kept])


def numbers_of_rows(x: Any) -> Any:
    counts = []
    for r in x:
        n = 0
        while r.abs().max() > 0.5:
            r = r / 2
            n += 1
        counts.append(n)
    return torch.tensor(counts)


def rows_while_a_value_says_so(x: Any) -> Any:
    out = [x]
    while x.abs().max() > 0.5:
        x = x / 2
        out.append(x)
    return torch.stack(out), len(out)


def rows_while_their_last_is_large(x: Any) -> Any:
    out = [x]
    for _ in range(int(x.abs().max() * 4)):
        out.append(out[-1] / 2 if out[-1].sum() > 0 else out[-1] + 1)
    return torch.stack(out)


def rows_of_an_endless_loop(x: Any) -> Any:
    sums = []
    while True:
        sums.append(x.sum() * 2)
        if x.mean() < 0.25:
            break
        elif x.min() > 1:
            sums.append(x.max())
        x = x - 0.25
    return torch.stack(sums), x


def rows_kept_by_python_loops(x: Any) -> Any:
    kept, total = [], x[0] * 0
    for n in range(4):
        r = x[0] * n - x[-1]
        if r.sum() > 0:
            kept.append(r)
            if r.max() > 1:
                kept.append(r / 2)
    if len(kept) == 0:
        return x[:1], 0
    for k in kept:
        total = total * 2 + k
    return torch.stack(kept) + total, len(kept)


def rows_kept_before_a_loop(x: Any) -> Any:
    kept = [x[0]]
    if x.sum() > 0:
        kept.append(x[-1])
    while x.abs().max() > 0.5:
        x = x / 2
        if x.min() < -0.1:
            kept.append(x[0])
    return torch.stack(kept)


def grows_without_bound(x: Any) -> Any:
    out = [x]
    while out[-1].abs().max() > 1:
        out.append(out[-1] / 2)
    return torch.stack(out)


def grows_under_two_names(x: Any) -> Any:
    out = []
    other = out
    for r in x:
        out.append(r if r.sum() > 0 else -r)
    return torch.stack(other)


GROWING = (
    rows_kept_by_python_loops, rows_kept_before_a_loop, rows_while_a_value_says_so,
    rows_while_their_last_is_large, rows_of_an_endless_loop, grows_without_bound, rows_of_sides,
    rows_of_a_comprehension, rows_of_a_count, rows_of_boxes, rows_on_one_side,
    rows_until_one_ends_it, rows_gone_through_again, numbers_of_rows, grows_under_two_names,
)  # fmt: skip


@pytest.mark.share(3)
@pytest.mark.parametrize("function", GROWING)
def test_lists_that_grow_in_loops_of_run_time_length(function: Any) -> None:
    """They are rows of a tensor: joined, counted, indexed, gone through."""
    module = programs.as_module(function)
    program = exported(module, torch.randn(3, 4), capture="source")
    torch.manual_seed(0)
    for rows in (1, 2, 5, 7):
        for x in (torch.rand(rows, 4), -torch.rand(rows, 4), torch.randn(rows, 4) * 2):
            same(program, module, x)


def grows_by_two_other_sizes(x: Any) -> Any:
    out = []
    for r in x:
        out.append(r[r > 0][:, None] @ r[r > 0][None])
    return torch.stack(out)


def test_lists_that_cannot_be_rows_are_refused() -> None:
    with pytest.raises(ExportError, match="OW841"):
        exported(programs.as_module(grows_by_two_other_sizes), torch.randn(3, 4), capture="source")


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


@pytest.mark.parametrize("seed", [*range(10, 15), random_programs.WIDE + 108])
def test_a_random_program(seed: int) -> None:
    """The fixed share of `python -m tests.exporter.source.random_programs`."""
    assert random_programs.problem_of(seed) == ""


@pytest.mark.slow
@pytest.mark.parametrize("seed", [101383, 101426])
def test_a_text_of_run_time_chosen_in_a_side_of_a_decision(seed: int) -> None:
    assert random_programs.problem_of(random_programs.WIDE + seed) == ""


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 5000, 100))
def test_five_thousand_random_programs(start: int) -> None:
    """None is wrong; a few are refused, in which a dict that is returned is changed further on."""
    found = [random_programs.outcome_of(seed).kind for seed in range(start, start + 100)]
    assert set(found) <= {"right", "refused OW886"}
    assert found.count("right") >= 97


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 500, 100))
def test_five_hundred_random_programs_with_lists_none_and_texts(start: int) -> None:
    """None is wrong or crashes; a few are refused, as lists under two names are."""
    first = random_programs.WIDE + start
    found = [random_programs.outcome_of(seed).kind for seed in range(first, first + 100)]
    assert not {"wrong", "crashed"}.intersection(found)
    assert sum(kind.startswith("refused") for kind in found) < 8
