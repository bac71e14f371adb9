"""What is asked before a match is tried holds for every match there is."""

from __future__ import annotations

import onnx
import onnx_ir as ir
import pytest

from onnxwright.optimizer import library
from onnxwright.optimizer.finding import nodes_with_imports
from onnxwright.optimizer.matching import Matcher
from onnxwright.optimizer.patterns import Pattern
from onnxwright.optimizer.screening import PatternIndex, may_lie
from tests.optimizer.corpus.stored import names, stored


@pytest.mark.parametrize("name", names()[::9])
def test_no_match_is_screened_out(name: str) -> None:
    model = ir.from_proto(stored(name).model)
    version = model.graph.opset_imports[""]
    patterns = [p for r in library.rules() for p in r.for_version(version).patterns]
    matched = screened = 0
    for imports, node in nodes_with_imports(model):
        for pattern in patterns:
            for root in pattern.roots:
                if (root.op_type, root.domain) != (node.op_type, node.domain):
                    continue
                match = next(Matcher(pattern, imports, shared=True).at(node, root), None)
                assert match is None or may_lie(root, node), (pattern.name, node)
                matched += match is not None
                screened += not may_lie(root, node)
    assert matched
    assert screened > matched


@pytest.mark.parametrize("name", names()[::9])
def test_the_index_finds_every_pattern_that_may_lie_in_order(name: str) -> None:
    model = ir.from_proto(stored(name).model)
    version = model.graph.opset_imports[""]
    rules = [r.for_version(version) for r in library.rules()]
    entries = [(r, p, root) for r in rules for p in r.patterns for root in p.roots]
    index = PatternIndex(entries)
    listed = 0
    for imports, node in nodes_with_imports(model):
        expected = [e for e in entries if may_lie(e[2], node)]
        listed_here = index.at(node)
        assert listed_here == [e for e in expected if e in listed_here], node
        for _, pattern, root in (e for e in expected if e not in listed_here):
            # Its results read one value, and here nothing else reads any; or the node lacks an
            # attribute that it wants.
            assert len(pattern.roots) > 1 or set(root.attributes) - set(node.attributes)
            assert next(Matcher(pattern, imports, shared=True).at(node, root), None) is None
        listed += len(expected)
    assert listed


def test_results_that_read_one_value_want_two_readers() -> None:
    model = ir.from_proto(onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 20]>
        g (float[3, 3] x, float[3, 3] z) => (float[3, 3] y, float[3, 3] v)
        <float[3, 3] a, float[3, 3] b, float[3] c, float[3] d>
        { n = Neg(z)  p = MatMul(x, a)  y = Add(p, c)  q = MatMul(x, b)  v = Add(d, q)
          r = MatMul(n, a)  w = Add(r, n) }"""))  # fmt: skip
    pattern = Pattern.traced(
        lambda op, x, a, b, c, d: (op.Add(op.MatMul(x, a), c), op.Add(op.MatMul(x, b), d))
    )
    entries = [(library.rules()[0], pattern, root) for root in pattern.roots]
    index = PatternIndex(entries)
    counts = {node.outputs[0].name: len(index.at(node)) for node in model.graph}
    # `n` is read twice as well, but its second reader is not a product.
    assert counts == {"n": 0, "p": 0, "y": 2, "q": 0, "v": 2, "r": 0, "w": 0}
    alone = ir.from_proto(onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 20]> g (float[3, 3] x) => (float[3, 3] y)
        <float[3, 3] a, float[3] c> { p = MatMul(x, a)  y = Add(p, c) }"""))  # fmt: skip
    assert index.at(alone.graph[1]) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y = Mul(half, x)", True),  # the other order
        ("y = Mul(x, third)", False),
        ("y = Mul(x, one)", True),  # one element with an axis
        ("y = Mul(x, x)", False),
    ],
)
def test_numbers_and_orders(text: str, expected: bool) -> None:
    model = ir.from_proto(onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 20]> g (float[3] x) => (float[3] y)'
        f"<float half = {{0.5}}, float third = {{0.3}}, float[1] one = {{0.5}}> {{ {text} }}"
    ))  # fmt: skip
    pattern = Pattern.traced(lambda op, x: op.Mul(x, 0.5))
    assert may_lie(pattern.root, model.graph[0]) is expected
