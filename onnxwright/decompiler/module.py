"""A whole model, or one function, as the text of a Python module."""

from __future__ import annotations

import inspect

import onnx

from onnxwright.compare.equality import attribute_kind, is_plain, properties
from onnxwright.compare.proto_graph import ProtoGraph, ProtoValue, link_graph, normal_domain
from onnxwright.decompiler.arrays import type_expression
from onnxwright.decompiler.attributes import KIND_OF, plain_value, value_expression
from onnxwright.decompiler.body import Body, indented
from onnxwright.decompiler.graph_metadata import Facts
from onnxwright.decompiler.layout import (
    Expr,
    Group,
    call,
    data,
    flatten,
    join,
    long_text,
    mapping,
    render,
    text,
)
from onnxwright.decompiler.loops import LoopBody
from onnxwright.decompiler.module_contents import Module, Options
from onnxwright.decompiler.names import Names
from onnxwright.decompiler.planning import Plan
from onnxwright.decompiler.sugar import Sugar
from onnxwright.decompiler.writer import rest_of_graph
from onnxwright.types.kinds import AttrKind

_A = onnx.AttributeProto
_PYTHON_KIND = {
    AttrKind.INT: "int",
    AttrKind.FLOAT: "float",
    AttrKind.STRING: "str",
    AttrKind.INTS: "list[int]",
    AttrKind.FLOATS: "list[float]",
    AttrKind.STRINGS: "list[str]",
    AttrKind.TENSOR: "onnx.TensorProto",
    AttrKind.GRAPH: "onnx.GraphProto",
    AttrKind.TYPE_PROTO: "onnx.TypeProto",
    AttrKind.SPARSE_TENSOR: "onnx.SparseTensorProto",
    AttrKind.TENSORS: "list[onnx.TensorProto]",
    AttrKind.GRAPHS: "list[onnx.GraphProto]",
    AttrKind.TYPE_PROTOS: "list[onnx.TypeProto]",
    AttrKind.SPARSE_TENSORS: "list[onnx.SparseTensorProto]",
}


def write_model(
    model: onnx.ModelProto, options: Options, name: str | None, sugar: Sugar | None = None
) -> Module:
    """A model as a module that ends with `make_model()`."""
    module = Module(options, sugar=sugar or Sugar(on=False))
    declared = [_declare(module, f) for f in model.functions]
    python = module.names.take(name or model.graph.name or "main", "main")
    bodies = [(own, _scope(module, f)) for own, f in zip(declared, model.functions, strict=True)]
    blocks = [_function(module, f, held) for f, held in zip(model.functions, bodies, strict=True)]
    graph = module.linked = link_graph(model.graph)
    opsets = {normal_domain(e.domain): e.version for e in model.opset_import}
    for key in {(f.domain, 1) for f in model.functions}:
        opsets.setdefault(*key)
    lines, facts = _main(module, graph, opsets, python)
    if model.graph.name != python:
        facts.name = model.graph.name
    facts.opset_imports = {e.domain: e.version for e in model.opset_import}
    keywords: dict[str, Expr] = {}
    if blocks:
        pairs = [join(f"{held}: ", its.expression()) for (held, _), its in
                 zip(bodies, (b[1] for b in blocks), strict=True)]  # fmt: skip
        keywords["functions"] = Group("{", tuple(pairs), "}")
    keywords |= _model_facts(model)
    keywords["details"] = facts.expression()
    rendered = render(call(f"{python}.to_model_proto", **keywords), 11, 4)
    blocks_text = [block for block, _ in blocks]
    ending = ["def make_model():", f'    """The model."""\n    return {rendered}']
    count = len(model.graph.node)
    size = f"{count} node{'' if count == 1 else 's'}"
    title = f"An ONNX model with {size}; `make_model()` gives it back."
    module.title, module.blocks = title, [*blocks_text, lines, ending]
    return module


def write_function(
    function: onnx.FunctionProto, options: Options, name: str | None, sugar: Sugar | None = None
) -> Module:
    """A function as a module that ends with `make_function()`."""
    module = Module(options, sugar=sugar or Sugar(on=False))
    held = _declare(module, function, name), _scope(module, function)
    block, facts = _function(module, function, held)
    rendered = render(call(f"{held[0]}.to_function_proto", details=facts.expression()), 11, 4)
    ending = ["def make_function():", f'    """The function."""\n    return {rendered}']
    title = "An ONNX function; `make_function()` gives it back."
    module.title, module.blocks = title, [block, ending]
    return module


def _model_facts(model: onnx.ModelProto) -> dict[str, Expr]:
    keywords: dict[str, Expr] = {
        "ir_version": str(model.ir_version),
        "producer_name": text(model.producer_name),
    }
    for key in ("producer_version", "domain", "doc_string"):
        value = getattr(model, key)
        if value:
            keywords[key] = long_text(value)
    if model.model_version:
        keywords["model_version"] = str(model.model_version)
    if model.metadata_props:
        pairs = properties(model.metadata_props).items()
        keywords["metadata"] = mapping((k, long_text(v)) for k, v in pairs)
    rest = onnx.ModelProto()
    rest.training_info.extend(model.training_info)
    rest.configuration.extend(model.configuration)
    extra = rest.SerializeToString(deterministic=True)
    if extra:
        keywords["extra"] = data(extra)
    return keywords


# -- functions -------------------------------------------------------------------------------------


def _declare(module: Module, f: onnx.FunctionProto, name: str | None = None) -> str:
    """Give a function its Python name before any body is written."""
    python = module.names.take(name or f.name, "function")
    module.functions[normal_domain(f.domain), f.name, f.overload] = (python, len(f.output))
    return python


def _scope(module: Module, f: onnx.FunctionProto) -> Names:
    """The names in a function, those of its attributes taken: calls of it say them as keywords."""
    names = Names(module.names)
    parameters = dict.fromkeys([*f.attribute, *(p.name for p in f.attribute_proto)])
    key = (normal_domain(f.domain), f.name, f.overload)
    module.attributes[key] = {one: names.take(one, "attribute") for one in parameters}
    return names


def _function(
    module: Module, f: onnx.FunctionProto, held: tuple[str, Names]
) -> tuple[list[str], Facts]:
    python, own_names = held
    module.uses.add("script")
    opsets = {normal_domain(e.domain): e.version for e in f.opset_import}
    graph = link_graph(f)
    kinds = _attribute_kinds(graph)
    defaults = {p.name: p for p in f.attribute_proto}
    attributes = module.attributes[normal_domain(f.domain), f.name, f.overload]
    body = LoopBody(graph, module, opsets, attributes, own_names)
    body.attribute_kinds = {**kinds, **{p.name: attribute_kind(p) for p in defaults.values()}}
    params = [body.input_name(w) for w in graph.inputs]
    rest = onnx.FunctionProto()
    keywords = [
        _parameter(module, name, python_name, kinds, defaults.get(name), rest)
        for name, python_name in attributes.items()
    ]
    for name, renamed in attributes.items():
        if name != renamed:
            body.facts.names[renamed] = name
    if keywords:
        params += ["*", *sorted(keywords, key=lambda k: "=" in k)]
    written = body.write()
    for w in (*graph.inputs, *graph.outputs):
        body.facts.value(w, w.info)
    facts = body.facts
    facts.metadata = properties(f.metadata_props)
    facts.opset_imports = {e.domain: e.version for e in f.opset_import}
    facts.extra = rest.SerializeToString(deterministic=True)
    doc = _docstring(f.doc_string)
    if doc is None and f.doc_string:
        facts.doc_string = f.doc_string
    more: dict[str, Expr] = _default_opset(module, body, written, opsets)
    if f.name != python:
        more["name"] = text(f.name)
    if f.overload:
        more["overload"] = text(f.overload)
    decorator = call("script", text(f.domain), **more)
    return _definition(decorator, python, params, "", doc, written), facts


def _default_opset(
    module: Module, body: Body, lines: list[str], opsets: dict[str, int]
) -> dict[str, Expr]:
    """`default_opset=` where a body has operators but names no opset."""
    plan = body.plan
    if not (plan.symbols or plan.indices or plan.numbers or plan.loops or plan.branches):
        return {}
    if not opsets.get(""):
        return {}
    name = module.opset("", opsets[""])
    if any(f"{name}." in line for line in lines):
        return {}
    return {"default_opset": name}


def _parameter(
    module: Module,
    name: str,
    python: str,
    kinds: dict[str, int],
    default: onnx.AttributeProto | None,
    rest: onnx.FunctionProto,
) -> str:
    """An attribute parameter; a default that Python cannot say stays serialized."""
    number = attribute_kind(default) if default is not None else kinds.get(name, int(_A.FLOAT))
    kind = KIND_OF.get(number, AttrKind.FLOAT)
    annotation = _PYTHON_KIND[kind]
    if "onnx." in annotation:
        module.uses.add("onnx")
    if default is None:
        return f"{python}: {annotation}"
    value = plain_value(default, None)
    empty = isinstance(value, list) and not value
    if value is None or empty or number == _A.TENSOR or default.doc_string or python != name:
        rest.attribute_proto.append(default)
        module.uses.add("onnx")
        return f"{python}: {annotation}"
    if number in (_A.FLOAT, _A.FLOATS):
        module.uses.add("np")
    return f"{python}: {annotation} = {flatten(value_expression(value, number))}"


def _attribute_kinds(graph: ProtoGraph) -> dict[str, int]:
    """The kind of each attribute parameter, by how it is used."""
    kinds: dict[str, int] = {}
    for node in graph.all_nodes():
        for attr in node.proto.attribute:
            if attr.ref_attr_name and attr.type:
                kinds.setdefault(attr.ref_attr_name, attr.type)
    return kinds


# -- the main graph --------------------------------------------------------------------------------


def _main(
    module: Module, graph: ProtoGraph, opsets: dict[str, int], python: str
) -> tuple[list[str], Facts]:
    module.uses.add("script")
    proto = graph.proto
    assert isinstance(proto, onnx.GraphProto)
    names = Names(module.names)
    body = LoopBody(graph, module, opsets, {}, names)
    params = []
    for w in graph.inputs:
        held = body.input_name(w)
        params.append(_input(module, body, w, held))
    unread = {w for w in graph.initializers if not w.uses and not w.is_output}
    names.reserve(*(w.name for w in unread))  # no variable has them, and no value may get them
    # NOTE: in order of first use, which is the order in which compiling finds them.
    place = {w: n for n, w in enumerate(_read_in_order(graph, body.plan))}
    for w in sorted(graph.initializers, key=lambda w: place.get(w, len(place))):
        if w.input_index is None and w not in unread:
            _global_initializer(module, body, w)
    written = body.write()
    for w in graph.initializers:
        if w.input_index is not None or w in unread:
            body.facts.initializers.append(_loose_initializer(module, w))
    annotations = []
    declared = {o.name: o for o in reversed(proto.output)}
    for w in graph.outputs:
        info = declared.get(w.name) or w.info or onnx.ValueInfoProto()
        annotations.append(_annotation(module, body, w, info))
    result = ""
    if annotations and all(a is not None for a in annotations):
        shown = [a for a in annotations if a is not None]
        result = shown[0] if len(shown) == 1 else f"tuple[{', '.join(shown)}]"
    else:
        for w in graph.outputs:
            if w.info is not None and not is_plain(w.info.type):
                body.facts.type_of(w, w.info.type)
    facts = body.facts
    facts.metadata = properties(proto.metadata_props)
    body.keep_annotated(proto, graph)
    facts.extra = rest_of_graph(proto, graph)
    doc = _docstring(proto.doc_string)
    if doc is None and proto.doc_string:
        facts.doc_string = proto.doc_string
    decorator = call("script", **_default_opset(module, body, written, opsets))
    return _definition(decorator, python, params, result, doc, written), facts


def _read_in_order(graph: ProtoGraph, plan: Plan) -> dict[ProtoValue, None]:
    """The values that nodes read, in the order in which calls are compiled."""
    values: dict[ProtoValue, None] = {}
    for node in plan.order[graph]:
        values.update(dict.fromkeys(w for w in node.inputs if w is not None))
        for graphs in node.subgraphs.values():
            for inner in graphs:
                values.update(_read_in_order(inner, plan))
    values.update(dict.fromkeys(graph.outputs))
    return values


def _input(module: Module, body: Body, w: ProtoValue, python: str) -> str:
    info = w.info or onnx.ValueInfoProto()
    annotation = type_expression(info.type, module.uses)
    body.facts.value(w, info, typed=annotation is None or bool(
        info.doc_string or len(info.metadata_props)))  # fmt: skip
    return python if annotation is None else f"{python}: {annotation}"


def _annotation(module: Module, body: Body, w: ProtoValue, info: onnx.ValueInfoProto) -> str | None:
    """The annotation of an output, unless it is an input whose own says it."""
    body.facts.value(w, info, typed=False)
    if info.doc_string or len(info.metadata_props) or w.input_index is not None:
        body.facts.type_of(w, info.type)
    return type_expression(info.type, module.uses)


def _global_initializer(module: Module, body: Body, w: ProtoValue) -> None:
    python = body.names.take_outside(w.name, "weight")
    body.places.name(w, python)
    body.facts.value(w, w.info)
    module.weight(w, python, python)


def _loose_initializer(module: Module, w: ProtoValue) -> str:
    """An initializer without readers, or one that is an input's default."""
    python = module.scope.take_outside(f"{w.name}_value", "value")
    module.weight(w, python, "")
    return python


# -- text ------------------------------------------------------------------------------------------


def _docstring(doc: str) -> str | None:
    """A docstring literal that Python reads as just this text; None where there is none."""
    if not doc or inspect.cleandoc(doc) != doc:
        return None
    lines = doc.split("\n")
    printable = all(line.isprintable() and line.isascii() for line in lines)
    if not printable or "\\" in doc or '"' in doc or any(x != x.rstrip() for x in lines):
        return text(doc)
    if len(lines) == 1:
        return f'"""{doc}"""'
    return '"""' + "\n".join([lines[0], *(f"    {x}" if x else x for x in lines[1:])]) + '\n    """'


def _definition(
    decorator: Expr, python: str, params: list[str], result: str, doc: str | None, body: list[str]
) -> list[str]:
    head = Group(f"def {python}(", tuple(params), f"){f' -> {result}' if result else ''}:")
    front = "@" + render(decorator, 1)
    lines = [front, render(head, 0)]
    if doc is not None:
        lines.append(f"    {doc}")
    return [*lines, *indented(body)]
