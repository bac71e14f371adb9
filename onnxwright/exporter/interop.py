"""Functions of an installed onnxscript as lowerings: one of the user's, or all of its torchlib."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import CodeType, FunctionType, ModuleType
from typing import Any

import onnx_ir as ir

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.op import IGNORED, unsupported
from onnxwright.semantics.backend import is_value
from onnxwright.semantics.literals import as_value
from onnxwright.tracing.inline import call_function


def onnxscript_table() -> Callable[[str], Any]:
    """The functions of an installed onnxscript's torchlib, for `export(fallback=...)`.

    Returns:
        A function from the full name of an operator (`aten::add.Tensor`) to a lowering, or None
        where torchlib has none.

    Raises:
        ImportError: onnxscript is not installed.

    Source:
        onnxscript.function_libs.torch_lib.
    """
    from onnxscript.function_libs.torch_lib import ops, registration

    assert ops is not None
    registry = registration.default_registry

    def find(name: str) -> Callable[..., Any] | None:
        entry = registry._registry.get(name)
        return from_onnxscript(entry.overloads[0]) if entry and entry.overloads else None

    return find


def is_onnxscript(function: Any) -> bool:
    """Whether something is a function written with onnxscript."""
    return type(function).__module__.split(".")[0] == "onnxscript"


def calls_onnxscript(function: Any, depth: int = 4) -> bool:
    """Whether a plain Python function uses operators or functions of onnxscript.

    Args:
        depth: how far functions that it uses are followed.
    """
    function = inspect.unwrap(function) if callable(function) else function
    code = getattr(function, "__code__", None)
    if code is None or not depth:
        return False
    outer = function.__globals__
    referenced = [outer[n] for n in _names_in(code) if n in outer]
    for cell in function.__closure__ or ():
        with suppress(ValueError):
            referenced.append(cell.cell_contents)
    for x in referenced:
        module = x.__name__ if isinstance(x, ModuleType) else type(x).__module__
        if (module or "").split(".")[0] == "onnxscript":
            return True
    return any(calls_onnxscript(x, depth - 1) for x in referenced if isinstance(x, FunctionType))


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names_in(inner)


def accepts(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether a function of onnxscript has parameters for a call, of types that fit.

    Args:
        function: an `OnnxFunction` or a traced function.
        args, kwargs: the arguments of a call.

    Returns:
        False where an argument has no parameter, a parameter no argument, or the type differs.

    Source:
        `OnnxFunction.op_signature`: parameters with the types they allow.
    """
    params = list(function.op_signature.params)
    if len(args) > len(params):
        return False
    arguments = dict(zip((p.name for p in params), args, strict=False))
    if set(kwargs) & set(arguments) or not set(kwargs) <= {p.name for p in params}:
        return False
    arguments |= kwargs
    for p in params:
        if p.name not in arguments:
            if p.required:
                return False
            continue
        allowed = getattr(getattr(p, "type_constraint", None), "allowed_types", None)
        dtype = getattr(arguments[p.name], "onnx_dtype", None)
        if allowed and dtype is not None:
            if ir.TensorType(ir.DataType(int(dtype))) not in allowed:
                return False
    return True


def from_onnxscript(function: Any) -> Callable[..., Any]:
    """A function of onnxscript as a lowering.

    Args:
        function: an `OnnxFunction`, a traced function, or a plain function over its operators.

    Returns:
        A function of (op, *args, **kwargs).

    Source:
        `OnnxFunction.function_ir`; torch.onnx's recorder of calls.
    """
    if type(function).__name__ == "OnnxFunction":
        return _scripted(function)

    def lowering(op: Any, *args: Any, **kwargs: Any) -> Any:
        named = {k: v for k, v in kwargs.items() if k not in IGNORED}
        return _Recording(op).run(function, args, named)

    lowering.__name__ = getattr(function, "name", "onnxscript")
    return lowering


def _scripted(function: Any) -> Callable[..., Any]:
    """A function that onnxscript compiled: its nodes are built again as ours."""

    def lowering(op: Any, *args: Any, **kwargs: Any) -> Any:
        body: ir.Function = function.function_ir
        called = {
            other.function_ir.identifier(): other.function_ir
            for other in body.get_called_functions().values()  # type: ignore[attr-defined]
        }
        names = [*(str(v.name) for v in body.inputs), *body.attributes]
        arguments = dict(zip(names, args, strict=False)) | dict(kwargs)
        inputs = [
            as_value(op.backend, arguments[n]) if arguments.get(n) is not None else None
            for n in names[: len(body.inputs)]
        ]
        attributes = {n: arguments[n] for n in names[len(body.inputs) :] if n in arguments}
        results = call_function(op.backend, body, inputs, attributes, called)
        return results[0] if len(results) == 1 else results

    return lowering


class _Recording:
    """One call of a function, recorded by torch's own recorder and built again as ours."""

    def __init__(self, op: Any) -> None:
        from onnxscript import values
        from torch.onnx._internal.exporter._building import OpRecorder

        self.op = op
        self.opset = values.Opset("", op.version)
        self.constants: dict[Any, ir.Value] = {}
        self.recorder = OpRecorder(self.opset, self.constants)
        self.symbols: list[tuple[Any, Any]] = []

    def run(self, function: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        from onnxscript import evaluator

        with evaluator.default_as(self.recorder):
            positional = [self._symbol(a) for a in args]
            named = {k: self._symbol(v) for k, v in kwargs.items()}
            result = function(*positional, **named)
        several = list(result) if isinstance(result, (tuple, list)) else [result]
        outputs = [v for v in several if isinstance(v, ir.Value)]
        body = ir.Graph(
            [symbol for symbol, _ in self.symbols],
            outputs,
            nodes=[*self._constant_nodes(), *self.recorder.nodes],
            opset_imports={"": self.op.version},
        )
        recorded_function = ir.Function("onnxscript", "recorded", graph=body, attributes=[])
        called_functions = {
            f.identifier() if isinstance(f, ir.Function) else key: f
            if isinstance(f, ir.Function)
            else f.function_ir
            for key, f in self.recorder.functions.items()
        }
        output_values = call_function(
            self.op.backend,
            recorded_function,
            [value for _, value in self.symbols],
            {},
            called_functions,
        )
        values = iter(output_values)
        flat = [next(values) if isinstance(v, ir.Value) else v for v in several]
        return flat if isinstance(result, (tuple, list)) else flat[0]

    def _symbol(self, x: Any) -> Any:
        """A value of ours as one of the recorder's."""
        from torch.onnx._internal.exporter._tensors import SymbolicTensor

        if isinstance(x, Complex):
            unsupported("complex tensors do not go through functions of onnxscript")
        if isinstance(x, (list, tuple)):
            return [self._symbol(v) for v in x]
        if not is_value(x):
            return int(x) if hasattr(x, "onnx_name") else x
        for symbol, value in self.symbols:
            if value is x:
                return symbol
        kind = ir.TensorType(ir.DataType(int(x.onnx_dtype)))
        shape = None if x.shape is None else ir.Shape(x.shape)
        symbol = SymbolicTensor(self.opset, f"x{len(self.symbols)}", shape, kind)
        self.symbols.append((symbol, x))
        return symbol

    def _constant_nodes(self) -> list[ir.Node]:
        nodes = [v.producer() for v in self.constants.values()]
        recorded = set(self.recorder.nodes)
        return [n for n in dict.fromkeys(nodes) if n is not None and n not in recorded]
