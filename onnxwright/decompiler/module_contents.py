"""What a written module holds outside its functions: imports, opsets, weights, function names."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, Union

import numpy as np
import onnx

from onnxwright.compare.proto_graph import ProtoGraph, ProtoValue
from onnxwright.decompiler.arrays import array_expression, dtype_expression
from onnxwright.decompiler.attributes import tensor_array
from onnxwright.decompiler.layout import Expr, call, data, marked, number, render, text
from onnxwright.decompiler.names import Names, identifier, is_plain
from onnxwright.decompiler.sugar import Sugar
from onnxwright.diagnostics.text import clean
from onnxwright.ir.reading import raise_damage
from onnxwright.ir.validation import Damage, Files
from onnxwright.ir.validation.damage import quoted
from onnxwright.ir.validation.external import more_than_memory, without_links
from onnxwright.ir.validation.tensors import check_tensor, nbytes_of
from onnxwright.opset import registry
from onnxwright.opset.opsets import Opset
from onnxwright.opset.registry import OpSignature
from onnxwright.types.dtypes import DType

Weights = Union[Literal["inline", "npz", "external"], Callable[[str, Any], "str | None"]]
Key = tuple[str, str, str]
_NOT_OPS = frozenset(dir(Opset)) | {"domain", "version"}


@dataclass
class Options:
    """How a module is to be written.

    Attributes:
        weights: where arrays of more than `inline_constants` elements go.
        inline_constants: arrays of up to this many elements are written where they are used.
        npz: the file of arrays, beside the written Python.
        folder: where the model's external data is.
        weights_folder: the same, seen from the written Python.
        hollow: larger arrays are zeros of their shape, to try out the rest of the text.
    """

    weights: Weights = "inline"
    inline_constants: int = 16
    npz: str = "weights.npz"
    folder: Path = Path()
    weights_folder: str = ""
    # Arrays as zeros of their shape, to try out the rest of the text.
    hollow: bool = False


@dataclass
class Module:
    """The surroundings of the written functions.

    Attributes:
        names: names at the top of the module.
        scope: the names of the function that is being written, which reads what is added.
        attributes: for each function of the model, its attributes and their Python parameters.
        uses: names to import.
        lines: statements at the top: opsets, arrays, initializers.
        arrays: what goes into the file of arrays.
        array_names: the names in that file.
        reasons: what could not be written in the best way, and why.
        sugar: what may be written with operators and numbers.
        count: how many nodes have been written.
        title, blocks: the docstring, and the functions line by line.
        trial_uses: names to import for the placeholders of weights in a trial text.
        linked: the main graph of the model that is written.
        is_body_hollow: whether a function body holds a placeholder of a weight.
    """

    options: Options
    names: Names = field(default_factory=Names)
    uses: set[str] = field(default_factory=set)
    lines: list[str] = field(default_factory=list)
    opset_lines: dict[str, str] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)
    arrays: dict[str, Any] = field(default_factory=dict)
    array_names: Names = field(default_factory=Names)
    functions: dict[Key, tuple[str, int]] = field(default_factory=dict)
    attributes: dict[Key, dict[str, str]] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    sugar: Sugar = field(default_factory=lambda: Sugar(on=False))
    count: int = 0
    title: str = ""
    blocks: list[list[str]] = field(default_factory=list)
    trial_uses: set[str] = field(default_factory=set)
    linked: ProtoGraph | None = None
    is_body_hollow: bool = False
    _weights: list[tuple[int, ProtoValue, str, str]] = field(default_factory=list)
    _opsets: dict[tuple[str, int], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.scope = self.names
        self.array_names.reserve("file")  # `np.savez` has a parameter of that name
        self.names.reserve(
            "np", "onnx", "ml_dtypes", "op", "script", "Details", "External", "Opset", "Op",
            "Sequence", "Optional", "graph", "initializer", "make_model", "make_function",
            "weights", "Path", "data", "DType", "folder",
            *(kind.name for kind in DType),
        )  # fmt: skip

    # -- operators ---------------------------------------------------------------------------------

    def function_name(self, key: Key) -> str | None:
        """The Python name of a function of the model."""
        entry = self.functions.get(key)
        return entry[0] if entry is not None else None

    def output_count(self, key: Key) -> int:
        """How many outputs a function of the model has."""
        return self.functions[key][1]

    def signature(self, key: Key, opsets: dict[str, int]) -> OpSignature | None:
        """The schema of an operator, if onnx has it in this version."""
        domain, name, _ = key
        version = opsets.get(domain, 1)
        if not _exists(domain, version):
            return None
        signature = registry.signature(domain, name, version)
        return None if signature is None or signature.deprecated else signature

    def operator(self, key: Key, opsets: dict[str, int]) -> str:
        """The expression of an operator: `op.Add`."""
        domain, name, _ = key
        opset = self.opset(domain, opsets.get(domain, 1))
        unknown = registry.is_known_domain(domain) and self.signature(key, opsets) is None
        if unknown or not is_plain(name) or name in _NOT_OPS or name.startswith("_"):
            self.uses.add("Op")
            return f"Op({opset}, {text(name)})"
        return f"{opset}.{name}"

    def opset(self, domain: str, version: int) -> str:
        """The name of an opset in the module."""
        name = self._opsets.get((domain, version))
        if name is None:
            name = self._opsets[domain, version] = self._new_opset(domain, version)
        return name

    def _new_opset(self, domain: str, version: int) -> str:
        has_schemas = registry.is_known_domain(domain) and version <= registry.newest(domain)
        if has_schemas and repr(Opset(domain, version)).isidentifier():
            name = repr(Opset(domain, version))
            taken = {alias for alias in self.imports.values() if alias}
            short = {"": "op", "ai.onnx.ml": "ml"}.get(domain)
            if short is not None and short not in taken:
                if short == "op" or self.scope.is_free(short):
                    self.scope.reserve_outside(short)
                    self.imports[name] = short
                    return short
            alias = self.scope.take_outside(name)
            self.imports[name] = "" if alias == name else alias
            return alias
        self.uses.add("Opset")
        name = self.scope.take_outside(identifier(domain.rsplit(".", 1)[-1], "opset"))
        self.opset_lines[name] = f"{name} = Opset({text(domain)}, {version})"
        return name

    # -- arrays ------------------------------------------------------------------------------------

    def array(
        self, value: Any, hint: str, tensor: onnx.TensorProto | None, *, inline: bool
    ) -> Expr:
        """An array as an expression: its numbers where they are few, else a name of the module."""
        few = value.size <= self.options.inline_constants
        if few and inline:
            return array_expression(value, self.uses)
        weights = self.options.weights
        if callable(weights):
            weight_expression = weights(
                tensor.name if tensor is not None and tensor.name else hint, value
            )
            if weight_expression is not None:
                return weight_expression
        elif weights == "npz" and not few and value.dtype != object:
            return self._stored(value, hint)
        if not inline:
            return array_expression(value, self.uses)
        name = self.scope.take_outside(hint, "data")
        expression = array_expression(value, self.uses)
        self.lines.append(marked(f"{name} = {render(expression, len(name) + 3)}"))
        return name

    def _stored(self, value: Any, hint: str) -> Expr:
        """An array kept in the file of arrays."""
        key = self.array_names.take(hint, "data")
        self.uses.update(("np", "Path", "weights"))
        if value.dtype.kind == "V" or value.dtype.name not in np.sctypeDict:
            # numpy's own format knows no bfloat16 and the like: their bytes are kept.
            self.uses.add("ml_dtypes")
            self.arrays[key] = np.ascontiguousarray(value).view(np.uint8)
            kind = f"ml_dtypes.{value.dtype.name}"
            return f"weights[{text(key)}].view({kind}).reshape({tuple(value.shape)})"
        self.arrays[key] = np.ascontiguousarray(value).reshape(value.shape)
        return f"weights[{text(key)}]"

    def weight(self, value: ProtoValue, python: str, known_as: str) -> None:
        """Write an initializer as a statement at the top.

        Args:
            value: the initializer.
            python: the name it is bound to.
            known_as: the name it has where none is written.
        """
        hollow = self.options.hollow and not _is_few_numbers(value.tensor)
        if hollow:
            self._weights.append((len(self.lines), value, python, known_as))
        self.lines.append(self._weight_line(value, python, known_as, hollow=hollow))

    def _weight_line(
        self, value: ProtoValue, python: str, known_as: str, *, hollow: bool = False
    ) -> str:
        uses = self.uses
        if hollow:
            self.uses = self.trial_uses
        try:
            expression = self.initializer(value, known_as)
        finally:
            self.uses = uses
        return marked(f"{python} = {render(expression, len(python) + 3)}")

    def fill_weights(self, options: Options) -> None:
        """Write the weights of a text that was tried with zeros in their place.

        Args:
            options: those of the text that is wanted; they differ in nothing else.
        """
        self.options = options
        self.trial_uses = set()
        for place, value, python, known_as in self._weights:
            self.lines[place] = self._weight_line(value, python, known_as)

    def initializer(self, value: ProtoValue, python: str) -> Expr:
        """`initializer(...)` for a array that a graph holds from the start."""
        self.uses.add("initializer")
        name = {} if python == value.name else {"name": text(value.name)}
        tensor = value.tensor
        if isinstance(tensor, onnx.SparseTensorProto):
            self.uses.add("np")
            kind = DType(tensor.values.data_type)
            held = f"np.zeros({tuple(tensor.dims)}, {_numpy_name(kind, self.uses)})"
            plain = data(tensor.SerializeToString(deterministic=True))
            return call("initializer", held, name=text(value.name), sparse=plain)
        assert tensor is not None
        if tensor.doc_string:
            name["doc_string"] = text(tensor.doc_string)
        if tensor.data_location == onnx.TensorProto.EXTERNAL and self.options.weights == "external":
            return call("initializer", self._external(tensor), **{"name": text(value.name), **name})
        size = math.prod(tensor.dims)
        if self.options.hollow and size > _LARGE:
            # Only named: together such weights may be more than a model in memory can hold.
            self.uses.update(("External", "Path", "folder", "DType"))
            element, dims = DType(tensor.data_type).name, str(tuple(tensor.dims))
            place = call("External", text("hollow"), f"DType.{element}", dims, folder="folder")
            return call("initializer", place, **name)
        if self.options.hollow and size > _FEW:
            self.uses.add("np")
            held = _numpy_name(DType(tensor.data_type), self.uses)
            return call("initializer", f"np.zeros({tuple(tensor.dims)}, {held})", **name)
        array = self._numbers(tensor, value.name)
        expression = self.array(array, value.name, tensor, inline=False)
        return call("initializer", expression, **name)

    def _numbers(self, tensor: onnx.TensorProto, name: str) -> Any:
        """The array of a tensor, from its file if that is inside the model's folder."""
        where = f"initializer {quoted(name)}"
        try:
            check_tensor(tensor, where, Files(self.options.folder))
            return tensor_array(*without_links(tensor, self.options.folder, where))
        except Damage as damage:
            raise_damage(damage)
        except MemoryError:
            size = nbytes_of(DType(tensor.data_type), math.prod(tensor.dims))
            raise_damage(more_than_memory(size, where))
        except (OSError, ValueError, onnx.checker.ValidationError) as error:
            what = (str(error) or type(error).__name__).splitlines()[0]
            raise_damage(Damage("external", where, clean(what)))

    def _external(self, tensor: onnx.TensorProto) -> Expr:
        entries = {e.key: e.value for e in tensor.external_data}
        self.uses.update(("External", "Path"))
        keywords: dict[str, Expr] = {}
        for key in ("offset", "length"):
            if key in entries:
                keywords[key] = number(int(entries[key]))
        if "checksum" in entries:
            keywords["checksum"] = text(entries["checksum"])
        self.uses.add("folder")
        dims = str(tuple(int(d) for d in tensor.dims))
        location = text(entries.get("location", ""))
        kind = DType(tensor.data_type).name
        self.uses.add("DType")
        return call("External", location, f"DType.{kind}", dims, **keywords, folder="folder")


# Elements of a weight that is not made when a text is only tried out.
_LARGE = 100_000
# Up to so many elements are written as they are when a text is only tried out.
_FEW = 16


def _is_few_numbers(tensor: onnx.TensorProto | onnx.SparseTensorProto | None) -> bool:
    """Whether a weight is written the same when a text is only tried out."""
    if not isinstance(tensor, onnx.TensorProto):
        return False
    return tensor.data_location != onnx.TensorProto.EXTERNAL and math.prod(tensor.dims) <= _FEW


@cache
def _exists(domain: str, version: int) -> bool:
    """Whether onnx has this version of a domain."""
    return registry.is_known_domain(domain) and version <= registry.newest(domain)


def _numpy_name(kind: DType, uses: set[str]) -> str:
    return dtype_expression(np.dtype(kind.numpy), uses)
