"""The typed text of a model: a line for each node, its types, attributes and Python place."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from onnxwright.ir.text import short
from onnxwright.viz.view import Block, Step, View

# Select Graphic Rendition codes; names say what is coloured, not how.
_COLOURS = {"keyword": "35", "op": "1;36", "type": "33", "place": "2", "value": "32", "": "0"}

Paint = Callable[[str, str], str]


def listing(view: View, *, color: bool = False, weights: bool = True) -> str:
    """The text of a model.

    Args:
        color: whether to colour it for a terminal.

    Example:
        >>> from onnx import parser
        >>> from onnxwright.viz.view import view
        >>> text = "g (float[2] x, float[2] w) => (float[2] y) { t = Mul(x, w) y = Relu(t) }"
        >>> print(listing(view(parser.parse_graph(text))))
        graph g(x: FLOAT[2], w: FLOAT[2]) -> (y: FLOAT[2])
            t: ? = Mul(x, w)
            y: FLOAT[2] = Relu(t)
    """
    paint = _painted if color else _plain
    lines = []
    if view.opsets:
        opsets = ", ".join(f"{domain} {version}" for domain, version in view.opsets.items())
        facts = [("opset", opsets), *view.facts]
        lines += [paint("place", f"# {name}: {value}") for name, value in facts]
    for block in view.blocks:
        if lines:
            lines.append("")
        lines += _block(block, paint, "", block.kind, weights)
    return "\n".join(lines)


def _plain(_kind: str, text: str) -> str:
    return text


def _painted(kind: str, text: str) -> str:
    return f"\x1b[{_COLOURS[kind]}m{text}\x1b[0m" if text else text


def _value(block: Block, name: str, paint: Paint, *, unknown: str = "") -> str:
    kind = block.types.get(name)
    text = str(kind) if kind is not None else unknown
    return f"{name}: {paint('type', text)}" if text else name


def _block(block: Block, paint: Paint, indent: str, word: str, weights: bool) -> Iterator[str]:
    inputs = [_value(block, name, paint) for name in block.inputs]
    inputs += [paint("value", name) for name in block.attributes]
    outputs = ", ".join(_value(block, name, paint) for name in block.outputs)
    head = f"{paint('keyword', word)} {block.name}({', '.join(inputs)}) -> ({outputs})"
    yield indent + head
    inner = indent + "    "
    if weights:
        for weight in block.weights:
            shown = weight.preview or ("(external)" if weight.external else "(...)")
            kind = paint("type", str(weight.type))
            yield f"{inner}{weight.name}: {kind} = {paint('value', shown)}"
    for step in block.steps:
        yield from _step(block, step, paint, inner, weights)


def _step(block: Block, step: Step, paint: Paint, indent: str, weights: bool) -> Iterator[str]:
    outputs = ", ".join(_value(block, o, paint, unknown="?") if o else "_" for o in step.outputs)
    inputs = [name or "None" for name in step.inputs]
    inputs += [f"{name}={paint('value', short(text))}" for name, text in step.attributes]
    line = f"{indent}{outputs} = {paint('op', step.op)}({', '.join(inputs)})"
    if step.origin:
        line += "  " + paint("place", f"# {step.place}")
    yield line
    for name, inner in step.blocks:
        yield from _block(inner, paint, indent + "    ", f"{name}:", weights)
