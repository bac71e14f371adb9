"""A model loaded, folded, saved with its weights beside it, and every kind of model taken."""

import tempfile
from pathlib import Path

import numpy as np

import onnxwright as ow
from onnxwright import FLOAT, ir

table = ow.initializer(np.arange(1024, dtype=np.float32).reshape(32, 32), name="table")


@ow.script
def net(x: FLOAT["N", 32]) -> FLOAT["N", 32]:
    return x @ table + 6.0


x = np.ones((1, 32), np.float32)
with tempfile.TemporaryDirectory() as folder:
    path = ow.save(net, Path(folder) / "net.onnx", external_data=True)
    model = ow.load(path)
    assert isinstance(model, ir.Model)
    print(sorted(file.suffix for file in Path(folder).iterdir()))
    for given in (path, model, net, net.to_model_proto()):
        print(type(ow.fold_constants(given)).__name__, ow.run_model(given, [x])[0][0, :2])
