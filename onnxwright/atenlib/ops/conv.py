"""Convolutions and transposed convolutions of one to three axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.helpers import algebra
from onnxwright.atenlib.helpers.conv_matmul import convolve, convolve_transposed, pad
from onnxwright.atenlib.helpers.sizes import arithmetic, static
from onnxwright.atenlib.op import aten, unsupported
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Arguments, Op, Value
from onnxwright.atenlib.rules import like
from onnxwright.types.dtypes import DType

# Types for which ONNX has Conv and ONNX Runtime a kernel (or a cast to one that loses nothing).
_HAVE_CONV = (DType.FLOAT, DType.FLOAT16, DType.BFLOAT16)

# Sums of products in another order than torch's.
_TOL = {
    "float32": Tol(2e-5, 5e-5),
    "complex64": Tol(2e-5, 5e-5),
    "float16": Tol(5e-3, 1e-2),
    "bfloat16": Tol(5e-2, 5e-2),
}
# torch adds up float16 products in float16 here: its error is 0.3 in sums of 300.
_ADDED_UP = {**_TOL, "float16": Tol(5e-3, 0.4), "bfloat16": Tol(5e-2, 0.4)}


def _ints(x: int | Sequence[int], rank: int) -> list[int]:
    """A list of one or `rank` ints as one of `rank`."""
    numbers = [x] if isinstance(x, int) else list(x)
    if not all(isinstance(n, int) for n in numbers):
        unsupported("ONNX needs the strides, paddings and dilations of a convolution as numbers")
    return numbers * rank if len(numbers) == 1 else numbers


@aten(
    "aten::convolution",
    "aten::convolution_overrideable",
    "aten::_convolution",
    rule=like("input"),
    untested="OpInfos call the ops by their number of axes",
)
def convolution(
    op: Op,
    input: Value,
    weight: Value,
    bias: Value | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    benchmark: bool = False,
    deterministic: bool = False,
    cudnn_enabled: bool = False,
    allow_tf32: bool = False,
) -> Value:
    """Any convolution, as decompositions leave it; the padding may be begins and ends.

    The flags at the end choose between torch's kernels.
    """
    del benchmark, deterministic, cudnn_enabled, allow_tf32
    rank = weight.rank - 2
    single = input.rank == rank + 1
    x = algebra.unsqueeze(op, input, [0]) if single else input
    pads = _ints(padding, rank)
    options = {
        "strides": _ints(stride, rank),
        "pads": pads if len(pads) == 2 * rank else pads * 2,
        "dilations": _ints(dilation, rank),
        "group": groups,
    }
    rest = None
    if transposed:
        options["output_padding"], rest = _output_padding(op, output_padding, options)
    if isinstance(x, Complex):
        result: Value = _complex(op, x, weight, bias, options)
    else:
        result = _real(op, x, weight, bias, options)
    if rest is not None:
        result = algebra.each(lambda part: pad(op, part, [*[0] * rank, *rest]), result)
    return algebra.squeeze(op, result, [0]) if single else result


def _output_padding(op: Op, padding: Any, options: Arguments) -> tuple[list[int], Any]:
    """The output padding, and what to cut off again where it is known at run time only."""
    rank = len(options["strides"])
    numbers = list(padding) if isinstance(padding, (list, tuple)) else [padding]
    numbers = numbers * rank if len(numbers) == 1 else numbers
    if static(numbers):
        return list(numbers), None
    most = [max(s, d) - 1 for s, d in zip(options["strides"], options["dilations"], strict=True)]
    rest = [arithmetic(op, "Sub", n, m) for n, m in zip(numbers, most, strict=True)]
    return most, rest


def _complex(op: Op, x: Complex, weight: Value, bias: Value | None, options: Arguments) -> Complex:
    def run(a: Value, b: Value, c: Value | None = None) -> Value:
        return _real(op, a, b, c, options)

    assert isinstance(weight, Complex)
    real, imag = (bias.real, bias.imag) if isinstance(bias, Complex) else (None, None)
    return Complex(
        op.Sub(run(x.real, weight.real, real), run(x.imag, weight.imag)),
        op.Add(run(x.real, weight.imag, imag), run(x.imag, weight.real)),
    )


def _real(op: Op, x: Value, weight: Value, bias: Value | None, options: Arguments) -> Value:
    transposed = "output_padding" in options
    # ONNX Runtime refuses an output padding of a stride or more, which a dilation allows torch.
    wide = transposed and any(
        o >= s for o, s in zip(options["output_padding"], options["strides"], strict=True)
    )
    grouped = isinstance(options["group"], int)
    if x.onnx_dtype in _HAVE_CONV and not wide and grouped:
        operands = (x, weight) if bias is None else (x, weight, bias)
        kernel = list(weight.shape[2:])
        shape = {"kernel_shape": kernel} if all(isinstance(k, int) for k in kernel) else {}
        run = op.ConvTranspose if transposed else op.Conv
        return run(*operands, **_without_defaults(options), **shape)
    result = (convolve_transposed if transposed else convolve)(op, x, weight, **options)
    if bias is None:
        return result
    axes = list(range(1, weight.rank - 1))
    return op.Add(result, algebra.einsum_operand(op, op.Unsqueeze(bias, axes)))


def _without_defaults(options: Arguments) -> dict[str, Any]:
    """The attributes that say something."""
    usual = {"strides": 1, "dilations": 1, "pads": 0, "output_padding": 0}
    return {
        name: value
        for name, value in options.items()
        if (value != 1 if name == "group" else any(v != usual[name] for v in value))
    }


@aten(
    "aten::conv1d",
    "aten::conv2d",
    "aten::conv3d",
    rule=like("input"),
    tests=[OpTest(f"nn.functional.conv{n}d", tol=_TOL) for n in (1, 2, 3)],
)
def conv(
    op: Op,
    input: Value,
    weight: Value,
    bias: Value | None = None,
    stride: Sequence[int] = (1,),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    groups: int = 1,
) -> Any:
    """A convolution (cross-correlation, as torch has it)."""
    return convolution.body(op, input, weight, bias, stride, padding, dilation, False, 0, groups)


@aten(
    "aten::conv1d.padding",
    "aten::conv2d.padding",
    "aten::conv3d.padding",
    "aten::_convolution_mode",
    rule=like("input"),
    tests=[OpTest(f"nn.functional.conv{n}d", tol=_TOL) for n in (1, 2, 3)],
)
def conv_padding(
    op: Op,
    input: Value,
    weight: Value,
    bias: Value | None = None,
    stride: Sequence[int] = (1,),
    padding: str = "valid",
    dilation: Sequence[int] = (1,),
    groups: int = 1,
) -> Any:
    """A convolution without padding ("valid"), or one that keeps the size ("same")."""
    pads = _named_padding(weight, padding, dilation)
    return convolution.body(op, input, weight, bias, stride, pads, dilation, False, 0, groups)


def _named_padding(weight: Value, padding: str, dilation: Any) -> list[int]:
    """Begins and ends; where their sum is odd, torch puts the extra one at the end."""
    rank: int = weight.rank - 2
    if padding == "valid":
        return [0] * 2 * rank
    kernel = weight.shape[2:]
    if not static(kernel):
        unsupported('padding="same" needs a kernel of known size')
    total = [d * (k - 1) for d, k in zip(_ints(dilation, rank), kernel, strict=True)]
    begins = [t // 2 for t in total]
    return begins + [t - b for t, b in zip(total, begins, strict=True)]


@aten(
    "aten::conv_transpose1d",
    "aten::conv_transpose2d.input",
    "aten::conv_transpose3d.input",
    rule=like("input"),
    tests=[OpTest(f"nn.functional.conv_transpose{n}d", tol=_ADDED_UP) for n in (1, 2, 3)],
)
def conv_transpose(
    op: Op,
    input: Value,
    weight: Value,
    bias: Value | None = None,
    stride: Sequence[int] = (1,),
    padding: Sequence[int] = (0,),
    output_padding: Sequence[int] = (0,),
    groups: int = 1,
    dilation: Sequence[int] = (1,),
) -> Any:
    """A transposed convolution, the gradient of a convolution as a function of its own."""
    return convolution.body(
        op, input, weight, bias, stride, padding, dilation, True, output_padding, groups
    )


@aten(
    "aten::thnn_conv2d",
    "aten::slow_conv3d",
    rule=like("self"),
    untested="OpInfos call the ops by name",
)
def slow_conv(
    op: Op,
    self: Value,
    weight: Value,
    kernel_size: Sequence[int],
    bias: Value | None = None,
    stride: Sequence[int] = (1,),
    padding: Sequence[int] = (0,),
) -> Any:
    """A convolution; the weight says the size of the kernel again."""
    del kernel_size
    return convolution.body(op, self, weight, bias, stride, padding, 1, False, 0, 1)


@aten(
    "aten::_conv_depthwise2d",
    "aten::conv_depthwise3d",
    rule=like("self"),
    untested="torch has them on CUDA only",
)
def conv_depthwise(
    op: Op,
    self: Value,
    weight: Value,
    kernel_size: Sequence[int],
    bias: Value | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> Any:
    """A convolution of each channel by itself."""
    del kernel_size
    channels = self.shape[1]
    if not isinstance(channels, int):
        unsupported("the number of channels is not known")
    return convolution.body(op, self, weight, bias, stride, padding, dilation, False, 0, channels)


@aten("aten::conv_tbc", rule=like("self"), untested="torch has no OpInfo for it")
def conv_tbc(op: Op, self: Value, weight: Value, bias: Value, pad: int = 0) -> Any:
    """A convolution over time of `[time, batch, channels]` with `[kernel, in, out]`."""
    x = op.Transpose(self, perm=[1, 2, 0])
    w = op.Transpose(weight, perm=[2, 1, 0])
    result = convolution.body(op, x, w, bias, 1, pad, 1, False, 0, 1)
    return op.Transpose(result, perm=[2, 0, 1])


for _function in (conv, conv_padding, conv_transpose, convolution):
    # The bodies are written over real and complex arithmetic alike.
    _function.on_complex(_function.body)
