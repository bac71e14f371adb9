"""The explicit list of modules with ATen functions, and the look-ups over the loaded table."""

from __future__ import annotations

import difflib
import functools
import importlib

from onnxwright.atenlib.op import TABLE, AtenFunction
from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import aten as messages
from onnxwright.diagnostics.diagnostic import fail

MODULES = (
    "unary",
    "exponential",
    "trigonometric",
    "binary",
    "binary_functions",
    "clamp_maximum",
    "compare",
    "bitwise",
    "logical",
    "activation",
    "backward",
    "special",
    "special_gamma",
    "special_incomplete",
    "special_bessel",
    "special_polynomials",
    "complex_parts",
    "conversion",
    "sym_arithmetic",
    "sym_math",
    "assertions",
    "view",
    "permute",
    "repeat",
    "as_strided",
    "windows",
    "cat_stack",
    "split",
    "indexing",
    "slice_select",
    "index_put",
    "index_add_copy",
    "scatter",
    "segment_reduce",
    "embedding",
    "creation",
    "prims_shape",
    "arange_linspace",
    "masked_fill",
    "diagonal",
    "tril_triu",
    "reduction",
    "variance",
    "prims_reduction",
    "argmax",
    "sorting",
    "sparse",
    "median_quantile",
    "searchsorted",
    "unique",
    "histogram",
    "cumulative",
    "diff_gradient",
    "softmax",
    "loss",
    "classification_loss",
    "ctc",
    "distance",
    "padding",
    "upsample",
    "antialias",
    "pixel_shuffle_fold",
    "grid_sample",
    "matmul",
    "einsum",
    "matrix_power_cov",
    "solve",
    "ldl",
    "qr",
    "svd",
    "eig",
    "pinv",
    "matrix_norms",
    "lstsq",
    "conv",
    "max_pool",
    "avg_pool",
    "adaptive_pool",
    "fractional_max_pool",
    "max_unpool",
    "norm",
    "batch_norm",
    "attention",
    "attention_layers",
    "rnn",
    "rnn_cells",
    "dropout",
    "quantized",
    "quantized_groups",
    "affine_quantization",
    "torchvision",
    "random",
    "sampling",
    "discrete_sampling",
    "fft",
    "pad_sequence",
    "stft",
)


@functools.cache
def _load() -> None:
    for module in MODULES:
        importlib.import_module(f"onnxwright.atenlib.ops.{module}")


def functions() -> dict[str, AtenFunction]:
    """All functions of the library by the full name of the operator.

    Returns:
        The table, loaded; `aten::add.Tensor` -> its function.

    Example:
        >>> functions()["aten::abs"].name
        'aten::abs'
    """
    _load()
    return TABLE


def find(name: str) -> AtenFunction:
    """The function of an operator.

    Args:
        name: its full name, `aten::add.Tensor`.

    Returns:
        The function.

    Raises:
        AtenLookupError: there is none; the message names the nearest.

    Example:
        >>> find("aten::abs").place.startswith("unary.py")
        True
    """
    table = functions()
    function = table.get(name)
    if function is not None:
        return function
    near = difflib.get_close_matches(name, table, 1)
    hint = f"did you mean `{near[0]}`?" if near else "`onnxwright coverage` lists what there is"
    fail(messages.AtenUnknown(name=name, hint=hint, span=user_span()))
