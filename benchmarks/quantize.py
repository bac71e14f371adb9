"""Weights in four bits beside ONNX Runtime's own quantizer: bytes, time of one token, results.

The model is a stack of gated layers of a small decoder, run one token at a time with one thread.
Ours is written with standard operators and with MatMulNBits; theirs by
`onnxruntime.quantization.matmul_nbits_quantizer`, symmetric, blocks of 32, accuracy level 4, which
is also what a session takes for DequantizeLinear.

    python benchmarks/quantize.py [--layers 4] [--width 1024] [--repeat 30] [--json]
"""

from __future__ import annotations

import argparse
import json
import logging
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import onnxwright as ow

BLOCK, LEVEL = 32, 4


def decoder(layers: int, width: int) -> onnx.ModelProto:
    """A stack of gated layers with residual connections."""
    rng = np.random.default_rng(0)
    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []

    def product(x: str, name: str, shape: tuple[int, int]) -> str:
        array = rng.standard_normal(shape).astype(np.float32) / np.sqrt(shape[0])
        weights.append(numpy_helper.from_array(array.astype(np.float32), name))
        nodes.append(helper.make_node("MatMul", [x, name], [f"{name}_y"], name=f"{name}_product"))
        return f"{name}_y"

    h = "x"
    for n in range(layers):
        gate, up = (product(h, f"l{n}_{part}", (width, 2 * width)) for part in ("gate", "up"))
        nodes.append(helper.make_node("Sigmoid", [gate], [f"l{n}_s"]))
        nodes.append(helper.make_node("Mul", [f"l{n}_s", up], [f"l{n}_m"]))
        down = product(f"l{n}_m", f"l{n}_down", (2 * width, width))
        nodes.append(helper.make_node("Add", [h, down], [f"l{n}_h"]))
        h = f"l{n}_h"
    logits = product(h, "head", (width, 2 * width))
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "decoder", [info("x", TensorProto.FLOAT, ["batch", "length", width])],
        [info(logits, TensorProto.FLOAT, ["batch", "length", 2 * width])], weights,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def theirs(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model as ONNX Runtime's quantizer writes it."""
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    logging.getLogger(MatMulNBitsQuantizer.__module__).setLevel(logging.WARNING)
    copy = onnx.ModelProto.FromString(model.SerializeToString())
    quantizer = MatMulNBitsQuantizer(
        copy, block_size=BLOCK, is_symmetric=True, accuracy_level=LEVEL
    )
    quantizer.process()
    return quantizer.model.model


def session(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    """A session with one thread."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options)


def measure(layers: int, width: int, repeat: int) -> dict[str, dict[str, float]]:
    """Bytes and time of one token against float, and the results against theirs."""
    model = decoder(layers, width)
    models = {
        "float": model,
        "ONNX Runtime": theirs(model),
        "ours, standard operators": ow.quantize_weights(model, 4, block=BLOCK),
        "ours, MatMulNBits": ow.quantize_weights(
            model, 4, block=BLOCK, target="onnxruntime", accuracy_level=LEVEL
        ),
    }
    feed = {"x": np.random.default_rng(1).standard_normal((1, 1, width)).astype(np.float32)}
    sessions = {name: session(made) for name, made in models.items()}
    results = {name: s.run(None, feed)[0] for name, s in sessions.items()}
    times: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(repeat):  # in turn, so that other work on the machine concerns all of them
        for name, one in sessions.items():
            start = time.perf_counter()
            one.run(None, feed)
            times[name].append(time.perf_counter() - start)
    best = {name: min(values) for name, values in times.items()}
    reference = results["ONNX Runtime"]
    return {
        name: {
            "bytes": models[name].ByteSize() / model.ByteSize(),
            "time": best[name] / best["float"],
            "time beside ONNX Runtime": best[name] / best["ONNX Runtime"],
            "difference from ONNX Runtime": float(np.abs(results[name] - reference).max()),
        }
        for name in models
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print ratios."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--repeat", type=int, default=30)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    figures: dict[str, Any] = measure(given.layers, given.width, given.repeat)
    if given.json:
        print(json.dumps(figures))
        return 0
    print(f"onnxruntime {onnxruntime.__version__}; ratios to float")
    print(f"{'':26} {'bytes':>7} {'time':>7} {'time/ORT':>9} {'difference':>11}")
    for name, row in figures.items():
        size, part, beside, difference = row.values()
        print(f"{name:26} {size:7.3f} {part:7.3f} {beside:9.3f} {difference:11.1e}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
