"""Two versions of a model: are they the same, and if not, what changed?"""

import json
import tempfile
from pathlib import Path

import onnxwright as ow
from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def before(x: FLOAT["N", 4]) -> FLOAT["N", 4]:
    hidden = op.Relu(x)
    return op.Softmax(hidden, axis=1)


@script(name="before")
def renamed(x: FLOAT["N", 4]) -> FLOAT["N", 4]:
    something = op.Relu(x)
    return op.Softmax(something, axis=1)


@script(name="before")
def after(x: FLOAT["N", 4]) -> FLOAT["N", 4]:
    hidden = op.Relu(op.Neg(x))
    return op.Softmax(hidden, axis=0)


first, second, third = (f.to_model_proto() for f in (before, renamed, after))
# The line of Python that made a node is in its metadata; it is another line here.
ow.testing.assert_isomorphic(first, second, metadata=False)

found = ow.diff(first, third)
print(found)
assert [(change.kind, change.what) for change in found.changes] == [
    ("added", "node"),
    ("rewired", "node"),
    ("changed", "node"),
]
assert json.loads(found.json())[2]["details"] == ["attribute axis: 1 -> 0"]

page = Path(tempfile.mkdtemp()) / "difference.html"
page.write_text(found.html(), encoding="utf-8")
print(f"side by side: {page}")
