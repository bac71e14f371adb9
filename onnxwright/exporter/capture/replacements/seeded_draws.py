"""Random numbers after `torch.manual_seed` in a model: the same numbers at every call, constants.

A model that sets the seed in its forward pass draws the same numbers each time; a random operator
of ONNX would draw others.  Draws whose sizes are known are made while the model is captured, by a
generator with that seed; for others there is a warning (OW860).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from onnxwright.diagnostics.catalogue import export_forms as messages
from onnxwright.diagnostics.diagnostic import warn
from onnxwright.exporter.capture.model_lines import model_line
from onnxwright.exporter.capture.replacements.changes import Changes, active
from onnxwright.exporter.capture.replacements.traced_loops import is_traced
from onnxwright.exporter.places import line_of
from onnxwright.exporter.torch_internals import pytree

# What draws as many numbers as its sizes say; from a tensor, as many as that has.
_OF_SIZES = ("rand", "randn", "randint", "randperm")
_LIKE = {"rand_like": "rand", "randn_like": "randn"}
# What draws by other means, or by values.
_OTHERS = ("bernoulli", "multinomial", "normal", "poisson", "randint_like")
_METHODS = (
    "bernoulli", "bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_",
    "multinomial", "normal_", "random_", "uniform_",
)  # fmt: skip

_GENERATOR = "the generator of seeded draws"


def with_constant_draws(own: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.manual_seed`, after which what a traced model draws is constant."""

    def manual_seed(seed: Any) -> Any:
        changes = active()
        if changes is not None and is_traced() and isinstance(seed, int):
            generator = changes.state.get(_GENERATOR)
            if generator is None:
                generator = changes.state[_GENERATOR] = torch.Generator()
                _draw_from(generator, changes)
            generator.manual_seed(seed)
        return own(seed)

    return manual_seed


def _draw_from(generator: Any, changes: Changes) -> None:
    """Let all that draws be constant, or warn."""
    for name in _OF_SIZES:
        changes.attribute(torch, name, _constant(getattr(torch, name), generator))
    for name, like in _LIKE.items():
        changes.attribute(torch, name, _constant_like(getattr(torch, name), like, generator))
    for name in _OTHERS:
        changes.attribute(torch, name, _warned(getattr(torch, name)))
    for name in _METHODS:
        changes.attribute(torch.Tensor, name, _warned(getattr(torch.Tensor, name)))


def _constant(own: Callable[..., Any], generator: Any) -> Callable[..., Any]:
    def draw(*args: Any, **kwargs: Any) -> Any:
        if not is_traced() or kwargs.get("generator") is not None:
            return own(*args, **kwargs)
        if not _is_known((args, kwargs)) or kwargs.get("out") is not None:
            _warn()
            return own(*args, **kwargs)
        kwargs = {k: v for k, v in kwargs.items() if k not in ("requires_grad", "device")}
        with _disable_current_modes(), torch._C.DisableTorchFunction():
            drawn = own(*args, **{**kwargs, "generator": generator})
            numbers, dtype, shape = drawn.flatten().tolist(), drawn.dtype, list(drawn.shape)
        return torch.tensor(numbers, dtype=dtype).reshape(shape)

    return draw


def _constant_like(own: Callable[..., Any], name: str, generator: Any) -> Callable[..., Any]:
    sized = _constant(getattr(torch, name), generator)

    def draw(x: Any, **kwargs: Any) -> Any:
        if not is_traced() or set(kwargs) - {"dtype", "device"} or not x.is_contiguous():
            _warn()
            return own(x, **kwargs)
        return sized(tuple(x.shape), dtype=kwargs.get("dtype") or x.dtype)

    return draw


def _warned(own: Callable[..., Any]) -> Callable[..., Any]:
    def draw(*args: Any, **kwargs: Any) -> Any:
        if is_traced():
            _warn()
        return own(*args, **kwargs)

    return draw


def _is_known(value: Any) -> bool:
    """Whether all sizes are numbers of Python."""
    leaves = pytree.tree_leaves(value)
    return not any(isinstance(leaf, (torch.SymInt, torch.Tensor)) for leaf in leaves)


def _warn() -> None:
    warn(messages.SeededDraw(span=line_of(*model_line())))
