"""PyTorch programs as data, and the one check that all of them have to pass."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import onnx
import torch
from torch.utils import _pytree as pytree

import onnxwright as ow
from onnxwright import errors
from onnxwright.exporter import ONNXProgram

# torch.testing's tolerances, ten times wider: whole programs add up rounding.
_TOLERANCES = {
    torch.float16: (1e-2, 1e-3),
    torch.bfloat16: (3e-2, 1e-2),
    torch.float32: (1e-4, 1e-5),
    torch.complex64: (1e-4, 1e-5),
    torch.float64: (1e-6, 1e-7),
    torch.complex128: (1e-6, 1e-7),
}


@dataclass(frozen=True)
class Program:
    """A program to export.

    Fields:
        name: the name of the test.
        model: makes the module, or gives the function.
        inputs: makes the arguments: a tuple.
        kwargs: makes the keyword arguments.
        dynamic: the dynamic shapes.
        sizes: further sizes to run at: by name of a dimension (of the model) or "*" for all; by
            default each one larger, and each 1.
        ops: how often the model has some ONNX operators.
        compare: whether values are compared; programs that draw random numbers have only types.
        tolerance: (rtol, atol) where the default is too narrow.
        options: further arguments of `export`.
    """

    name: str
    model: Callable[[], Any]
    inputs: Callable[[], tuple[Any, ...]]
    kwargs: Callable[[], dict[str, Any]] = dict
    dynamic: Any = None
    sizes: tuple[Mapping[str, int], ...] | None = None
    ops: Mapping[str, int] = field(default_factory=dict)
    compare: bool = True
    tolerance: tuple[float, float] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


class Programs(list[Program]):
    """The programs of one topic."""

    def add(self, name: str, model: Callable[[], Any], *inputs: Any, **facts: Any) -> None:
        """A program of a library module; inputs are tensors or whatever it takes."""
        given = inputs[0] if len(inputs) == 1 and callable(inputs[0]) else lambda: inputs
        self.append(Program(name, model, given, **facts))

    def __call__(self, inputs: Callable[[], tuple[Any, ...]], **facts: Any) -> Callable[..., Any]:
        """Decorate a function that is exported, or a class of modules."""

        def add(made: Any) -> Any:
            model = made if isinstance(made, type) else lambda: made
            self.append(Program(made.__name__, model, inputs, **facts))
            return made

        return add


def run(program: Program) -> ONNXProgram:
    """Make, export and check a program."""
    torch.manual_seed(0)
    model = program.model()
    args, kwargs = program.inputs(), program.kwargs()
    made = check(
        model,
        args,
        kwargs,
        program.dynamic,
        sizes=program.sizes,
        compare=program.compare,
        tolerance=program.tolerance,
        **program.options,
    )
    counts = operators(made)
    for name, count in program.ops.items():
        assert counts.get(name, 0) == count, counts
    return made


def check(
    model: Any,
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    dynamic_shapes: Any = None,
    *,
    sizes: tuple[Mapping[str, int], ...] | None = None,
    compare: bool = True,
    tolerance: tuple[float, float] | None = None,
    fixed: bool = False,
    captured: Any = None,
    **options: Any,
) -> ONNXProgram:
    """Export a model, check it, and run it beside PyTorch, at other sizes too if it is dynamic.

    The program that PyTorch captured of it may be given: it is exported in place of the model.
    """
    kwargs = kwargs or {}
    inputs: dict[str, Any] = {}
    if captured is None:
        inputs.update(args=copy.deepcopy(args), kwargs=copy.deepcopy(kwargs))
        inputs.update(dynamic_shapes=dynamic_shapes)
    with warnings.catch_warnings():
        if not fixed:
            # What has a name is dynamic: other sizes would not be tried otherwise.
            told = r"warning.OW827.: dimension \d+ of `.*` \(`"
            warnings.filterwarnings("error", told, errors.OnnxwrightWarning)
        program = ow.export(captured or model, **inputs, strict=True, **options)
    valid(program)
    same(program, model, args, kwargs, compare=compare, tolerance=tolerance)
    names = dynamic_names(program)
    if sizes is None and names:
        sizes = ({"*": 0}, {"*": 1})
    for run_sizes in sizes or ():
        given = resized(program, args, kwargs, run_sizes)
        same(program, model, *given, compare=compare, tolerance=tolerance)
    return program


def valid(program: ONNXProgram) -> None:
    """The model passes the checker, and names of values do not repeat."""
    onnx.checker.check_model(program.model_proto, full_check=True)


def same(
    program: ONNXProgram,
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    compare: bool = True,
    tolerance: tuple[float, float] | None = None,
) -> None:
    """The model gives what PyTorch gives: values, element types, shapes and nesting."""
    kwargs = kwargs or {}
    with torch.no_grad():
        wanted = copy.deepcopy(model)(*copy.deepcopy(args), **copy.deepcopy(kwargs))
    got = program(*copy.deepcopy(args), **copy.deepcopy(kwargs))
    equal(got, wanted, compare=compare, tolerance=tolerance)


def equal(
    got: Any,
    wanted: Any,
    *,
    compare: bool = True,
    tolerance: tuple[float, float] | None = None,
) -> None:
    """Two nested results are equal: tensors up to rounding, numbers in value and type."""
    ours, our_form = pytree.tree_flatten(got)
    theirs, their_form = pytree.tree_flatten(wanted)
    assert our_form == their_form
    for n, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if isinstance(b, torch.Tensor):
            assert (a.dtype, a.shape) == (b.dtype, b.shape), f"output {n}"
            if compare:
                rtol, atol = tolerance or _TOLERANCES.get(b.dtype, (0, 0))
                torch.testing.assert_close(a, b.detach(), rtol=rtol, atol=atol, equal_nan=True)
        else:
            assert type(a) is type(b), f"output {n}"
            assert a == b or abs(a - b) < 1e-5 * max(1, abs(b)), f"output {n}"


def dynamic_names(program: ONNXProgram) -> list[str]:
    """Torch's symbols of the dynamic sizes of inputs, in order."""
    found: dict[str, None] = {}
    for entry, _ in program.user_inputs():
        fake = entry.node.meta.get("val")
        for size in fake.shape if isinstance(fake, torch.Tensor) else ():
            if isinstance(size, torch.SymInt):
                found.update(dict.fromkeys(sorted(str(s) for s in size.node.expr.free_symbols)))
    return list(found)


def resized(
    program: ONNXProgram,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    sizes: Mapping[str, int],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Inputs of other sizes.

    Args:
        program: knows which sizes are dynamic, and what they are called.
        args, kwargs: inputs it was exported with; the new ones repeat or leave out their rows.
        sizes: name of a dimension -> its size; "*" for all the others, where 0 stands for one
            and two and three ... more than in the example.
    """
    names = program._built.dimensions.names
    numbers: dict[str, int] = {}
    for n, (symbol, hint) in enumerate(_hints(program).items()):
        wanted = sizes.get(names.get(symbol, symbol), sizes.get("*", hint))
        numbers[symbol] = hint + n % 3 + 1 if wanted == 0 and "*" in sizes else wanted
    flat = program.flat_inputs(args, kwargs)
    changed = []
    for (entry, _), value in zip(program.user_inputs(), flat, strict=True):
        fake = entry.node.meta.get("val")
        if isinstance(value, torch.Tensor) and isinstance(fake, torch.Tensor):
            for axis, size in enumerate(fake.shape):
                if isinstance(size, torch.SymInt):
                    expression = size.node.expr
                    new = int(
                        expression.subs({s: numbers[str(s)] for s in expression.free_symbols})
                    )
                    value = value.index_select(axis, torch.arange(new) % value.shape[axis])
        changed.append(value)
    spec = program.exported_program.call_spec.in_spec
    new_args, new_kwargs = pytree.tree_unflatten(changed, spec)
    return tuple(new_args), new_kwargs


def _hints(program: ONNXProgram) -> dict[str, int]:
    """Symbol -> its size in the example."""
    found: dict[str, int] = {}
    for entry, _ in program.user_inputs():
        fake = entry.node.meta.get("val")
        for size in fake.shape if isinstance(fake, torch.Tensor) else ():
            if isinstance(size, torch.SymInt):
                environment = size.node.shape_env
                for symbol in sorted(size.node.expr.free_symbols, key=str):
                    hint = _example_sizes(environment).get(symbol)
                    found.setdefault(str(symbol), 2 if hint is None else int(hint))
    return found


def _example_sizes(environment: Any) -> Any:
    """Symbol -> its size in the example; PyTorch calls it `var_to_val` before 2.11."""
    return getattr(environment, "backed_var_to_val", None) or environment.var_to_val


def operators(program: ONNXProgram) -> dict[str, int]:
    """How often each operator stands in a model, bodies of If and Loop included."""
    counts: dict[str, int] = {}
    for node in program.model.graph.all_nodes():
        counts[node.op_type] = counts.get(node.op_type, 0) + 1
    return counts


def shapes(program: ONNXProgram) -> dict[str, list[Any]]:
    """The shapes written in the model for its inputs and outputs."""
    graph = program.model_proto.graph
    return {
        value.name: [
            d.dim_param if d.HasField("dim_param") else d.dim_value
            for d in value.type.tensor_type.shape.dim
        ]
        for value in (*graph.input, *graph.output)
    }
