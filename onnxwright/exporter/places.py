"""Where a node of a captured program comes from: the user's line, the module, torch's own names."""

from __future__ import annotations

import functools
import linecache
import re
import traceback
from pathlib import Path
from typing import Any

import torch

from onnxwright.diagnostics.file_owners import Owner, owner_of
from onnxwright.diagnostics.span import Span
from onnxwright.exporter.torch_internals import HigherOrderOperator, OpOverload

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)')
# Stands for the stack of nodes that torch adds by itself.
_HOOK = "_empty_nn_module_stack_from_metadata_hook"
CAPTURE = str(Path(__file__).parent / "capture" / "attempt.py")
"""The file whose frame is the outermost of a capture; further out are callers of the export."""


def frames_of(node: Any) -> list[tuple[str, int]]:
    """The files and lines of a node's stack, outermost first; empty where torch kept no stack."""
    trace = node.meta.get("stack_trace") or ""
    return [(m["file"], int(m["line"])) for m in _FRAME.finditer(trace)]


def span_of(node: Any) -> Span | None:
    """The innermost line of the user's code that made a node; None where torch kept no stack."""
    frames = frames_of(node)
    frames = [f for f in frames if not f[0].startswith("<")]
    frames = [f for f in frames if owner_of(f[0]) is not Owner.ONNXWRIGHT]
    own = [f for f in frames if owner_of(f[0]) is not Owner.TORCH]
    chosen = (own or frames)[-1:]
    return line_of(*chosen[0]) if chosen else None


def span_of_error(error: BaseException) -> Span | None:
    """The innermost line of the user's own code that an error of torch is about.

    Returns:
        The line: of the traceback, or named in the message where torch read the code without
        running it; None where there is none.
    """
    frames = [
        (frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    frames += [(m["file"], int(m["line"])) for m in _FRAME.finditer(str(error))]
    return span_of_frames(frames)


def span_of_frames(frames: list[tuple[str, int]]) -> Span | None:
    """The innermost line of the user's own code among frames; None where there is none."""
    own = [
        (file, line)
        for file, line in frames
        if owner_of(file) in (Owner.USER, Owner.INSTALLED)
        and not file.startswith("<")
        and linecache.getline(file, line)
    ]
    return line_of(*own[-1]) if own else None


def is_of_torch(error: BaseException) -> bool:
    """Whether torch itself raised an error: the innermost frame is torch's, or there is none."""
    frames = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    return not frames or frames[-1].startswith("<") or owner_of(frames[-1]) is Owner.TORCH


def is_of_user(file: str) -> bool:
    """Whether a file is of the user or an installed package: not of torch, Python or this package.

    Example:
        >>> is_of_user("model.py"), is_of_user(re.__file__), is_of_user("<frozen os>")
        (True, False, False)
    """
    # NOTE: not "<string>": code that torch generates has that name.
    return owner_of(file) in (Owner.USER, Owner.INSTALLED)


def line_of(file: str, line: int) -> Span:
    """A line of a file, from its first to its last character.

    Args:
        file, line: the place, counted from 1.
    """
    # Another program may have the file's name by now, as the cells of a notebook do.
    return _span(file, line, linecache.getline(file, line).rstrip("\n"))


@functools.lru_cache(maxsize=4096)
def _span(file: str, line: int, text: str) -> Span:
    start = len(text) - len(text.lstrip())
    return Span(file, line, start, line, max(len(text), start + 1))


def module_of(node: Any) -> tuple[str, str]:
    """The path (`encoder.layers.0`) and class of the module that called a node; "" outside any."""
    stack = node.meta.get("nn_module_stack")
    if not stack or _HOOK in stack:
        return "", ""
    path, kind = list(stack.values())[-1]
    return _clean(path), kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"


def _clean(path: str) -> str:
    """A module path without the words torch.export writes around it."""
    return re.sub(r"^L\['self'\]\.?", "", path).replace("['", ".").replace("']", "").strip(".")


def target_name(target: Any) -> str:
    """What an FX target is called: `aten::add.Tensor`, `_operator::mul`, `higher_order::cond`.

    Example:
        >>> import operator, torch
        >>> target_name(torch.ops.aten.relu.default), target_name(operator.mul)
        ('aten::relu', '_operator::mul')
    """
    if isinstance(target, OpOverload):
        schema = target._schema
        name, overload = schema.name, schema.overload_name
        return f"{name}.{overload}" if overload else str(name)
    if isinstance(target, HigherOrderOperator):
        return f"{target.namespace}::{target.name()}"
    module = getattr(target, "__module__", "") or ""
    name = getattr(target, "__name__", str(target))
    return f"{module}::{name}"


def operator_text(target: Any) -> str:
    """What a report calls an FX target: as torch writes it where that has no address in it.

    Returns:
        `aten.add.Tensor`, `_operator::mul`.

    Example:
        >>> import operator, torch
        >>> operator_text(torch.ops.aten.relu.default), operator_text(operator.mul)
        ('aten.relu.default', '_operator::mul')
    """
    return str(target) if isinstance(target, OpOverload) else target_name(target)


@functools.cache
def functional_name(name: str) -> str:
    """The name of the operator without mutation: `aten::add_.Tensor` -> `aten::add.Tensor`.

    Overloads are named apart in places: `pow_.Tensor` does what `pow.Tensor_Tensor` does.  The
    overload with the same arguments is meant where there is none of the same name.

    Returns:
        The name; the same where it does not end in an underscore.

    Example:
        >>> functional_name("aten::add_.Tensor"), functional_name("aten::__and__.Scalar")
        ('aten::add.Tensor', 'aten::__and__.Scalar')
        >>> functional_name("aten::pow_.Tensor")
        'aten::pow.Tensor_Tensor'
    """
    base, dot, overload = name.partition(".")
    if not base.endswith("_") or base.endswith("__"):
        return name
    plain = f"{base[:-1]}{dot}{overload}"
    theirs, ours = _overloads(base[:-1]), _overloads(base)
    own_arguments = ours.get(overload)
    if own_arguments is None or overload in theirs:
        return plain
    same = [n for n, arguments in theirs.items() if arguments == own_arguments]
    return ".".join([base[:-1], *same[:1]]).rstrip(".") if same else plain


def _overloads(base: str) -> dict[str, list[tuple[str, str]]]:
    """The overloads of an operator of torch, "" for the default, each with names and types."""
    namespace, _, name = base.partition("::")
    packet = getattr(getattr(torch.ops, namespace), name, None)
    if packet is None:
        return {}
    schemas = [getattr(packet, overload)._schema for overload in packet.overloads()]
    return {s.overload_name: [(a.name, str(a.type)) for a in s.arguments] for s in schemas}
