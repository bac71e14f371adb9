"""A decoder exported as a folder, beside torch.onnx with a wrapper, and the builders of others.

The model is a Llama with random weights. torch.onnx refuses a `DynamicCache`, so the wrapper takes
and returns plain tensors, as its users write it. The builder of onnxruntime-genai and optimum-onnx
take part where they are installed. All models generate tokens greedily, one at a time, with one
thread; the figures are ratios to torch.onnx.

    python benchmarks/decoders.py [--layers 8] [--width 256] [--tokens 24] [--json]
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import logging
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
import transformers

import onnxwright as ow

_HEADS, _VOCABULARY = 4, 500


def llama(layers: int, width: int) -> Any:
    """A Llama with random weights."""
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=_VOCABULARY, hidden_size=width, intermediate_size=2 * width,
        num_hidden_layers=layers, num_attention_heads=_HEADS, num_key_value_heads=_HEADS // 2,
        initializer_range=0.1,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config).eval()


class Wrapped(torch.nn.Module):
    """The model with tensors in place of its cache: all keys, then all values."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Any, attention_mask: Any, position_ids: Any, *past: Any) -> Any:
        """Logits, and the keys and values with the new tokens."""
        count = len(past) // 2
        cache = transformers.DynamicCache(list(zip(past[:count], past[count:], strict=True)))
        result = self.model(
            input_ids=input_ids, attention_mask=attention_mask, position_ids=position_ids,
            cache=cache, use_cache=True,
        )  # fmt: skip
        layers = cache.layers
        return result.logits, *(x.keys for x in layers), *(x.values for x in layers)


def theirs(model: Any, path: Path) -> None:
    """The model as torch.onnx exports it."""
    layers = ow.cache_of(model, batch=2, past=5).layers
    past = (*(x.keys for x in layers), *(x.values for x in layers))
    names = [f"{n}.{part}" for part in ("key", "value") for n in range(len(layers))]
    auto = torch.export.Dim.AUTO
    tokens = {0: auto, 1: auto}
    torch.onnx.export(
        Wrapped(model),
        (
            torch.ones(2, 3, dtype=torch.long),
            torch.ones(2, 8, dtype=torch.long),
            torch.arange(5, 8).expand(2, 3).clone(),
            *past,
        ),
        str(path),
        input_names=[
            "input_ids",
            "attention_mask",
            "position_ids",
            *(f"past_key_values.{n}" for n in names),
        ],
        output_names=["logits", *(f"present.{n}" for n in names)],
        dynamic_shapes=(tokens, tokens, tokens, tuple({0: auto, 2: auto} for _ in past)),
        dynamo=True,
        verbose=False,
    )


def with_genai(model: Any, folder: Path) -> None:
    """The model as the builder of onnxruntime-genai writes it."""
    from onnxruntime_genai.models.builder import create_model

    source = _saved(model, folder)
    with contextlib.redirect_stdout(io.StringIO()):
        create_model("", str(source), str(folder), "fp32", "cpu", str(folder / "cache"))


def with_optimum(model: Any, folder: Path) -> None:
    """The model as optimum-onnx writes it."""
    from optimum.exporters.onnx import main_export

    source = _saved(model, folder)
    main_export(str(source), folder, task="text-generation-with-past", do_validation=False)


def _saved(model: Any, folder: Path) -> Path:
    """The folder of transformers that a builder reads, with a tokenizer of one word."""
    from tokenizers import Tokenizer, models

    source = folder.parent / "source"
    model.save_pretrained(source)
    words = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))  # noqa: S106 - a word
    transformers.PreTrainedTokenizerFast(tokenizer_object=words).save_pretrained(source)
    return source


# What is measured beside torch.onnx: the module that must be installed, and how it is called.
_PEERS = {
    "onnxruntime-genai": ("onnxruntime_genai.models.builder", with_genai),
    "optimum-onnx": ("optimum.exporters.onnx", with_optimum),
}


def is_installed(module: str) -> bool:
    """Whether a module can be imported."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def generated(path: Path, tokens: int) -> tuple[list[int], float]:
    """Greedy tokens after a prompt, and the seconds of one of them."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options)
    inputs = {v.name: v.shape for v in session.get_inputs()}
    outputs = [v.name for v in session.get_outputs()]
    past = {
        name: np.zeros((1, shape[1], 0, shape[3]), np.float32)
        for name, shape in inputs.items()
        if name.startswith("past")
    }
    ids = np.arange(1, 9)[None]
    mask = np.ones_like(ids)
    found: list[int] = []
    times = []
    for _ in range(tokens):
        places = (mask.cumsum(1) - 1)[:, -ids.shape[1] :]
        given = {"input_ids": ids, "attention_mask": mask, "position_ids": places, **past}
        feeds = {name: given[name] for name in inputs}
        start = time.perf_counter()
        values = session.run(None, feeds)
        times.append(time.perf_counter() - start)
        results = dict(zip(outputs, values, strict=True))
        ids = results["logits"][:, -1].argmax(-1)[:, None]
        found.append(int(ids[0, 0]))
        mask = np.concatenate([mask, np.ones_like(ids)], 1)
        past = {name: results[name.replace("past_key_values", "present")] for name in past}
    return found, float(np.median(times[1:]))


_OURS = ("float32", "int4")


def _export(kind: str, model: Any, folder: Path) -> None:
    if kind == "torch.onnx":
        theirs(model, folder / "model.onnx")
    elif kind in _OURS:
        ow.export_decoder(model, folder, weights=kind, verify=False)
    else:
        _PEERS[kind][1](model, folder)


def measure(
    layers: int, width: int, tokens: int, only: Sequence[str] = ()
) -> dict[str, dict[str, float]]:
    """Time of export, nodes, bytes and time of a token, as parts of those of torch.onnx.

    Args:
        layers, width: the size of the model.
        tokens: how many are generated.
        only: what is measured beside torch.onnx; all if not given.

    Returns:
        Ratios for each exporter; one that is not installed or fails is left out, with a word on
        standard error.
    """
    model = llama(layers, width)
    rows: dict[str, list[float]] = {}
    first: list[int] = []
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in ("torch.onnx", *_OURS, *_PEERS):
            if kind != "torch.onnx" and only and kind not in only:
                continue
            if kind in _PEERS and not is_installed(_PEERS[kind][0]):
                print(f"{kind} is not installed", file=sys.stderr)
                continue
            folder = Path(name) / kind
            folder.mkdir()
            start = time.perf_counter()
            try:
                _export(kind, model, folder)
            except Exception as error:
                if kind not in _PEERS:
                    raise
                print(f"{kind} fails: {error}", file=sys.stderr)
                continue
            seconds = time.perf_counter() - start
            size = sum(f.stat().st_size for f in folder.glob("model.onnx*"))
            nodes = sum(1 for _ in ow.load(folder / "model.onnx").graph.all_nodes())
            made, token = generated(folder / "model.onnx", tokens)
            first = first or made
            equal = sum(a == b for a, b in zip(first, made, strict=True)) / tokens
            rows[kind] = [seconds, nodes, size, token, equal]
    names = ("export time", "nodes", "bytes", "time of a token")
    base = rows["torch.onnx"]
    return {
        kind: {n: row[i] / base[i] for i, n in enumerate(names)} | {"equal tokens": row[-1]}
        for kind, row in rows.items()
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print ratios."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--tokens", type=int, default=24)
    parser.add_argument("--only", nargs="+", choices=(*_OURS, *_PEERS), default=[])
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    logging.disable(logging.WARNING)
    figures = measure(given.layers, given.width, given.tokens, given.only)
    if given.json:
        print(json.dumps(figures))
        return 0
    versions = ", ".join(
        f"{name} {metadata.version(name)}"
        for name in ("torch", "transformers", "onnxruntime", *(k for k in figures if k in _PEERS))
    )
    print(f"{versions}; ratios to torch.onnx")
    for kind, row in figures.items():
        print(f"{kind:12}", ", ".join(f"{name} {value:.2f}" for name, value in row.items()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
