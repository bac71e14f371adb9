"""TorchScript modules and functions as Python: their graphs are run node by node.

`torch.jit.script` and `torch.jit.trace` keep a graph and no Python.  A `Scripted` module has the
parameters and buffers of a TorchScript module, and its `forward` runs the graph's operators, so
that a capture sees them.  An `if` on a tensor becomes `torch.cond`.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from onnxwright.exporter.capture.number_forms import NUMBERS, SYMBOLS, as_tensor
from onnxwright.exporter.capture.replacements.torch_func import untraced


class Scripted(torch.nn.Module):  # type: ignore[misc]
    """A module that does what a TorchScript module or function does.

    Args:
        script: a `torch.jit.ScriptModule` or `torch.jit.ScriptFunction`.
    """

    def __init__(self, script: Any) -> None:
        super().__init__()
        self.script = (script,)  # in a tuple: not a module of its own
        if isinstance(script, torch.nn.Module):
            self.train(bool(getattr(script, "training", False)))
            for name, tensor in script._parameters.items():
                own_kind = isinstance(tensor, torch.nn.Parameter)  # not of a module from a file
                parameter = tensor if own_kind else torch.nn.Parameter(tensor, tensor.requires_grad)
                self.register_parameter(name, parameter)
            for name, tensor in script._buffers.items():
                self.register_buffer(name, tensor)
            for name, child in script._modules.items():
                self.add_module(name, Scripted(child))
            if not script._c._has_method("forward"):  # a container
                return
            graph, schema = script.inlined_graph, script._c._get_method("forward").schema
        else:
            graph, schema = script.inlined_graph, script.schema
        own = isinstance(script, torch.nn.Module)
        signature = _signature(schema, skip=1 if own else 0)

        def forward(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            arguments = [*([self] if own else []), *bound.arguments.values()]
            return _Run({}).block(graph, arguments)

        forward.__signature__ = signature  # type: ignore[attr-defined]
        object.__setattr__(self, "forward", forward)


def is_scripted(model: Any) -> bool:
    """Whether something is of TorchScript.

    Args:
        model: any object.

    Returns:
        Whether it is a scripted or traced module or function.
    """
    return isinstance(model, (torch.jit.ScriptModule, torch.jit.ScriptFunction))


def has_scripts(model: torch.nn.Module) -> bool:
    """Whether something in a module is of TorchScript.

    Args:
        model: the module.
    """
    return any(is_scripted(child) for child in model.modules())


@contextmanager
def scripts_readable(model: torch.nn.Module) -> Iterator[None]:
    """In this context, TorchScript modules in a module are `Scripted`.

    Args:
        model: the module; it is the same afterwards.
    """
    changed: list[tuple[Any, str, Any]] = []
    for parent in list(model.modules()):
        if is_scripted(parent) or isinstance(parent, Scripted):
            continue
        for name, child in list(parent._modules.items()):
            if is_scripted(child):
                changed.append((parent, name, child))
                parent._modules[name] = Scripted(child)
    try:
        yield
    finally:
        for parent, name, child in changed:
            parent._modules[name] = child


def _signature(schema: Any, skip: int) -> inspect.Signature:
    """The parameters of a function of TorchScript."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = []
    for argument in schema.arguments[skip:]:
        default = argument.default_value if argument.has_default_value() else inspect._empty
        parameters.append(inspect.Parameter(argument.name, kind, default=default))
    return inspect.Signature(parameters)


# -- running ---------------------------------------------------------------------------------------


class _Run:
    """The values of a graph while it is run.

    Args:
        values: those that are known already, by the debug names of TorchScript.
    """

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values
        self.hoisted: set[str] = set()

    def block(self, block: Any, inputs: list[Any]) -> Any:
        """Run a graph or block; one result, or a tuple of several."""
        results = self.results(block, inputs)
        return results[0] if len(results) == 1 else tuple(results)

    def results(self, block: Any, inputs: list[Any]) -> list[Any]:
        """Run a graph or block; all results."""
        for value, one in zip(block.inputs(), inputs, strict=True):
            self.values[value.debugName()] = one
        for node in block.nodes():
            self.node(node)
        return [self.values[value.debugName()] for value in block.outputs()]

    def node(self, node: Any) -> None:
        """Run one node."""
        kind = node.kind()
        if kind == "prim::GetAttr" and node.output().debugName() in self.hoisted:
            return
        if kind == "prim::If":
            results = self._if(node)
        elif kind == "prim::Loop":
            results = self._loop(node)
        elif kind == "prim::Constant":
            results = [_constant(node)]
        else:
            args = [self.values[value.debugName()] for value in node.inputs()]
            results = _called(node, kind, args)
        for value, one in zip(node.outputs(), results, strict=True):
            self.values[value.debugName()] = one

    def _if(self, node: Any) -> list[Any]:
        predicate = self.values[node.inputsAt(0).debugName()]
        blocks = list(node.blocks())
        if not isinstance(predicate, (torch.Tensor, torch.SymBool)):
            return self.results(blocks[0 if predicate else 1], [])
        if isinstance(predicate, torch.SymBool):
            return self.results(blocks[0 if bool(predicate) else 1], [])
        for block in blocks:
            self._hoist(block)
        names = sorted({name for block in blocks for name in _reads(block)})
        outer = {n: self.values[n] for n in names if n in self.values}
        tensors = {n: v for n, v in outer.items() if isinstance(v, torch.Tensor)}

        def side(block: Any) -> Any:
            def run(*operands: Any) -> Any:
                inner = _Run({**self.values, **dict(zip(tensors, operands, strict=True))})
                inner.hoisted = set(self.hoisted)
                results = inner.results(block, [])
                if not all(isinstance(x, (torch.Tensor, *NUMBERS)) for x in results):
                    _refuse(node, "an `if` on a tensor that gives anything but tensors")
                # A branch must not hand on its operands as they are.
                return tuple(
                    x.clone() if isinstance(x, torch.Tensor) else torch.tensor(x) for x in results
                )

            with untraced():
                return make_fx(run, pre_dispatch=False)(*tensors.values())

        pred = predicate.reshape([]).to(torch.bool)
        sides = [side(block) for block in blocks]
        return list(torch.cond(pred, *sides, tuple(tensors.values())))

    def _hoist(self, block: Any) -> None:
        """Read the attributes that a block reads before it: a branch takes them as operands."""
        for node in block.nodes():
            if node.kind() == "prim::GetAttr" and node.inputsAt(0).debugName() in self.values:
                self.node(node)
                self.hoisted.add(node.output().debugName())
            for inner in node.blocks():
                self._hoist(inner)

    def _loop(self, node: Any) -> list[Any]:
        count, go, *carried = (self.values[value.debugName()] for value in node.inputs())
        (body,) = node.blocks()
        step = 0
        while step < count and self._decided(node, go):
            go, *carried = self.results(body, [step, *carried])
            step += 1
        return carried

    @staticmethod
    def _decided(node: Any, go: Any) -> bool:
        if isinstance(go, torch.Tensor):
            _refuse(node, "a loop that ends by the value of a tensor")
        return bool(go)


def _refuse(node: Any, what: str) -> NoReturn:
    line = (str(node.sourceRange()).strip().splitlines() or [""])[0]
    raise NotImplementedError(f"the code of TorchScript has {what} ({line})")


def _reads(block: Any) -> Iterator[str]:
    """The names that a block and the blocks in it read or give."""
    for node in block.nodes():
        yield from (value.debugName() for value in node.inputs())
        yield from (value.debugName() for value in node.outputs())
        for inner in node.blocks():
            yield from _reads(inner)
    yield from (value.debugName() for value in block.outputs())


def _constant(node: Any) -> Any:
    value = node.output().toIValue() if node.hasAttribute("value") else None
    kind = node.output().type().kind()
    return torch.device(value) if kind == "DeviceObjType" and value is not None else value


def _called(node: Any, kind: str, args: list[Any]) -> list[Any]:
    """The results of an operator."""
    if kind == "prim::GetAttr":
        return [_attribute(args[0], node.s("name"))]
    if kind == "prim::SetAttr":
        setattr(args[0], node.s("name"), args[1])
        return []
    if kind in ("prim::ListUnpack", "prim::TupleUnpack"):
        return list(args[0])
    rule = _RULES.get(kind)
    if rule is not None:
        result = rule(*args)
        return [result] if node.outputsSize() else []
    if kind in _LISTS and isinstance(args[0], (list, str)):
        return [_LISTS[kind](*args)]
    plain = [_plain(a) for a in args]
    if kind in _ARITHMETIC and all(isinstance(a, NUMBERS) for a in plain):
        return [_ARITHMETIC[kind](*plain)]
    space, _, name = kind.partition("::")
    packet = getattr(getattr(torch.ops, space, None), name, None)
    if packet is None or space == "prim":
        _refuse(node, f"`{kind}`")
    overload = node.schema().partition("(")[0].partition(".")[2] or "default"
    function = getattr(packet, overload, packet)
    result = _by_schema(function, node, args)
    return list(result) if node.outputsSize() > 1 else [result][: node.outputsSize()]


def _by_schema(function: Any, node: Any, args: list[Any]) -> Any:
    """Call an operator; arguments that its schema has after `*` are given by name."""
    schema = getattr(function, "_schema", None)
    if schema is None:
        return function(*args)
    positional, named = [], {}
    for argument, value in zip(schema.arguments, args, strict=False):
        if "Tensor" not in str(argument.type):
            value = _plain(value)
        elif isinstance(value, NUMBERS) and str(argument.type) == "Tensor":
            value = as_tensor(value)
        if argument.kwarg_only:
            named[argument.name] = value
        else:
            positional.append(value)
    return function(*positional, **named)


def _attribute(owner: Any, name: str) -> Any:
    if isinstance(owner, Scripted):
        for held in (owner._parameters, owner._buffers, owner._modules):
            if name in held:
                return held[name]
        return getattr(owner.script[0], name)
    return getattr(owner, name)


def _plain(x: Any) -> Any:
    """A number that a trace holds as a tensor, as a number; all else as it is."""
    if type(x) is torch.Tensor and x.ndim == 0 and x.device.type == "cpu":
        return x.item()
    return x


def _number(kind: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`aten::Int` and the like: a number as one of a kind; a tensor by its value."""

    def convert(x: Any) -> Any:
        x = _plain(x)
        if isinstance(x, SYMBOLS):
            return torch.sym_int(x) if kind is int else x
        return kind(x.item()) if isinstance(x, torch.Tensor) else kind(x)

    return convert


def _to_bool(x: Any) -> Any:
    """`aten::Bool`: of a tensor a tensor, so that an `if` sees it."""
    return x if isinstance(x, torch.Tensor) else bool(x)


def _slice(x: Any, start: Any = None, end: Any = None, step: Any = 1) -> Any:
    return x[slice(start, end, step)]


def _append(x: Any, value: Any) -> Any:
    x.append(value)
    return x


def _raise(*args: Any) -> NoReturn:
    raise RuntimeError(str(args[0]))


_RULES: dict[str, Callable[..., Any]] = {
    "prim::ListConstruct": lambda *args: list(args),
    "prim::TupleConstruct": lambda *args: args,
    "prim::DictConstruct": lambda *args: dict(zip(args[::2], args[1::2], strict=True)),
    "prim::TupleIndex": lambda x, index: x[index],
    "prim::NumToTensor": lambda x: x,
    "prim::unchecked_cast": lambda x: x,
    "prim::unchecked_unwrap_optional": lambda x: x,
    "aten::_unwrap_optional": lambda x: x,
    "prim::Uninitialized": lambda: 0,
    "prim::RaiseException": _raise,
    "prim::Print": lambda *args: None,
    "prim::dtype": lambda x: x.dtype,
    "prim::device": lambda x: x.device,
    "prim::layout": lambda x: x.layout,
    "prim::shape": lambda x: list(x.shape),
    "prim::is_nested": lambda x: x.is_nested,
    "prim::is_cuda": lambda x: x.is_cuda,
    "prim::requires_grad": lambda x: x.requires_grad,
    "prim::data": lambda x: x.detach(),
    "prim::min": min,
    "prim::max": max,
    "aten::warn": lambda *args: None,
    "aten::format": lambda text, *args: str(text).format(*args),
    "aten::size": lambda x, *dim: x.shape[dim[0]] if dim else list(x.shape),
    "aten::dim": lambda x: x.dim(),
    "aten::numel": lambda x: x.numel(),
    "aten::len": len,
    "aten::Int": _number(int),
    "aten::IntImplicit": _number(int),
    "aten::Float": _number(float),
    "aten::FloatImplicit": _number(float),
    "aten::ScalarImplicit": _plain,
    "aten::Bool": _to_bool,
    "aten::__is__": lambda a, b: a is b,
    "aten::__isnot__": lambda a, b: a is not b,
    "aten::__contains__": lambda a, b: b in a,
    "aten::__getitem__": lambda x, index: x[index],
    "aten::append": _append,
    "aten::is_floating_point": lambda x: x.is_floating_point(),
}
"""Operators of TorchScript on Python values -> what they do."""

_LISTS: dict[str, Callable[..., Any]] = {
    "aten::slice": _slice,
    "aten::add": operator.add,
    "aten::list": list,
}
_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "aten::add": lambda a, b, alpha=1: a + b * alpha,
    "aten::sub": lambda a, b, alpha=1: a - b * alpha,
    "aten::mul": operator.mul,
    "aten::div": operator.truediv,
    "aten::floordiv": operator.floordiv,
    "aten::floor_divide": operator.floordiv,
    "aten::remainder": operator.mod,
    "aten::neg": operator.neg,
    "aten::pow": operator.pow,
    "aten::eq": operator.eq,
    "aten::ne": operator.ne,
    "aten::lt": operator.lt,
    "aten::le": operator.le,
    "aten::gt": operator.gt,
    "aten::ge": operator.ge,
    "aten::__and__": lambda a, b: a and b,
    "aten::__or__": lambda a, b: a or b,
    "aten::__not__": operator.not_,
    "aten::floor": math.floor,
    "aten::ceil": math.ceil,
    "aten::sqrt": math.sqrt,
}
"""Operators of numbers -> what they do."""
