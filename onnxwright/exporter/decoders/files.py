"""What is written for a decoder: one program, or that of an encoder and that of a decoder."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from onnxwright.exporter import progress
from onnxwright.exporter.api import export
from onnxwright.exporter.capture.inputs.cache_names import PRESENT
from onnxwright.exporter.capture.inputs.caches import register_caches
from onnxwright.exporter.decoders.encoder_decoder import decoder_program, encoder_program
from onnxwright.exporter.decoders.example import decoder_example
from onnxwright.exporter.decoders.genai import (
    encoder_decoder_config,
    genai_config,
    knows_encoder,
    other_config,
    why_not,
)
from onnxwright.exporter.decoders.greedy import Decoder, start_token
from onnxwright.exporter.decoders.model_caches import tokens_with_equal_angles
from onnxwright.exporter.decoders.source_inputs import SourceInputs, source_inputs
from onnxwright.exporter.program.onnx_program import ONNXProgram
from onnxwright.quantize import quantize_weights, to_half

CONFIG, OTHER_CONFIG = "genai_config.json", "decoder_config.json"
_BITS = {"int8": 8, "int4": 4}


@dataclass(frozen=True)
class Programs:
    """The programs of one model.

    Fields:
        by_name: name of the file without `.onnx` -> program; the decoder is the last one.
        source: what the encoder reads, where there is one.
        equal_angles: the number of tokens beyond which the angles of all positions are others; 0
            where they do not depend on the number of tokens.
    """

    by_name: dict[str, ONNXProgram] = field(default_factory=dict)
    source: SourceInputs | None = None
    equal_angles: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know who generates text."""
        count = self.equal_angles
        if not count:
            return ()
        note = (
            f"beyond {count} tokens the angles of all positions change (`rope_parameters`), so that"
            f" the cache of a shorter text does not fit: generate up to {count} tokens, or give all"
            " tokens again with an empty cache"
        )
        return (note,)

    @property
    def models(self) -> list[Any]:
        """The models, in the order of the files."""
        return [program.model for program in self.by_name.values()]

    def save(self, folder: Path) -> None:
        """Write `NAME.onnx` and `NAME.onnx.data` for each program."""
        for name, program in self.by_name.items():
            program.save(folder / f"{name}.onnx", external_data=True, location=f"{name}.onnx.data")

    def smaller(self, weights: str, target: str) -> Programs:
        """The programs with other weights."""

        def changed(program: ONNXProgram) -> Any:
            if weights in _BITS:
                return quantize_weights(program, _BITS[weights], target=target)
            return to_half(program, "float16", io="half")

        return replace(self, by_name={n: changed(p) for n, p in self.by_name.items()})

    def runner(self, folder: Path) -> Decoder:
        """The written files in ONNX Runtime."""
        *encoder, decoder = (folder / f"{name}.onnx" for name in self.by_name)
        return Decoder(decoder, *encoder)

    def config(self, model: Any) -> tuple[str, dict[str, Any], str]:
        """The file that says what is in the folder: name, content, a note for the reader."""
        generation = getattr(model, "generation_config", None)
        if self.source is not None:
            encoder, decoder = self.models
            start = start_token(model)
            config = encoder_decoder_config(model.config, generation, encoder, decoder, start)
            if knows_encoder(model.config):
                return CONFIG, config, ""
            kind = config["model"]["type"]
            return OTHER_CONFIG, config, f"onnxruntime-genai has no type for {kind}"
        reason = why_not(self.models[0])
        if reason:
            config = other_config(model.config, generation, self.models[0], "model.onnx")
            return OTHER_CONFIG, config, f"no {CONFIG}: {reason}"
        return CONFIG, genai_config(model.config, generation, self.models[0], "model.onnx"), ""


def exported(model: Any, inputs: Any = None) -> Programs:
    """The programs of a model, with the names that runtimes expect."""
    register_caches()
    if getattr(model.config, "is_encoder_decoder", False):
        source = source_inputs(model, inputs)
        with progress.step("encoder file"):
            encoder = encoder_program(model, source)
        with progress.step("decoder file"):
            decoder = decoder_program(model, source)
        return Programs({"encoder": encoder, "decoder": decoder}, source)
    example = decoder_example(model)
    count = tokens_with_equal_angles(model)
    program = export(
        example.module,
        kwargs=example.kwargs,
        dynamic_shapes=example.dynamic_shapes,
        metadata="short",
    )
    others = [v for v in program.model.graph.outputs if not str(v.name).startswith(f"{PRESENT}.")]
    others[0].name = "logits"
    return Programs({"model": program}, equal_angles=count)


# -- A folder that is written as a whole: a failure leaves it as it was ----------------------------

# What tokenizers, processors and a generation configuration are in a folder of transformers.
_COPIED = (
    "generation_config.json",
    "tokenizer*",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template*",
    "preprocessor_config.json",
    "processor_config.json",
    "normalizer.json",
    "vocab*",
    "*.spm",
    "merges.txt",
    "*.model",
    "*.tiktoken",
)


@contextmanager
def written_whole(folder: Path) -> Iterator[Path]:
    """A folder for new files, which replace those of the same names at the end.

    Yields:
        An empty folder beside it. Where the block raises, it is removed and `folder` stays as it
        was; where a file cannot be moved, those that were moved are put back.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        files = new / "new"
        files.mkdir()
        yield files
        _move(files, folder, new / "old")
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _move(files: Path, folder: Path, old: Path) -> None:
    if not folder.exists():
        files.replace(folder)
        return
    old.mkdir()
    moved: list[str] = []
    try:
        for file in sorted(files.iterdir()):
            there = folder / file.name
            if there.exists():
                there.replace(old / file.name)
            moved.append(file.name)
            file.replace(there)
    except OSError:
        for name in moved:
            (folder / name).unlink(missing_ok=True)
            if (old / name).exists():
                (old / name).replace(folder / name)
        raise


def copy_files(source: Path, folder: Path) -> None:
    """Copy the files of a tokenizer and a generation configuration.

    Raises:
        OSError: a file cannot be read or written.
    """
    for pattern in _COPIED:
        for file in sorted(source.glob(pattern)):
            if file.is_file():
                shutil.copyfile(file, folder / file.name)
