"""Greedy tokens: of a written decoder in ONNX Runtime, and of transformers."""

from __future__ import annotations

import sys
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

Array = np.ndarray[Any, Any]
_STEPS = 12
# Lengths of the prompts of each check; shorter ones are padded on the left.
_PROMPTS = ((6,), (6, 3, 5))
# Two logits are a tie where their distance is this part of the largest one.
_TIE = 1e-4
_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(int64)": np.int64}


class Decoder:
    """A decoder in a file, in ONNX Runtime on the CPU.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self._session = new_session(str(path), model_options(), None)
        self._inputs = self._session.get_inputs()
        self._outputs = [v.name for v in self._session.get_outputs()]

    def tokens(self, ids: Array, mask: Array, steps: int) -> tuple[Array, Array]:
        """The greedy tokens after a prompt.

        Args:
            ids: INT64, `[batch, length]`, padded on the left.
            mask: the same shape, 0 for padding.
            steps: how many tokens.

        Returns:
            INT64, `[batch, steps]`, and the logits that they are chosen by, `[batch, steps, n]`.

        Raises:
            ExportError: a logit is not finite (OW828).
        """
        past = {v.name: self._empty(v, len(ids)) for v in self._inputs if v.name.startswith(PAST)}
        found, chosen_by = [], []
        for _ in range(steps):
            places = np.maximum(mask.cumsum(-1) - 1, 0)[:, -ids.shape[1] :]
            given = {"input_ids": ids, "attention_mask": mask, "position_ids": places, **past}
            feeds = {v.name: given[v.name] for v in self._inputs}
            results = dict(zip(self._outputs, self._session.run(None, feeds), strict=True))
            logits = results["logits"][:, -1]
            if not np.isfinite(logits).all():
                raise_differs("its logits are not finite numbers")
            ids = logits.argmax(-1).astype(np.int64)[:, None]
            found.append(ids)
            chosen_by.append(logits.astype(np.float32))
            mask = np.concatenate([mask, np.ones_like(ids)], 1)
            past = {name: results[PRESENT + name[len(PAST) :]] for name in past}
        return np.concatenate(found, 1), np.stack(chosen_by, 1)

    @staticmethod
    def _empty(value: Any, batch: int) -> Array:
        """A part of the cache before the first token."""
        sizes = {"batch": batch, "past": 0}
        shape = [sizes[d] if isinstance(d, str) else d for d in value.shape]
        return np.zeros(shape, _TYPES[value.type])


class Expected:
    """Prompts with the tokens that transformers generates.

    Args:
        model: a causal language model.
    """

    def __init__(self, model: Any) -> None:
        self.prompts: list[tuple[Array, Array, Array, Array]] = []
        vocabulary = int(model.config.get_text_config().vocab_size)
        for lengths in _PROMPTS:
            ids, mask = _prompt(lengths, vocabulary)
            tokens, logits = _generated(model, ids, mask, vocabulary)
            self.prompts.append((ids, mask, tokens, logits))

    def compare(self, decoder: Decoder) -> tuple[TokenCheck, ...]:
        """Compare a decoder with transformers.

        Args:
            decoder: the decoder.

        Returns:
            A check for each prompt.
        """
        return tuple(self._compared(decoder, *prompt) for prompt in self.prompts)

    @staticmethod
    def _compared(
        decoder: Decoder, ids: Array, mask: Array, tokens: Array, logits: Array
    ) -> TokenCheck:
        found, own = decoder.tokens(ids, mask, tokens.shape[1])
        equal = ties = wrong = 0
        error = 0.0
        for row, (here, there) in enumerate(zip(found, tokens, strict=True)):
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
        return TokenCheck(len(ids), not mask.all(), equal, tokens.size, ties, wrong, error)


def raise_differs(what: str, notes: tuple[str, ...] = ()) -> None:
    """Refuse a model that is not what PyTorch computes.

    Args:
        what: what is different.
        notes: more about it.

    Raises:
        ExportError: always (OW828).
    """
    fail(messages.VerifyFailed(summary=what, notes=notes, span=user_span()))


def _prompt(lengths: tuple[int, ...], vocabulary: int) -> tuple[Array, Array]:
    """Tokens without meaning, the same in each run."""
    longest = max(lengths)
    ids = np.random.default_rng(0).integers(0, vocabulary, (len(lengths), longest))
    mask = np.array([[0] * (longest - n) + [1] * n for n in lengths])
    return ids.astype(np.int64), mask.astype(np.int64)


def _generated(model: Any, ids: Array, mask: Array, vocabulary: int) -> tuple[Array, Array]:
    """The tokens that transformers generates, and the logits that it chooses them by."""
    device = next((p.device for p in model.parameters()), torch.device("cpu"))
    hub = sys.modules["transformers"]
    how = hub.GenerationConfig(
        max_new_tokens=_STEPS,
        do_sample=False,
        num_beams=1,
        repetition_penalty=1.0,
        no_repeat_ngram_size=0,
        pad_token_id=0,
        eos_token_id=vocabulary,  # no token has this id: generation goes on to the end
        return_dict_in_generate=True,
        output_logits=True,
    )
    with torch.no_grad():
        made = model.generate(
            torch.from_numpy(ids).to(device),
            attention_mask=torch.from_numpy(mask).to(device),
            generation_config=how,
        )
    tokens = made.sequences[:, ids.shape[1] :].cpu().numpy()
    return tokens, torch.stack(made.logits, 1).float().cpu().numpy()


__all__ = ["Decoder", "Expected", "raise_differs"]
