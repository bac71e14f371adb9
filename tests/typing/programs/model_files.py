"""Models as files: loaded, changed, saved."""

import tempfile
from pathlib import Path

import numpy as np

import onnxwright as ow
from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script(producer_name="acme", model_version=3)
def twice(x: FLOAT) -> FLOAT:
    return op.Add(op.Identity(x), x)


def main() -> None:
    model = twice.to_model_proto(input_types=[FLOAT["N"]], output_types=[FLOAT["N"]])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "twice.onnx"
        ow.save(ow.optimize(model), file)
        loaded = ow.convert_version(ow.load(file), 20)
        print(loaded.producer_name, dict(loaded.opset_imports))
        print(ow.run_model(loaded, [np.ones(2, np.float32)])[0].tolist())


def mistakes() -> object:
    return twice.to_model_proto(input_type=[FLOAT])  # error


if __name__ == "__main__":
    main()
