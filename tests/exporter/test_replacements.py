"""What a capture calls in the place of functions of PyTorch and of libraries."""

from __future__ import annotations

import contextlib
import copy
import functools
import statistics
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode

import onnxwright as ow
from onnxwright.exporter.capture import attempts, torch_calls
from onnxwright.exporter.capture.control import replacement_table as table
from onnxwright.exporter.capture.control.replacement_table import Entry
from onnxwright.exporter.capture.inputs import shapes
from onnxwright.exporter.capture.replacements import entries, torch_functions
from onnxwright.exporter.capture.session.changes import active
from tests.harness.modules import module_with, same_results

nn, functional = torch.nn, torch.nn.functional


@pytest.fixture
def own() -> Iterator[Callable[..., Any]]:
    """`export_replacement`, whose entries are removed at the end of the test."""
    before = {name: list(found) for name, found in table._BY_NAME.items()}
    yield ow.export_replacement
    table._BY_NAME.clear()
    table._BY_NAME.update(before)


class Calls(nn.Module):  # type: ignore[misc]
    """A module whose `forward` is a function of this file."""

    def __init__(self, function: Callable[..., Any], **parts: Any) -> None:
        super().__init__()
        self.function = function
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x: Any) -> Any:
        return self.function(self, x)


def mean_of(_: Any, x: Any) -> Any:
    return statistics.fmean([x, x + 2])


def doubled(x: Any) -> Any:
    return x * 2 if x.sum() > 0 else x


class Scale:
    """An object of a library: its method decides by values."""

    def by(self, x: Any) -> Any:
        return x * x.sum().item()


SCALED_BY = Scale.by


def scaled(self: Any, x: Any) -> Any:
    return self.scale.by(x)


# -- entries of users ------------------------------------------------------------------------------


def test_a_function_is_called_in_the_place_of_a_librarys(own: Any) -> None:
    @own("statistics.fmean", reason="it makes floats of tensors")
    def fmean(_: Any, data: Any) -> Any:
        return torch.stack(list(data)).mean()

    program = ow.export(Calls(mean_of), (torch.tensor(1.0),))
    assert program(torch.tensor(4.0)).item() == 5
    assert statistics.fmean([1, 2]) == 1.5


def test_a_method_is_replaced_and_what_replaces_it_may_decide_by_values(own: Any) -> None:
    @own(f"{__name__}.Scale.by", reason="it reads a value")
    def by(_: Any, self: Scale, x: Any) -> Any:
        return x * 2 if x.sum() > 0 else x

    x = torch.ones(2)
    program = ow.export(Calls(scaled, scale=Scale()), (x,))
    assert [program(v).tolist() for v in (x, -x)] == [[2, 2], [-1, -1]]


@pytest.mark.parametrize("capture", ["strict", "non-strict", "source", "draft"])
def test_every_way_to_capture_takes_the_replacement(own: Any, capture: str) -> None:
    own(f"{__name__}.Scale.by", reason="it reads a value")(lambda _, self, x: x + 1)
    program = ow.export(Calls(scaled, scale=Scale()), (torch.ones(2),), capture=capture)
    assert program(torch.ones(2)).tolist() == [2, 2]
    assert Scale().by(torch.ones(2)).tolist() == [2, 2]
    assert Scale.by is SCALED_BY


def test_code_without_source_takes_the_replacement(own: Any) -> None:
    own("torch.nn.functional.softplus", reason="a test")(lambda _, x: x + 1)
    names: dict[str, Any] = {"functional": functional}
    exec("def run(self, x):\n    return functional.softplus(x)", names)
    program = ow.export(Calls(names["run"]), (torch.ones(2),))
    assert program(torch.ones(2)).tolist() == [2, 2]


def test_attributes_are_replaced_once_where_changes_are_nested() -> None:
    """Code without source may run before the capture itself, and in it again."""
    own = torch.nn.Module.float
    with entries.changed("every"):
        table.replace_attributes()
        other = torch.nn.Module.float
        with entries.changed("non-strict"):
            table.replace_attributes()
            assert torch.nn.Module.float is other is not own
        assert torch.nn.Module.float is other
    assert torch.nn.Module.float is own


def test_a_replacement_may_call_what_it_replaces(own: Any) -> None:
    @own("torch.nn.functional.softplus", reason="of half the slope")
    def softplus(softplus: Any, x: Any) -> Any:
        return softplus(x) / 2

    @own(f"{__name__}.doubled", reason="of a function of Python")
    def thrice(doubled: Any, x: Any) -> Any:
        return doubled(x) + x

    x = torch.ones(2)
    program = ow.export(Calls(lambda _, x: (functional.softplus(x), doubled(x))), (x,))
    half, three = program(x)
    torch.testing.assert_close(half, functional.softplus(x) / 2)
    assert three.tolist() == [3, 3]


@pytest.mark.parametrize(
    ("target", "versions", "is_used"),
    [
        ("torch.nn.functional.softplus", {}, True),
        ("torch.nn.functional.softplus", {"first": "2.10"}, True),
        ("torch.nn.functional.softplus", {"last": "2.9"}, False),
        ("torch.nn.functional.softplus", {"first": "99"}, False),
        ("torch.*.softplus", {}, True),
        ("jax.*.softplus", {}, False),
        ("no_such_library.softplus", {}, False),
    ],
)
def test_an_entry_is_for_its_target_and_versions(
    own: Any, target: str, versions: dict[str, str], is_used: bool
) -> None:
    def library_function(x: Any) -> Any:
        return x

    library_function.__module__, library_function.__qualname__ = "torch.nn.x", "softplus"
    library_function.__name__ = "softplus"
    f: Any = library_function if "*" in target else functional.softplus
    own(target, reason="a test", **versions)(lambda x: x)
    with entries.changed("every"):
        assert (table.replaced(f) is not None) is is_used
    assert active() is None
    assert table.replaced(f) is None, "outside a capture nothing is replaced"


def test_a_target_without_a_module_is_refused(own: Any) -> None:
    with pytest.raises(ValueError, match="`softplus` has no module"):
        own("softplus", reason="a test")


EVERY: list[Entry] = [
    *entries.CALLS, *sum(entries.CHANGES.values(), ()),
    *sum(torch_functions.FUNCTIONS.values(), ()),
]  # fmt: skip


# -- the package's own table -----------------------------------------------------------------------


def test_every_entry_says_why_and_each_target_is_there_once() -> None:
    assert all(len(entry.reason) > 20 and len(entry.upstream) > 20 for entry in EVERY)
    targets = [entry.target for entry in EVERY]
    assert sorted(set(targets)) == sorted(targets)
    functions = [*entries.CALLS, *sum(torch_functions.FUNCTIONS.values(), ())]
    there = [e for e in functions if e.library == "torch" and e.is_for(torch.__version__)]
    assert all(table.found_at(entry.target) is not None for entry in there)


def test_a_capture_of_a_relu_enters_at_most_five_context_managers(monkeypatch) -> None:
    """All that are around `torch.export.export`, modes of torch's functions included."""
    args, kind, entered = (torch.ones(2),), contextlib._GeneratorContextManager, []
    wanted, export = shapes.read(nn.ReLU(), args, {}, None), torch.export.export
    counts: list[list[str]] = []

    def counting(owner: Any, name: Callable[[Any], Any]) -> None:
        enter = owner.__enter__

        def counted(self: Any) -> Any:
            entered.append(name(self))
            return enter(self)

        monkeypatch.setattr(owner, "__enter__", counted)

    def exported(*given: Any, **options: Any) -> Any:
        counts.append([name for name in entered if name.startswith("onnxwright")])
        return export(*given, **options)

    counting(kind, lambda one: f"{one.func.__module__}.{one.func.__qualname__}")
    counting(TorchFunctionMode, lambda one: f"{type(one).__module__}.{type(one).__qualname__}")
    monkeypatch.setattr(torch.export, "export", exported)
    attempts.capture(nn.ReLU(), wanted, "auto", [])
    (around,) = counts
    assert 1 < len(around) <= 5, around


def test_a_call_of_torch_passes_the_handlers_in_their_order() -> None:
    """Each is asked where it is concerned; what it calls passes those after it."""
    asked: list[tuple[str, str]] = []

    class Sizes(torch_calls.SizeTensors):
        def on_call(self, func: Any, args: Any, kwargs: Any) -> Any:
            asked.append(("sizes", func.__name__))
            return func(*args, **kwargs)

    class Functions(torch_calls.Substitutes):
        functions = (torch.neg,)

        def on_call(self, func: Any, args: Any, kwargs: Any) -> Any:
            asked.append(("functions", func.__name__))
            return torch.add(*args, torch.scalar_tensor(1))

    sizes, functions = Sizes(), Functions(())
    sizes.functions = (torch.neg, torch.add, torch.scalar_tensor)
    functions.functions = (torch.neg,)
    with torch_calls.TorchCalls(functions, sizes):
        assert torch.neg(torch.ones(())).item() == 2  # the sum is not one for `sizes`
        assert torch.add(torch.ones(()), 1).item() == 2
        torch.abs(torch.ones(()))
    assert asked == [("sizes", "neg"), ("functions", "neg"), ("sizes", "add")]


# -- still needed: a program that is wrong, or refused, without the entry --------------------------

NEEDED: dict[str, tuple[Callable[[], nn.Module], Any]] = {}
"""Target -> what makes a program that needs the entry, and its dynamic sizes."""
ELSEWHERE = {
    "test_static_caches.py": "transformers.cache_utils.*",
    "test_decoders.py": "transformers.masking_utils.*pad*",
    "test_recurrences.py": "transformers.models.*",
    "test_vision_language.py": "transformers.vision_utils",
    "test_flex_attention.py": "torch.nn.attention.flex_attention",
    "test_rnn.py": "torch.*.forward",
    "test_torch_func.py": "torch.*forward_ad",
    "test_decisions_by_sizes.py": "torch._subclasses.fake_impls._view_meta",
    "test_mutation.py": "torch.export._trace.*",
    "test_state_programs.py": "torch.Tensor.data.*",
    "test_joined_parts.py": "torch._subclasses.FakeTensor.tolist",
    "test_symbolic.py": "torch.fx.experimental.proxy_tensor.*",
    "test_control_flow.py": "torch._dynamo.*",
    "source/programs_of_loops.py": "torch.cond",
    "source/test_one_capture.py": "torch.autograd.*",
    "source/programs.py": "torch._higher_order_ops.*",
    "test_random_draws.py": "torch.*manual_seed",
    "test_forms.py": "torch._efficientzerotensor",
    "source/test_number_kinds.py": "torch.tensor",
    "source/test_run_time_numbers.py": "torch.SymBool",
    "source/test_uses_of_numbers.py": "torch.Tensor.__hash__",
}
"""File with the tests of entries that need a whole model or a library -> targets."""


def needs(target: str, sizes: Any = None) -> Callable[[Any], Any]:
    """Say that a program needs an entry."""

    def add(make: Callable[[], nn.Module]) -> Any:
        NEEDED[target] = make, sizes
        return make

    return add


def casting(name: str, dtype: Any) -> Callable[[], nn.Module]:
    layer = nn.Linear(3, 3).to(dtype)
    return lambda: Calls(
        lambda self, x: getattr(self.layer, name)()(x.to(dtype)).float(), layer=layer
    )


for _name, _dtype in (("float", torch.float32), ("double", torch.float64),
                      ("half", torch.float16), ("bfloat16", torch.bfloat16)):  # fmt: skip
    needs(f"torch.nn.Module.{_name}")(casting(_name, _dtype))


@needs("torch.Tensor.__deepcopy__")
def _copies() -> Any:
    def run(self: Any, x: Any) -> Any:
        made = copy.deepcopy({"layer": self.layer, "x": x * 2})
        made["layer"].weight.data.mul_(2)
        return made["layer"](made["x"]) - self.layer(x)

    return Calls(run, layer=nn.Linear(3, 3))


@needs("torch.nn.Module.to")
def _moves() -> Any:
    return Calls(lambda self, x: self.layer.to(x.dtype)(x), layer=nn.Linear(3, 3))


@needs("torch.nn.functional.scaled_dot_product_attention", ({0: "n"},))
def _attends() -> Any:
    def run(self: Any, x: Any) -> Any:
        q = x[None, None]
        return functional.scaled_dot_product_attention(q, q, q, is_causal=q.shape[2] > 1)

    return Calls(run)


@needs("torch.dropout")
def _drops() -> Any:
    def run(self: Any, x: Any) -> Any:
        y = x * 2
        torch.dropout(y, 0.5, False).add_(1)
        return y

    return Calls(run)


@needs("torch.nn.functional.dropout")
def _drops_by_a_layer() -> Any:
    def run(self: Any, x: Any) -> Any:
        y = x * 2
        z = self.layer(y)
        z += 1
        return y * z

    return Calls(run, layer=nn.Dropout())


@needs("torch._VF._pack_padded_sequence", ({0: "n"},))
@needs("torch.nn.GRU.forward", ({0: "n"},))
def _packs() -> Any:
    def run(self: Any, x: Any) -> Any:
        lengths = (x[:, :, 0] > -9).sum(1)
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, True, False)
        y, _ = nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0], True)
        return y

    return Calls(run, gru=nn.GRU(3, 2, batch_first=True))


@needs("torch.onnx.is_in_onnx_export")
def _asks() -> Any:
    def run(self: Any, x: Any) -> Any:
        return x * 2 if torch.onnx.is_in_onnx_export() or not torch.compiler.is_exporting() else x

    return Calls(run)


@needs("torch.distributions.Distribution._validate_args")
def _samples() -> Any:
    def run(self: Any, x: Any) -> Any:
        return torch.distributions.Normal(x, x.exp()).log_prob(x + 1)

    return Calls(run)


@needs("torch._export.non_strict_utils._tensor_min_max", ({0: "n"},))
def _limits() -> Any:
    return Calls(lambda self, x: x * min(x.shape[0] / 2, 2.5))


@needs("transformers.masking_utils._ignore_bidirectional_mask_sdpa")
def _encodes() -> Any:
    masks = pytest.importorskip("transformers.masking_utils")

    def run(self: Any, x: Any) -> Any:
        given = masks._ignore_bidirectional_mask_sdpa(None, x.shape[0], None)
        return x if given else x + 1

    return Calls(run)


@needs("torch._functorch.apis.vmap_impl", ({0: "n"},))
def _maps_in_chunks() -> Any:
    return Calls(lambda self, x: torch.vmap(torch.sin, chunk_size=2)(x))


ROWS = ({0: "n"},)
LENGTHS = (torch.tensor([3, 3, 2]), torch.tensor([1, 2, 1]))


def unbatched_loss(x: Any, *lengths: Any) -> Any:
    log_probs = x[:, None].expand(-1, 3, -1).log_softmax(-1)
    return functional.ctc_loss(log_probs, torch.ones(3, 2, dtype=torch.int64), *lengths)


def first_kept(x: Any) -> Any:
    y = x.clone()
    y[x.shape[0] - 1, 1:] = 0.0
    return y


def half_or_sum(test: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """A program that decides by a function of a tensor."""

    def run(x: Any) -> Any:
        return torch.cond(test(x, x.abs()), lambda x: x / 2, lambda x: x * 3, (x,))

    return run


def pooled(name: str, axes: int) -> Callable[[Any], Any]:
    """A program that pools all rows."""
    ones, function = [1] * (axes - 1), table.found_at(name)
    return lambda x: function(x.T.reshape(3, -1, *ones), (x.shape[0], *ones))


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "torch.ops.aten.cdist.default": (
        lambda x: torch.cdist(x[x[:, 0] > -9], x[x[:, 0] < 9]), ROWS,
    ),
    "torch.ops.aten.cov.default": (lambda x: torch.cov(x.T), ROWS),
    "torch.ops.aten.ctc_loss.Tensor": (lambda x: unbatched_loss(x, *LENGTHS), None),
    "torch.ops.aten.ctc_loss.IntList": (lambda x: unbatched_loss(x, (3, 3, 2), (1, 2, 1)), None),
    "torch.ops.aten.linalg_lstsq.default": (
        lambda x: torch.linalg.lstsq(x, x.sum(1, keepdim=True)).solution, ROWS,
    ),
    "torch.ops.aten.narrow.Tensor": (
        lambda x: torch.narrow(x, 0, (x.sum() > 0).long(), 2), ROWS,
    ),
    "torch.ops.aten.one_hot.default": (lambda x: functional.one_hot(x.abs().long()), ROWS),
    "torch.ops.aten.fake_quantize_per_channel_affine.default": (
        lambda x: torch.fake_quantize_per_channel_affine(
            x, torch.tensor([0.1, 0.2, 0.1]), torch.zeros(3, dtype=torch.int32), 1, 0, 255
        ), ROWS,
    ),
    "torch.ops.aten.fake_quantize_per_tensor_affine.default": (
        lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 255), ROWS,
    ),
    "torch.ops.aten.fake_quantize_per_tensor_affine.tensor_qparams": (
        lambda x: torch.fake_quantize_per_tensor_affine(
            x, torch.tensor(0.1), torch.tensor(0), 0, 255
        ), ROWS,
    ),
    "torch.linspace": (lambda x: torch.linspace(0.5, x.shape[0] - 0.5, x.shape[0]) + x[:, 0], ROWS),
    "torch.nn.functional.one_hot": (
        lambda x: functional.one_hot(torch.arange(3), x.shape[0]), ROWS,
    ),
    "torch.tril_indices": (lambda x: torch.tril_indices(x.shape[0], 3) * x[0, 0], ROWS),
    "torch.triu_indices": (lambda x: x[torch.triu_indices(3, x.shape[0], 1)[1]], ROWS),
    "torch.as_tensor": (lambda x: x * torch.as_tensor([x.shape[0], 2, 3]), ROWS),
    "torch.asarray": (lambda x: x * torch.asarray([x.shape[0], 2, 3]), ROWS),
    "torch.equal": (half_or_sum(torch.equal), ROWS),
    "torch.Tensor.equal": (half_or_sum(lambda x, y: x.equal(y)), ROWS),
    "torch.allclose": (half_or_sum(torch.allclose), ROWS),
    "torch.Tensor.allclose": (half_or_sum(lambda x, y: x.allclose(y)), ROWS),
    "torch.is_nonzero": (half_or_sum(lambda x, y: torch.is_nonzero((x - y).sum())), ROWS),
    "torch.Tensor.is_nonzero": (half_or_sum(lambda x, y: (x - y).sum().is_nonzero()), ROWS),
    "torch.nn.functional.gaussian_nll_loss": (
        lambda x: functional.gaussian_nll_loss(x, x + 1, x.abs()), ROWS,
    ),
    "torch.Tensor.reshape": (lambda x: x.T.reshape((x[0] > -9).sum().item(), -1), ROWS),
    "torch.reshape": (lambda x: torch.reshape(x.T, ((x[0] > -9).sum().item(), -1)), ROWS),
    **{
        f"{home}.{kind}_pool{axes}d": (pooled(f"{home}.{kind}_pool{axes}d", axes), ROWS)
        for home, kind in (("torch", "max"), *(("torch.nn.functional", k) for k in ("avg", "max")))
        for axes in (1, 2, 3)
    },
    "torch.mean": (lambda x: torch.mean(x[x[:, 0] > 0], 0).nan_to_num(7.0), ROWS),
    "torch.Tensor.mean": (lambda x: x[x[:, 0] > 0].mean().nan_to_num(7.0), ROWS),
    "torch.Tensor.__getitem__": (lambda x: x[(x.sum() > 0).long()], ROWS),
    "torch.Tensor.__setitem__": (first_kept, ROWS),
}  # fmt: skip
for _target, (_function, _sizes) in FUNCTIONS.items():
    NEEDED[_target] = functools.partial(Calls, lambda self, x, f=_function: f(x)), _sizes


@needs("torch.istft", ({1: "n"},))
def _to_length() -> Any:
    window = torch.hann_window(8)

    def run(self: Any, x: Any) -> Any:
        frames = torch.stft(x, 8, 4, window=window, return_complex=True)
        return torch.istft(frames, 8, 4, window=window, length=x.shape[-1])

    return Calls(run)


def of_steps(kind: Any) -> Callable[[], nn.Module]:
    return lambda: Calls(lambda self, x: self.rnn(x)[0], rnn=kind)


for _name, _kind in (("lstm", nn.LSTM(3, 2)), ("gru", nn.GRU(3, 2)), ("rnn_tanh", nn.RNN(3, 2)),
                     ("rnn_relu", nn.RNN(3, 2, nonlinearity="relu"))):  # fmt: skip
    needs(f"torch.ops.aten.{_name}.input", ROWS)(of_steps(_kind))


@needs("torch.fx.experimental.proxy_tensor.PythonKeyTracer.create_proxy")
def _written_array() -> Any:
    def forward(self: Any, x: Any) -> Any:
        array = np.zeros(3, np.float32)
        y = x + torch.from_numpy(array)
        array += 1
        return y

    return module_with(dict)(forward)()


@needs("torch.fx.proxy.TracerBase._filter_traceback_frames")
def _lines() -> Any:
    return Calls(lambda self, x: _helper(x))


def _helper(x: Any) -> Any:
    return x.sin()


def still_works(target: str) -> bool:
    """Whether the program of an entry is captured in one way, and computes what the module does."""
    make, sizes = NEEDED[target]
    way = "substitutes" if target in SUBSTITUTED else "non-strict"
    torch.manual_seed(0)
    x = torch.randn(4, 5, 3) if make is _packs else torch.randn(4, 32 if make is _to_length else 3)
    model = make().eval()
    try:
        program = ow.export(model, (x,), dynamic_shapes=sizes, capture=way)
        more = [-x.abs(), torch.cat([x, x, x[:1]])]
        more = [torch.cat([x, x], 1)] if make is _to_length else more[: 1 + bool(sizes)]
        same_results(program, model, (x, *more), rtol=1e-3, atol=1e-3)
    except (ow.ExportError, AssertionError, RuntimeError):
        return False
    if "traceback" in target:
        nodes = [n for n in program.exported_program.graph.nodes if n.op == "call_function"]
        return "in _helper" in nodes[-1].stack_trace
    return True


SUBSTITUTED = {
    entry.target
    for table in (entries.CHANGES, torch_functions.FUNCTIONS)
    for entry in table["substitutes"]
}


@pytest.mark.share(4)
@pytest.mark.parametrize("target", NEEDED)
def test_an_entry_is_still_needed(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the last check fails, the library does without: the entry gets a last version."""
    # Tests of PyTorch's own, which other tests import, turn the checks off.
    monkeypatch.setattr(torch.distributions.Distribution, "_validate_args", True)
    assert still_works(target)
    (entry,) = (entry for entry in EVERY if entry.target == target)
    if not entry.is_for(table.version_of(entry.library)):
        return
    for place in (entries.CHANGES, torch_functions.FUNCTIONS):
        for way, made in place.items():
            left_out = tuple(one for one in made if one.target != target)
            monkeypatch.setitem(place, way, left_out)
    left = {
        name: [entry for entry in found if entry.target != target]
        for name, found in table._BY_NAME.items()
    }
    monkeypatch.setattr(table, "_BY_NAME", left)
    assert not still_works(target)


def test_every_entry_has_a_program_that_needs_it() -> None:
    there = [entry.target for entry in EVERY if entry.target not in NEEDED]
    for target in there:
        assert any(fnmatchcase(target, pattern) for pattern in ELSEWHERE.values()), target
    for file, pattern in ELSEWHERE.items():
        assert any(fnmatchcase(target, pattern) for target in there), pattern
        assert (Path(__file__).parent / file).is_file()
