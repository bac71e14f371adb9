"""A model as Python: read it, run it line by line, change it, and get the same model back."""

import runpy
import tempfile
from pathlib import Path

import numpy as np
import onnx

import onnxwright as ow
from onnxwright import FLOAT, script
from onnxwright import opset18 as op

WEIGHT = ow.initializer(np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3), name="fc.weight")


@script()
def layer(x, *, slope: float = 0.1):
    """LeakyRelu of twice the input."""
    return op.LeakyRelu(x + x, alpha=slope)


@script()
def network(x: FLOAT["N", 4]) -> FLOAT["N", 3]:
    return layer(x @ WEIGHT, slope=0.25)


model = network.to_model_proto()
assert [t.name for t in model.graph.initializer] == ["fc.weight"]

# Any model can be written: one of ours, or one from a file.
source = ow.to_script(model)
print(source)

# The text is a module like any other.
path = Path(tempfile.mkdtemp()) / "network.py"
path.write_text(source, encoding="utf-8")
space = runpy.run_path(str(path))
x = np.ones((2, 4), np.float32)
np.testing.assert_array_equal(space["network"](x), network(x))  # line by line

# ... and it makes the same model: graph, types, weights, functions, metadata.
again = space["make_model"]()
onnx.checker.check_model(again, full_check=True)
ow.testing.assert_isomorphic(model, again)
assert ow.to_script(again) == source
