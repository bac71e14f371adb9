"""Programs whose variables are None, or one of several texts, by values: asked at run time."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from tests.exporter.source.tables import Table, adding_to
from tests.harness.modules import module_with

PROGRAMS: Table = {}
program = adding_to(PROGRAMS)
"""Add a program to the table: a function of one matrix, or a module."""


MORE: Table = {}
more = adding_to(MORE)
"""Add one that is tried in the slow share."""


@program
def none_if_any(x):
    best = None
    for r in x:
        if r.sum() > 0:
            if best is None:
                best = r
            else:
                best = torch.maximum(best, r)
    if best is None:
        return x[0] * 0
    return best


@program
@module_with(lambda: {"c": nn.LSTMCell(4, 3)})
def Lstm(self, x):
    hc = None
    n = 0
    while n < 4:
        hc = self.c(x[:1], hc)
        n += 1
        if hc[0].sum() > 0.3:
            break
    return hc[0]


@program
def prev_none(x):
    prev = None
    c = 0
    for r in x:
        if prev is not None and (r - prev).abs().max() < 1.5:
            c += 1
        prev = r
    return c


@more
def first_index(x):
    idx = None
    for i in range(x.shape[0]):
        if x[i].sum() > 0:
            idx = i
            break
    return idx if idx is not None else -1


@program
def none_back(x):
    hold = None
    t = x.sum() * 0
    for r in x:
        if hold is None:
            hold = r
        else:
            t = t + (hold * r).sum()
            hold = None
    return t


@more
def kv_cache(x):
    past = None
    h = x[-1:]
    n = 0
    while n < 3 and h.abs().sum() > 0.5:
        kv = h * 0.5
        past = kv if past is None else torch.cat([past, kv])
        h = past.mean(0, keepdim=True) + h * 0.1
        n += 1
    return h


@program
def mode_loop(x):
    mode = "start"
    t = x[0] * 0
    for r in x:
        if mode == "start":
            t = t + r
            if r.sum() > 0:
                mode = "mid"
        elif mode == "mid":
            t = t * 0.5
            if r.sum() < 0:
                mode = "end"
        else:
            t = t - 1
    return t


@program
class ActNames(nn.Module):
    def forward(self, x):
        act = "relu"
        i = 0
        while i < x.shape[0] and x.abs().max() > 0.5:
            x = getattr(F, act)(x) * 0.8 if act != "none" else x * 0.5
            act = "tanh" if x.sum() > 3 else ("relu" if x.sum() > 1 else "none")
            i += 1
        return x


@program
@module_with(lambda: {"m": nn.ModuleDict({"a": nn.Linear(4, 4), "b": nn.Linear(4, 4)})})
def FsmMods(self, x):
    which = "a"
    for r in x:
        y = self.m[which](r)
        which = "b" if y.sum() > 0 else "a"
    return y


def helper(x, prev=None):
    if prev is None:
        return x * 2
    return x + prev


@more
def passed_on(x):
    prev = None
    for r in x:
        y = helper(r, prev)
        prev = y if y.sum() > 0 else None
    return y


@program
def passed_clamp(x):
    lim = None
    t = x[0] * 0
    for r in x:
        t = t + r.clamp(max=lim) if lim is not None else t + r
        t = t + torch.clamp(r, min=-9, max=lim)
        if r.sum() > 0:
            lim = r.max()
        elif r.sum() < -2:
            lim = None
    return t


@program
class Attn(nn.Module):
    def forward(self, x):
        mask = None
        q = x[None, None]
        h = q
        for _ in range(4):
            h = F.scaled_dot_product_attention(h, q, q, attn_mask=mask) + h * 0.5
            if h.sum() > 1:
                mask = torch.ones(x.shape[0], x.shape[0], dtype=torch.bool).tril()
        return h


@program
class Cache(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)
        self.cache = None

    def step(self, r):
        if self.cache is None:
            self.cache = self.l(r)
        else:
            self.cache = self.cache * 0.5 + self.l(r)
        return self.cache.sum()

    def forward(self, x):
        self.cache = None
        t = 0.0
        for r in x:
            if r.max() > 0.5:
                t = t + self.step(r)
        return t


@more
def dict_state(x):
    st = {"h": None, "n": 0}
    i = 0
    while i < x.shape[0] and st["n"] < 3:
        if x[i].sum() > 0:
            st["h"] = x[i] if st["h"] is None else st["h"] + x[i]
            st["n"] += 1
        i += 1
    return (st["h"] if st["h"] is not None else x[0] * 0), st["n"]


@more
def slots(x):
    out = [None] * 3
    for r in x:
        k = int(r.argmax())
        for j in range(3):
            if k == j and out[j] is None:
                out[j] = r
    return torch.stack([x[0] * 0 if o is None else o for o in out])


@more
def truthy(x):
    n = None
    t = 0
    for r in x:
        if n:
            t += 1
        if r.sum() > 0:
            n = r.argmax().item()
    return t


@more
def or_default(x):
    best = None
    for r in x:
        if r.sum() > 0:
            best = int(r.argmax())
    return best or 7


@more
def equal_none(x):
    k = None
    t = 0
    for r in x:
        if k == 2:
            t += 1
        if k != 2:
            t += 10
        if r.sum() > 0:
            k = int(r.argmax())
    return t


@more
def isinst(x):
    h = None
    t = x.sum() * 0
    for r in x:
        if isinstance(h, torch.Tensor):
            t = t + (h * r).sum()
        if not isinstance(h, (tuple, torch.Tensor)):
            h = r
        elif r.sum() > 0:
            h = None
    return t


@more
def ret_none_or_value(x):
    found = None
    i = 0
    while found is None and i < x.shape[0]:
        if x[i].max() > -100:
            found = x[i]
        i += 1
    return found


def find(x):
    for r in x:
        if r.sum() > 0:
            return r
    return None


@program
def find_none(x):
    r = find(x)
    if r is None:
        return x[0] * 0
    return r * 2


@program
def assert_there(x):
    p = None
    for r in x:
        if p is None or r.max() > p.max():
            p = r
    assert p is not None
    return p + 1


@program
def raise_if_none(x):
    p = None
    i = 0
    while i < x.shape[0]:
        if x[i].max() > -50:
            p = x[i]
        i += 1
    if p is None:
        raise ValueError("no")
    return p + 1


@more
def walrus(x):
    p = None
    t = 0
    for r in x:
        if (q := p) is not None:
            t = t + (q * r).sum()
        p = r if r.sum() > 0 else None
    return t


@more
def fstr(x):
    kind = "none"
    for r in x:
        if r.sum() > 3:
            kind = "big"
        elif r.sum() > 0:
            kind = "small"
    table = {"none": 1.0, "big": 2.0, "small": 3.0}
    return (
        table[kind],
        x * table.get(kind, 0.0),
        kind == "big",
        kind in ("big", "small"),
        kind.startswith("s"),
    )


@program
def str_methods(x):
    k = "Up"
    for r in x:
        k = "Down" if r.sum() > 0 else k.lower()
    if k.upper() == "DOWN":
        return x * 2
    if len(k) == 2:
        return x * 3
    return x


@more
def interp(x):
    m = "nearest"
    for r in x:
        if r.sum() > 2:
            m = "bilinear"
    return F.interpolate(x[None, None], size=(3, 3), mode=m)


@more
def div_mode(x):
    m = None
    for r in x:
        if r.sum() > 2:
            m = "floor"
        elif r.sum() < -2:
            m = "trunc"
    return torch.div(x, 0.7, rounding_mode=m)


@program
def match_state(x):
    s = "idle"
    n = 0
    for r in x:
        match s:
            case "idle":
                if r.sum() > 0:
                    s = "run"
            case "run":
                n += 1
                if r.sum() < 0:
                    s = "stop"
            case _:
                n += 100
    return n


@more
def several_that_are_none(x):
    total = x
    a = None if x[0, 0] > 0 else x
    b = None if x[0, 1] > 0 else x
    c = None if x[0, 2] > 0 else x
    d = None if x[0, 3] > 0 else x
    e = None if x[1, 0] > 0 else x
    f = None if x[1, 1] > 0 else x
    for mask in (a, b, c, d, e, f):
        if mask is not None:
            total = total + mask * 0.5
    return total


@more
def sums_of_runs(x):
    words, current = [], None
    for v in x.flatten():
        if v > 0:
            current = v if current is None else current + v
        elif current is not None:
            words.append(current)
            current = None
    if current is not None:
        words.append(current)
    return torch.stack(words) if words else x.new_zeros(0)


class _Part:
    def __init__(self, value):
        self.value = value

    @property
    def is_there(self):
        return self.value is not None


def _perhaps(x):
    return x.sum() if x.mean() > 0 else None


def _part(x):
    return [_Part(_perhaps(x))]


def _scaled(x, parts):
    return x if parts[0].value is None else x * parts[0].value


def _scaled_if_there(x, parts):
    return x * parts[0].value if parts[0].is_there else x + 1


@program
def none_in_an_object_of_a_list(x):
    """The functions that ask are not those that decide."""
    return _scaled(x, _part(x)) + _scaled_if_there(x, _part(-x))


@program
def what_none_is_not(x):
    scale = _perhaps(x)
    y = x * (scale if torch.is_tensor(scale) else 2)
    y = y + (scale if hasattr(scale, "shape") else 3)
    size = getattr(scale, "abs", None)
    return y if size is None else y * size()


@more
def class_in_a_function(x):
    class Held:
        def __init__(self):
            self.scale = _perhaps(x)

        @property
        def is_there(self):
            return self.scale is not None

    held = Held()
    return x * held.scale if held.is_there else x
