"""Functions of torch that are others in a capture, also where PyTorch calls them."""

from __future__ import annotations

from typing import Any

import torch

from onnxwright.exporter.capture.control import replacement_table as table
from onnxwright.exporter.capture.control.replacement_table import Substitute
from onnxwright.exporter.capture.replacements import integer_arguments, substitutes

_INTEGER = "an integer argument is asked of the size: the program would keep that of the example"
_LISTED = "`torch.tensor` alone follows dynamic sizes in a list (`torch._refs.tensor`)"
_DECIDES = "it reads a value in C++, where no operator of the model decides"


def _of_integers(target: str, function: Any, upstream: str) -> Substitute:
    return Substitute(target=target, function=function, reason=_INTEGER, upstream=upstream)


_INTEGERS: tuple[Substitute, ...] = (
    _of_integers(
        "torch.linspace",
        integer_arguments.linspace,
        "https://github.com/pytorch/pytorch/issues/172930",
    ),
    _of_integers(
        "torch.nn.functional.one_hot",
        integer_arguments.one_hot,
        "schema: `one_hot(Tensor self, int num_classes=-1)`",
    ),
    _of_integers(
        "torch.istft", integer_arguments.istft, "schema: `istft(..., int? length=None, ...)`"
    ),
    *(
        _of_integers(
            f"torch.{name}",
            integer_arguments.places(getattr(torch, name)),
            f"schema: `{name}(int row, int col, int offset=0)`",
        )
        for name in ("tril_indices", "triu_indices")
    ),
    *(
        _of_integers(f"torch.{name}", integer_arguments.of_list(getattr(torch, name)), _LISTED)
        for name in ("as_tensor", "asarray")
    ),
    *(
        _of_integers(
            f"{home}.{kind}_pool{axes}d",
            integer_arguments.pooling(table.found_at(f"{home}.{kind}_pool{axes}d"), axes),
            f"schema: `{kind}_pool{axes}d(Tensor self, int[{axes}] kernel_size, ...)`",
        )
        for kind, home, axes in (
            *(("avg", "torch.nn.functional", axes) for axes in (1, 2, 3)),
            *(
                ("max", home, axes)
                for home in ("torch", "torch.nn.functional")
                for axes in (1, 2, 3)
            ),
        )
    ),
)
_MEANS: tuple[Substitute, ...] = tuple(
    Substitute(
        target=f"{home}.mean",
        function=substitutes.mean_of_any_number(own),
        reason="the mean of no elements is NaN in PyTorch; ONNX does not define it",
        upstream="ReduceMean of ONNX Runtime gives 0 for an axis without elements",
    )
    for home, own in (("torch", torch.mean), ("torch.Tensor", torch.Tensor.mean))
)
_ALIASES: tuple[Substitute, ...] = tuple(
    Substitute(
        target=target,
        function=function,
        reason="without training the result is the tensor itself: writes to one change the other",
        upstream="`at::dropout` returns its input; the traced operator has a result of its own",
        last="2.13",
    )
    for target, function in (
        ("torch.nn.functional.dropout", substitutes.dropout),
        ("torch.dropout", substitutes.dropout_operator),
    )
)
_DATA: tuple[Substitute, ...] = (
    Substitute(
        target="torch.Tensor.data.__get__",
        function=torch.Tensor.detach,
        reason="a decision by a value of it is about a tensor without values",
        upstream="`variable_data` is not an operator, so modes do not see the call",
    ),
    Substitute(
        target="torch.Tensor.data.__set__",
        function=substitutes.data_set,
        reason="what is set is lost, without a word",
        upstream="`set_data` is not an operator, so modes do not see the call",
    ),
    Substitute(
        target="torch.Tensor.__deepcopy__",
        function=substitutes.deep_copy,
        reason="it copies the memory, which a tensor without values has not",
        upstream="`Tensor.__deepcopy__` makes a tensor of a copied storage",
    ),
)
_DECIDING: tuple[Substitute, ...] = (
    *(
        Substitute(
            target=f"{home}.{name}",
            function=getattr(substitutes, name),
            reason=_DECIDES,
            upstream=f"`{name}` gives a bool of Python",
        )
        for name in ("equal", "is_nonzero", "allclose")
        for home in ("torch", "torch.Tensor")
    ),
    Substitute(
        target="torch.nn.functional.gaussian_nll_loss",
        function=substitutes.gaussian_nll_loss,
        reason="it looks for negative variances, to raise an error",
        upstream="`if torch.any(var < 0): raise ValueError`",
    ),
    *(
        Substitute(
            target=target,
            function=integer_arguments.with_size_computed(own),
            reason="the size for -1 asks whether the others are 0",
            upstream="`infer_size_dv` guards on `newsize != 0`",
        )
        for target, own in (
            ("torch.Tensor.reshape", torch.Tensor.reshape),
            ("torch.reshape", torch.reshape),
        )
    ),
    Substitute(
        target="torch.Tensor.__getitem__",
        function=substitutes.get_item,
        reason="a tensor without axes in an index is read as a number",
        upstream="`THPVariable_getitem` calls `item` for it",
        last="2.12",
    ),
    Substitute(
        target="torch.Tensor.__setitem__",
        function=substitutes.set_item,
        reason="a tensor without axes or a dynamic size in an index is read as a number",
        upstream="`THPVariable_setitem` asks for integers",
    ),
)
FUNCTIONS: dict[str, tuple[Substitute, ...]] = {
    "non-strict": _INTEGERS + _MEANS + _ALIASES + _DATA,
    "substitutes": _DECIDING,
}
"""Way to capture -> the functions of torch that are others in it."""
