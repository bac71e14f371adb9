"""Operators of com.microsoft, timed beside the nodes that they take the place of.

Each pair is one small model in two forms, run by the default session (its own optimizations on, or
off with `--plain`) with one thread and with two, in turn, at the sizes of BERT-base and of a small
Llama.

    python benchmarks/contrib.py [NAME ...] [--plain]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime

HEAD = '<ir_version: 10, opset_import: ["" : {opset}, "com.microsoft" : 1]>'
SIZES = {"BERT-base": (128, 768, 12, 12), "small Llama": (128, 2048, 32, 8)}


class Pair(NamedTuple):
    """Two graphs that compute the same.

    Fields:
        plain: standard operators.
        fused: the operators of com.microsoft.
        inputs: name -> shape; letters are batch, length, hidden, 4 * hidden (f), heads (n), groups,
            size, channels and image.
        weights: likewise, held by the model.
        opset: the version of the standard opset.
    """

    plain: str
    fused: str
    inputs: dict[str, str]
    weights: dict[str, str]
    opset: int = 20
    constants: str = ""


PAIRS = {
    "FusedMatMul (transB, alpha)": Pair(
        "t = Transpose<perm=[0,1,3,2]>(k)  p = MatMul(q, t)  y = Mul(p, c)",
        "y = com.microsoft.FusedMatMul<transB=1, alpha=0.125>(q, k)",
        {"q": "bnls", "k": "bnls"}, {}, constants="float c = {0.125}",
    ),
    "FusedMatMul (transA)": Pair(
        "t = Transpose<perm=[0,1,3,2]>(q)  y = MatMul(t, k)",
        "y = com.microsoft.FusedMatMul<transA=1>(q, k)",
        {"q": "bnls", "k": "bnls"}, {},
    ),
    "FusedMatMul (alpha)": Pair(
        "p = MatMul(q, k)  y = Mul(p, c)",
        "y = com.microsoft.FusedMatMul<alpha=0.125>(q, k)",
        {"q": "bnls", "k": "bnsl"}, {}, constants="float c = {0.125}",
    ),
    "BiasGelu": Pair(
        "a = Add(x, w)  y = Gelu(a)", "y = com.microsoft.BiasGelu(x, w)", {"x": "blf"}, {"w": "f"}
    ),
    "FastGelu": Pair(
        'y = Gelu<approximate="tanh">(x)', "y = com.microsoft.FastGelu(x)", {"x": "blf"}, {}
    ),
    "FastGelu with a bias": Pair(
        'a = Add(x, w)  y = Gelu<approximate="tanh">(a)', "y = com.microsoft.FastGelu(x, w)",
        {"x": "blf"}, {"w": "f"},
    ),
    "QuickGelu": Pair(
        "a = Mul(x, c)  s = Sigmoid(a)  y = Mul(x, s)",
        "y = com.microsoft.QuickGelu<alpha=1.702>(x)",
        {"x": "blf"}, {}, constants="float c = {1.702}",
    ),
    "QuickGelu (alpha 1)": Pair(
        "s = Sigmoid(x)  y = Mul(x, s)", "y = com.microsoft.QuickGelu<alpha=1.0>(x)",
        {"x": "blf"}, {},
    ),
    "FusedConv": Pair(
        "c = Conv<pads=[1,1,1,1]>(x, w, b)  y = Relu(c)",
        'y = com.microsoft.FusedConv<pads=[1,1,1,1], activation="Relu">(x, w, b)',
        {"x": "bcii"}, {"w": "cc33", "b": "c"},
    ),
    "FusedGemm": Pair(
        "c = Gemm(x, w, v)  y = Relu(c)",
        'y = com.microsoft.FusedGemm<activation="Relu">(x, w, v)',
        {"x": "lh"}, {"w": "hf", "v": "f"},
    ),
    "SkipLayerNormalization": Pair(
        "a = Add(x, z)  y = LayerNormalization<epsilon=1e-5>(a, w, v)",
        "y = com.microsoft.SkipLayerNormalization<epsilon=1e-5>(x, z, w, v)",
        {"x": "blh", "z": "blh"}, {"w": "h", "v": "h"},
    ),
    "SkipSimplifiedLayerNormalization": Pair(
        "a = Add(x, z)  y = RMSNormalization<epsilon=1e-5>(a, w)",
        "y = com.microsoft.SkipSimplifiedLayerNormalization<epsilon=1e-5>(x, z, w)",
        {"x": "blh", "z": "blh"}, {"w": "h"}, opset=23,
    ),
    "MultiHeadAttention": Pair(
        "q4 = Reshape(q, s)  k4 = Reshape(k, s)  v4 = Reshape(v, s)  "
        "qt = Transpose<perm=[0,2,1,3]>(q4)  kt = Transpose<perm=[0,2,3,1]>(k4)  "
        "vt = Transpose<perm=[0,2,1,3]>(v4)  a = MatMul(qt, kt)  m = Mul(a, c)  "
        "p = Softmax<axis=-1>(m)  o = MatMul(p, vt)  ot = Transpose<perm=[0,2,1,3]>(o)  "
        "y = Reshape(ot, r)",
        "y = com.microsoft.MultiHeadAttention<num_heads={n}, scale={scale}>(q, k, v)",
        {"q": "blh", "k": "blh", "v": "blh"}, {},
        constants="float c = {{scale}}, int64[4] s = {0, 0, {n}, {s}}, int64[3] r = {0, 0, {h}}",
    ),
    "Attention of rows (opset 23)": Pair(
        "q4 = Reshape(q, s)  k4 = Reshape(k, s)  v4 = Reshape(v, s)  "
        "qt = Transpose<perm=[0,2,1,3]>(q4)  kt = Transpose<perm=[0,2,1,3]>(k4)  "
        "vt = Transpose<perm=[0,2,1,3]>(v4)  o = Attention<scale={scale}>(qt, kt, vt)  "
        "ot = Transpose<perm=[0,2,1,3]>(o)  y = Reshape(ot, r)",
        "y = Attention<q_num_heads={n}, kv_num_heads={n}, scale={scale}>(q, k, v)",
        {"q": "blh", "k": "blh", "v": "blh"}, {}, opset=23,
        constants="int64[4] s = {0, 0, {n}, {s}}, int64[3] r = {0, 0, {h}}",
    ),
    "Attention (opset 23)": Pair(
        "kt = Transpose<perm=[0,1,3,2]>(k)  a = MatMul(q, kt)  m = Mul(a, c)  "
        "p = Softmax<axis=-1>(m)  y = MatMul(p, v)",
        "y = Attention<scale={scale}>(q, k, v)",
        {"q": "bnls", "k": "bnls", "v": "bnls"}, {}, opset=23, constants="float c = {{scale}}",
    ),
    "GroupQueryAttention": Pair(
        "q4 = Reshape(q, s)  k4 = Reshape(k, t)  v4 = Reshape(v, t)  "
        "qt = Transpose<perm=[0,2,1,3]>(q4)  kt = Transpose<perm=[0,2,1,3]>(k4)  "
        "vt = Transpose<perm=[0,2,1,3]>(v4)  "
        "o = Attention<scale={scale}, is_causal=1>(qt, kt, vt)  "
        "ot = Transpose<perm=[0,2,1,3]>(o)  y = Reshape(ot, r)",
        "y, pk, pv = com.microsoft.GroupQueryAttention<num_heads={n}, kv_num_heads={g}, "
        'scale={scale}>(q, k, v, "", "", last, total)',
        {"q": "blh", "k": "blk", "v": "blk"}, {}, opset=23,
        constants="int64[4] s = {0, 0, {n}, {s}}, int64[4] t = {0, 0, {g}, {s}}, "
        "int64[3] r = {0, 0, {h}}, int32[{b}] last = {{lasts}}, int32 total = {{l}}",
    ),
    "Q, K and V by one product": Pair(
        "q = MatMul(x, w)  k = MatMul(x, w)  u = MatMul(x, w)  y = Sum(q, k, u)",
        "w3 = Concat<axis=1>(w, w, w)  a = MatMul(x, w3)  "
        "q, k, u = Split<axis=2, num_outputs=3>(a)  y = Sum(q, k, u)",
        {"x": "blh"}, {"w": "hh"},
    ),
}  # fmt: skip


def sizes_of(model: str, batch: int) -> dict[str, int]:
    """What the letters mean for a model."""
    length, hidden, heads, groups = SIZES[model]
    size = hidden // heads
    return {"b": batch, "l": length, "h": hidden, "f": 4 * hidden, "n": heads, "g": groups,
            "s": size, "k": groups * size, "c": 64, "i": 56, "3": 3}  # fmt: skip


def filled(text: str, sizes: dict[str, int]) -> str:
    """A text with sizes for the letters in braces."""
    known = {**{k: str(v) for k, v in sizes.items()}, "scale": repr(sizes["s"] ** -0.5)}
    known["lasts"] = ", ".join([str(sizes["l"] - 1)] * sizes["b"])
    for name, value in known.items():
        text = text.replace("{" + name + "}", value)
    return text


def model_of(pair: Pair, body: str, sizes: dict[str, int]) -> onnx.ModelProto:
    """The model of one form of a pair."""
    rng = np.random.default_rng(0)
    inputs = ", ".join(
        f"float[{', '.join(str(sizes[c]) for c in s)}] {n}" for n, s in pair.inputs.items()
    )
    held = f"<{filled(pair.constants, sizes)}>" if pair.constants else ""
    head, nodes = HEAD.format(opset=pair.opset), filled(body, sizes)
    model = onnx.parser.parse_model(f"{head} g ({inputs}) => (float y) {held} {{ {nodes} }}")
    model.graph.output[0].type.tensor_type.ClearField("shape")
    used = {i for n in model.graph.node for i in n.input}
    for name, letters in pair.weights.items():
        array = rng.normal(size=[sizes[c] for c in letters]).astype(np.float32) * 0.02
        if name in used:
            model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return model


def session(model: onnx.ModelProto, threads: int, plain: bool) -> onnxruntime.InferenceSession:
    """A session of so many threads, a default one or one without optimizations."""
    options = onnxruntime.SessionOptions()
    if plain:
        level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.graph_optimization_level = level
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def in_turn(runs: Sequence[Callable[[], Any]], seconds: float) -> list[float]:
    """The least seconds of each of several calls, which take turns: others use the machine, too."""
    taken: list[list[float]] = [[] for _ in runs]
    for run in runs:
        run()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(taken[0]) < 5:
        for run, times in zip(runs, taken, strict=True):
            begun = time.perf_counter()
            run()
            times.append(time.perf_counter() - begun)
    return [min(t) for t in taken]


def measured(
    pair: Pair, model: str, batch: int, threads: int, seconds: float, plain: bool
) -> tuple[float, ...]:
    """Milliseconds of the plain and of the fused form, and the largest difference."""
    sizes = sizes_of(model, batch)
    rng = np.random.default_rng(1)
    feeds = {
        n: rng.normal(size=[sizes[c] for c in s]).astype(np.float32) for n, s in pair.inputs.items()
    }
    both = [
        session(model_of(pair, body, sizes), threads, plain) for body in (pair.plain, pair.fused)
    ]
    a, b = (s.run(None, feeds)[0] for s in both)
    different = float(np.abs(a - b).max())
    first, second = in_turn([lambda s=s: s.run(["y"], feeds) for s in both], seconds)
    return 1e3 * first, 1e3 * second, different


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each pair, model, batch and number of threads."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="parts of names of pairs")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each measurement")
    parser.add_argument("--batch", type=int, action="append", help="default: 1 and 8")
    parser.add_argument("--threads", type=int, action="append", help="default: 1 and 2")
    parser.add_argument("--plain", action="store_true", help="without the session's optimizations")
    parser.add_argument("--model", action="append", choices=list(SIZES))
    options = parser.parse_args(arguments)
    for name, pair in PAIRS.items():
        if options.names and not any(part in name for part in options.names):
            continue
        for model in options.model or SIZES:
            for batch in options.batch or (1, 8):
                for threads in options.threads or (1, 2):
                    row = f"{name:34} {model:12} batch {batch} threads {threads}"
                    try:
                        a, b, off = measured(
                            pair, model, batch, threads, options.seconds, options.plain
                        )
                    except Exception as error:  # noqa: BLE001 - a kernel refuses: that is a result
                        print(f"{row}  {str(error)[:150]}")
                        continue
                    print(
                        f"{row}  {a:9.3f} ms {b:9.3f} ms  {b / a:5.2f}  off by {off:.1e}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
