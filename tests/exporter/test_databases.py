"""PyTorch's own collections: modules, examples of torch.export, higher-order operators.

What cannot be captured or has no ONNX stands in a list with the one reason, and has to fail so.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import torch

pytest.importorskip("expecttest", reason="torch's test databases import it")

from torch._export.db.examples import all_examples  # noqa: E402
from torch.testing._internal.common_modules import module_db  # noqa: E402
from torch.testing._internal.hop_db import hop_db  # noqa: E402

from onnxwright import errors  # noqa: E402
from tests.exporter.programs import check  # noqa: E402

FEW = 2
"""How many samples of a module run by default; the slow test runs all."""

READS_VALUES = "torch cannot capture it: its Python code asks for the value of a tensor"
SAMPLES_THAT_FAIL: dict[str, str] = {
    # `1.0 / float(self.num_batches_tracked)`
    "affine_simple_average": READS_VALUES,
    "2d_simple_average": READS_VALUES,
    "3d_simple_average": READS_VALUES,
}
# A sample of nn.MultiLabelMarginLoss for which torch's fake kernel gives [1] and its kernel [].
WRONG_IN_TORCH = ("nn.MultiLabelMarginLoss", "1d_reduction_none")
# Masks given to these are compared with a causal one; all their other samples have to pass.
MASKED = ("nn.Transformer", "nn.TransformerEncoder", "nn.TransformerEncoderLayer")
# Their samples come with random numbers in float64.
DOUBLE = ("nn.FractionalMaxPool2d", "nn.FractionalMaxPool3d")
RANDOM = frozenset(
    {
        "nn.Dropout",
        "nn.Dropout1d",
        "nn.Dropout2d",
        "nn.Dropout3d",
        "nn.AlphaDropout",
        "nn.FeatureAlphaDropout",
        "nn.RReLU",
        "nn.FractionalMaxPool2d",
        "nn.FractionalMaxPool3d",
    }
)


@pytest.fixture(autouse=True)
def _no_fast_path() -> Iterator[None]:
    """Without gradients torch runs transformers by kernels that put zeros at padded places."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    yield
    torch.backends.mha.set_fastpath_enabled(before)


def _cases() -> list[Any]:
    found = []
    for info in module_db:
        for training in (False, True) if info.train_and_eval_differ else (False,):
            name = f"{info.name}-{'train' if training else 'eval'}"
            found.append(pytest.param(info, training, id=name))
    return found


def samples(
    info: Any, training: bool
) -> Iterator[tuple[str, Any, tuple[Any, ...], dict[str, Any]]]:
    """The samples of a module that PyTorch itself runs."""
    torch.manual_seed(0)
    dtype = torch.float64 if info.name in DOUBLE else torch.float32
    made = info.module_inputs_func(
        info, device="cpu", dtype=dtype, requires_grad=False, training=training
    )
    for sample in made:
        torch.manual_seed(1)
        given = sample.constructor_input
        module = info.module_cls(*given.args, **given.kwargs).train(training)
        yield sample.desc, module, sample.forward_input.args, sample.forward_input.kwargs


def module_passes(info: Any, training: bool, count: int | None) -> None:
    """Export the first samples and compare."""
    n = 0
    for desc, module, args, kwargs in samples(info, training):
        if count is not None and n == count:
            break
        n += 1
        if training and desc in SAMPLES_THAT_FAIL:
            with pytest.raises(errors.ExportError, match="could not capture"):
                check(module, args, kwargs)
            continue
        if (info.name, desc) == WRONG_IN_TORCH:
            with pytest.raises(errors.ExportError, match="PyTorch has"):
                check(module, args, kwargs)
            continue
        try:
            check(module, args, kwargs, compare=not training or info.name not in RANDOM)
        except errors.ExportError as error:
            if info.name not in MASKED or "data-dependent" not in str(error):
                raise
    assert n


@pytest.mark.share(5)
@pytest.mark.parametrize(("info", "training"), _cases())
def test_modules_of_torch(info: Any, training: bool) -> None:
    """The first samples of each."""
    module_passes(info, training, FEW)


@pytest.mark.slow
@pytest.mark.parametrize(("info", "training"), _cases())
def test_modules_of_torch_in_full(info: Any, training: bool) -> None:
    """Every sample of each."""
    module_passes(info, training, None)


EXAMPLES = all_examples()


@pytest.mark.share(2)
@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_examples_of_torch_export(name: str) -> None:
    """With their dynamic shapes."""
    case = EXAMPLES[name]
    compare = name != "tensor_setattr"  # draws random numbers
    check(
        case.model,
        copy.deepcopy(case.example_args),
        copy.deepcopy(case.example_kwargs),
        case.dynamic_shapes,
        compare=compare,
    )


HIGHER_ORDER_THAT_FAIL: dict[str, str] = {
    "invoke_quant-simple": "torch cannot capture it: the node has no fake value",
    "local_map_hop-simple": "torch cannot capture it: no operator of its own",
    "auto_functionalize-simple": "an operator that only C++ or Python code defines",
    "inline_asm_elementwise-simple": "assembler text for GPUs",
    "flex_attention_backward-simple": "the gradient alone, made by torch.compile only",
    "flex_attention_backward-explicit_buffers": "the gradient alone, made by torch.compile only",
}


def _of_tensors(function: Any, given: list[Any]) -> tuple[Any, tuple[Any, ...]]:
    """A function of the tensors among the arguments; functions and masks stay as they are."""
    places = [n for n, x in enumerate(given) if isinstance(x, torch.Tensor)]

    def run(*tensors: Any) -> Any:
        filled = list(given)
        for n, x in zip(places, tensors, strict=True):
            filled[n] = x
        return function(*filled)

    return run, tuple(given[n] for n in places)


@pytest.mark.share(3)
@pytest.mark.parametrize("info", hop_db, ids=lambda i: f"{i.name}-{i.variant_test_name}")
def test_higher_order_operators_of_torch(info: Any) -> None:
    """Every sample."""
    name = f"{info.name}-{info.variant_test_name}"
    for sample in info.sample_inputs("cpu", torch.float32, requires_grad=False):
        function, args = info.op, (sample.input, *sample.args)
        if name.startswith(("flex", "local")):
            function, args = _of_tensors(info.op, list(args))
        if name in HIGHER_ORDER_THAT_FAIL:
            with pytest.raises(errors.ExportError):
                check(function, args, sample.kwargs)
        else:
            check(function, args, sample.kwargs)
