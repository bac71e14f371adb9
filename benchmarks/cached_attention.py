"""Attention over a cache in ONNX Runtime: Concat before it, the cache inside, GroupQueryAttention.

One token (or several) of a decoder with 16 heads of 64 that read 4 heads of keys and values, after
some tokens, with one thread; the figures are ratios to Concat and Attention.

    python benchmarks/cached_attention.py [--past 64 512 2048] [--repeat 40] [--json]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

_HEADS, _READ, _SIZE = 16, 4, 64
_BEFORE, _INSIDE, _GROUPED = "Concat and Attention", "Attention with past", "GroupQueryAttention"


def _session(nodes: list[Any], inputs: dict[str, Any], outputs: dict[str, Any]) -> Any:
    def infos(values: dict[str, Any]) -> list[Any]:
        return [
            helper.make_tensor_value_info(name, kind, shape)
            for name, (kind, shape) in values.items()
        ]

    graph = helper.make_graph(nodes, "attention", infos(inputs), infos(outputs))
    opsets = [helper.make_opsetid("", 24), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=11)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options)


def sessions() -> dict[str, Any]:
    """A session for each way."""
    real, truth, whole = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT32
    cache = {n: (real, [1, _READ, "past", _SIZE]) for n in ("past_key", "past_value")}
    longer = {n: (real, [1, _READ, "total", _SIZE]) for n in ("key", "value")}
    plain = {
        "q": (real, [1, _HEADS, "length", _SIZE]),
        "k": (real, [1, _READ, "length", _SIZE]),
        "v": (real, [1, _READ, "length", _SIZE]),
        "mask": (truth, [1, 1, "length", "total"]),
        **cache,
    }
    result = {"y": (real, [1, _HEADS, "length", _SIZE]), **longer}
    node = helper.make_node
    before = [
        node("Concat", ["past_key", "k"], ["key"], axis=2),
        node("Concat", ["past_value", "v"], ["value"], axis=2),
        node("Attention", ["q", "key", "value", "mask"], ["y"]),
    ]
    names = ["q", "k", "v", "mask", "past_key", "past_value"]
    inside = [node("Attention", names, ["y", "key", "value"])]
    rows = {
        "q": (real, [1, "length", _HEADS * _SIZE]),
        "k": (real, [1, "length", _READ * _SIZE]),
        "v": (real, [1, "length", _READ * _SIZE]),
        **cache,
        "last": (whole, [1]),
        "total_length": (whole, []),
    }
    grouped = [
        node(
            "GroupQueryAttention", list(rows), ["y", "key", "value"], domain="com.microsoft",
            num_heads=_HEADS, kv_num_heads=_READ,
        )
    ]  # fmt: skip
    return {
        _BEFORE: _session(before, plain, result),
        _INSIDE: _session(inside, plain, result),
        _GROUPED: _session(grouped, rows, {"y": rows["q"], **longer}),
    }


def feeds(past: int, length: int) -> dict[str, dict[str, Any]]:
    """The same numbers for each way."""
    rng = np.random.default_rng(0)

    def drawn(heads: int, size: int) -> Any:
        return rng.standard_normal((1, heads, size, _SIZE)).astype(np.float32)

    plain = {
        "q": drawn(_HEADS, length), "k": drawn(_READ, length), "v": drawn(_READ, length),
        "past_key": drawn(_READ, past), "past_value": drawn(_READ, past),
        "mask": np.tril(np.ones((1, 1, length, past + length), bool), past),
    }  # fmt: skip
    rows = dict(plain)
    del rows["mask"]
    for name in ("q", "k", "v"):
        rows[name] = np.ascontiguousarray(plain[name].swapaxes(1, 2)).reshape(1, length, -1)
    rows["last"] = np.array([past + length - 1], np.int32)
    rows["total_length"] = np.array(past + length, np.int32)
    return {_BEFORE: plain, _INSIDE: plain, _GROUPED: rows}


def measure(pasts: Sequence[int], repeat: int) -> dict[str, dict[str, float]]:
    """The time of each way, as a part of that of Concat and Attention."""
    figures = {}
    made = sessions()
    for past, length in [*((past, 1) for past in pasts), (64, 64)]:
        given = feeds(past, length)
        times: dict[str, list[float]] = {name: [] for name in made}
        results = {}
        for _ in range(repeat):  # in turn, so that other work on the machine concerns all of them
            for name, session in made.items():
                start = time.perf_counter()
                results[name] = session.run(None, given[name])
                times[name].append(time.perf_counter() - start)
        whole = results[_GROUPED][0].reshape(1, length, _HEADS, _SIZE).swapaxes(1, 2)
        for value in (results[_INSIDE][0], whole):
            np.testing.assert_allclose(value, results[_BEFORE][0], atol=1e-4)
        best = {name: min(values) for name, values in times.items()}
        figures[f"{length} after {past}"] = {n: t / best[_BEFORE] for n, t in best.items()}
    return figures


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print ratios."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--past", type=int, nargs="+", default=[64, 512, 2048])
    parser.add_argument("--repeat", type=int, default=40)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    figures = measure(given.past, given.repeat)
    if given.json:
        print(json.dumps(figures))
        return 0
    print(f"onnxruntime {onnxruntime.__version__}; ratios to {_BEFORE}")
    for tokens, row in figures.items():
        print(f"{tokens:16}", ", ".join(f"{name} {value:.2f}" for name, value in row.items()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
