"""Models of `onnx_ir` as protos: weights in memory left out, or external ones beside one folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from onnxwright.ir.validation.external import Files
from onnxwright.ir.validation.tensors import check_tensor

_SMALL = 1024  # bytes up to which a tensor in memory is copied into a proto


def _to_proto(model: Any) -> Any:
    from onnxwright.ir.serialize import to_proto

    return to_proto(model)


class AttributeTensor:
    """A tensor in an attribute, such as that of a Constant, with the names that initializers have.

    Args:
        node: the node.
        attr: the attribute; its value is one tensor.
    """

    def __init__(self, node: Any, attr: Any) -> None:
        self._node, self._attr = node, attr
        first = node.outputs[0].name if node.outputs else node.name
        self.name = attr.value.name or str(first)
        self.dtype = attr.value.dtype

    @property
    def const_value(self) -> Any:
        """The tensor."""
        return self._attr.value

    @const_value.setter
    def const_value(self, tensor: Any) -> None:
        import onnx_ir as ir

        attr = self._attr
        self._attr = ir.Attr(attr.name, attr.type, tensor, doc_string=attr.doc_string)
        self._node.attributes[attr.name] = self._attr


def held_tensors(model: Any) -> Iterator[Any]:
    """What holds a tensor in a model: main graph, functions and bodies.

    Args:
        model: an `onnx_ir.Model`.

    Yields:
        Each initializer, and the attributes whose tensor is in a file; `const_value` is the tensor.
    """
    import onnx_ir as ir

    for owner in (model.graph, *(f.graph for f in model.functions.values())):
        for graph in (owner, *owner.subgraphs()):
            for value in graph.initializers.values():
                if value.const_value is not None:
                    yield value
            for node in graph:
                for attr in node.attributes.data.values() if node.attributes.data else ():
                    if attr.type is ir.AttributeType.TENSOR:
                        if isinstance(attr.value, ir.ExternalTensor):
                            yield AttributeTensor(node, attr)


def with_initializers(model: Any, replace: Callable[[Any], Any]) -> Any:
    """A model as a proto, with other tensors for the initializers of its main graph.

    Args:
        model: an `onnx_ir.Model`; it is not changed.
        replace: the tensor that is written for a value; that of the value itself, or another.
    """
    import onnx_ir as ir

    graph, held = model.graph, []
    for value in graph.initializers.values():
        tensor = None if value.const_value is None else replace(value)
        if tensor is value.const_value:
            held.append(value)
            continue
        copy = ir.Value(
            name=value.name, type=value.type, shape=value.shape,
            doc_string=value.doc_string, const_value=tensor,
        )  # fmt: skip
        copy.metadata_props.update(value.metadata_props)
        copy.meta.update(value.meta)
        held.append(copy)
    view: Any = ir.GraphView(
        list(graph.inputs), list(graph.outputs), nodes=list(graph), initializers=held,
        doc_string=graph.doc_string, opset_imports=dict(graph.opset_imports), name=graph.name,
        metadata_props=dict(graph.metadata_props),
    )  # fmt: skip
    fields = ("producer_name", "producer_version", "domain", "model_version", "doc_string")
    whole = ir.Model(
        view, ir_version=model.ir_version, functions=list(model.functions.values()),
        metadata_props=dict(model.metadata_props), **{k: getattr(model, k) for k in fields},
    )  # fmt: skip
    whole.meta.update(model.meta)
    return _to_proto(whole)


def located_proto(model: Any, *, light: bool = False) -> tuple[Any, Path | None]:
    """A model as a proto, its external data seen from one folder.

    Args:
        model: an `onnx_ir.Model`.
        light: name large weights that are in memory, and copy none: their data is declared to be in
            a file without a name.

    Returns:
        The ModelProto, and the folder; None where no weight is in a file.

    Raises:
        Damage: a tensor that came from a proto does not have the data that it should (`light`).
    """
    import onnx_ir as ir

    holders = [v for v in held_tensors(model) if isinstance(v.const_value, ir.ExternalTensor)]
    bases = {os.path.realpath(v.const_value.base_dir) for v in holders}
    folder = os.path.commonpath(list(bases)) if bases else None

    def replace(value: Any) -> Any:
        tensor = value.const_value
        if isinstance(tensor, ir.ExternalTensor):
            if len(bases) == 1:
                return tensor
            place = os.path.relpath(os.path.realpath(tensor.base_dir), folder)
            location, numbers = Path(place, tensor.location).as_posix(), (
                tensor.offset, tensor.length
            )  # fmt: skip
        elif light and _is_large(tensor):
            if isinstance(tensor, ir.TensorProtoTensor):
                check_tensor(tensor.raw, f"initializer `{value.name}`", Files(Path()))
            location, numbers = "", (None, None)
        else:
            return tensor
        return ir.ExternalTensor(
            location, *numbers, tensor.dtype, shape=tensor.shape, name=str(value.name)
        )

    # Those that are not in the main graph are replaced for a while.
    main = {id(v) for v in model.graph.initializers.values()}
    inner = [v for v in holders if len(bases) > 1 and id(v) not in main]
    kept = [(v, v.const_value) for v in inner]
    try:
        for value in inner:
            value.const_value = replace(value)
        proto = with_initializers(model, replace) if light or len(bases) > 1 else _to_proto(model)
    finally:
        for value, tensor in kept:
            value.const_value = tensor
    return proto, None if folder is None else Path(folder)


def named_weights(model: Any) -> dict[str, Any]:
    """The tensors of a model that `located_proto(light=True)` only names.

    Args:
        model: an `onnx_ir.Model`.

    Returns:
        The tensors by the names of their initializers.
    """
    held = ((str(v.name), v.const_value) for v in model.graph.initializers.values())
    return {name: tensor for name, tensor in held if tensor is not None and _is_large(tensor)}


def _is_large(tensor: Any) -> bool:
    """Whether a tensor in memory is not copied where its numbers do not matter."""
    import onnx_ir as ir

    in_memory = isinstance(tensor, (ir.Tensor, ir.LazyTensor, ir.TensorProtoTensor))
    return in_memory and tensor.dtype is not ir.DataType.STRING and tensor.nbytes > _SMALL
