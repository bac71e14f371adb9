"""Programs whose loops change lists: items that are replaced, taken out, used while it grows."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import torch

from tests.exporter.source.tables import Table, adding_to
from tests.harness.modules import module_with

PROGRAMS: Table = {}
REFUSED: Table = {}
program, refused = map(adding_to, (PROGRAMS, REFUSED))
"""Add a program to a table: a function of one matrix, or a module."""


MORE: Table = {}
more = adding_to(MORE)
"""Add one that is tried in the slow share."""


@program
def pop_value(x):
    st = [x[0]]
    t = x[0] * 0
    for r in x:
        if r.max() > 1:
            st.append(r)
        elif len(st) > 1:
            t = t + st.pop()
    return t, torch.stack(st)


@more
def set_at(x):
    out = []
    for i, r in enumerate(x):
        out.append(r)
        if r.sum() > 0:
            out[i] = r * 2
    return torch.stack(out)


@program
def merge_intervals(x):
    s = x[:, 0].abs().sort().values
    out = []
    for v in s:
        if len(out) > 0 and v - out[-1] < 0.5:
            out[-1] = v
        else:
            out.append(v)
    return torch.stack(out)


@program
def stack_while(x):
    st = [x[0]]
    t = x[0] * 0
    n = 0
    while len(st) > 0 and n < 20:
        cur = st.pop()
        n += 1
        t = t + cur
        if cur.abs().max() > 0.7:
            st.append(cur / 2)
            st.append(-cur / 3)
    return t, n


@program
def last_while(x):
    out = [x[0]]
    while out[-1].abs().max() > 0.5:
        out.append(out[-1] / 2)
    return torch.stack(out)


@program
def window2(x):
    hist = []
    out = []
    for r in x:
        hist.append(r)
        hist = hist[-3:]
        out.append(sum(hist) / len(hist))
    return torch.stack(out)


@more
def queue(x):
    q = [x[0]]
    n = 0
    t = x[0] * 0
    while len(q) > 0 and n < 15:
        r = q.pop(0)
        n += 1
        t = t * 0.9 + r
        if r.max() > 0.3:
            q.append(r * 0.5)
            q.append(r * 0.25)
    return t, n


@program
def beam(x):
    seqs = [x[0]]
    scores = [x[0].sum()]
    for r in x[1:]:
        if r.sum() > scores[-1]:
            seqs.append(r)
            scores.append(r.sum())
        elif len(seqs) > 1:
            seqs.pop()
            scores.pop()
    return torch.stack(seqs), torch.stack(scores)


@more
def swap_sort(x):
    a = [x[0, i] for i in range(4)]
    for i in range(4):
        for j in range(3 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
    return torch.stack(a)


@program
def swap_rt(x):
    a = [x[0, i] for i in range(4)]
    for k in x.argmax(1):
        a[k], a[0] = a[0], a[k]
    return torch.stack(a)


@program
def counts_list(x):
    counts = [0, 0, 0]
    for v in x.argmax(1) % 3:
        counts[v] += 1
    return torch.tensor(counts), counts[0], sum(counts), max(counts)


@more
def table_state(x):
    trans = {0: [1, 2], 1: [0, 2], 2: [2, 0]}
    s = 0
    for r in x:
        s = trans[s][int(r.sum() > 0)]
    return s


@program
def dict_count(x):
    c = {"a": 0, "b": 0, "c": 0}
    for r in x:
        k = "a" if r.sum() > 1 else ("b" if r.sum() > -1 else "c")
        c[k] += 1
    return c


@program
def dict_int(x):
    c = {1: x[0] * 0, 2: x[0] * 0}
    for r in x:
        c[int(r.argmax()) % 2 + 1] = r
    return c[1], c[2]


@program
def flush(x):
    chunks = []
    cur = []
    for r in x:
        cur.append(r)
        if r.sum() > 0:
            chunks.append(torch.stack(cur).sum(0))
            cur = []
    if len(cur) > 0:
        chunks.append(torch.stack(cur).sum(0))
    return torch.stack(chunks)


@program
def nested_list_use(x):
    out = [x[0, 0]]
    for r in x:
        for v in r:
            if v > out[-1]:
                out.append(v)
            elif len(out) > 2:
                out.pop()
    return torch.stack(out)


@program
def del_last(x):
    out = [x[0]]
    for r in x:
        out.append(r)
        if r.sum() < 0:
            del out[-1]
    return torch.stack(out)


@more
def window3(x):
    hist = []
    out = []
    for r in x:
        hist = [*hist, r][-2:]
        out.append(torch.stack(hist).sum(0))
    return torch.stack(out)


def lists_that_both_sides_replace(x):
    a = []
    b = []
    for r in x:
        if r.sum() > 0:
            a = a + [r]
        else:
            b = b + [r, r]
    c = a + b
    return torch.stack(c), len(a)


@more
def front(x):
    a = [x[0]]
    for r in x:
        a = [r] + a
        if r.sum() < 0:
            a = a[1:]
    return torch.stack(a)


@more
def w2(x):
    hist = [x[0]]
    for r in x:
        hist = (hist + [r])[-3:]
    return torch.stack(hist)


@program
def one_row_or_none(x):
    rows = []
    if x.sum() > 4:
        rows += [x[-1] * 0.5]
    return len(rows), (torch.stack(rows).sum() if len(rows) > 0 else x.sum())


@program
def list_in_a_try(x):
    rows = []
    for r in x:
        try:
            if r.sum() > 0:
                rows.append(r)
        except Exception:  # noqa: BLE001 - it must not take what the capture refuses
            x = x * 100
    return x, len(rows)


@program
def list_that_a_loop_leaves_alone(x):
    rows, n = [], 0
    if x.sum() > 0:
        rows.append(x[0])
    while n < 3 and x.abs().max() > 1:
        n += 1
        x = x * 0.5
        if len(rows) > 5:
            rows.clear()
    return torch.stack(rows) if len(rows) > 0 else x


@more
def list_made_anew_by_each_iteration(x):
    rows, total = [], x[0] * 0
    for r in x:
        rows = []
        if r.sum() > 0:
            rows.append(r)
        total = total + len(rows)
    return total, len(rows)


@program
def sorted_by_tensors(x):
    rows = [x[0], x[1], x[0] * 2 + 1]
    named = {"a": x[0], "b": x[1], "c": x[0] - x[1]}
    names = sorted(named, key=lambda n: named[n].sum())
    best = sorted(rows, key=lambda row: row.max() - row.sum(), reverse=True)
    if x.sum() > 0:
        rows.sort(key=lambda row: -row.sum())
    pairs = sorted([(row.sum(), n) for n, row in enumerate(rows)], key=lambda pair: pair[0])
    every = sorted(x, key=lambda row: row.sum())
    sums = sorted([row.sum() for row in rows])
    return named[names[0]], best, rows, pairs, torch.stack(every), sums


def _put(items, key, value):
    items[key] = value


@refused
def keys_of_a_called_function(x):
    d = {}
    if x.sum() > 0:
        _put(d, "a", x)
    else:
        _put(d, "b", x * 2)
    y = x * 0
    for key in d:
        y = y + d[key] * (10 if key == "a" else 1)
    return y


@refused
def key_that_a_called_function_adds_in_a_loop(x):
    d = {}
    for row in x[x[:, 0] > 0]:
        _put(d, "a", row)
    return d["a"] * 1 if "a" in d else x[0] * 5


class _Empty:
    pass


@refused
def attribute_that_iterations_alone_set(x):
    held, y = _Empty(), x.sum()
    while y < 3:
        held.value = [y, y] if not hasattr(held, "value") else {"y": y}
        y = y + 1
    return x * 2 if hasattr(held, "value") else x * 7


@refused
def key_that_a_called_function_adds(x):
    d = {"z": x}
    if x.sum() > 0:
        _put(d, "a", x)
    return d["z"] + (d["a"] if "a" in d else x * 5)


@refused
def a_generator_that_decides(x):
    def parts(y):
        yield y[0]
        if y.sum() > 0:
            yield y[1] * 2
        else:
            yield y[0] - 1

    total = x[0] * 0
    for part in parts(x):
        total = total * 2 + part
    return total


@refused
def sorted_by_two_tensors(x):
    return torch.stack(sorted([x[0], x[1]], key=lambda row: (row.max() > 1, row.sum())))


@refused
def sorted_rows_by_two_numbers(x):
    pairs = [(row.argmax(), row.sum()) for row in x if row.sum() > -9]
    pairs.sort()
    return torch.stack([total for _, total in pairs])


@refused
def compared_with_an_empty_list(x):
    return [row for row in x if row.sum() > -9] == []


@refused
def the_first_two_of_an_iterator(x):
    left = iter([i * 2 for i in range(int((x > 0).sum()))])
    return x.sum() + next(left, 5) * 3 + next(left, 5)


@refused
def compared_in_order(x):
    best = (x[0].sum(), 0)
    now = (x[1].sum(), 1)
    if now > best:
        best = now
    return x * best[0]


@program
def removed_by_a_number(x):
    kept = [3, 1, 2]
    kept.remove(1 + int(x.sum() > 0))
    return x, kept


class Hit(NamedTuple):
    score: Any
    row: Any


@program
def pairs_of_places(x):
    x, pairs = x.clone(), []
    for _ in range(x.shape[1]):
        place = int(x.argmin())
        i, j = divmod(place, x.shape[1])
        if x[i, j] > 0:
            break
        pairs.append((i, j))
        x[i], x[:, j] = 9, 9
    return torch.tensor(pairs).reshape(-1, 2), len(pairs)


@program
def boxes_with_scores(x):
    kept = []
    for row in x:
        if row[0] > 0:
            kept.append((row[1:], row[0]))
    if not kept:
        return x[:0, 1:], x[:0, 0]
    best = sorted(kept, key=lambda one: one[1], reverse=True)
    return torch.stack([box for box, _ in best]), torch.stack([score for _, score in kept])


@program
def tuples_with_names(x):
    hits = []
    for n, row in enumerate(x):
        if row.max() > 0.5:
            hits.append(Hit(row.max() * 2, n))
    if len(hits) == 0:
        return x.sum(), -1, -1
    best = hits[0]
    for hit in hits:
        if hit.score > best.score:
            best = hit
    return best.score, best.row, max(hits, key=lambda hit: hit.score).row


@program
def a_stack_of_intervals(x):
    stack, total, taken = [(0, 4)], x.new_zeros(()), 0
    while stack:
        low, high = stack.pop()
        taken += 1
        if high - low == 1 or x[0, low:high].abs().max() < 1:
            total = total + x[0, low:high].sum()
            continue
        middle = (low + high) // 2
        stack.append((low, middle))
        stack.append((middle, high))
    return total, taken


@program
def nested_tuples_of_one_side(x):
    found, total = [], x[0] * 0
    if x[0].sum() > 0:
        found.append((x[0], (x[1], 1)))
    if x[1].sum() > 0:
        found.append((x[1] * 2, (x[0], 2)))
    for one, (other, n) in found:
        total = total + one * n - other
    return total, len(found)


@program
def parts_of_a_list_after_a_return(x):
    kept = []
    for row in x:
        if row[0] > 0:
            kept.append(row)
    if not kept:
        return x[:0, 1:]
    return torch.stack([row[1:] for row in kept])


@program
@module_with(lambda: {"layers": torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(3))})
def FirstLayers(self, x):
    """As many of the layers as a number of run time says, and as many of the drafts."""
    x, taken = x[:, :3], 0
    drafts = [x * n for n in (1, 2, 3)]
    for draft in drafts:
        if draft.sum() > 3:
            break
        taken += 1
    for n, layer in enumerate(self.layers[:taken]):
        x = layer(x) + n
    for layer in self.layers[: taken - 2]:
        x = layer(x)
    rest = drafts[taken:]
    for draft in rest:
        x = x + draft
    return x, len(drafts[:taken]), len(rest), sum([1.0, 2.0, 4.0][:taken])


@program
def drafts_in_a_loop(x):
    out, n = [x[0]], 0
    while n < 6:
        drafts = [out[-1] + 1, out[-1] * 2]
        taken = 0
        for draft in drafts:
            if draft.sum() > 9:
                break
            taken += 1
        for draft in drafts[:taken]:
            out.append(draft)
        n += taken + 1
    return torch.stack(out)


def numbered(x):
    """A list of a run-time length: places of rows, and one that is always there."""
    return [n for n, row in enumerate(x) if n == 0 or row.sum() > 0]


@program
def places_that_were_seen(x):
    seen, pairs, again = [], [], 0
    for row in x:
        place = int(row.argmax())
        if place in seen:
            again += 1
        else:
            seen.append(place)
        if (place, int(row.argmin())) not in pairs:
            pairs.append((place, int(row.argmin())))
    return seen, again, len(pairs), 1 in seen


@program
def rows_by_a_list_of_places(x):
    keep, y = numbered(x), x.clone()
    y[keep, 0] = 0
    return x[keep], x[:, :2][keep], x[keep[::-1]][:, [0, 2]], y, x[keep, 1]


@program
def pairs_in_order(x):
    pairs = []
    for n, row in enumerate(x):
        if n == 0 or row.sum() > 0:
            pairs.append((row.argmax(), row.sum()))
    last = max(pairs, key=lambda pair: pair[1])
    pairs.sort(key=lambda pair: pair[1])
    pairs.sort(key=lambda pair: -pair[0])
    places, sums = zip(*pairs)
    if x[0].sum() > 0:
        pairs.sort(key=lambda pair: pair[1])
    else:
        pairs.reverse()
    numbers = numbered(x)
    numbers.sort(reverse=True)
    return torch.stack(places), torch.stack(sums), last, torch.stack([s for _, s in pairs]), numbers


@program
def two_names_of_a_list(x):
    def add(items, row):
        items.append(row)

    rows = []
    for row in x:
        if row.sum() > -9:
            rows.append(row)
    other, own = rows, rows.copy()
    rows.append(x[0] * 2)
    add(rows, x[0] * 3)
    rows += [x[0] * 4]
    rows[0] = x[0] * 5
    if x.sum() > 0:
        rows.append(x[0] * 6)
    for row in x:
        if row.sum() > 0:
            rows.append(row)
    first = len(other)
    other.pop(0)
    own[0] = x[0] * 7
    return torch.stack(other), len(rows), torch.stack(own), first


@program
def changes_at_both_ends(x):
    order, numbers = [], numbered(x)
    for row in x:
        order.insert(0, row.sum())
    numbers.insert(0, 7)
    total = x[0, 0] * 0
    while len(order) > 1:
        total = total * 2 + order.pop(0)
    return total, numbers + numbers, len(order)


@program
def stack_machine(x):
    stack = [x[0, 0], x[0, 1]]
    for row in x:
        if row.sum() > 0:
            stack.append(row[0])
        elif len(stack) > 1:
            stack.append(stack.pop() - 2 * stack.pop())
    return torch.stack(stack)


@program
def parts_of_a_size_of_run_time(x):
    n = int((x.sum(1) > 0).sum()) + 1
    sums = [part.sum(0) for part in x.split(n)]
    return torch.stack(sums), torch.cat([part * 2 for part in x.chunk(n)]), len(x.chunk(n))


@more
def lists_as_tensors(x):
    rows = [row for row in x if row.sum() > -9]
    places = numbered(x)
    return (
        torch.stack(tensors=rows, dim=1), torch.cat(tensors=rows), torch.vstack(rows),
        torch.hstack(rows), torch.as_tensor(places), x.new_tensor(places),
    )  # fmt: skip


# -- one list under several names ------------------------------------------------------------------


@program
def two_names(x):
    a = []
    b = a
    for row in x[x[:, 0] > 0]:
        a.append(row)
        b.append(-row)
    b.append(x[0])
    return torch.stack(a), len(b)


@program
def lists_in_a_list(x):
    parts = [[], [x[0]]]
    for n in range(int((x > 0).sum())):
        parts[0].append(x[0] * n)
        if x[n % 2].sum() > 0:
            parts[1].append(x[0] + n)
    return torch.stack([x[1], *parts[0]]), torch.stack(parts[1])


@program
@module_with(lambda: {"kept": {"rows": [], "n": 0}})
def ListInADictOfAnAttribute(self, x):
    self.kept["rows"] = [x[0]]
    for row in x[x[:, 0] > 0]:
        self.kept["rows"].append(row)
    return torch.stack(self.kept["rows"])


@module_with(lambda: {"rows": []})
def ListFromOutside(self, x):
    for row in x[x[:, 0] > 0]:
        self.rows.append(row)
    return torch.stack([x[0], *self.rows])


refused(ListFromOutside)


def _add(items, row):
    items.append(row * 2)


@program
def changed_by_a_function(x):
    rows = []
    for row in x[x[:, 0] > 0]:
        _add(rows, row)
    if x.sum() > 0:
        _add(rows, x[0])
    return torch.stack([x[1], *rows])


class _Adding:
    def __init__(self, items, row):
        self.items, self.row = items, row

    def __enter__(self):
        self.items.append(self.row)
        return self.items

    def __exit__(self, *error):
        self.items.append(-self.row)


@program
def changed_by_a_context_manager(x):
    rows = [x[0]]
    for row in x[x[:, 0] > 0]:
        with _Adding(rows, row) as items:
            items.append(row * 2)
    return torch.stack(rows)


def _with_default(row, items=[]):  # noqa: B006 - what Python does with it
    items.append(row)
    return items


@refused
def default_argument(x):
    rows = []
    for row in x[x[:, 0] > 0]:
        rows = _with_default(row)
    return torch.stack([x[0], *rows])


@program
def the_last_three(x):
    a = [x[0]]
    for row in x[x[:, 0] > -9]:
        a.append(row)
        a = a[-3:]
    a.append(x[1])
    return torch.stack(a)


@program
def one_list_of_two_loops(x):
    rows = []
    for i in range(int((x > 0).sum())):
        for j in range(2):
            rows.append(x[0] * i + j)
        for j in range(i):
            rows.append(x[1] * j)
    return torch.stack([x[0], *rows])


@program
def emptied_in_a_loop(x):
    a, sums = [], []
    for row in x[x[:, 0] > -9]:
        a.append(row)
        if len(a) > 2:
            sums.append(torch.stack(a).sum(0))
            a.clear()
    return torch.stack([x[0], *sums]), torch.stack([x[1], *a])


@program
def two_lists_that_change_places(x):
    a, b = [x[0]], [x[1]]
    for row in x[x[:, 0] > 0]:
        a.append(row)
        a, b = b, a
    return torch.stack(a), torch.stack(b)


@program
def what_a_list_is(x):
    a, n = [x, x + 1], 0
    n += type(a) is list
    n += 10 * isinstance(a, list) + 100 * (a.__class__ is list)
    match a:
        case [_, _]:
            n += 1000
    if x.sum() > 0:
        a.append(x * 2)
        a.pop(0)
    return a[0] * n + a[1]


@dataclasses.dataclass
class _Found:
    rows: list[Any]
    count: int = 0


@program
def a_list_in_a_dataclass(x):
    found = _Found([x[0]])
    for row in x[x[:, 0] > 0]:
        found.rows.append(row)
        found.count += 1
    return torch.stack(found.rows), found.count


@program
def a_side_of_an_iteration_under_two_names(x):
    a, c = [], [x[0]]
    b = a
    for n in range(int((x > 0).sum())):
        if x.sum() > n:
            if x.max() > 1:
                a.append(x[0] * n)
            b.append(x[1] + n)
        else:
            c.append(x[1])
    return torch.stack([x[0], *a]), torch.stack(c)


@program
def a_queue_under_two_names(x):
    waiting = [int((x > 0).sum())]
    queue, out = waiting, []
    while len(waiting) > 0:
        k = queue.pop()
        out.append(x[0] * k)
        if k > 1:
            waiting.append(k - 1)
    return torch.stack(out)


def _queue(items):
    total, waiting = 0, [0, 1, 2]
    for n in items(waiting):
        total = total + n
        if len(waiting) < 6:
            waiting.append(n + 1)
    return total


@program
def a_list_that_gets_longer_in_a_loop_over_it(x):
    return _queue(iter) * x, _queue(list) * x


@refused
def a_loop_over_a_list_that_a_side_makes_longer(x):
    total, waiting = 0, [0, 1]
    for n, k in enumerate(waiting):
        total = total + x[k] * n
        if x[k].sum() > 2 and len(waiting) < 6:
            waiting.append(0)
    return total


@refused
def a_loop_over_rows_that_gets_longer(x):
    total, rows = 0, [row for row in x if row.sum() > 0]
    for row in rows:
        total = total + row
        if row.sum() > 1:
            rows.append(row - 1)
    return total
