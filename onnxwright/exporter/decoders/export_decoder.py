"""`export_decoder`: a causal language model of transformers as a folder for runtimes."""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from onnxwright.exporter import checks
from onnxwright.exporter.api import export
from onnxwright.exporter.capture.inputs.cache_names import PRESENT
from onnxwright.exporter.decoders.example import decoder_example
from onnxwright.exporter.decoders.folder import copy_files, written_whole
from onnxwright.exporter.decoders.genai import genai_config, why_not
from onnxwright.exporter.decoders.greedy import Decoder, Expected, raise_differs
from onnxwright.exporter.decoders.report import DecoderReport, TokenCheck
from onnxwright.exporter.shown import shown
from onnxwright.quantize import quantize_weights, to_half

if TYPE_CHECKING:
    from onnxwright.exporter.program.onnx_program import ONNXProgram

_MODEL, _DATA, _CONFIG = "model.onnx", "model.onnx.data", "genai_config.json"
_WEIGHTS = ("float32", "float16", "int8", "int4")
# Of logits in ONNX Runtime and in PyTorch, as a part of the largest one.
_LARGEST_ERROR = 1e-2
_BITS = {"int8": 8, "int4": 4}


def export_decoder(
    model: Any,
    folder: str | Path,
    *,
    weights: str = "float32",
    target: str = "any",
    verify: bool = True,
    files: str | Path | None = None,
) -> DecoderReport:
    """Export a causal language model of transformers as a folder that runtimes generate text with.

    The folder gets `model.onnx` with its weights in `model.onnx.data`, and `genai_config.json` for
    onnxruntime-genai.  The model takes `input_ids` and `position_ids` `[batch, length]`,
    `attention_mask` `[batch, past + length]` (0 for padding, which is on the left) and the cache
    `past_key_values.0.key` ...; it returns `logits` and the longer cache, `present.0.key` ... .

    Args:
        model: a module such as `LlamaForCausalLM`, or the path of a folder of transformers, which
            is read with `AutoModelForCausalLM.from_pretrained(..., local_files_only=True)`.
        folder: where to write; files of the same names are replaced, others stay.
        weights: "float32"; "float16" (`to_half`, the cache and logits too); "int8" or "int4"
            (`quantize_weights`).
        target: "any": standard operators; "onnxruntime": four-bit weights in its own operators.
        verify: generate tokens greedily with the written model in ONNX Runtime and with
            transformers, for one row and for three rows with padding.
        files: a folder of which the tokenizer's files and the generation configuration are copied;
            that of the model, if it is a path.

    Returns:
        The report; printed, it is a table.  `report.tokens_equal` says whether the tokens of the
        written model are those of transformers, which rounded weights need not have.

    Raises:
        ExportError: the model cannot be exported (OW821 to OW824), or with `verify` its tokens
            before rounding are not those of transformers (OW828). `folder` is as it was.
        ExportValueError: an argument cannot be used, or the model is not a decoder (OW825).
        OSError: a file cannot be written.

    Source:
        transformers' `generate`; the config reference of onnxruntime-genai.

    Example:
        >>> import transformers
        >>> config = transformers.LlamaConfig(
        ...     vocab_size=50,
        ...     hidden_size=32,
        ...     intermediate_size=32,
        ...     num_hidden_layers=1,
        ...     num_attention_heads=4,
        ...     num_key_value_heads=2,
        ... )
        >>> report = export_decoder(transformers.LlamaForCausalLM(config), "llama", verify=False)
        >>> report.files, report.type
        (('genai_config.json', 'model.onnx', 'model.onnx.data'), 'llama')
    """
    checks.one_of("weights", weights, _WEIGHTS)
    checks.one_of("target", target, ("any", "onnxruntime"))
    seconds: dict[str, float] = {}
    if isinstance(model, (str, Path)):
        files = model if files is None else files
        with _timed(seconds, "load"):
            model = _loaded(Path(model))
    folder, source = Path(folder), None if files is None else Path(files)
    _check(model, folder, source)
    training = model.training
    model.eval()
    try:
        return _written(model, folder, weights, target, verify, source, seconds)
    finally:
        model.train(training)


def _check(model: Any, folder: Path, source: Path | None) -> None:
    config = getattr(model, "config", None)
    if not hasattr(config, "get_text_config") or not hasattr(model, "generate"):
        checks.raise_bad_argument(
            "model",
            f"an object of type {type(model).__name__} is not a causal language model",
            "give a model of transformers such as `LlamaForCausalLM(config)`, or its folder",
        )
    if getattr(config, "is_encoder_decoder", False):
        checks.raise_bad_argument(
            "model",
            f"{type(model).__name__} has an encoder and a decoder, which are two models",
            "export the encoder and the decoder with `ow.export`; `ow.cache_of(model)` makes the "
            "cache",
        )
    if folder.exists() and not folder.is_dir():
        checks.raise_bad_argument("folder", f"{folder} is a file", "give the path of a folder")
    if source is not None and not source.is_dir():
        checks.raise_bad_argument(
            "files", f"{source} is not a folder", "give the folder of the tokenizer"
        )


def _loaded(folder: Path) -> Any:
    """The model of a folder of transformers."""
    if not (folder / "config.json").is_file():
        checks.raise_bad_argument(
            "model",
            f"{shown(str(folder))} is not a folder with a `config.json`",
            "give a folder that `save_pretrained` wrote",
        )
    hub = importlib.import_module("transformers")
    return hub.AutoModelForCausalLM.from_pretrained(
        folder, local_files_only=True, dtype=torch.float32
    )


def _written(
    model: Any,
    folder: Path,
    weights: str,
    target: str,
    verify: bool,
    source: Path | None,
    seconds: dict[str, float],
) -> DecoderReport:
    with _timed(seconds, "export"):
        program = _exported(model)
    expected: Expected | None = None
    if verify:
        with _timed(seconds, "transformers"):
            expected = Expected(model)
    found: tuple[TokenCheck, ...] = ()
    notes: list[str] = []
    with written_whole(folder) as new:
        path = new / _MODEL
        if expected is not None or weights == "float32":
            program.save(path, external_data=True, location=_DATA)
        if expected is not None:
            with _timed(seconds, "verify"):
                found = _verified(expected, path)
        if weights != "float32":
            for file in new.iterdir():
                file.unlink()
            with _timed(seconds, weights):
                program = _smaller(program, weights, target)
                program.save(path, external_data=True, location=_DATA)
            if expected is not None:
                with _timed(seconds, f"verify {weights}"):
                    found = expected.compare(Decoder(path))
        size = sum(file.stat().st_size for file in new.iterdir())
        reason = why_not(program.model)
        kind = ""
        if reason:
            notes.append(f"no {_CONFIG}: {reason}")
        else:
            generation = getattr(model, "generation_config", None)
            config = genai_config(model.config, generation, program.model, _MODEL)
            kind = config["model"]["type"]
            (new / _CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        if source is not None:
            copy_files(source, new)
        names = tuple(sorted(file.name for file in new.iterdir()))
    nodes = sum(1 for _ in program.model.graph.all_nodes())
    return DecoderReport(
        folder, names, weights, target, kind, nodes, size, seconds, found, tuple(notes)
    )


def _exported(model: Any) -> ONNXProgram:
    """The program of a decoder, with the names that runtimes expect."""
    example = decoder_example(model)
    program = export(
        model, kwargs=example.kwargs, dynamic_shapes=example.dynamic_shapes, metadata="short"
    )
    others = [v for v in program.model.graph.outputs if not str(v.name).startswith(f"{PRESENT}.")]
    others[0].name = "logits"
    return program


def _smaller(program: ONNXProgram, weights: str, target: str) -> ONNXProgram:
    made: ONNXProgram
    if weights in _BITS:
        made = quantize_weights(program, _BITS[weights], target=target)
    else:
        made = to_half(program, "float16", io="half")
    return made


def _verified(expected: Expected, path: Path) -> tuple[TokenCheck, ...]:
    """The tokens of a model that is not rounded, which are those of transformers."""
    found = expected.compare(Decoder(path))
    wrong = [check for check in found if not check.ok or check.error > _LARGEST_ERROR]
    for check in wrong:
        what = f"tokens of batch {check.batch} that are those of transformers: {check}"
        notes: tuple[str, ...] = ()
        if all(each.padded for each in wrong):
            notes = (
                "without padding they are equal: the model does not use the mask as it should",
            )
        raise_differs(what, notes)
    return found


@contextmanager
def _timed(seconds: dict[str, float], step: str) -> Iterator[None]:
    begun = time.perf_counter()
    try:
        yield
    finally:
        seconds[step] = time.perf_counter() - begun


__all__ = ["export_decoder"]
