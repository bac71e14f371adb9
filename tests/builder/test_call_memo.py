"""What was found out about a call is known of calls like it, and of no others."""

from __future__ import annotations

import numpy as np
import pytest

from onnxwright import FLOAT, GraphBuilder
from onnxwright.errors import ScriptTypeError
from onnxwright.ir.infer import infer_call
from onnxwright.tracing import call_memo, output_types


def test_rules_are_asked_once_for_calls_like_each_other(monkeypatch):
    asked = []

    def counted(call, attributes, version):
        asked.append(call.name)
        return infer_call(call, attributes, version)

    monkeypatch.setattr(output_types, "infer_call", counted)
    monkeypatch.setattr(call_memo, "_KEPT", {})
    g = GraphBuilder(opset=21)
    y = g.op.Softmax(g.input("x", FLOAT["N", 6]), axis=1)
    for n in range(5):
        y = g.op.Softmax(g.op.Add(y, float(n + 1)), axis=1)
    assert asked == ["Softmax", "Add"]


def test_what_a_rule_reads_of_an_input_is_not_kept():
    g = GraphBuilder(opset=21)
    x = g.input("x", FLOAT["N", 6])
    shapes = [g.op.Reshape(x, np.array(s)).shape[-1] for s in ([-1, 3], [-1, 2], [-1, 1])]
    assert shapes == [3, 2, 1]
    size = g.input("size", FLOAT["N", 6]).shape
    assert g.op.Reshape(x, g.op.Shape(x)).shape == size


def test_calls_of_other_attributes_and_absent_inputs_are_others():
    g = GraphBuilder(opset=21)
    x = g.input("x", FLOAT["N", 6])
    assert g.op.Concat(x, x, axis=1).shape[1] == 12
    assert g.op.Concat(x, x, axis=0).shape[1] == 6
    assert g.op.Clip(x, None, 1.0).shape == g.op.Clip(x, 0.0).shape == ("N", 6)


def test_an_error_is_an_error_each_time():
    g = GraphBuilder(opset=21)
    a, b = g.input("a", FLOAT[2, 3]), g.input("b", FLOAT[4, 5])
    messages = []
    for _ in range(2):
        with pytest.raises(ScriptTypeError) as caught:
            g.op.MatMul(a, b)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
