"""A graph attribute given something that is not a graph."""

from __future__ import annotations

from onnxwright import FLOAT
from onnxwright import opset18 as op
from tests.footguns.agreement import refuses


@refuses("OW532", "a function or a graph is needed")
def test_a_tensor_as_a_body_is_refused(x: FLOAT["N"]):
    return op.Scan(op.Identity(0.0), x, body=x, num_scan_inputs=1)
