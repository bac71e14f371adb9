"""`remove_metadata`: a model without doc strings and metadata, such as exporters' stack traces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from os import PathLike
from typing import Any

import onnx_ir as ir

from onnxwright.diagnostics.catalogue import model_tools as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.ir.door import Model, opened, returned
from onnxwright.ir.nested import all_graphs
from onnxwright.ir.stored import props_of
from onnxwright.model_tools.values import bare_tensor, fail_unknown, listed

_WILDCARDS = frozenset("*?[")
_TENSORS = (ir.AttributeType.TENSOR, ir.AttributeType.TENSORS)


def remove_metadata(
    model: Model,
    *,
    keep: Iterable[str] = (),
    output: str | PathLike[str] | None = None,
) -> Any:
    """A model without doc strings and metadata: what a file says beside its computation.

    The entries of `metadata_props` and the doc strings of the model, its graphs, bodies, functions,
    nodes, attributes, values and tensors are removed.  Exporters write stack traces with paths of
    their machine there.  Names, types, the producer and quantization annotations stay.  Errors of a
    run no longer name the Python lines that made a node; `keep="onnxwright.*"` leaves them.

    Args:
        model: a model of any kind (see `ow.load`); it is not changed.
        keep: keys of metadata that stay, or patterns (`fnmatch`).
        output: a file to write the result to.

    Returns:
        The same kind as `model`; an `onnx_ir.Model` for a path, a ModelProto for a script.  The
        path written, with `output`.

    Raises:
        ModelToolError: no metadata has a key of `keep` (OW876), or it is not a list of keys
            (OW882).

    Example:
        >>> import onnx
        >>> model = onnx.parser.parse_model(
        ...     '<ir_version: 10, opset_import: ["" : 18], doc_string: "of /home/me/net.py",'
        ...     ' metadata_props: ["license": "MIT", "trained_by": "me"]>'
        ...     "g (float[2] x) => (float[2] y) { y = Abs(x) }"
        ... )
        >>> new = remove_metadata(model, keep=["license"])
        >>> new.doc_string, [(entry.key, entry.value) for entry in new.metadata_props]
        ('', [('license', 'MIT')])
    """
    patterns = listed(keep, "keep")
    for pattern in patterns:
        if not isinstance(pattern, str):
            fail(messages.BadModelArgument(
                argument="keep", reason=f"{pattern!r} is not a text",
                advice="give keys of metadata, or patterns",
            ))  # fmt: skip
    source = opened(model).clone()
    keys: dict[str, None] = {}
    for item in _described(source):
        item.doc_string = None
        for key in list(props_of(item)):
            keys[key] = None
            if not any(fnmatchcase(key, pattern) for pattern in patterns):
                del item.metadata_props[key]
    for pattern in patterns:
        if pattern not in keys and _WILDCARDS.isdisjoint(pattern):
            fail_unknown(keys, pattern, "metadata")
    return returned(source, model, output)


def _described(model: ir.Model) -> Iterator[Any]:
    """Everything in a model that may have a doc string or metadata.

    Tensors and attributes may belong to another model too: new ones without both replace them.
    """
    yield model
    yield from model.functions.values()
    for outer in (model.graph, *(function.graph for function in model.functions.values())):
        for graph in all_graphs(outer):
            yield graph
            yield from graph.inputs
            for value in graph.initializers.values():
                yield value
                value.const_value = _bare(value.const_value)
            for node in graph:
                yield node
                yield from node.outputs
                _clear_attributes(node.attributes)
    for function in model.functions.values():
        _clear_attributes(function.attributes)


def _clear_attributes(attributes: Any) -> None:
    """Put attributes in the places of those that have a doc string, or a tensor that has one."""
    for name, attr in list(attributes.items()):
        value = attr.value
        if attr.type in _TENSORS and not attr.is_ref():
            tensors = [value] if attr.type is ir.AttributeType.TENSOR else value
            bare = [_bare(tensor) for tensor in tensors]
            if any(new is not old for new, old in zip(bare, tensors, strict=True)):
                value = bare[0] if attr.type is ir.AttributeType.TENSOR else bare
        if attr.doc_string or value is not attr.value:
            attributes[name] = ir.Attr(name, attr.type, value, attr.ref_attr_name)


def _bare(tensor: Any) -> Any:
    """The tensor, or one of the same numbers in its place where it has a doc string or metadata."""
    if tensor is None or not (tensor.doc_string or props_of(tensor)):
        return tensor
    return bare_tensor(tensor, tensor.name)
