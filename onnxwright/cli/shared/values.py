"""Inputs of a model from files, from the command line or drawn at random; outputs as text."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from onnxwright.cli.shared.console import CliError, width
from onnxwright.cli.shared.files import check_file, first_line
from onnxwright.diagnostics.text import as_utf8
from onnxwright.ir.text import clean

_SHOWN = 1000  # elements of an output that JSON holds
_ITEMS = 20  # elements of a sequence that are printed


_MOST = 1 << 30  # elements of a value that is drawn at random


def needed(proto: Any) -> dict[str, Any]:
    """The inputs that a model has no value for, by name, with their types (None: not known)."""
    held = {t.name for t in proto.graph.initializer}
    return {name: kind for name, kind in typed(proto).items() if name not in held}


def typed(proto: Any) -> dict[str, Any]:
    """Every input of a model by name, with its type (None: not known)."""
    from onnxwright.ir.adapters import from_type_proto

    return {i.name: from_type_proto(i.type) for i in proto.graph.input}


def gather(
    proto: Any,
    args: Sequence[str] | None,
    *,
    random: bool,
    seed: int,
    dims: Mapping[str, int],
) -> dict[str, Any]:
    """The inputs for a run.

    Args:
        args: files and pairs as the user wrote them.
        random: draw what is not given.
        dims: sizes of symbolic dimensions; 2 for those not named.

    Raises:
        CliError: an input is missing, unknown, or cannot be read.
    """
    kinds = needed(proto)
    types = {**typed(proto), **kinds}
    named = {d for kind in types.values() for d in _dims(kind)}
    for name in dims:
        if name not in named:
            have = ", ".join(sorted(named)) or "none"
            raise CliError(f"the inputs have no dimension {name}; they have: {have}")
    every = list(types)
    feeds: dict[str, Any] = {}
    free = (name for name in kinds if name not in feeds)
    for text in args or ():
        for name, value in _read(text, types, free):
            if name not in every:
                have = ", ".join(every) or "none"
                raise CliError(f"the model has no input {name}; it has: {have}")
            if name in feeds:
                raise CliError(f"{name} is given twice")
            feeds[name] = value
    missing = [name for name in kinds if name not in feeds]
    if random:
        import numpy as np

        rng = np.random.default_rng(seed)
        for name in missing:
            feeds[name] = draw(rng, name, kinds[name], dims)
    else:
        required = [n for n in missing if type(kinds[n]).__name__ != "OptionalType"]
        if required:
            words = ", ".join(f"{n}: {kinds[n]}" for n in required)
            raise CliError(f"no value for {words}; use --inputs, or --random to draw them")
    return feeds


def _dims(kind: Any) -> list[str]:
    """The names of dimensions in the type of an input."""
    while (inner := getattr(kind, "elem", None)) is not None:
        kind = inner
    return [d for d in getattr(kind, "shape", None) or () if isinstance(d, str)]


def _read(text: str, kinds: Mapping[str, Any], free: Any) -> list[tuple[str, Any]]:
    """The values of one argument: `x.npz`, `name=x.npy`, `name=[1, 2]`, `x.npy`, `x.pb`."""
    path = Path(text)
    name, equals, rest = text.partition("=")
    if not equals or path.exists():
        if path.suffix == ".npz":
            return list(_archive(path))
        file_name = getattr(_file(path, None), "name", "")
        name = file_name if file_name in kinds else next(free, text)
        return [(name, _value(_file(path, kinds.get(name))))]
    name = as_utf8(name)
    kind = kinds.get(name)
    if Path(rest).suffix == ".npz":
        return [(name, _sequence([array for _, array in _archive(Path(rest))], kind, text))]
    if Path(rest).suffix in (".npy", ".pb"):
        return [(name, _value(_file(Path(rest), kind)))]
    try:
        literal = json.loads(as_utf8(rest))
    except json.JSONDecodeError as error:
        message = f"{text}: neither a .npy, .npz or .pb file nor numbers such as [1, 2]"
        raise CliError(message) from error
    try:
        return [(name, from_literal(literal, kind))]
    except (TypeError, ValueError, OverflowError) as error:
        raise CliError(f"{text}: {first_line(error)}") from error


def from_literal(value: Any, kind: Any) -> Any:
    """What a user wrote as JSON, as a value of a type.

    A sequence is a list of its elements, a map an object, an absent optional is null.

    Args:
        kind: the type that the model wants; None where it is not known.

    Returns:
        An array, a sequence, a map or None.

    Raises:
        TypeError: it is not such a value.
        ValueError: likewise.

    Example:
        >>> from onnxwright.types.dtypes import DType
        >>> from onnxwright.types.kinds import SequenceType, TensorType
        >>> from_literal([[1], [2, 3]], SequenceType(TensorType(DType.INT64)))
        [array([1]), array([2, 3])]
    """
    import numpy as np

    from onnxwright.eager.values import MapValue, SequenceValue
    from onnxwright.types.kinds import MapType, OptionalType, SequenceType

    if isinstance(kind, OptionalType):
        return None if value is None else from_literal(value, kind.elem)
    if isinstance(kind, SequenceType):
        if not isinstance(value, list):
            raise TypeError(f"{kind} is written as a list of its elements, such as [[1, 2], [3]]")
        return SequenceValue([from_literal(v, kind.elem) for v in value], kind.elem)
    if isinstance(kind, MapType):
        if not isinstance(value, dict):
            raise TypeError(f'{kind} is written as an object, such as {{"a": 1}}')
        number = kind.key.is_integer
        items = ((int(k) if number else k, from_literal(v, kind.value)) for k, v in value.items())
        return MapValue((k, v.item() if getattr(v, "ndim", 1) == 0 else v) for k, v in items)
    dtype = getattr(kind, "dtype", None)
    if dtype is None:
        return np.array(value)
    array = np.array(value, dtype=dtype.numpy)
    if dtype.is_integer and any(isinstance(x, float) and x != int(x) for x in _leaves(value)):
        raise ValueError(f"the model wants {kind}, and a number is not whole")
    return array


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _sequence(arrays: list[Any], kind: Any, text: str) -> Any:
    from onnxwright.eager.values import SequenceValue
    from onnxwright.types.kinds import OptionalType, SequenceType

    inner = kind.elem if isinstance(kind, OptionalType) else kind
    if not isinstance(inner, SequenceType):
        message = (
            f"{text}: a .npz is a sequence, and the model wants {kind}; give it without a name"
        )
        raise CliError(message)
    return SequenceValue(arrays, inner.elem)


def _archive(path: Path) -> Iterator[tuple[str, Any]]:
    """The arrays of a `.npz`, by name."""
    import numpy as np

    check_file(path)
    try:
        with np.load(path, allow_pickle=False) as held:
            yield from [(key, held[key]) for key in held.files]
    except Exception as error:
        raise CliError(f"{path} is not a file of arrays: {first_line(error)}") from error


def _file(path: Path, kind: Any) -> Any:
    """A `.npy` as an array, a `.pb` as a proto of the type that is wanted."""
    check_file(path)
    try:
        if path.suffix == ".pb":
            import onnx

            protos: dict[str, Any] = {
                "SequenceType": onnx.SequenceProto,
                "OptionalType": onnx.OptionalProto,
            }
            proto = protos.get(type(kind).__name__, onnx.TensorProto)()
            proto.ParseFromString(path.read_bytes())
            return proto
        import numpy as np

        return np.load(path, allow_pickle=False)
    except Exception as error:
        raise CliError(f"{path} is not an array: {first_line(error)}") from error


def _value(value: Any) -> Any:
    """A proto as what an evaluator takes; an array as it is."""
    import onnx
    from onnx import numpy_helper

    from onnxwright.eager.values import SequenceValue
    from onnxwright.errors import ModelError
    from onnxwright.ir.loading import checked_value

    if isinstance(value, (onnx.TensorProto, onnx.SequenceProto, onnx.OptionalProto)):
        try:
            checked_value(value, "the value")
        except ModelError as error:
            raise CliError(f"a .pb file holds no value: {first_line(error)}") from error
    try:
        if isinstance(value, onnx.TensorProto):
            return numpy_helper.to_array(value)
        if isinstance(value, onnx.SequenceProto):
            return SequenceValue(numpy_helper.to_list(value))
        if isinstance(value, onnx.OptionalProto):
            held = numpy_helper.to_optional(value)
            return SequenceValue(held) if isinstance(held, list) else held
    except (TypeError, ValueError) as error:
        raise CliError(f"a .pb file holds no value: {first_line(error)}") from error
    return value


def draw(rng: Any, name: str, kind: Any, dims: Mapping[str, int]) -> Any:
    """A value of a type at random.

    Floats are normal, integers 0 or 1 (they may be indices), booleans and strings either of two;
    sequences have two elements, and optional values are absent.

    Args:
        rng: a numpy generator.
        name: of the input, for messages.
        dims: sizes of symbolic dimensions; 2 for those not named.

    Returns:
        An array, a sequence or None.

    Raises:
        CliError: values of this type are not drawn.
    """
    import numpy as np

    from onnxwright.eager.values import SequenceValue
    from onnxwright.types.dtypes import DType
    from onnxwright.types.kinds import OptionalType, SequenceType, TensorType

    if isinstance(kind, OptionalType):
        return None
    if isinstance(kind, SequenceType):
        return SequenceValue([draw(rng, name, kind.elem, dims) for _ in range(2)], kind.elem)
    if not isinstance(kind, TensorType) or kind.dtype is None:
        raise CliError(f"no value for {name}: no {kind} is drawn at random; give it by --inputs")
    shape = [d if isinstance(d, int) else dims.get(d or "", 2) for d in kind.shape or ()]
    if any(d < 0 for d in shape):
        raise CliError(f"no value for {name}: {kind} has a negative dimension")
    if math.prod(shape) > _MOST:
        raise CliError(f"no value for {name}: {kind} has too many elements to be drawn")
    if kind.dtype is DType.STRING:
        return np.array(rng.choice(["a", "b"], shape), dtype=object)
    if kind.dtype.is_bool:
        return rng.integers(0, 2, shape).astype(bool)
    if kind.dtype.is_integer:
        return rng.integers(0, 2, shape).astype(kind.dtype.numpy)
    values = rng.normal(size=shape)
    if kind.dtype.is_complex:
        values = values + 1j * rng.normal(size=shape)
    return np.asarray(values).astype(kind.dtype.numpy)


def as_data(value: Any) -> dict[str, Any]:
    """A result as plain data: type, shape and, where it is not large, its elements.

    Args:
        value: what a run gave.

    Returns:
        A dictionary for JSON.
    """
    from onnxwright.eager.values import show_value

    data: dict[str, Any] = {"type": show_value(value)}
    if isinstance(value, list):
        data["items"] = [as_data(item) for item in value]
    elif isinstance(value, dict):
        data["data"] = {str(k): v.item() if hasattr(v, "item") else v for k, v in value.items()}
    elif hasattr(value, "dtype"):
        data |= {"dtype": str(value.dtype), "shape": list(value.shape)}
        # A list of a trillion empty lists is large as well.
        lists = math.prod(size for size in value.shape if size)
        data["data"] = _elements(value) if lists <= _SHOWN else None
    else:
        data["data"] = value
    return data


def _elements(array: Any) -> Any:
    from onnxwright.types.dtypes import DType

    if array.dtype.kind in "Vf":
        whole = DType.from_numpy(array.dtype).is_integer
        array = array.astype("int64" if whole else "float64")
    return array.tolist()


def as_text(name: str, value: Any) -> str:
    """A result as text: name, type and elements.

    Args:
        value: what a run gave.

    Returns:
        A line or more.
    """
    import numpy as np

    from onnxwright.eager.values import show_value

    head = f"{clean(name)}: {show_value(value)}"
    if value is None:
        return head
    if isinstance(value, list):
        inner = [as_text(f"[{n}]", item) for n, item in enumerate(value[:_ITEMS])]
        if len(value) > _ITEMS:
            inner.append(f"... and {len(value) - _ITEMS} more")
        return "\n".join([f"{head} =", *("  " + x for i in inner for x in i.splitlines())])
    if isinstance(value, np.ndarray):
        wide = max(min(width(), 120), 40)
        shown = np.array2string(
            value, threshold=64, edgeitems=3, precision=6, max_line_width=wide - 1
        )
        if value.dtype == object:
            shown = clean(shown)
    else:
        shown = clean(repr(dict(value) if isinstance(value, dict) else value))
    gap = "\n" if "\n" in shown else " "
    return f"{head} ={gap}{shown}"
