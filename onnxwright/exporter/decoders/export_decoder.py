"""`export_decoder`: a language model of transformers as a folder for runtimes."""

from __future__ import annotations

import copy
import importlib
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from onnxwright.exporter import checks, progress
from onnxwright.exporter.decoders.files import CONFIG, copy_files, exported, written_whole
from onnxwright.exporter.decoders.greedy import Decoder, Expected, raise_differs
from onnxwright.exporter.decoders.report import DecoderReport, TokenCheck
from onnxwright.exporter.shown import shown

_HALF = (torch.float16, torch.bfloat16)
_WEIGHTS = ("float32", "float16", "int8", "int4")
# Of logits in ONNX Runtime and in PyTorch, as a part of the largest one.
_LARGEST_ERROR = 1e-2


def export_decoder(
    model: Any,
    folder: str | Path,
    *,
    weights: str = "float32",
    target: str = "any",
    verify: bool = True,
    files: str | Path | None = None,
    inputs: Mapping[str, Any] | None = None,
) -> DecoderReport:
    """Export a language model of transformers as a folder that runtimes generate text with.

    The folder gets `model.onnx` with its weights in `model.onnx.data`, and `genai_config.json` for
    onnxruntime-genai.  The model takes `input_ids` and `position_ids` `[batch, length]`,
    `attention_mask` `[batch, past + length]` (0 for padding, which is on the left) and the cache
    `past_key_values.0.key` ...; it returns `logits` and the longer cache, `present.0.key` ... .

    A model with an encoder and a decoder (`config.is_encoder_decoder`) is written as two files.
    `encoder.onnx` returns `encoder_hidden_states` and the keys and values that the decoder reads of
    them, `present.0.encoder.key` ...; `decoder.onnx` takes these as `past_key_values.0.encoder.key`
    ... beside `input_ids` and its own cache, `past_key_values.0.decoder.key` ..., which is empty
    for the first call.  The configuration is `decoder_config.json` where onnxruntime-genai has no
    type for the model.

    Args:
        model: a module such as `LlamaForCausalLM`, or the path of a folder of transformers, which
            is read with `from_pretrained(..., local_files_only=True)`.  A module in half precision
            is exported as a copy in float32, and not changed.
        folder: where to write; files of the same names are replaced, others stay.
        weights: "float32"; "float16" (`to_half`, the cache and logits too); "int8" or "int4"
            (`quantize_weights`).
        target: "any": standard operators; "onnxruntime": four-bit weights in its own operators.
        verify: generate tokens greedily with the written model in ONNX Runtime and with
            transformers, for one row and for three rows with padding.
        files: a folder of which the tokenizer's files and the generation configuration are copied;
            that of the model, if it is a path.
        inputs: an example of the main input of an encoder, `{"input_features": tensor}`, with one
            row or more; needed where the configuration does not say its size.

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
    example = _example(model, inputs)
    folder, source = Path(folder), None if files is None else Path(files)
    _check(model, folder, source)
    model = _in_float32(model)
    training = model.training
    model.eval()
    try:
        with progress.step("decoder"):
            return _written(model, folder, weights, target, verify, source, seconds, example)
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
    if folder.exists() and not folder.is_dir():
        checks.raise_bad_argument("folder", f"{folder} is a file", "give the path of a folder")
    if source is not None and not source.is_dir():
        checks.raise_bad_argument(
            "files", f"{source} is not a folder", "give the folder of the tokenizer"
        )


def _in_float32(model: Any) -> Any:
    """The model, or a copy in FLOAT of one in half precision: `weights` says what is written."""
    if not any(p.dtype in _HALF for p in model.parameters()):
        return model
    return copy.deepcopy(model).float()


def _loaded(folder: Path) -> Any:
    """The model of a folder of transformers."""
    if not (folder / "config.json").is_file():
        checks.raise_bad_argument(
            "model",
            f"{shown(str(folder))} is not a folder with a `config.json`",
            "give a folder that `save_pretrained` wrote",
        )
    hub = importlib.import_module("transformers")
    config = hub.AutoConfig.from_pretrained(folder, local_files_only=True)
    loader = hub.AutoModelForCausalLM
    if getattr(config, "is_encoder_decoder", False):
        # Which class reads it: that which wrote it, as there is one for text and others for sound.
        named = getattr(hub, str((getattr(config, "architectures", None) or [""])[0]), None)
        is_model = isinstance(named, type) and issubclass(named, hub.PreTrainedModel)
        loader = named if is_model else hub.AutoModelForSeq2SeqLM
    return loader.from_pretrained(folder, local_files_only=True, dtype=torch.float32)


def _example(model: Any, inputs: Any) -> Any:
    """The example of the main input of an encoder, where one is given."""
    if inputs is None:
        return None
    if not getattr(getattr(model, "config", None), "is_encoder_decoder", False):
        checks.raise_bad_argument(
            "inputs", f"{type(model).__name__} has no encoder", "leave `inputs` out"
        )
    name = str(getattr(model, "main_input_name", "input_ids"))
    if not isinstance(inputs, Mapping) or not isinstance(inputs.get(name), torch.Tensor):
        checks.raise_bad_argument(
            "inputs", f"it has no tensor `{name}`", f"give {{{name!r}: tensor}}"
        )
    return inputs[name]


def _written(
    model: Any,
    folder: Path,
    weights: str,
    target: str,
    verify: bool,
    source: Path | None,
    seconds: dict[str, float],
    inputs: Any,
) -> DecoderReport:
    with _timed(seconds, "export"):
        programs = exported(model, inputs)
    expected: Expected | None = None
    if verify:
        with _timed(seconds, "transformers"):
            expected = Expected(model, programs.source)
    token_checks: tuple[TokenCheck, ...] = ()
    with written_whole(folder) as new:
        if expected is not None or weights == "float32":
            programs.save(new)
        if expected is not None:
            with _timed(seconds, "verify"):
                token_checks = _verified(expected, programs.runner(new), programs.notes)
        if weights != "float32":
            for file in new.iterdir():
                file.unlink()
            with _timed(seconds, weights):
                programs = programs.smaller(weights, target)
                programs.save(new)
            if expected is not None:
                with _timed(seconds, f"verify {weights}"):
                    token_checks = expected.compare(programs.runner(new))
        size = sum(file.stat().st_size for file in new.iterdir())
        name, config, note = programs.config(model)
        (new / name).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        if source is not None:
            copy_files(source, new)
        names = tuple(sorted(file.name for file in new.iterdir()))
    nodes = sum(1 for each in programs.models for _ in each.graph.all_nodes())
    kind = config["model"]["type"] if name == CONFIG else ""
    return DecoderReport(
        folder, names, weights, target, kind, nodes, size, seconds, token_checks,
        (note,) * bool(note) + programs.notes,
    )  # fmt: skip


def _verified(
    expected: Expected, runner: Decoder, notes: tuple[str, ...]
) -> tuple[TokenCheck, ...]:
    """The tokens of a model that is not rounded, which are those of transformers."""
    token_checks = expected.compare(runner)
    wrong = [check for check in token_checks if not check.ok or check.error > _LARGEST_ERROR]
    for check in wrong:
        what = f"tokens of batch {check.batch} that are those of transformers: {check}"
        if all(each.padded for each in wrong):
            notes = (
                "without padding they are equal: the model does not use the mask as it should",
                *notes,
            )
        raise_differs(what, notes)
    return token_checks


@contextmanager
def _timed(seconds: dict[str, float], step: str) -> Iterator[None]:
    begun = time.perf_counter()
    try:
        with progress.step(step):
            yield
    finally:
        seconds[step] = time.perf_counter() - begun
