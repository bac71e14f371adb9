"""Arguments of a call, put in the places they had when the program was exported."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NoReturn

import numpy as np
import onnx_ir as ir
import torch
from torch.export import ExportedProgram

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.exporter.capture.assumptions.guards import Sizes
from onnxwright.exporter.capture.inputs.sliding import check_sliding
from onnxwright.exporter.shown import shown
from onnxwright.exporter.signature import ProgramInput
from onnxwright.exporter.torch_internals import FakeTensor, pytree
from onnxwright.exporter.torch_types import to_numpy
from onnxwright.types import dims


class _Word:
    """Stands for a value in the text of a call."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def flat_inputs(
    program: ExportedProgram,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    names: Sequence[str],
    absent: Sequence[bool],
    others: Collection[str] = (),
) -> list[Any]:
    """Arguments of the module, flattened.

    Args:
        args, kwargs: as the module takes them; what was exported by position may come by keyword,
            and the other way round.
        names: the name of each flattened input, for messages.
        absent: for each flattened input, whether it was None at the export: an argument of such
            inputs only may be left out.
        others: parameters of the module that were not given at the export: None may be given.

    Raises:
        ExportTypeError: arguments are missing or too many, or nested in another way; a cache has
            dropped tokens (OW826).
    """
    in_spec = program.call_spec.in_spec
    assert in_spec is not None
    order = [*(in_spec.children()[1].context or [])]
    kwargs = {k: v for k, v in kwargs.items() if v is not None or k not in others}
    fill = _left_out(program, in_spec, absent)
    args, kwargs = _placed(program, in_spec.children()[0].num_children, order, args, kwargs, fill)
    check_sliding({**dict(zip(parameters_of(program), args, strict=False)), **kwargs})
    flat: list[Any]
    args, kwargs = _in_order((args, kwargs), in_spec)
    flat, spec = pytree.tree_flatten((args, kwargs))
    if spec != in_spec:
        _raise_not_fitting(program, in_spec, order, args, kwargs, names)
    return flat


def _in_order(value: Any, spec: pytree.TreeSpec) -> Any:
    """Nested arguments, dicts in the order of the keys at the export."""
    children = spec.children()
    if type(value) is dict and spec.type is dict and set(value) == set(spec.context):
        keys = zip(spec.context, children, strict=True)
        return {key: _in_order(value[key], child) for key, child in keys}
    if type(value) in (tuple, list) and type(value) is spec.type and len(value) == len(children):
        return type(value)(_in_order(v, c) for v, c in zip(value, children, strict=True))
    return value


def parameters_of(program: ExportedProgram) -> list[str]:
    """The names of the module's arguments that were given at the export, in order."""
    calls = program.module_call_graph
    signature = calls[0].signature if calls else None
    return list(getattr(signature, "forward_arg_names", None) or [])


def _left_out(
    program: ExportedProgram, in_spec: pytree.TreeSpec, absent: Sequence[bool]
) -> dict[str, Any]:
    """The arguments that may be left out, with the Nones that stand for them."""
    left_out: dict[str, Any] = {}
    children = [c for part in in_spec.children() for c in part.children()]
    names = parameters_of(program)
    if len(names) != len(children):
        return left_out
    start = 0
    for name, child in zip(names, children, strict=True):
        end = start + child.num_leaves
        if end > start and all(absent[start:end]):
            left_out[name] = pytree.tree_unflatten([None] * child.num_leaves, child)
        start = end
    return left_out


def _placed(
    program: ExportedProgram,
    positional: int,
    keywords: list[str],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    fill: dict[str, Any],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments by position where they were at the export, the others by keyword."""
    names = parameters_of(program)
    while len(args) > len(names) and args[-1] is None:
        args = args[:-1]
    if len(names) != positional + len(keywords) or len(args) > len(names):
        return args, kwargs
    by_name = dict(zip(names, args, strict=False))
    if not set(by_name) & set(kwargs):
        kwargs = {**{n: v for n, v in fill.items() if n not in by_name}, **kwargs}
    if set(by_name) & set(kwargs) or set(by_name) | set(kwargs) != set(names):
        return args, kwargs
    by_name |= kwargs
    return tuple(by_name[n] for n in names[:positional]), {n: by_name[n] for n in keywords}


def _raise_not_fitting(
    program: ExportedProgram,
    in_spec: pytree.TreeSpec,
    keywords: list[str],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    names: Sequence[str],
) -> None:
    positional = in_spec.children()[0].num_children
    parameters = parameters_of(program)
    call = _call_of(in_spec, names)
    unknown = [k for k in kwargs if k not in keywords and k not in parameters]
    argument_names = {*parameters[: len(args)], *kwargs}
    missing = [n for n in parameters if n not in argument_names]
    if unknown:
        reason = f"the program has no argument `{unknown[0]}`"
    elif len(args) > positional + len(keywords):
        reason = f"{len(args)} arguments are given, the program takes {positional}"
    elif twice := [k for k in parameters[: len(args)] if k in kwargs]:
        reason = f"`{twice[0]}` is given twice"
    elif missing:
        reason = f"`{missing[0]}` is missing"
    elif len(args) + len(kwargs) != positional + len(keywords):
        wrong = len(args) + len(kwargs)
        reason = f"{wrong} arguments are given, the program takes {positional + len(keywords)}"
    else:
        reason = f"the inputs are nested in another way: `{_call_of(*_shown(args, kwargs))}`"
    fail(
        messages.BadProgramInput(
            reason=reason,
            hint=f"the program is called as it was exported: `{call}`",
            span=user_span(),
        )
    )


def _shown(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[pytree.TreeSpec, list[str]]:
    """The form of arguments, and a short word for each value."""
    flat, spec = pytree.tree_flatten((args, kwargs))
    return spec, [repr(x) if isinstance(x, (bool, int, float, str)) else "..." for x in flat]


def _call_of(spec: pytree.TreeSpec, words: Sequence[str]) -> str:
    """A call of the program with words in place of values."""
    try:
        return _call(*pytree.tree_unflatten([_Word(w) for w in words], spec))
    except Exception:  # noqa: BLE001 - classes that take tensors only, such as caches
        return f"program({', '.join(words)})"


def _call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    words = [*(shown(a) for a in args), *(f"{k}={shown(v)}" for k, v in kwargs.items())]
    return f"program({', '.join(words)})"


def array_of(
    name: str, value: Any, model_input: ir.Value, is_complex: bool
) -> np.ndarray[Any, Any]:
    """What the runtime is given for one input.

    Args:
        value: a tensor, an array or a Python number.
        model_input: the input of the model.
        is_complex: whether the input is a complex tensor as a real pair.

    Returns:
        The array, over the same memory where that is possible.

    Raises:
        ExportTypeError: it is something else, or has another element type, rank or fixed size
            than the input (OW826).
    """
    array: np.ndarray[Any, Any]
    if isinstance(value, torch.Tensor):
        strange = _strange(value)
        if strange:
            _unfit(name, strange, model_input)
        if is_complex and value.is_complex():
            value = torch.view_as_real(value.resolve_conj())
        array = to_numpy(value)
    elif isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        if is_complex and np.iscomplexobj(array):
            array = np.stack([array.real, array.imag], -1)
    elif isinstance(value, (bool, int, float)):
        if isinstance(value, float) and model_input.dtype == ir.DataType.INT64:
            _unfit(name, repr(value), model_input)
        array = np.array(value, None if model_input.dtype is None else model_input.dtype.numpy())
    else:
        _unfit(name, f"a value of type {type(value).__name__}", model_input)
    try:
        dtype = ir.DataType.from_numpy(array.dtype)
    except TypeError:
        _unfit(name, f"an array of {array.dtype}", model_input)
    if not _fits(array, dtype, model_input):
        _unfit(name, f"{dtype.name}{list(array.shape)}", model_input)
    return array


def _strange(value: torch.Tensor) -> str:
    """Why a tensor has no plain numbers to give to a runtime; empty if it has."""
    if isinstance(value, FakeTensor):
        return "a fake tensor, without numbers"
    if value.is_meta:
        return "a tensor of the meta device, without numbers"
    if value.layout is not torch.strided:
        return f"a tensor of the layout {str(value.layout).removeprefix('torch.')}"
    if value.is_quantized:
        return f"a quantized tensor ({str(value.dtype).removeprefix('torch.')})"
    return ""


def check_sizes(
    arrays: dict[str, np.ndarray[Any, Any]], inputs: dict[str | None, ir.Value]
) -> None:
    """Check that sizes of one name are one.

    Raises:
        ExportTypeError: a name of the model has two sizes, or a size is not what an expression of
            names says (OW826).
    """
    seen: dict[str, tuple[int, str]] = {}
    for name, array in arrays.items():
        for axis, size in enumerate(inputs[name].shape or ()):
            word = getattr(size, "value", None)
            if not isinstance(word, str):
                continue
            first_size, first = seen.setdefault(
                word, (array.shape[axis], f"axis {axis} of `{name}`")
            )
            if first_size != array.shape[axis]:
                fail(
                    messages.BadProgramInput(
                        reason=f"`{word}` is {first_size} in {first}, and {array.shape[axis]} in "
                        f"axis {axis} of `{name}`",
                        hint="sizes of one name are equal; export with two names if they need not",
                        span=user_span(),
                    )
                )
    values = {word: size for word, (size, _) in seen.items()}
    for word, (size, place) in seen.items():
        computed_size = dims.evaluate(word, values) if dims.names_in(word) != (word,) else None
        if computed_size is not None and computed_size != size:
            fail(
                messages.BadProgramInput(
                    reason=f"{place} is {size}, and `{word}` is {computed_size}",
                    hint="the size follows from the others in this program",
                    span=user_span(),
                )
            )


def check_guards(
    sizes: Sizes,
    inputs: Sequence[tuple[ProgramInput, str | None]],
    arrays: dict[str, np.ndarray[Any, Any]],
) -> None:
    """Check that the program was captured for the sizes of a call.

    Args:
        inputs: the inputs of the module, each with its name in the model.
        arrays: what the runtime is given.

    Raises:
        ExportTypeError: a size is out of its range, or a guard does not hold (OW826).
    """
    values = [None if name is None else arrays.get(name) for _, name in inputs]
    reason = sizes.check(values)
    if reason:
        fail(
            messages.BadProgramInput(
                reason=reason,
                hint="the module may compute something else for these sizes: export for them",
                span=user_span(),
            )
        )


def _fits(array: np.ndarray[Any, Any], dtype: ir.DataType, model_input: ir.Value) -> bool:
    if model_input.dtype not in (None, dtype):
        return False
    if model_input.shape is None:
        return True
    return len(model_input.shape) == array.ndim and all(
        size == n
        for size, n in zip(model_input.shape, array.shape, strict=True)
        if isinstance(size, int)
    )


def _unfit(name: str, got: str, model_input: ir.Value) -> NoReturn:
    shape = "" if model_input.shape is None else ", ".join(str(d) for d in model_input.shape)
    kind = model_input.dtype.name if model_input.dtype is not None else "a tensor"
    fail(
        messages.BadProgramInput(
            reason=f"`{name}` is {got}, the model wants {kind}[{shape}]",
            hint="convert it, or export with inputs like it; sizes with a name may change",
            span=user_span(),
        )
    )


def check_constant(name: str, constant: Any, value: Any) -> None:
    """Check that a value that is part of the model is given as it was at the export.

    Raises:
        ExportTypeError: it is another one (OW826).
    """
    if value is constant or (type(value) is type(constant) and bool(value == constant)):
        return
    fail(
        messages.BadProgramInput(
            reason=f"`{name}` was {shown(constant)} when the program was exported, "
            f"and is {shown(value)} now",
            hint="the value is part of the model; export again with the other one",
            span=user_span(),
        )
    )
