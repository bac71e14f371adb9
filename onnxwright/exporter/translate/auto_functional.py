"""Operators of users that write into their arguments, as torch's functionalization leaves them.

`auto_functionalized_v2` calls an operator on copies and gives its results, then what was written
to: a base tensor for each written argument, and how the argument is a view of it.
"""

from __future__ import annotations

from typing import Any

from torch.fx import Node

from onnxwright.atenlib.load import find
from onnxwright.atenlib.op import unsupported
from onnxwright.exporter.places import target_name
from onnxwright.exporter.translate import errors
from onnxwright.exporter.translate.lowerings import Found

Translator = (
    Any  # `exporter.translate.translator.Translator`, which reads the table of `higher_order`
)


def auto_functionalized_v2(
    t: Translator, node: Node, args: list[Any], kwargs: dict[str, Any]
) -> list[Any]:
    """`auto_functionalized_v2(op, **arguments, _all_bases=...)`: results, then all bases anew.

    Args:
        kwargs: its arguments by name; for those it writes to, which base they are a view of and
            how.

    Returns:
        The results (one None for an operator without), and each base anew.

    Source:
        torch._higher_order_ops.auto_functionalize.
    """
    operator = args[0]
    lowering = t.lowerings.find(target_name(operator))
    if lowering is None:
        missing: list[Any] = t.lacking(node, target_name(operator))
        return missing
    bases = list(kwargs["_all_bases"])
    names = {a.name for a in operator._schema.arguments}
    arguments = {name: value for name, value in kwargs.items() if name in names}
    views: dict[str, Any] = {}
    for name in _mutable(operator):
        prefixes: Any = f"_{name}"
        if f"_{name}_length" in kwargs:
            length = kwargs[f"_{name}_length"]
            prefixes = None if length is None else [f"_{name}_{n}" for n in range(length)]
        views[name] = _each(prefixes, lambda prefix: _View(t, node, kwargs, prefix))
        arguments[name] = _each(views[name], lambda view: view.read(bases))
    results, written = _called(t, node, operator, lowering, arguments)
    for name, several in views.items():
        pairs = zip(several, written[name]) if isinstance(several, list) else ()
        for view, value in pairs if isinstance(several, list) else [(several, written[name])]:
            if view is not None:
                view.write(bases, value)
    return [*results, *bases]


def _each(x: Any, function: Any) -> Any:
    """A function of one thing, or of each in a list; None stays."""
    if isinstance(x, list):
        return [function(one) for one in x]
    return None if x is None else function(x)


class _View:
    """How a written argument is a view of one of the bases."""

    def __init__(self, t: Translator, node: Node, kwargs: dict[str, Any], prefix: str) -> None:
        self.op = t.op
        self.base: int | None = kwargs[f"{prefix}_base_index"]
        self.arguments: tuple[Any, ...] = ()
        self.name = ""
        if f"{prefix}_storage_offset" in kwargs:
            _check_memory(node, self.base)
            self.name = "as_strided"
            parts = ("size", "stride", "storage_offset")
            self.arguments = tuple(kwargs[f"{prefix}_{part}"] for part in parts)
        elif f"{prefix}_slice_dim" in kwargs:
            self.name = "slice"
            parts = ("dim", "start", "end")
            self.arguments = tuple(kwargs[f"{prefix}_slice_{part}"] for part in parts)

    def read(self, bases: list[Any]) -> Any:
        """The argument."""
        if self.base is None:
            return None
        if not self.name:
            return bases[self.base]
        view = "aten::slice.Tensor" if self.name == "slice" else f"aten::{self.name}"
        return find(view)(self.op, bases[self.base], *self.arguments)

    def write(self, bases: list[Any], value: Any) -> None:
        """Give the base what the operator wrote to the argument."""
        if self.base is None:
            return
        if self.name:
            scatter = find(f"aten::{self.name}_scatter")
            value = scatter(self.op, bases[self.base], value, *self.arguments)
        bases[self.base] = value


def _check_memory(node: Node, base: Any) -> None:
    """Refuse strides of a tensor whose elements are not in the order of its axes."""
    fake = node.kwargs["_all_bases"][base].meta["val"]
    if not fake.is_contiguous() or fake.storage_offset() != 0:
        unsupported("an operator that writes to a strided view of a tensor with gaps")


def _mutable(operator: Any) -> list[str]:
    """The names of the arguments an operator writes to."""
    arguments = operator._schema.arguments
    return [a.name for a in arguments if a.alias_info is not None and a.alias_info.is_write]


def _called(
    t: Translator, node: Node, operator: Any, lowering: Found, arguments: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The results of an operator, and the new values of what it writes to, by its function."""
    name = target_name(operator)
    positional, named = _arguments(operator, arguments)
    try:
        result = lowering.function(t.op, *positional, **named)
    except Exception as error:  # noqa: BLE001 - a function of the user's may raise anything
        errors.raise_lowering_failed(node, name, error, lowering, t.report)
    written = [n for n in _mutable(operator) if arguments.get(n) is not None]
    count = len(operator._schema.returns)
    total = count + len(written)
    # One list may be the new value of an argument that is a list.
    several = isinstance(result, tuple) or (isinstance(result, list) and total != 1)
    values = list(result) if several else [result]
    if len(values) != total:
        reason = (
            f"the function gives {len(values)} values, {total} are wanted: {count} results, then "
            f"new values of {', '.join(f'`{n}`' for n in written)}"
        )
        errors.raise_wrong_kind(node, name, reason, lowering, t.report)
    new_values = dict.fromkeys(_mutable(operator)) | dict(zip(written, values[count:], strict=True))
    return values[:count] or [None], new_values


def _arguments(operator: Any, arguments: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments as the caller of an operator writes them: last ones that are defaults left out."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for argument in operator._schema.arguments:
        value = arguments.get(argument.name)
        if argument.kwarg_only:
            if argument.name in arguments and not _is_default(argument, value):
                named[argument.name] = value
        else:
            positional.append((argument, value))
    while positional and _is_default(*positional[-1]):
        positional.pop()
    return [value for _, value in positional], named


def _is_default(argument: Any, value: Any) -> bool:
    if not argument.has_default_value():
        return False
    default = argument.default_value
    return value is default or (type(value) is type(default) and bool(value == default))
