"""Programs that write in place to a tensor that a decision or a loop chose, or to one of those."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from tests.exporter.source.tables import Table, adding_to
from tests.harness.modules import module_with

PROGRAMS: Table = {}
program = adding_to(PROGRAMS)
"""Add a program to the table: a function of one matrix, or a module."""
REFUSED: Table = {}
refused = adding_to(REFUSED)
"""Add a program that is refused, with its line."""


@program
def slices_of_the_chosen_one(x):
    x = torch.cat([x[:2], x[:2] * 2])
    a, b = x * 2, x * 3
    c = a if x.sum() > 0 else b
    c[0] = 1
    c[1:3, :2] *= 2
    return a, b, c


@program
def which_tensor_it_is(x):
    a, b = x * 2, x * 3
    c = a if x.sum() > 0 else b
    d = a if x.max() > 2 else b
    for row in x:
        if x is not a and row.sum() > 1:
            x = x / 2
        if c is d:
            x = a if row.max() > 0 else x
    return x, 1 if c is a else 5, 1 if c is d else 5, 1 if c[0] is a else 5, 1 if x is a else 5


@program
def which_container_it_is(x):
    a, b, first = [1.0], [2.0], {"n": 0}
    c, now = a if x.sum() > 0 else b, first
    if x[0].sum() > 0:
        now = {"n": 1}
    return x * (1 if c is a else 5), 1 if c is not b else 5, 1 if now is first else 5


@program
def one_of_those_that_were_chosen_from(x):
    a, b = x * 2, x * 3
    c = a if x.sum() > 0 else b
    a[:, 0] = 7
    return a, b, c


@program
def rows_of_one_tensor(x):
    a = x * 2
    c = a[0] if x.sum() > 0 else a[1]
    c += 1
    a[:, 0] = 7
    return a, c


@program
def views_of_the_chosen_one(x):
    a, b = x * 2, x * 3
    row = a[0]
    c = a if x.sum() > 0 else b
    c *= 2
    c.reshape(-1)[0] = 9
    c.t().copy_(c.t() + 1)
    return a, b, c, row


@program
def results_of_operators(x):
    a, b = x * 2, x * 3
    c = a if x.sum() > 0 else b
    torch.add(x, 1, out=c)
    torch.mul(x, 5, out=b)
    F.relu(c, inplace=True)
    return a, b, c


@program
def places_of_tensors(x):
    x = torch.cat([x[:2], x[:2] * 2])
    a, b = x * 1, x * 2
    c = a if x.sum() > 0 else b
    c[torch.tensor([0, 2])] = x[:2]
    c.scatter_(0, torch.tensor([[0, 1, 2, 0]]), 5.0)
    c.index_add_(0, torch.tensor([1]), x[:1])
    c[x > 0] = 0.0
    return a, b, c


@program
def chosen_twice(x):
    a, b, d = x * 2, x * 3, x * 4
    c = a if x.sum() > 0 else b
    e = c if x.max() > 1 else d
    e += 1
    c *= 2
    a -= 1
    return a, b, c, d, e


@program
def a_view_of_the_chosen_one_is_chosen(x):
    a, b = x * 2, x * 3
    c = a if x.sum() > 0 else b
    r = c[0] if x.max() > 1 else b[1]
    r += 1
    return a, b, c, r


@program
def swapped_in_a_loop_of_python(x):
    x = torch.cat([x[:2], x[:2] * 2])
    a, b = x * 2, x * 3
    p, q = a, b
    for i in range(3):
        if x[i].sum() > 0:
            p, q = q, p
        p += 1
        q *= 2
    return a, b, p, q


@program
def two_names_for_what_a_side_makes(x):
    a, b = x * 2, x * 3
    if x.sum() > 0:
        p = q = x * 5
    else:
        p, q = a, b
    p += 1
    return a, b, p, q


@program
def written_on_both_sides(x):
    a, b = x * 2, x * 3
    c = a if x.sum() > 0 else b
    if x.max() > 1:
        c += 1
    else:
        a *= 2
    return a, b, c


@program
def chosen_and_written_by_functions(x):
    def pick(p, q):
        if x.sum() > 0:
            return p
        return q

    def bump(t):
        return t.add_(1)

    a, b = x * 2, x * 3
    return torch.add(pick(a, b), bump(a)), bump(pick(a, b)), a, b


@program
def an_item_of_a_list_and_an_attribute(x):
    class Holder:
        pass

    items = [x * 2, x * 3, x * 4]
    held = Holder()
    held.now = items[int((x > 0).sum()) % 3]
    held.now += 1
    items[0].mul_(2)
    return (*items, held.now)


@program
def names_of_one_loop(x):
    """The iterations make tensors, keep the last one, and write to both."""
    a, b = x[0] * 1, x[1] * 1
    p, q, n = a, b, x.abs().max()
    while n > 0.3:
        if n > 1:
            p = q
        else:
            q = a * 1
        p += n
        q.mul_(2)
        n = n / 2
    return a, b, p, q


@program
def what_two_names_of_an_iteration_share(x):
    p, q, n = x[0] * 1, x[1] * 1, x.abs().max()
    while n > 0.3:
        if n < 1:
            p = q = p * 2
        p += n
        n = n / 2
    q += 1
    return p, q


@program
def loops_in_loops(x):
    a, b = x[0] * 1, x[1] * 1
    now, n = a, x.abs().max()
    while n > 0.5:
        m = n
        while m > 0.2:
            now += m
            m = m / 2
            if m < 0.3:
                now = b
        n = n / 2
        if n < 1:
            now = a
    return a, b, now


@program
def views_written_in_a_loop(x):
    x = torch.cat([x[:2], x[:2] * 2])
    a, b = x * 1, x * 2
    now, n = a, x.abs().max()
    while n > 0.3:
        now[0] += n
        now[1:] *= 2
        if n < 1:
            now = b
        a[2, 0] = n
        n = n / 2
    return a, b, now


@refused
def the_best_row_of_a_loop(x):
    y = x * 1
    best = y[0]
    for row in y:
        if row.sum() > best.sum():
            best = row
    best.mul_(100)
    return y, best


@program
def of_other_sizes_without_another_name(x):
    c = x * 2
    if x.sum() > 0:
        c = c[:2]
    c += 1
    return c


@refused
def tensors_of_other_sizes(x):
    a, b = x * 2, x[:2] * 3
    c = a if x.sum() > 0 else b
    c += 1
    return a, b, c


@refused
def tensors_of_other_types(x):
    a, b = x * 2, (x * 3).double()
    c = a if x.sum() > 0 else b
    c += 1
    return a, b, c


@refused
def parts_of_what_a_side_makes(x):
    a = x * 2
    if x.sum() > 0:
        p = x * 5
        q = p[0]
    else:
        p, q = a, a[1]
    q += 1
    return a, p, q


@refused
def written_in_the_condition_of_a_loop(x):
    a, n = x[0] * 1, 0
    while a.add_(1).sum() < 4:
        n = n + 1
    return a, n


@program
def one_attribute_of_two_objects(x):
    class Holder:
        pass

    p, q, n = Holder(), Holder(), x.abs().max()
    p.now = q.now = x[0] * 1
    while n > 0.3:
        p.now += n
        if n < 1:
            q.now = q.now * 2
        n = n / 2
    p.now -= 1
    return p.now, q.now


@program
@module_with(lambda: {"scales": [torch.tensor([1.0, 2.0, 3.0, 4.0])]})
def TensorOfAListOnASideAndAfter(self, x):
    """A tensor that is no buffer is named on a side first, then after the decision."""
    y = x
    if x.sum() > 0:
        y = y + self.scales[0]
        if x.max() > 1:
            y = y * self.scales[0]
    return y - self.scales[0]


class _Holder:
    def __init__(self, scale):
        self.scale = scale


def _add_to(holder, x):
    holder.scale = holder.scale + x[0]


@program
class TensorThatASideReplacesInACall(nn.Module):
    """The other side, which leaves the tensor as it is, was run before."""

    def forward(self, x):
        one, two = _Holder(SCALES[0]), _Holder(SCALES[1])
        held = {"one": one, "both": [one, two]}
        if x.sum() > 0:
            chosen = held["one"] if x[0, 0] > 0 else two
        else:
            _add_to(held["one"], x)
            chosen = two
        return x * held["both"][0].scale + chosen.scale


SCALES = [torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([4.0, 3.0, 2.0, 1.0])]


@program
def sides_write_to_a_tensor_and_a_view(x):
    y = x.clone()
    v = y[1:]
    if x.sum() > 0:
        v.mul_(3)
    else:
        y[0] = 9
    return y, v.sum()


@program
def sides_write_to_two_views(x):
    y = x.clone()
    v, w = y.t()[:2], y[:2]
    one, two = y.split([1, y.shape[0] - 1])
    if x.sum() > 0:
        v.add_(1)
    elif x.max() > 0:
        w.mul_(2)
    elif x.min() < -2:
        two.zero_()
    else:
        y.sub_(1)
    return y, v.sum() - w.sum() + one.sum()


@program
def a_side_writes_to_a_view_and_reads_another(x):
    y = torch.stack([x, x * 2])
    row, part = y[0], y[0][1:]
    if x.sum() > 0:
        if x.max() > 1:
            part.add_(1)
        else:
            row.mul_(2)
        y[1] = row + 1
    return y.sum(0), part.sum() - row.sum()


@program
def iterations_write_to_a_tensor_and_a_view(x):
    y, n = x.abs() + 1, 0
    v = y[1:]
    while y.sum() < 90 and n < 5:
        v.add_(1)
        n += 1
        y[0] = n
    return y, v.sum()
