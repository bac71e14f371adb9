"""OpInfos of what PyTorch writes in Python over several operators."""

from __future__ import annotations

from onnxwright.atenlib.optest import OpTest, Tol

# The sweep holds them like the tests of a function; every operator they run must have one.
COMPOSITES: tuple[OpTest, ...] = (
    OpTest("contiguous"),
    OpTest("nn.functional.interpolate:area"),
    OpTest("nn.functional.multilabel_soft_margin_loss"),
    # Several steps of half precision, which a graph may round elsewhere.
    OpTest("nn.functional.gaussian_nll_loss", tol={"float16": Tol(2e-3, 1e-3)}),
    OpTest("nn.functional.linear_cross_entropy"),
    OpTest("nn.functional.softsign"),
    OpTest("nn.functional.tanhshrink"),
    OpTest("unravel_index"),
    # Dropout is on in some of its samples.
    OpTest("nn.functional.multi_head_attention_forward", compare="shape"),
)
