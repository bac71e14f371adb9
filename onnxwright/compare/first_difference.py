"""The first difference between two models, functions or graphs, up to names of intermediates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Union

import onnx

from onnxwright.compare.equality import attribute_kind, properties, same_attribute
from onnxwright.compare.isomorphism import IsomorphismSearch
from onnxwright.compare.mismatch import Mismatch
from onnxwright.compare.proto_graph import ProtoGraph, link_graph, normal_domain
from onnxwright.compare.strictness import Strictness

Proto = Union[onnx.ModelProto, onnx.FunctionProto, onnx.GraphProto]


def difference(
    a: Proto, b: Proto, strict: Strictness | None = None, *, linked: ProtoGraph | None = None
) -> Mismatch | None:
    """The first difference between two models, functions or graphs, or None.

    Args:
        a, b: models, functions or graphs.
        linked: the main graph of `a` as `link_graph` gives it, where it is there already.

    Example:
        >>> from onnx import parser
        >>> text = "g (float[2] x) => (float[2] y) {{ {0} = Relu(x) y = Neg({0}) }}"
        >>> graphs = [parser.parse_graph(text.format(name)) for name in ("a", "b")]
        >>> difference(*graphs) is None
        True
    """
    strict = strict or Strictness()
    if type(a) is not type(b):
        return Mismatch("the kinds differ", type(a).__name__, type(b).__name__)
    if isinstance(a, onnx.ModelProto) and isinstance(b, onnx.ModelProto):
        return _models(a, b, strict, linked)
    if isinstance(a, onnx.FunctionProto) and isinstance(b, onnx.FunctionProto):
        return _functions(a, b, strict, named=strict.graph_names)
    assert isinstance(a, onnx.GraphProto)
    assert isinstance(b, onnx.GraphProto)
    return _graphs(a, b, strict, linked)


def _graphs(
    a: onnx.GraphProto, b: onnx.GraphProto, strict: Strictness, linked: ProtoGraph | None
) -> Mismatch | None:
    one_folder = strict.folders[0] == strict.folders[1]
    if one_folder and not strict.initializers and _is_same_but_weights(a, b):
        return None
    search = IsomorphismSearch(linked or link_graph(a), link_graph(b), strict)
    mismatch = search.run()
    if mismatch is None and strict.metadata:
        mismatch = _quantization(a, b, search)
    return mismatch


def _is_same_but_weights(a: onnx.GraphProto, b: onnx.GraphProto) -> bool:
    """Whether two graphs say the same, byte for byte, but for what their initializers hold."""
    if Counter(map(_declaration, a.initializer)) != Counter(map(_declaration, b.initializer)):
        return False
    for field in onnx.GraphProto.DESCRIPTOR.fields:
        left, right = getattr(a, field.name), getattr(b, field.name)
        if field.name == "initializer":
            continue
        if field.message_type is None:
            if left != right:
                return False
        elif len(left) != len(right) or any(
            _message_bytes(x) != _message_bytes(y) for x, y in zip(left, right)
        ):
            return False
    return True


def _declaration(t: onnx.TensorProto) -> tuple[Any, ...]:
    """What is said of an initializer beside its numbers."""
    return (t.name, t.data_type, *t.dims, t.doc_string, *_bytes(t.metadata_props))


def _message_bytes(message: Any) -> bytes:
    return bytes(message.SerializeToString(deterministic=True))


def _quantization(
    a: onnx.GraphProto, b: onnx.GraphProto, search: IsomorphismSearch
) -> Mismatch | None:
    """Annotations of quantized tensors, by the values that were matched."""
    if not a.quantization_annotation and not b.quantization_annotation:
        return None
    # An annotation is about values of its own graph: those of graphs inside may share a name.
    pairs = search.matched_values().items()
    names = {x.name: y.name for x, y in pairs if x.graph is search.a}

    def entry(t: onnx.TensorAnnotation, names: dict[str, str]) -> Any:
        named = {p.key: names.get(p.value, p.value) for p in t.quant_parameter_tensor_names}
        return (names.get(t.tensor_name, t.tensor_name), tuple(sorted(named.items())))

    left = sorted(entry(t, names) for t in a.quantization_annotation)
    right = sorted(entry(t, {}) for t in b.quantization_annotation)
    if left != right:
        return Mismatch("quantization annotations differ", repr(left), repr(right))
    return None


def _opsets(entries: Iterable[onnx.OperatorSetIdProto]) -> dict[str, int]:
    versions: dict[str, int] = {}
    for e in entries:
        domain = normal_domain(e.domain)
        versions[domain] = max(versions.get(domain, 0), e.version)
    return dict(sorted(versions.items()))


def _first(pairs: Iterable[tuple[str, Any, Any]]) -> Mismatch | None:
    for what, left, right in pairs:
        if left != right:
            return Mismatch(f"{what} differs", _text(left), _text(right))
    return None


def _text(x: Any) -> str:
    return "nothing" if x is None else x if isinstance(x, str) else repr(x)


def _bytes(messages: Iterable[Any]) -> list[bytes]:
    return [*map(_message_bytes, messages)]


def _models(
    a: onnx.ModelProto, b: onnx.ModelProto, strict: Strictness, linked: ProtoGraph | None
) -> Mismatch | None:
    pairs: list[tuple[str, Any, Any]] = []
    if strict.ir_version:
        pairs.append(("the IR version", a.ir_version, b.ir_version))
    if strict.opset_imports:
        pairs.append(("the opset imports", _opsets(a.opset_import), _opsets(b.opset_import)))
    if strict.producer:
        pairs.append(("the producer's name", a.producer_name, b.producer_name))
        pairs.append(("the producer's version", a.producer_version, b.producer_version))
        pairs.append(("the model's domain", a.domain, b.domain))
        pairs.append(("the model's version", a.model_version, b.model_version))
    if strict.doc_strings:
        pairs.append(("the model's doc string", a.doc_string, b.doc_string))
    if strict.metadata:
        left, right = properties(a.metadata_props), properties(b.metadata_props)
        pairs.append(("the model's metadata", left, right))
        pairs.append(("the device configuration", _bytes(a.configuration), _bytes(b.configuration)))
    training = (_bytes(a.training_info), _bytes(b.training_info))
    pairs.append(("the training information", *training))
    mismatch = _first(pairs) or _graphs(a.graph, b.graph, strict, linked)
    if mismatch is not None or not strict.functions:
        return mismatch
    ones, others = ({_key(f): f for f in m.functions} for m in (a, b))
    for key in [*ones, *(k for k in others if k not in ones)]:
        one, other = ones.get(key), others.get(key)
        if one is None or other is None:
            shown = ["not there" if f is None else _name(key) for f in (one, other)]
            return Mismatch("a function differs", shown[0], shown[1])
        mismatch = _functions(one, other, strict)
        if mismatch is not None:
            return Mismatch(
                mismatch.what,
                mismatch.left,
                mismatch.right,
                (f"function `{_name(key)}`", *mismatch.where),
            )
    return None


def _key(f: onnx.FunctionProto) -> tuple[str, str, str]:
    return normal_domain(f.domain), f.name, f.overload


def _name(key: tuple[str, str, str]) -> str:
    return f"{key[0]}::{key[1]}" + (f":{key[2]}" if key[2] else "")


def _functions(
    a: onnx.FunctionProto, b: onnx.FunctionProto, strict: Strictness, *, named: bool = True
) -> Mismatch | None:
    pairs: list[tuple[str, Any, Any]] = [
        *([("the name of the function", _key(a), _key(b))] if named else []),
        ("the attribute parameters", sorted(a.attribute), sorted(b.attribute)),
    ]
    if strict.opset_imports:
        pairs.append(("the opset imports", _opsets(a.opset_import), _opsets(b.opset_import)))
    mismatch = _first(pairs)
    if mismatch is not None:
        return mismatch
    ones, others = ({p.name: p for p in f.attribute_proto} for f in (a, b))
    for name in [*ones, *(n for n in others if n not in ones)]:
        one, other = ones.get(name), others.get(name)
        if one is None or other is None or attribute_kind(one) != attribute_kind(other):
            return Mismatch(f"attribute parameter `{name}` differs")
        if not same_attribute(one, other, strict.folders):
            return Mismatch(f"the default of attribute parameter `{name}` differs")
    return IsomorphismSearch(link_graph(a), link_graph(b), strict).run()
