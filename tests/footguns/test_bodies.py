"""A graph attribute given something that is not a graph."""

from __future__ import annotations

from onnxwright import FLOAT, script
from onnxwright import opset18 as op


def test_a_tensor_as_a_body_is_refused(refused) -> None:
    @script()
    def f(x: FLOAT["N"]):
        return op.Scan(op.Identity(0.0), x, body=x, num_scan_inputs=1)

    refused(f, "OW532", "a function or a graph is needed")
