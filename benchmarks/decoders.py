"""A decoder exported as a folder, beside torch.onnx with a wrapper, and the builders of others.

The model is a Llama with random weights, in which the token after each one is likely, as in a
trained model. torch.onnx refuses a `DynamicCache`, so the wrapper takes and returns plain tensors,
as its users write it. The builder of onnxruntime-genai takes part where it is installed;
optimum-onnx, which needs an older transformers (0.1: before 4.58), in a process of its own with
the packages of `--optimum`, a folder that pip fills:

    pip install --no-deps --target FOLDER optimum-onnx optimum transformers==4.57.3 \
        huggingface-hub==0.36.0 tokenizers==0.22.1

Each exporter first exports a model of one layer, which is not counted. Export and
verification are seconds of the processor; all models generate tokens greedily, one at a time, with
one thread. The figures are ratios to the export of torch.onnx, which verifies nothing; the row
torch.export is the capture alone, which torch.onnx and `ow.export_decoder` begin with.

    python benchmarks/decoders.py [--layers 8] [--width 256] [--tokens 24] [--optimum FOLDER]
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import itertools
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
import transformers

import onnxwright as ow

_HEADS, _VOCABULARY = 4, 500
# Numbers of embeddings are so large that the layers change them without hiding the token.
_TOKEN_SIZE = 4.0


def llama(layers: int, width: int) -> Any:
    """A Llama with random weights, for which the next token of each is mostly that of its row."""
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=_VOCABULARY, hidden_size=width, intermediate_size=2 * width,
        num_hidden_layers=layers, num_attention_heads=_HEADS, num_key_value_heads=_HEADS // 2,
        initializer_range=0.1,
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config).eval()
    with torch.no_grad():
        # Rounding random weights alone to four bits changes logits by half of the largest one.
        tokens = model.get_input_embeddings().weight.normal_(std=_TOKEN_SIZE)
        model.lm_head.weight.copy_(tokens.roll(1, 0) / _TOKEN_SIZE)
    return model


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


def _wrapped(model: Any) -> tuple[Any, tuple[Any, ...], Any]:
    """The model with plain tensors, example inputs and which of their sizes are dynamic."""
    layers = ow.cache_of(model, batch=2, past=5).layers
    past = (*(x.keys for x in layers), *(x.values for x in layers))
    inputs = (
        torch.ones(2, 3, dtype=torch.long),
        torch.ones(2, 8, dtype=torch.long),
        torch.arange(5, 8).expand(2, 3).clone(),
        *past,
    )
    auto = torch.export.Dim.AUTO
    tokens = {0: auto, 1: auto}
    return Wrapped(model), inputs, (tokens, tokens, tokens, tuple({0: auto, 2: auto} for _ in past))


def capture_alone(model: Any) -> None:
    """The first step of torch.onnx."""
    module, inputs, shapes = _wrapped(model)
    with torch.no_grad():
        torch.export.export(module, inputs, dynamic_shapes=shapes, strict=False)


def theirs(model: Any, path: Path) -> None:
    """The model as torch.onnx exports it."""
    module, inputs, shapes = _wrapped(model)
    layers = (len(inputs) - 3) // 2
    names = [f"{n}.{part}" for part in ("key", "value") for n in range(layers)]
    torch.onnx.export(
        module,
        inputs,
        str(path),
        input_names=[
            "input_ids",
            "attention_mask",
            "position_ids",
            *(f"past_key_values.{n}" for n in names),
        ],
        output_names=["logits", *(f"present.{n}" for n in names)],
        dynamic_shapes=shapes,
        dynamo=True,
        optimize=True,
        verbose=False,
    )


def with_genai(model: Any, folder: Path) -> None:
    """The model as the builder of onnxruntime-genai writes it."""
    from onnxruntime_genai.models import builder

    source = _saved(model, folder)
    given = ("", str(source), str(folder), "fp32", "cpu", str(folder / "cache"))
    with contextlib.redirect_stdout(io.StringIO()):
        options = builder.parse_extra_options(*given, ["hf_token=false"])
        builder.create_model(*given, **options)


# What runs in the process of optimum-onnx: it prints the seconds of the processor.
_OPTIMUM = """
import sys, time
from optimum.exporters.onnx import main_export
start = time.process_time()
main_export(*sys.argv[1:], task="text-generation-with-past", do_validation=False)
print("seconds", time.process_time() - start)
"""


def with_optimum(model: Any, folder: Path, packages: Path) -> float:
    """The model as optimum-onnx writes it; the seconds of the export."""
    source = _saved(model, folder)
    own = f"{packages}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    done = subprocess.run(
        [sys.executable, "-c", _OPTIMUM, str(source), str(folder)],
        env=os.environ | {"PYTHONPATH": own}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    seconds = re.search("^seconds (.*)$", done.stdout, re.MULTILINE)
    if done.returncode or seconds is None:
        raise RuntimeError(done.stderr[-300:])
    return float(seconds[1])


def _saved(model: Any, folder: Path) -> Path:
    """The folder of transformers that a builder reads, with a tokenizer of one word."""
    from tokenizers import Tokenizer, models

    source = folder.parent / "source"
    model.save_pretrained(source)
    words = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))  # noqa: S106 - a word
    transformers.PreTrainedTokenizerFast(tokenizer_object=words).save_pretrained(source)
    return source


_GENAI, _OTHER = "onnxruntime-genai", "optimum-onnx"
_PEERS = (_GENAI, _OTHER)


def is_installed(module: str) -> bool:
    """Whether a module can be imported."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


@dataclass(frozen=True)
class Generated:
    """What a model generates after a prompt.

    Fields:
        tokens: the greedy tokens.
        logits: those of the prompt.
        seconds: of one token.
    """

    tokens: list[int]
    logits: Any
    seconds: float

    def equal(self, other: Generated) -> float:
        """The part of the tokens up to the first that differs."""
        pairs = zip(self.tokens, other.tokens, strict=True)
        return len(list(itertools.takewhile(lambda p: p[0] == p[1], pairs))) / len(self.tokens)

    def error(self, other: Generated) -> float:
        """The largest difference of a logit of the prompt, as a part of the largest one."""
        return float(np.abs(self.logits - other.logits).max() / np.abs(other.logits).max())


def generated(path: Path, tokens: int, size: int) -> Generated:
    """Greedy tokens after a prompt; heads have a size."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    # Activations beside four-bit weights are not rounded, neither here nor in MatMulNBits.
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    session = onnxruntime.InferenceSession(str(path), options)
    inputs = {v.name: v.shape for v in session.get_inputs()}
    outputs = [v.name for v in session.get_outputs()]
    past = {
        name: np.zeros((1, shape[1], 0, size), np.float32)
        for name, shape in inputs.items()
        if name.startswith("past")
    }
    ids = np.arange(1, 9)[None]
    mask = np.ones_like(ids)
    found: list[int] = []
    logits = []
    times = []
    for _ in range(tokens):
        places = (mask.cumsum(1) - 1)[:, -ids.shape[1] :]
        given = {"input_ids": ids, "attention_mask": mask, "position_ids": places, **past}
        feeds = {name: given[name] for name in inputs}
        start = time.perf_counter()
        values = session.run(None, feeds)
        times.append(time.perf_counter() - start)
        results = dict(zip(outputs, values, strict=True))
        logits.append(results["logits"])
        ids = results["logits"][:, -1].argmax(-1)[:, None]
        found.append(int(ids[0, 0]))
        mask = np.concatenate([mask, np.ones_like(ids)], 1)
        past = {name: results[name.replace("past_key_values", "present")] for name in past}
    return Generated(found, logits[0], float(np.median(times[1:])))


_OURS = ("float32", "int4")
_CAPTURE = "torch.export"


def _seconds(
    kind: str, model: Any, folder: Path, packages: Path | None, *, verify: bool = False
) -> float:
    """Export, and give the seconds of the processor."""
    folder.mkdir()
    start = time.process_time()
    if kind == "torch.onnx":
        theirs(model, folder / "model.onnx")
    elif kind == _CAPTURE:
        capture_alone(model)
    elif kind in _OURS:
        ow.export_decoder(model, folder, weights=kind, verify=verify)
    elif kind == _GENAI:
        with_genai(model, folder)
    elif packages is not None:
        return with_optimum(model, folder, packages)
    return time.process_time() - start


def _is_there(kind: str, packages: Path | None) -> bool:
    """Whether an exporter can run, with a word on standard error where it cannot."""
    if kind == _GENAI and not is_installed("onnxruntime_genai.models.builder"):
        print(f"{kind} is not installed", file=sys.stderr)
        return False
    if kind == _OTHER and packages is None:
        print(f"{kind} needs --optimum", file=sys.stderr)
        return False
    return True


def measure(
    layers: int, width: int, tokens: int, only: Sequence[str] = (), packages: Path | None = None
) -> dict[str, dict[str, float]]:
    """Time of export, nodes, bytes and time of a token, as parts of those of torch.onnx.

    Args:
        layers, width: the size of the model.
        tokens: how many are generated.
        only: what is measured beside torch.onnx; all if not given.
        packages: the folder of the packages of optimum-onnx.

    Returns:
        Ratios for each exporter; one that is not installed or fails is left out, with a word on
        standard error.
    """
    small, model = llama(1, width), llama(layers, width)
    rows: dict[str, dict[str, float]] = {}
    base: dict[str, float] = {}
    first: Generated | None = None
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in ("torch.onnx", _CAPTURE, *_OURS, *_PEERS):
            if kind != "torch.onnx" and only and kind not in only:
                continue
            if not _is_there(kind, packages):
                continue
            folder = Path(name) / kind
            try:
                _seconds(kind, small, Path(name) / f"{kind} before", packages)
                row = {"export": _seconds(kind, model, folder, packages)}
            except Exception as error:
                if kind not in _PEERS:
                    raise
                print(f"{kind} fails: {error}", file=sys.stderr)
                continue
            if kind in _OURS:
                new = Path(name) / f"{kind} verified"
                both = _seconds(kind, model, new, packages, verify=True)
                row["verification"] = both - row["export"]
            if kind != _CAPTURE:
                path = folder / "model.onnx"
                row["nodes"] = sum(1 for _ in ow.load(path).graph.all_nodes())
                row["bytes"] = sum(f.stat().st_size for f in folder.glob("model.onnx*"))
                made = generated(path, tokens, width // _HEADS)
                first = first or made
                row["a token"] = made.seconds
            base = base or row | {"verification": row["export"]}
            rows[kind] = {key: value / base[key] for key, value in row.items()}
            if kind != _CAPTURE:
                rows[kind] |= {"equal tokens": made.equal(first), "logits": made.error(first)}
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print ratios."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--tokens", type=int, default=24)
    parser.add_argument("--only", nargs="+", choices=(_CAPTURE, *_OURS, *_PEERS), default=[])
    parser.add_argument("--optimum", type=Path)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    figures = measure(given.layers, given.width, given.tokens, given.only, given.optimum)
    if given.json:
        print(json.dumps(figures))
        return 0
    names = ["torch", "transformers", "onnxruntime", *(k for k in figures if k in _PEERS)]
    if given.optimum is not None:
        sys.path.append(str(given.optimum))  # its versions can be read
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in names)
    print(f"{versions}; ratios to torch.onnx")
    for kind, row in figures.items():
        print(f"{kind:12}", ", ".join(f"{name} {value:.2g}" for name, value in row.items()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
