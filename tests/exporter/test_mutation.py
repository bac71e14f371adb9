"""Programs that write: in-place operators, views, buffers, inputs, training."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn, randn

import onnxwright as ow
from onnxwright import errors
from onnxwright.exporter.capture.graphs import writes
from onnxwright.exporter.program.running import Session
from onnxwright.exporter.torch_types import to_torch
from onnxwright.exporter.translate import mutation
from tests.exporter.programs import Program, Programs, check, equal, run
from tests.harness.modules import module_with

PROGRAMS = Programs()
ROWS = {"x": {0: "b"}}


def _matrix() -> tuple[Any, ...]:
    return (randn(2, 3),)


@PROGRAMS(_matrix, dynamic=ROWS)
def in_place_operators(x):
    """add_, mul_, relu_, clamp_, fill by index."""
    y = x.clone()
    y[:, 0] = 1
    return y.add_(2).mul_(x).relu_().clamp_(max=3.0)


@PROGRAMS(_matrix)
def views_of_one_tensor(x):
    """A write through one view is seen through the others."""
    y = x * 1
    z = y.view(3, 2)
    z[0] = 5
    w = y.t()
    w.add_(1)
    return y, z, w


@PROGRAMS(_matrix, dynamic=ROWS)
def parts_of_a_split(x):
    y = x * 2
    a, b, c = y.split(1, 1)
    a.add_(b)
    return a, b, c, y


@PROGRAMS(_matrix)
def masked_write(x):
    y = torch.zeros(2, 3)
    y[x > 0] = x[x > 0]
    return y


@PROGRAMS(_matrix)
def another_shape(x):
    """A write that gives the tensor fewer elements."""
    y = x * 1
    y.resize_(2, 2)
    return y + 1


@PROGRAMS(_matrix)
def nested_views(x):
    y = x * 1
    y.unsqueeze(0).squeeze(0)[1].copy_(x[0])
    return y


@PROGRAMS(_matrix)
def expanded_view(x):
    y = x.clone()
    z = y.expand(4, 2, 3)
    y.zero_()
    return z + 1


@PROGRAMS(_matrix)
def fills(x):
    """masked_fill_, diagonal fill, steps."""
    y = x * 1
    y.masked_fill_(y > 0, 0.0)
    y.diagonal().fill_(7.0)
    y[..., ::2] *= 2
    return y


@PROGRAMS(_matrix)
def detached(x):
    y = x * 1
    y += 1
    z = y.detach()
    z *= 2
    return y


@PROGRAMS(lambda: (randn(4, 6),), dynamic=ROWS, ops={"If": 1})
def writes_in_branches(x):
    def one(x):
        y = x.clone()
        y[0] = 0
        y[:, 1].add_(2)
        return y

    def other(x):
        y = torch.zeros_like(x)
        y.diagonal().fill_(1)
        return y

    return torch.cond(x.sum() > 0, one, other, (x,))


@PROGRAMS(lambda: (randn(4, 6), torch.tensor(2)), dynamic=ROWS)
@module_with(lambda: {"steps": nn.Buffer(torch.tensor(0)), "kept": nn.Buffer(torch.zeros(3, 6))})
def PlacesAsTensors(self, x, i):
    """Indices that are tensors without axes, as of a cache that is filled step by step."""
    self.steps += 1
    self.kept[self.steps % 3] = x.mean(0)
    y = x.clone()
    y[:, i] = 0
    y[None, ..., i - 3] = x[:, 0] * 2
    y[0, i] = 5.0
    return y, self.kept[i], y[:, i, None], y[..., -1]


@PROGRAMS(_matrix)
def views_of_itself(x):
    """`unsqueeze_`, `t_` and the like make the tensor another view of its memory."""
    y = x.clone()
    z = y.view(6)
    y.unsqueeze_(0).squeeze_(0).t_()
    y[0] = 1
    return y, z


@PROGRAMS(_matrix, dynamic=ROWS)
def overloads_of_other_names(x):
    """`pow_.Tensor` beside `pow.Tensor_Tensor`, `floor_divide_.Tensor` beside the default one."""
    y = x.abs() * 4
    y //= 2
    z = y + 1
    z **= y
    w = x.to(torch.float64)
    w.float_power_(torch.full_like(w, 2.0))
    return y, z, w, z.clone().ldexp_(torch.full_like(z, 2))


@PROGRAMS(_matrix, dynamic=ROWS)
def writes_between_reads(x):
    """What was read before a write stays."""
    y = x.clone()
    before = y + 0
    y[0] = 9.0
    after = y + 0
    return before, after


@PROGRAMS(_matrix)
def index_put_accumulates(x):
    """Repeated places add up."""
    y = x.clone()
    y.index_put_((torch.tensor([0, 0, 1]), torch.tensor([1, 1, 2])), torch.ones(3), accumulate=True)
    return y


@PROGRAMS(_matrix)
def scatter_in_place(x):
    """scatter_ and index_add_."""
    y = x.clone()
    y.scatter_(1, torch.tensor([[0], [2]]), 5.0)
    y.index_add_(0, torch.tensor([1, 0]), x)
    return y


@PROGRAMS(_matrix)
def types_stay(x):
    y = torch.zeros(2, 3, dtype=torch.int32)
    y += 2
    y[0] = 7
    return y


@PROGRAMS(_matrix)
def out_argument(x):
    y = torch.empty(2, 3)
    torch.add(x, 1, out=y)
    return y


@PROGRAMS(_matrix)
def input_is_written(x):
    x.relu_()
    return x + 1


@PROGRAMS(_matrix, dynamic=ROWS)
def no_grad_region(x):
    with torch.no_grad():
        y = x * 2
    with torch.enable_grad():
        return y + x


@PROGRAMS(lambda: (randn(2, 3), randn(3, 2)))
def autocast_region(x, y):
    """A region in bfloat16."""
    with torch.autocast("cpu", torch.bfloat16):
        z = x @ y
    return z, z.float() + 1


@PROGRAMS(lambda: (randn(4, 3),), dynamic={"x": {0: "b"}})
class Counter(nn.Module):
    """Buffers that are counted up, and read after."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x):
        self.calls += 1
        self.total.add_(x.sum(0))
        return x - self.total / self.calls


@PROGRAMS(_matrix)
@module_with(lambda: {"last": nn.Buffer(torch.zeros(2, 3))})
def ReplacedBuffer(self, x):
    """A buffer that becomes another tensor."""
    before = self.last.clone()
    self.last.copy_(x)
    return before, self.last


@PROGRAMS(_matrix)
@module_with(lambda: {"last": nn.Buffer(torch.zeros(2, 3)), "older": nn.Buffer(torch.ones(2, 3))})
def AssignedBuffers(self, x):
    """What was read before keeps its values; one buffer gets those of another."""
    before, first = self.last, self.last[0]
    self.older, self.last = self.last, x + self.older
    return before, first, self.last, self.older


@PROGRAMS(_matrix, ops={"If": 1})
@module_with(lambda: {"last": nn.Buffer(torch.zeros(2, 3))})
def AssignedOnOneSide(self, x):
    before = self.last
    if x.sum() > 0:
        self.last = before + x
    return before, self.last


@PROGRAMS(_matrix, ops={"Loop": 1})
@module_with(lambda: {"last": nn.Buffer(torch.zeros(3))})
def AssignedInALoop(self, x):
    """A loop that may not run gives the buffer itself."""
    while self.last.sum() < x.abs().sum():
        self.last = self.last + 1
    before = self.last
    self.last = self.last * 0.5
    return before


@PROGRAMS(_matrix)
@module_with(lambda: {"one": nn.Buffer(torch.zeros(3)), "two": nn.Buffer(torch.ones(3))})
def AssignedAndListed(self, x):
    """The items of the list are buffers of before, which the end of the call writes to."""
    found = []
    for row in x:
        if row.sum() > 0:
            self.one, self.two = self.two, self.one + row
        found.append(self.one)
    self.two = x[0]
    return torch.stack(found)


@module_with(lambda: {"last": nn.Buffer(torch.zeros(2, 3))})
def _Delay(self, x):
    before = self.last
    self.last = x + before
    return before * 2


@PROGRAMS(_matrix)
@module_with(lambda: {"one": _Delay(), "two": _Delay()})
def AssignedInParts(self, x):
    return self.one(x) + self.two(x * 3)


class PartByTwoNames(AssignedInParts):
    """The buffer of the part is one input of the model."""

    def __init__(self) -> None:
        super().__init__()
        self.two = self.one


PROGRAMS(_matrix)(PartByTwoNames)


@PROGRAMS(_matrix)
@module_with(lambda: {"scale": nn.Parameter(torch.ones(3))})
def WrittenData(self, x):
    """`.data` is the tensor itself: it is written, and decides."""
    self.scale.data *= 2
    if self.scale.data.sum() > 9:
        x = x + 1
    return x * self.scale


@PROGRAMS(lambda: (randn(1, 4), torch.tensor([2])))
@module_with(lambda: {"keys": nn.Buffer(torch.zeros(8, 4))})
def Cache(self, key, position):
    """A key-value cache."""
    self.keys[position] = key
    return self.keys.sum(0), self.keys.index_select(0, position)


@PROGRAMS(lambda: (randn(1, 2, 4), torch.tensor(5)))
@module_with(lambda: {"keys": nn.Buffer(torch.randn(1, 2, 8, 4))})
def RingBuffer(self, key, position):
    """Nothing reads the buffer but a write along an inner axis, for which its axes are permuted."""
    self.keys[:, :, position % 8] = key
    return self.keys.sum(2)


PROGRAMS.add("batch_norm_in_training", lambda: nn.BatchNorm2d(3).train(), randn(4, 3, 2, 2))
PROGRAMS.add(
    "network_in_training",
    lambda: nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU()).train(),
    randn(5, 3),
)
PROGRAMS.add(
    "instance_norm_with_statistics",
    lambda: nn.InstanceNorm1d(3, track_running_stats=True).train(),
    randn(2, 3, 5),
)


@pytest.mark.share(3)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_a_program_that_writes_gives_what_torch_gives(program: Program) -> None:
    """Results, and the new values of buffers and inputs as further outputs."""
    made = run(program)
    changed = _new_values(made, program)
    torch.manual_seed(0)
    model = program.model()
    args = program.inputs()
    module = copy.deepcopy(model)
    with torch.no_grad():
        module(*args)
    for name, value in changed.items():
        if name.endswith(".new"):
            equal(value, module.state_dict()[name.removesuffix(".new")])
            stored = made.model.graph.initializers[name.removesuffix(".new")]
            assert tuple(stored.shape) == tuple(value.shape), (
                "the new value replaces the stored one"
            )
        else:
            equal(value, args[0])


def _new_values(made: Any, program: Program) -> dict[str, Any]:
    """The outputs of the model that are new values, after one call."""
    torch.manual_seed(0)
    program.model()
    feeds = made.feeds(program.inputs())
    names = [v.name for v in made.model.graph.outputs]
    arrays = Session(made.model).run(feeds)
    user = {n for e, n in made._built.outputs if e.kind.name == "USER_OUTPUT"}
    return {n: to_torch(a) for n, a in zip(names, arrays, strict=True) if n not in user}


def test_new_values_are_outputs_or_dropped() -> None:
    """`mutations="outputs"` and `"drop"`."""
    kept = check(Counter(), (randn(4, 3),))
    assert [v.name for v in kept.model.graph.outputs][1:] == ["calls.new", "total.new"]
    dropped = check(Counter(), (randn(4, 3),), mutations="drop")
    assert len(dropped.model.graph.outputs) == 1
    written = check(input_is_written, (randn(2, 3),))
    assert [v.name for v in written.model.graph.outputs][1:] == ["x_new"]
    assert len(check(input_is_written, (randn(2, 3),), mutations="drop").model.graph.outputs) == 1


def test_exporting_leaves_the_module_as_it_was() -> None:
    """Buffers, training mode and inputs."""
    model, x = Counter().train(), randn(4, 3)
    state, given = copy.deepcopy(model.state_dict()), x.clone()
    ow.export(model, (x,))
    assert model.training
    assert all(torch.equal(v, state[k]) for k, v in model.state_dict().items())
    assert torch.equal(x, given)


def test_a_later_call_of_the_module_leaves_the_model_as_it_was() -> None:
    """Buffers that the model changes begin with what they had at the export."""
    model, x = Counter(), randn(4, 3)
    program = ow.export(model, (x,))
    before = {n: v.const_value.numpy().copy() for n, v in program.model.graph.initializers.items()}
    model(x)
    for name, value in program.model.graph.initializers.items():
        np.testing.assert_array_equal(value.const_value.numpy(), before[name])


def test_a_write_that_torch_cannot_resolve_is_told() -> None:
    """Into a strided view of a view."""

    def model(x: Any) -> Any:
        y = x.clone()
        y[1:].t().as_strided((3, 3), (1, 6), 6).zero_()
        return y

    with pytest.raises(errors.ExportError, match="write to a copy"):
        ow.export(model, (randn(4, 6),))


def test_views_are_looked_up_in_proportion_to_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each write does not look at the memory of every node again."""
    before, calls = writes.memory_of, []

    def counted(node: Any) -> int:
        calls.append(node)
        return before(node)

    monkeypatch.setattr(writes, "memory_of", counted)

    def model(x: Any) -> Any:
        y = x.clone()
        for row in range(60):
            y[row] = y[row] * 2 + 1
        return y

    x = randn(60, 3)
    program = ow.export(model, (x,))
    assert torch.equal(program(x), model(x))
    assert len(calls) < 40 * 60


def test_a_written_parameter_is_after_the_results() -> None:
    @module_with(lambda: {"w": nn.Parameter(torch.ones(3))})
    def Model(self, x):
        with torch.no_grad():
            self.w.mul_(2)
        return x * self.w

    program = ow.export(Model(), (torch.ones(3),), capture="non-strict")
    assert program(torch.ones(3)).tolist() == [2, 2, 2]
    assert [str(one.name) for one in program.model.graph.outputs][1:] == ["w.new"]


@module_with(lambda: {"whole": nn.Buffer(torch.zeros(3))})
def _Overlapping(self, x):
    self.part.add_(1)
    return x * self.whole


def test_a_write_to_a_part_of_another_tensor_is_named() -> None:
    model = _Overlapping()
    model.part = nn.Buffer(model.whole[1:])
    with pytest.raises(errors.ExportError, match=r"OW843.*\n.*test_mutation.py"):
        ow.export(model, (torch.ones(3),))
    model.part = nn.Buffer(torch.zeros(6)[3:])
    model.whole = nn.Buffer(torch.zeros(3))
    assert ow.export(model, (torch.ones(3),))(torch.ones(3)).tolist() == [0, 0, 0]


REPLACED: dict[str, Any] = {
    "longer": lambda b, x: torch.cat([b, b]),
    "another size": lambda b, x: torch.zeros(5) + x.sum(),
    "a dynamic size": lambda b, x: x[:, 0],
    "another element type": lambda b, x: b.to(torch.float64),
    "resized": lambda b, x: b.resize_(6),
}


@pytest.mark.parametrize("what", REPLACED)
def test_a_buffer_that_is_replaced_by_another_shape_is_named(what: str) -> None:
    @module_with(lambda: {"b": nn.Buffer(torch.zeros(3))})
    def Model(self, x):
        self.b = REPLACED[what](self.b, x)
        return x * 2

    with pytest.raises(errors.ExportError, match=r"OW856.*`b` is FLOAT\[3\]"):
        ow.export(Model(), (torch.ones(2, 3),), dynamic_shapes={"x": {0: torch.export.Dim("n")}})


def _cast(x: Any) -> Any:
    y = x.to(torch.float32)
    y.add_(1)
    return x * 2


def _contiguous(x: Any) -> Any:
    y = x.contiguous()
    y[0] = 5
    return x + y


def _expanded(x: Any) -> Any:
    y = x.clone()
    y.expand_as(y).sub_(1)
    return y


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("function", [_cast, _contiguous, _expanded])
def test_a_write_to_the_same_tensor_by_another_operator_needs_no_second_trace(
    function: Any, dynamic: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`to`, `contiguous` and `expand` may give their argument itself."""
    monkeypatch.setattr(mutation, "_resolved", lambda program: pytest.fail("traced again"))
    x = randn(2, 3)
    program = ow.export(function, (x,), dynamic_shapes={"x": {0: "n"}} if dynamic else None)
    torch.testing.assert_close(program(x.clone()), function(x.clone()))
