"""The modules with ATen functions, loaded, and the look-ups over their table."""

from __future__ import annotations

import difflib
import functools
import importlib
import pkgutil

from onnxwright.atenlib import ops
from onnxwright.atenlib.op import TABLE, AtenFunction
from onnxwright.diagnostics.catalogue import aten as messages
from onnxwright.diagnostics.diagnostic import fail


@functools.cache
def _load() -> None:
    for module in sorted(pkgutil.iter_modules(ops.__path__), key=lambda m: m.name):
        importlib.import_module(f"{ops.__name__}.{module.name}")


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
    fail(messages.AtenUnknown(name=name, hint=hint))
