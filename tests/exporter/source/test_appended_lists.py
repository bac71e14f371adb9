"""Lists that a loop only appends to are scan outputs of Loop; those that it reads are carried."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from onnxwright import exporter
from onnxwright.errors import ExportError
from tests.exporter.source import programs
from tests.exporter.source.tables import Table, adding_to

APPENDED: Table = {}
"""Programs whose lists are scan outputs."""
CARRIED: Table = {}
"""Programs that read the list in the loop."""
REFUSED: Table = {}
"""Programs whose lists nothing in the model can be."""
appended, carried, refused = map(adding_to, (APPENDED, CARRIED, REFUSED))


@appended
def two_lists_of_a_range(x):
    a, b = [], []
    for t in range(x.shape[0]):
        a.append(x[t] * 2)
        b.append(x[t].sum() + t)
        a.append(-x[t])
    return (torch.stack(a), torch.stack(b)) if len(a) else (x, x[:, 0])


@appended
def two_appends_by_values_to_one_list_of_masked_rows(x):
    # PyTorch bounds their number by more than 64 bits.
    out = []
    for row in x[x.sum(1) > 0]:
        if row.max() > 1:
            out.append(row * 2)
        if row.min() < -1:
            out.append(row - 1)
    return torch.stack(out) if len(out) else x[:0]


@appended
def a_while_loop_of_a_condition(x):
    out, v = [], x.sum(0)
    while v.abs().max() > 0.1:
        v = v / 2
        out.append(v)
    return (torch.stack(out) if len(out) else x[:0]), v, len(out)


@appended
def rows_of_a_dynamic_size(x):
    out = []
    while x.abs().sum() > 1:
        x = x / 2
        out.append(x)
    return torch.cat(out) if len(out) else x[:0]


@appended
def tuples_with_a_number(x):
    found = []
    for n, row in enumerate(x):
        found.append((n, row, {"sum": row.sum()}))
    if len(found) == 0:
        return x, x[:, 0]
    return torch.stack([f[1] + f[0] for f in found]), torch.stack([f[2]["sum"] for f in found])


@appended
def an_item_of_one_side(x):
    out = []
    for row in x:
        if row.sum() > 0:
            out.append(row)
        elif row.min() < -1:
            out.extend([row * 2, row * 3])
    return torch.stack(out) if len(out) else x[:0]


@appended
def until_a_row_is_large(x):
    out = [x.sum(0)]
    for row in x:
        if row.max() > 2:
            break
        out.append(row)
    return torch.stack(out)


@appended
def inserted_at_the_start(x):
    out, total = [x.sum(0)], x.sum(0)
    for t in reversed(range(x.shape[0])):
        total = x[t] + total / 2
        out.insert(0, total)
    return torch.stack(out)


@appended
def pairs_of_two_loops(x):
    out = []
    for a in x:
        for b in x:
            out.append(a * b)
    return torch.stack(out) if len(out) else x


@appended
def a_new_list_each_time(x):
    out = []
    for row in x:
        new = row * 2
        out = out + [new]
        new += 1  # the same tensor is in the list
    return torch.stack(out) if len(out) else x


@carried
def the_last_item(x):
    out = [x.sum(0)]
    for row in x:
        out.append(row + out[-1])
    return torch.stack(out)[1:] + x


@carried
def the_length(x):
    out, n = [], x.sum(0)
    for row in x:
        out.append(row)
        n = n + len(out)
    return n, (torch.stack(out) if len(out) else x)


@appended
def swapped_each_time(x):
    a, b = [], []
    for row in x:
        a.append(row)
        a, b = b, a
    return torch.stack(a + b)


@carried
def another_name_in_the_loop(x):
    out, n = [], x.sum(0)
    other = out
    for row in x:
        out.append(row)
        n = n + len(other)
    return n


@carried
def another_name_as_a_condition(x):
    out, n = [], x.sum(0)
    pair = (out, 1)
    for row in x:
        out.append(row)
        if pair[0]:
            n = n + row
    return n


@refused
def one_tensor_that_each_iteration_changes(x):
    """OW886"""
    out, h = [], torch.zeros(x.shape[1])
    for row in x:
        h += row
        out.append(h)
    return torch.stack(out)


@refused
def the_last_item_changed_in_the_next_iteration(x):
    """OW886"""
    out, h = [], x.sum(0)
    for row in x:
        h *= 2
        h = h + row
        out.append(h)
    return torch.stack(out)


@refused
def the_row_that_each_iteration_writes(x):
    """OW886"""
    out, y = [], torch.zeros_like(x)
    for t in range(x.shape[0]):
        y[t] = x[t] * 2
        out.append(y[t])
    return torch.stack(out), y


@refused
def the_row_before_that_an_iteration_writes(x):
    """OW886"""
    out, y = [], torch.zeros(x.shape[0] + 1, x.shape[1])
    for t in range(x.shape[0]):
        y[t] = y[t] + x[t]
        y[t + 1] = x[t] * 2
        out.append(y[t])
    return torch.stack(out)


@refused
def the_item_changed_after_the_loop(x):
    """OW886"""
    out, h = [], torch.zeros(x.shape[1])
    for row in x:
        for other in x:
            out.append((h, row * other))
    h += 1
    return torch.stack([pair[0] for pair in out])


def exported(function: Any) -> Any:
    """A program captured by source, of a dynamic number of rows."""
    shapes = ({0: torch.export.Dim.DYNAMIC},)
    module = programs.as_module(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return exporter.export(
            module, (torch.randn(4, 3),), dynamic_shapes=shapes, capture="source"
        )


def inputs() -> Iterator[Any]:
    """Matrices of several lengths, of 0 and 1 as well."""
    torch.manual_seed(0)
    for rows in (4, 0, 1, 2, 9):
        yield torch.randn(rows, 3) * 2
    yield torch.zeros(3, 3)


def compare(program: Any, function: Any) -> None:
    """The program gives what PyTorch gives, for all inputs that PyTorch takes."""
    module = programs.as_module(function)
    for x in inputs():
        try:
            wanted = pytree.tree_leaves(module(x.clone()))
        except RuntimeError:
            assert x.shape[0] == 0  # no items to stack
            continue
        found = pytree.tree_leaves(program(x.clone()))
        assert len(wanted) == len(found)
        for a, b in zip(wanted, found, strict=True):
            torch.testing.assert_close(torch.as_tensor(b), torch.as_tensor(a), check_dtype=False)


def loops_of(graph: Any) -> Iterator[Any]:
    """The Loop nodes of a graph, and of the bodies in it."""
    for node in graph.node:
        if node.op_type == "Loop":
            yield node
        for attribute in node.attribute:
            yield from loops_of(attribute.g)


def operators(graph: Any) -> set[str]:
    """The operators in the bodies of a graph's loops, and in branches there."""
    waiting = [node for loop in loops_of(graph) for a in loop.attribute for node in a.g.node]
    names = set()
    while waiting:
        node = waiting.pop()
        names.add(node.op_type)
        if node.op_type == "If":
            waiting += [inner for branch in node.attribute for inner in branch.g.node]
    return names


@pytest.mark.parametrize("name", APPENDED)
def test_a_list_that_is_only_appended_to_is_a_scan_output(name: str) -> None:
    program = exported(APPENDED[name])
    compare(program, APPENDED[name])
    graph = program.model_proto.graph
    loops = list(loops_of(graph))
    assert any(len(loop.output) > len(loop.input) - 2 for loop in loops), "no scan output"
    assert not operators(graph) & {"ScatterND", "ScatterElements", "SequenceInsert"}


@pytest.mark.share(3)
@pytest.mark.parametrize("name", CARRIED)
def test_a_list_that_iterations_read_is_carried(name: str) -> None:
    program = exported(CARRIED[name])
    compare(program, CARRIED[name])
    assert "Concat" in operators(program.model_proto.graph)


@pytest.mark.share(3)
@pytest.mark.parametrize("name", REFUSED)
def test_what_other_names_of_a_list_or_its_items_would_see_is_refused(name: str) -> None:
    with pytest.raises(ExportError, match=REFUSED[name].__doc__):
        exported(REFUSED[name])
