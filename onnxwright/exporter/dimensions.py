"""Names of dynamic dimensions: torch's symbols by the user's names, as our expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from onnxwright.types import dims
from onnxwright.types.shapes import Dim


class Dimensions:
    """What the sizes of a program are called.

    Args:
        names: torch's symbol (`s77`) -> the name to write.
    """

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names
        self._dimensions: dict[Any, Dim] = {}

    def of(self, size: Any) -> Dim:
        """A size as a dimension.

        Returns:
            A number, a name, or an expression such as `2*batch + 1`; None where torch's
            expression has no form of ours.
        """
        if isinstance(size, int):
            return size
        expression = size.node.expr
        if expression not in self._dimensions:
            self._dimensions[expression] = _dimension(expression, self.names)
        return self._dimensions[expression]

    def renamed(self, symbols: Iterable[str]) -> Dimensions:
        """The same, with other names for some symbols of torch."""
        others = {s: f"{self.names.get(s, s)}_next" for s in symbols}
        return Dimensions({**self.names, **others}) if others else self

    def shape(self, sizes: Iterable[Any]) -> tuple[Dim, ...]:
        """The dimensions of a tensor's sizes."""
        return tuple(self.of(s) for s in sizes)


def _dimension(expression: Any, names: dict[str, str]) -> Dim:
    """A sympy expression as a dimension."""
    if expression.is_Integer:
        return int(expression)
    if expression.is_Symbol:
        return names.get(str(expression), str(expression))
    function = _FUNCTIONS.get(type(expression).__name__)
    if function is None:
        return None
    parts = [_dimension(a, names) for a in expression.args]
    return None if any(p is None for p in parts) else function(parts)


def _power(parts: list[Any]) -> Dim:
    base, exponent = parts
    if not isinstance(exponent, int) or exponent < 0:
        return None
    return dims.product([base] * exponent)


_FUNCTIONS: dict[str, Callable[[list[Any]], Dim]] = {
    "Add": dims.total,
    "Mul": dims.product,
    "Pow": _power,
    "FloorDiv": lambda p: dims.floordiv(*p),
    "CleanDiv": lambda p: dims.floordiv(*p),
    "CeilDiv": lambda p: dims.ceildiv(*p),
    "Mod": lambda p: dims.mod(*p),
    "PythonMod": lambda p: dims.mod(*p),
    "Max": lambda p: dims.maximum(*p),
    "Min": lambda p: dims.minimum(*p),
}


def dimensions_of(program: torch.export.ExportedProgram, user_names: Any = None) -> Dimensions:
    """The names of a program's dynamic dimensions.

    Args:
        user_names: names by torch's symbol that win over what the program says.

    Returns:
        The names: those of the `Dim` objects the program was exported with; torch's own symbols
        where there are none.
    """
    names: dict[str, str] = {}
    environment = shape_environment(program)
    if environment is not None:
        for source, symbol in environment.source_to_var.items():
            name = environment.source_name_to_debug_name.get(source)
            if name is not None and not symbol.is_number and symbol.is_Symbol:
                names.setdefault(str(symbol), name)
    names.update(user_names or {})
    return Dimensions(names)


def shape_environment(program: torch.export.ExportedProgram) -> Any:
    """Torch's shape environment of a program; None where nothing is symbolic or it was loaded."""
    for node in program.graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and hasattr(value, "fake_mode"):
            environment = value.fake_mode.shape_env
            if environment is not None:
                return environment
        elif isinstance(value, torch.SymInt):
            return value.node.shape_env
    return None
