"""`torch.onnx.ops`: operators a module asks for by name, and ONNX's own as torch spells them."""

from __future__ import annotations

from typing import Any

import torch

from onnxwright.exporter.translate.lowerings import traced
from onnxwright.opset.opsets import Opset


def _attributes(kwargs: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a symbolic operator, from the flat lists torch keeps them in."""
    lists = {"i": "attr_ints", "f": "attr_floats", "s": "attr_strs"}
    attributes: dict[str, Any] = {}
    entries = zip(kwargs["attr_keys"], kwargs["attr_types"], kwargs["attr_pos"], strict=True)
    for key, kind, (start, end) in entries:
        values = kwargs[lists[kind[0]]][start:end]
        attributes[key] = list(values) if kind.endswith("s") and kind != "s" else values[0]
    return attributes


def symbolic(t: Any, node: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`torch.onnx.ops.symbolic`: one node of any operator, with one or several outputs.

    Args:
        args: the inputs, the operator's name, the element types of the outputs.
        kwargs: the attributes, domain and version.
    """
    inputs, name = args[0], args[1]
    domain, version = kwargs.get("domain") or "", kwargs.get("version")
    if domain in ("", "ai.onnx"):
        opset = t.op.opset if version is None else Opset("", version)
    else:
        opset = Opset(domain, version or 1)
    several = isinstance(node.meta.get("val"), (list, tuple))
    count = len(node.meta["val"]) if several else 1
    values = [None if v is None else t.strong(v) for v in inputs]
    outputs = t.backend.emit(opset[name], values, _attributes(kwargs), count)
    props = zip(
        kwargs.get("metadata_props_keys", ()),
        kwargs.get("metadata_props_values", ()),
        strict=True,
    )
    producer = outputs[0].value.producer()
    if producer is not None:
        producer.metadata_props.update(dict(props))
    return list(outputs) if several else outputs[0]


def onnx_operator(name: str, since: int) -> Any:
    """A handler for an operator of ONNX that torch has under its own name.

    Args:
        since: the opset that has it first; for older ones torch's own definition is translated.

    Source:
        torch.onnx.ops.aten_decompositions.
    """

    def build(t: Any, node: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if t.op.version < since:
            rule = torch.onnx.ops.aten_decompositions()[node.target]
            fakes = torch.fx.node.map_arg((node.args, node.kwargs), lambda n: n.meta.get("val"))
            inner = traced(rule, *fakes)
            if inner is not None:
                return t.inlined(node, inner, fakes, (tuple(args), kwargs))
        count = len(node.meta["val"]) if isinstance(node.meta.get("val"), (list, tuple)) else 1
        named = {k: v for k, v in kwargs.items() if v is not None}
        attributes = {k: int(v) if isinstance(v, bool) else v for k, v in named.items()}
        values = [None if a is None else t.strong(a) for a in args]
        while values and values[-1] is None:
            values.pop()
        outputs = t.backend.emit(t.op.opset[name], values, attributes, count)
        return list(outputs) if count > 1 else outputs[0]

    return build
