"""Modules of PyTorch written as one function, and the comparison of a program with its module."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import nn


def module_with(
    parts: Callable[..., Mapping[str, Any]],
) -> Callable[[Callable[..., Any]], type[nn.Module]]:
    """Makes the function below it the `forward` of a class of modules.

    Args:
        parts: gives the attributes of an instance, by name: modules, parameters, buffers
            (`nn.Buffer`), numbers.  Its parameters are those of the class.

    Returns:
        A decorator that gives the class; it has the name and the docstring of the function.

    Example:
        >>> @module_with(lambda width: {"linear": nn.Linear(3, width)})
        ... def Doubled(self, x):
        ...     return self.linear(x) * 2
        >>> Doubled(5).linear.out_features
        5
    """

    def decorate(forward: Callable[..., Any]) -> type[nn.Module]:
        def initialize(self: nn.Module, *args: Any, **options: Any) -> None:
            nn.Module.__init__(self)
            for name, part in parts(*args, **options).items():
                setattr(self, name, part)

        names = ("__module__", "__qualname__", "__doc__")
        described = {name: getattr(forward, name) for name in names}
        members = {"__init__": initialize, "forward": forward, **described}
        return type(forward.__name__, (nn.Module,), members)

    return decorate


def same_results(
    program: Callable[..., Any],
    module: Callable[..., Any],
    inputs: Iterable[Any],
    **tolerances: float | bool,
) -> None:
    """A program computes what its module computes, for each of the inputs.

    Args:
        program: what was exported.
        module: what it was exported of.
        inputs: one call each: the only argument, or a tuple of all of them.
        tolerances: as for `torch.testing.assert_close`: `rtol`, `atol`, `check_dtype`.

    Raises:
        AssertionError: the results differ, or there are no inputs.

    Example:
        >>> same_results(lambda x: x + x, lambda x: 2 * x, (torch.ones(n) for n in (1, 4)))
    """
    calls = [given if isinstance(given, tuple) else (given,) for given in inputs]
    assert calls, "no inputs prove nothing"
    for args in calls:
        torch.testing.assert_close(program(*args), module(*args), **tolerances)


class Of(nn.Module):  # type: ignore[misc]
    """A module that computes a function of its inputs.

    Args:
        function: what `forward` calls.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        """What the function gives."""
        return self.function(*args)
