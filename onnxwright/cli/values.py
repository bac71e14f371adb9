"""Inputs of a model from files, from the command line or drawn at random; outputs as text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from onnxwright.cli.console import Trouble
from onnxwright.cli.files import check_file
from onnxwright.viz.text import clean

_SHOWN = 1000  # elements of an output that JSON holds


def needed(proto: Any) -> dict[str, Any]:
    """The inputs that a model has no value for, by name, with their types (None: not known).

    Args:
        proto: the model.

    Returns:
        Name -> type.
    """
    from onnxwright.ir.adapters import from_type_proto

    held = {t.name for t in proto.graph.initializer}
    return {i.name: from_type_proto(i.type) for i in proto.graph.input if i.name not in held}


def gather(
    proto: Any,
    given: Sequence[str] | None,
    *,
    random: bool,
    seed: int,
    dims: Mapping[str, int],
) -> dict[str, Any]:
    """The inputs for a run.

    Args:
        proto: the model.
        given: files and pairs as the user wrote them.
        random: draw what is not given.
        seed: for the drawing.
        dims: sizes of symbolic dimensions; 2 for those not named.

    Returns:
        Name -> value.

    Raises:
        Trouble: an input is missing, unknown, or cannot be read.
    """
    kinds = needed(proto)
    every = [i.name for i in proto.graph.input]
    found: dict[str, Any] = {}
    free = iter(kinds)
    for text in given or ():
        for name, value in _read(text, kinds, free):
            if name not in every:
                have = ", ".join(every) or "none"
                raise Trouble(f"the model has no input {name}; it has: {have}")
            found[name] = value
    missing = [name for name in kinds if name not in found]
    if random:
        import numpy as np

        rng = np.random.default_rng(seed)
        for name in missing:
            found[name] = draw(rng, name, kinds[name], dims)
    else:
        required = [n for n in missing if type(kinds[n]).__name__ != "OptionalType"]
        if required:
            words = ", ".join(f"{n}: {kinds[n]}" for n in required)
            raise Trouble(f"no value for {words}; use --inputs, or --random to draw them")
    return found


def _read(text: str, kinds: Mapping[str, Any], free: Any) -> list[tuple[str, Any]]:
    """The values of one argument: `x.npz`, `name=x.npy`, `name=[1, 2]`, `x.npy`, `x.pb`."""
    import numpy as np

    path = Path(text)
    name, equals, rest = text.partition("=")
    if not equals or path.exists():
        if path.suffix == ".npz":
            check_file(path)
            try:
                with np.load(path, allow_pickle=False) as held:
                    return [(key, held[key]) for key in held.files]
            except Exception as error:
                raise Trouble(f"{path} is no file of arrays: {_words(error)}") from error
        value = _file(path)
        found = getattr(value, "name", "")
        return [(found if found in kinds else next(free, text), _array(value))]
    if Path(rest).suffix in (".npy", ".pb"):
        return [(name, _array(_file(Path(rest))))]
    try:
        literal = json.loads(rest)
    except json.JSONDecodeError as error:
        message = f"{text}: neither a .npy, .npz or .pb file nor numbers such as [1, 2]"
        raise Trouble(message) from error
    dtype = getattr(kinds.get(name), "dtype", None)
    try:
        return [(name, np.array(literal, dtype=None if dtype is None else dtype.numpy))]
    except (TypeError, ValueError) as error:
        raise Trouble(f"{text}: {_words(error)}") from error


def _file(path: Path) -> Any:
    """A `.npy` as an array, a `.pb` as a TensorProto."""
    check_file(path)
    try:
        if path.suffix == ".pb":
            import onnx

            return onnx.load_tensor(str(path))
        import numpy as np

        return np.load(path, allow_pickle=False)
    except Exception as error:
        raise Trouble(f"{path} is no array: {_words(error)}") from error


def _array(value: Any) -> Any:
    if hasattr(value, "data_type"):
        from onnx import numpy_helper

        return numpy_helper.to_array(value)
    return value


def _words(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def draw(rng: Any, name: str, kind: Any, dims: Mapping[str, int]) -> Any:
    """A value of a type at random.

    Floats are normal, integers 0 or 1 (they may be indices), booleans and strings either of two.

    Args:
        rng: a numpy generator.
        name: of the input, for messages.
        kind: its type.
        dims: sizes of symbolic dimensions; 2 for those not named.

    Returns:
        An array.

    Raises:
        Trouble: values of this type are not drawn.
    """
    import numpy as np

    from onnxwright.types.dtypes import DType
    from onnxwright.types.kinds import OptionalType, TensorType

    if isinstance(kind, OptionalType):
        return None
    if not isinstance(kind, TensorType) or kind.dtype is None:
        raise Trouble(f"no value for {name}: {kind} can be drawn at random; give it by --inputs")
    shape = [d if isinstance(d, int) else dims.get(d or "", 2) for d in kind.shape or ()]
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

    made: dict[str, Any] = {"type": show_value(value)}
    if hasattr(value, "dtype"):
        made |= {"dtype": str(value.dtype), "shape": list(value.shape)}
        made["data"] = _elements(value) if value.size <= _SHOWN else None
    return made


def _elements(array: Any) -> Any:
    if array.dtype.kind in "Vf":
        array = array.astype("float64")
    return array.tolist()


def as_text(name: str, value: Any) -> str:
    """A result as text: name, type and elements.

    Args:
        name: its name.
        value: what a run gave.

    Returns:
        A line or more.
    """
    import numpy as np

    from onnxwright.eager.values import show_value

    if isinstance(value, np.ndarray):
        shown = np.array2string(value, threshold=64, edgeitems=3, precision=6)
        if value.dtype == object:
            shown = clean(shown)
    else:
        shown = repr(value)
    gap = "\n" if "\n" in shown else " "
    return f"{clean(name)}: {show_value(value)} ={gap}{shown}"


__all__ = ["as_data", "as_text", "draw", "gather", "needed"]
