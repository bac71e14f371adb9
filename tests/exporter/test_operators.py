"""Small programs of operators that run at other sizes than they were exported with."""

from __future__ import annotations

import pytest
import torch
from torch import distributions, nn, randint, randn
from torch.export import Dim
from torch.nn import functional as F

from tests.exporter.programs import Program, Programs, check, run, same
from tests.harness.modules import module_with

PROGRAMS = Programs()
AUTO = Dim.AUTO
IMAGE = ({0: AUTO, 2: AUTO, 3: AUTO},)
ROWS = ({0: AUTO, 1: AUTO},)
SIZES = ({"*": 0}, {"*": 7}, {"*": 4})


def _image():
    return (randn(2, 3, 7, 8),)


# -- windows ---------------------------------------------------------------------------------------

for _name, _options in {
    "ceil": {"kernel_size": 3, "stride": 2},
    "ceil_padded": {"kernel_size": 3, "stride": 2, "padding": 1},
    "ceil_without_padding": {
        "kernel_size": 3,
        "stride": 2,
        "padding": 1,
        "count_include_pad": False,
    },
    "ceil_divided": {"kernel_size": (3, 2), "stride": (2, 3), "divisor_override": 4},
    "ceil_odd": {"kernel_size": 2, "stride": 3, "padding": 1},
}.items():
    PROGRAMS.add(
        f"average_{_name}",
        lambda o=_options: nn.AvgPool2d(ceil_mode=True, **o),
        _image,
        dynamic=IMAGE,
        sizes=SIZES,
    )
for _name, _size in {"uneven": (3, 2), "kept": (None, 3), "one": 1, "wider": (9, 4)}.items():
    PROGRAMS.add(
        f"adaptive_maximum_{_name}",
        lambda n=_size: nn.AdaptiveMaxPool2d(n, return_indices=True),
        _image,
        dynamic=IMAGE,
        sizes=SIZES,
    )
    PROGRAMS.add(
        f"adaptive_average_{_name}",
        lambda n=_size: nn.AdaptiveAvgPool2d(n),
        _image,
        dynamic=IMAGE,
        sizes=SIZES,
    )


@PROGRAMS(lambda: (randint(-9, 9, (2, 3, 7, 7)),), dynamic=IMAGE, sizes=SIZES)
def maximum_of_integers_with_ceil(x):
    """MaxPool has no integers of 64 bits: windows are gathered."""
    return F.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True)


@PROGRAMS(
    lambda: (randn(2, 3, 7, 7), randn(1, 2, 3, 4)),
    dynamic=({0: AUTO, 2: AUTO, 3: AUTO}, {2: AUTO, 3: AUTO}),
)
def pool_to_the_size_of_another(x, like):
    """The size to pool to is known at run time."""
    size = like.shape[-2:]
    return F.adaptive_avg_pool2d(x, size), F.adaptive_max_pool2d(x, size)


@module_with(lambda: {"up": nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1)})
def _Decoder(self, x, skip):
    return self.up(x, output_size=skip.shape[-2:])


@pytest.mark.parametrize("sizes", [(10, 8), (9, 7)])
def test_transposed_convolution_to_the_size_of_another(sizes: tuple[int, int]) -> None:
    """As a U-Net has it: the output padding follows from the other input."""
    model = _Decoder()
    dynamic = ({0: AUTO, 2: AUTO, 3: AUTO}, {2: AUTO, 3: AUTO})
    program = check(model, (randn(2, 2, 5, 4), randn(1, 1, *sizes)), None, dynamic, sizes=())
    for rows in (13, 14):
        same(program, model, (randn(3, 2, 7, 6), randn(1, 1, rows, 12)))


@PROGRAMS(lambda: (randn(2, 3, 6, 6),), dynamic=({0: AUTO, 1: AUTO, 2: AUTO},), sizes=({"*": 3},))
def groups_as_many_as_channels(x):
    """The number of groups is a size."""
    return F.conv2d(x, torch.ones(3, 1, 3, 3) / 9, padding=1, groups=x.shape[1])


# -- products --------------------------------------------------------------------------------------


@PROGRAMS(lambda: (randn(3, 4), randn(3)), dynamic=(ROWS[0], {0: AUTO}), ops={"Transpose": 0})
def turned_matrix_times_vector(a, v):
    """ONNX Runtime's fusion of Transpose and MatMul is wrong for vectors."""
    return a.T @ v, torch.mv(a.t(), v), (a.T @ v).sum()


@PROGRAMS(lambda: (randn(2, 3, 4), randn(3), randn(2)), dynamic=({0: AUTO}, None, {0: AUTO}))
def turned_batch_times_vector(a, v, w):
    """Axes in other orders, and another type on the way."""
    return a.mT @ v, a.permute(2, 1, 0) @ w, a.permute(1, 2, 0) @ w, a.mT.double() @ v.double()


# -- arithmetic ------------------------------------------------------------------------------------


@PROGRAMS(lambda: (randint(1, 9, (3, 5)), randn(3, 5)), dynamic=ROWS * 2)
def number_divided_by_a_tensor(i, x):
    """`aten::floor_divide` has a number in the place of its first tensor."""
    return 7 // i, -7 // i, 1.0 // x, 7 % i


@PROGRAMS(lambda: (randn(3, 5).double() * 9,), dynamic=ROWS)
def remainders_of_doubles(x):
    """By numbers of both signs."""
    return x % 0.7, x % -0.7, x // -0.7, torch.fmod(x, -0.7), x.int() % -3, x.int() // -3


@PROGRAMS(lambda: (randn(3, 5, dtype=torch.complex64),), dynamic=ROWS, sizes=SIZES)
def product_of_complex_numbers(x):
    """Over a dynamic size."""
    return x.prod(1), x.prod(0), x.prod()


@PROGRAMS(lambda: (randn(3, 5),), dynamic=ROWS, compare=False)
def random_in_place(x):
    """Numbers between bounds."""
    return x.clone().uniform_(-1, 2), torch.zeros(x.shape[0]).uniform_()


# -- distributions ---------------------------------------------------------------------------------


@PROGRAMS(lambda: (randn(3, 5),), dynamic=ROWS)
def log_probabilities(x):
    """What distributions check of values is not looked at."""
    kinds = distributions
    return (
        kinds.Normal(0.0, 1.0).log_prob(x),
        kinds.Normal(x, x.exp()).entropy(),
        kinds.Categorical(logits=x).log_prob(x.argmax(1)),
        kinds.Bernoulli(probs=x.sigmoid()).entropy(),
        kinds.Gamma(2.0, 1.0).log_prob(x.exp()),
        kinds.kl_divergence(kinds.Normal(x, 1.0), kinds.Normal(0.0, 2.0)),
    )


def test_distributions_check_again_after_an_export(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only while torch captures; torch.compile itself ends the checks for the whole process."""
    monkeypatch.setattr(distributions.Distribution, "_validate_args", True)
    check(lambda x: distributions.Normal(0.0, 1.0).log_prob(x), (randn(3),))
    with pytest.raises(ValueError, match="parameter scale"):
        distributions.Normal(0.0, torch.tensor(-1.0))


# -- sizes of 1 ------------------------------------------------------------------------------------


def _masked(x, mask):
    return F.scaled_dot_product_attention(x, x, x, attn_mask=mask)


def test_broadcast_sizes_of_one_stay_with_auto() -> None:
    """A size of 1 that the program broadcasts is fixed; the others are dynamic."""
    every = {0: AUTO, 1: AUTO, 2: AUTO, 3: AUTO}
    inputs = randn(2, 2, 5, 4), randn(2, 1, 1, 5) > -1
    with pytest.warns(UserWarning, match="OW827"):
        program = check(_masked, inputs, None, (every, every), sizes=())
    same(program, _masked, (randn(3, 2, 7, 4), randn(3, 1, 1, 7) > -1))


def test_a_size_of_one_is_not_taken_for_that_of_another_input() -> None:
    """Rows of one and of two: neither is the other."""
    model = lambda x, y: x + y  # noqa: E731 - a program
    inputs = randn(2, 3), randn(1, 3)
    with pytest.warns(UserWarning, match="OW827"):
        program = check(model, inputs, None, ROWS * 2, sizes=())
    same(program, model, (randn(5, 3), randn(1, 3)))


@pytest.mark.share(3)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_program(program: Program) -> None:
    run(program)


@pytest.mark.parametrize("ceil", [False, True])
def test_zeros_before_max_pool(ceil: bool) -> None:
    """ONNX Runtime's PadFusion would take them for the lowest number."""
    pool = nn.MaxPool2d(3, 2, ceil_mode=ceil)
    model = nn.Sequential(nn.ConstantPad2d(1, 0.0), pool)
    check(model, (-1 - torch.rand(1, 2, 6, 7),), dynamic_shapes=({0: "N"},))
