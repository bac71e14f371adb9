"""Greedy tokens: of a written decoder in ONNX Runtime, and of transformers."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.eager.ort.sessions import model_options, new_session
from onnxwright.exporter.capture.inputs.cache_names import PAST, PRESENT
from onnxwright.exporter.decoders.report import TokenCheck
from onnxwright.exporter.decoders.source_inputs import SourceInputs

Array = np.ndarray[Any, Any]
_STEPS = 12
# An id that no token has.
_NO_TOKEN = 1 << 40
# Lengths of the prompts of each check; shorter ones are padded on the left.
_PROMPTS = ((6,), (6, 3, 5))
# Two logits are a tie where their distance is this part of the largest one.
_TIE = 1e-4
_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(int64)": np.int64}


class Session:
    """A model in a file, in ONNX Runtime on the CPU."""

    def __init__(self, path: Path) -> None:
        self._session = new_session(str(path), model_options(), None)
        self.inputs = self._session.get_inputs()
        self._outputs = [v.name for v in self._session.get_outputs()]

    def run(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs by name; of what is given, the inputs are taken, in the types they have."""
        feeds = {}
        for value in self.inputs:
            array = arrays[value.name]
            floats = array.dtype.kind == "f"
            feeds[value.name] = array.astype(_TYPES[value.type]) if floats else array
        return dict(zip(self._outputs, self._session.run(None, feeds), strict=True))


class Decoder:
    """A decoder in a file, and the encoder that it reads of, if there is one."""

    def __init__(self, path: Path, encoder: Path | None = None) -> None:
        self._decoder = Session(path)
        self._encoder = None if encoder is None else Session(encoder)
        (tokens,) = (v for v in self._decoder.inputs if v.name == "input_ids")
        self._one_token = tokens.shape[1] == 1

    def tokens(self, prompt: Prompt, steps: int) -> tuple[Array, Array]:
        """The greedy tokens after a prompt.

        Returns:
            INT64, `[batch, steps]`, and the logits that they are chosen by, `[batch, steps, n]`.

        Raises:
            ExportError: a logit is not finite (OW828).
        """
        ids, mask, read = prompt.ids, prompt.mask, 0
        fixed = self._encoded(prompt.source)
        past = {
            v.name: self._empty(v, len(ids))
            for v in self._decoder.inputs
            if v.name.startswith(PAST) and v.name not in fixed
        }
        chosen_by: list[Array] = []
        while len(chosen_by) < steps:
            end = read + 1 if self._one_token else ids.shape[1]
            places = np.maximum(mask[:, :end].cumsum(-1) - 1, 0)[:, read:]
            token_inputs = {"input_ids": ids[:, read:end], "attention_mask": mask[:, :end]}
            results = self._decoder.run({**token_inputs, "position_ids": places, **fixed, **past})
            past = {name: results[PRESENT + name[len(PAST) :]] for name in past}
            read = end
            if read < ids.shape[1]:
                continue
            logits = results["logits"][:, -1]
            if not np.isfinite(logits).all():
                raise_differs("its logits are not finite numbers")
            token = logits.argmax(-1).astype(np.int64)[:, None]
            chosen_by.append(logits.astype(np.float32))
            ids = np.concatenate([ids, token], 1)
            mask = np.concatenate([mask, np.ones_like(token)], 1)
        return ids[:, prompt.ids.shape[1] :], np.stack(chosen_by, 1)

    def _encoded(self, source: Mapping[str, Array]) -> dict[str, Array]:
        """What the encoder gives the decoder, by names of inputs of the decoder."""
        if self._encoder is None:
            return {}
        encoded = {f"encoder_{name}": array for name, array in source.items()}
        for name, array in self._encoder.run(source).items():
            word, dot, rest = name.partition(".")
            encoded[f"{PAST}.{rest}" if word == PRESENT and dot else name] = array
        return encoded

    @staticmethod
    def _empty(value: Any, batch: int) -> Array:
        """A part of the cache before the first token."""
        sizes = {"batch": batch, "past": 0}
        shape = [sizes[d] if isinstance(d, str) else d for d in value.shape]
        return np.zeros(shape, _TYPES[value.type])


@dataclass(frozen=True)
class Prompt:
    """What tokens are generated after.

    Fields:
        ids: INT64, `[batch, length]`, padded on the left.
        mask: the same shape, 0 for padding.
        source: what the encoder reads, by name; empty where there is no encoder.
    """

    ids: Array
    mask: Array
    source: dict[str, Array] = field(default_factory=dict)

    @property
    def padded(self) -> bool:
        """Whether there is padding, in the prompt or in what the encoder reads."""
        masks = [self.mask, self.source.get("attention_mask", self.mask)]
        return not all(mask.all() for mask in masks)


class Expected:
    """Prompts with the tokens that transformers generates."""

    def __init__(self, model: Any, source: SourceInputs | None = None) -> None:
        self.prompts: list[tuple[Prompt, Array, Array]] = []
        for lengths in _PROMPTS:
            prompt = _prompt(model, lengths, source)
            self.prompts.append((prompt, *_generated(model, prompt)))

    def compare(self, decoder: Decoder) -> tuple[TokenCheck, ...]:
        """Compare a decoder with transformers."""
        return tuple(self._compared(decoder, *prompt) for prompt in self.prompts)

    @staticmethod
    def _compared(decoder: Decoder, prompt: Prompt, tokens: Array, logits: Array) -> TokenCheck:
        generated, own = decoder.tokens(prompt, tokens.shape[1])
        equal = ties = wrong = 0
        error = 0.0
        for row, (here, there) in enumerate(zip(generated, tokens, strict=True)):
            differ = np.flatnonzero(here != there)
            step = int(differ[0]) if len(differ) else len(there)
            equal += step
            scale = float(np.abs(logits[row]).max())
            upto = slice(0, step + 1)  # the tokens before are the same
            error = max(error, float(np.abs(own[row, upto] - logits[row, upto]).max()) / scale)
            if len(differ):
                distance = logits[row, step, there[step]] - logits[row, step, here[step]]
                tie = bool(distance <= _TIE * scale)
                ties, wrong = ties + tie, wrong + (not tie)
        return TokenCheck(len(prompt.ids), prompt.padded, equal, tokens.size, ties, wrong, error)


def raise_differs(what: str, notes: tuple[str, ...] = ()) -> None:
    """Refuse a model that is not what PyTorch computes.

    Raises:
        ExportError: always (OW828).
    """
    fail(messages.VerifyFailed(summary=what, notes=notes, span=user_span()))


def _prompt(model: Any, lengths: tuple[int, ...], source: SourceInputs | None) -> Prompt:
    """Tokens without meaning, the same in each run."""
    if source is not None:
        arrays = {}
        for name, tensor in source.padded(lengths).items():
            numbers = tensor.float() if tensor.is_floating_point() else tensor
            arrays[name] = numbers.cpu().numpy()
        start = np.full((len(lengths), 1), start_token(model), np.int64)
        return Prompt(start, np.ones_like(start), arrays)
    longest, vocabulary = max(lengths), int(model.config.get_text_config().vocab_size)
    ids = np.random.default_rng(0).integers(0, vocabulary, (len(lengths), longest))
    mask = np.array([[0] * (longest - n) + [1] * n for n in lengths])
    return Prompt(ids.astype(np.int64), mask.astype(np.int64))


def start_token(model: Any) -> int:
    """The token that the decoder of an encoder-decoder begins with.

    Returns:
        Its id: the configuration has it, or that of the beginning of a text; else 0.
    """
    for name in ("decoder_start_token_id", "bos_token_id"):
        for config in (model.generation_config, model.config, getattr(model.config, "decoder", 0)):
            token_id = getattr(config, name, None)
            if token_id is not None:
                return int(token_id[0] if isinstance(token_id, list) else token_id)
    return 0


def _generated(model: Any, prompt: Prompt) -> tuple[Array, Array]:
    """The tokens that transformers generates, and the logits that it chooses them by."""
    parameter = next(model.parameters(), torch.zeros(1))
    hub = sys.modules["transformers"]
    how = hub.GenerationConfig(
        max_new_tokens=_STEPS,
        do_sample=False,
        num_beams=1,
        repetition_penalty=1.0,
        no_repeat_ngram_size=0,
        pad_token_id=0,
        eos_token_id=_NO_TOKEN,  # generation goes on to the end
        decoder_start_token_id=int(prompt.ids[0, 0]),
        return_dict_in_generate=True,
        output_logits=True,
    )
    arrays = prompt.source or {"input_ids": prompt.ids, "attention_mask": prompt.mask}
    inputs = {}
    for name, array in arrays.items():
        tensor = torch.from_numpy(array).to(parameter.device)
        inputs[name] = tensor.to(parameter.dtype) if tensor.is_floating_point() else tensor
    # The general method: that of a model for sound cuts it, and chooses tokens by rules of its own.
    generate = model.generate
    if prompt.source:
        generate = functools.partial(hub.GenerationMixin.generate, model)
    own = model.generation_config
    model.generation_config = hub.GenerationConfig()  # no tokens that are forced or suppressed
    try:
        with torch.no_grad():
            generated = generate(**inputs, generation_config=how)
    finally:
        model.generation_config = own
    logits = torch.stack(generated.logits, 1).float()
    return generated.sequences[:, -_STEPS:].cpu().numpy(), logits.cpu().numpy()
