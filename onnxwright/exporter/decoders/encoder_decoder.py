"""Models with an encoder and a decoder as two programs.

The encoder gives the keys and values that the decoder reads of it, so that one decoder serves the
first and the later tokens.
"""

from __future__ import annotations

import copy
import dataclasses
import importlib
from dataclasses import is_dataclass
from typing import Any

import torch

from onnxwright.exporter import checks
from onnxwright.exporter.api import export
from onnxwright.exporter.capture.inputs.cache_names import PAST, PRESENT
from onnxwright.exporter.decoders.example import cache_shapes
from onnxwright.exporter.decoders.model_caches import named_cache
from onnxwright.exporter.decoders.source_inputs import SourceInputs, encoder_result, run_model
from onnxwright.exporter.program.onnx_program import ONNXProgram

_BATCH, _OTHER_BATCH = 2, 3
_PAST, _OTHER_PAST = 5, 6
_LENGTH = 3
STATES, MASK = "encoder_hidden_states", "encoder_attention_mask"


class EncoderPart(torch.nn.Module):  # type: ignore[misc] # torch has no type for it here
    """The states of the encoder, and the keys and values that the decoder reads of them.

    Args:
        cache: the name of the cache in results of the model.
        gives_mask: whether the encoder returns a mask of its positions.
    """

    def __init__(
        self, model: Any, source: SourceInputs, cache: str, *, gives_mask: bool = False
    ) -> None:
        super().__init__()
        self.model, self._source, self._cache = model, source.name, cache
        self._gives_mask = gives_mask

    def forward(self, source: Any, attention_mask: Any = None) -> Any:
        """Run the encoder, and the decoder for one token, which only the cache is taken of."""
        encoder_inputs = {self._source: source}
        if attention_mask is not None:
            encoder_inputs["attention_mask"] = attention_mask
        ids = torch.ones(source.shape[0], 1, dtype=torch.long, device=source.device)
        encoded: Any = None
        if self._gives_mask:
            encoded = self.model.get_encoder()(**encoder_inputs)
            encoder_inputs["encoder_outputs"] = encoded
        result = self.model(**encoder_inputs, decoder_input_ids=ids, use_cache=True)
        cache = result[self._cache].cross_attention_cache
        if encoded is not None:
            return encoded.last_hidden_state, encoded.attention_mask, cache
        return result.encoder_last_hidden_state, cache


class DecoderPart(torch.nn.Module):  # type: ignore[misc] # torch has no type for it here
    """Logits and the longer cache, from tokens, the cache and what the encoder gave.

    Args:
        cache: the name of the cache in arguments and results of the model.
        width: the size of a state of the encoder.
        result: the class of what the encoder returns; it may have a mask of its positions.
    """

    def __init__(self, model: Any, cache: str, width: int, result: Any) -> None:
        super().__init__()
        self.model, self._cache, self._width, self._result = model, cache, width, result

    def forward(
        self,
        input_ids: Any,
        past_key_values: Any,
        encoder_attention_mask: Any = None,
        encoder_hidden_states: Any = None,
    ) -> Any:
        """Run the decoder; the states have no effect where the cache has all that it reads."""
        keys = past_key_values.cross_attention_cache.layers[0].keys
        states = encoder_hidden_states
        if states is None:
            states = keys.new_zeros(keys.shape[0], keys.shape[-2], self._width)
        mask_inputs = (
            {} if encoder_attention_mask is None else {"attention_mask": encoder_attention_mask}
        )
        own = mask_inputs if "attention_mask" in _fields(self._result) else {}
        encoded = self._result(last_hidden_state=states, **own)
        result = self.model(
            **mask_inputs,
            encoder_outputs=encoded,
            decoder_input_ids=input_ids,
            use_cache=True,
            **{self._cache: past_key_values},
        )
        return result.logits, result[self._cache].self_attention_cache


def encoder_program(model: Any, source: SourceInputs) -> ONNXProgram:
    """The encoder: `present.0.encoder.key` ... beside its states.

    Raises:
        ExportError: it cannot be exported.
        ExportValueError: the model does not return a cache for both (OW825).
    """
    example_inputs = source.inputs(_BATCH)
    cache = _cache_name(model, source)
    axes: dict[int, str] = {0: "batch"}
    mask = {0: "batch"} | ({1: "source"} if source.axis is not None else {})
    if source.axis is not None:
        axes[source.axis] = "source"
    kwargs = {
        "source" if name == source.name else name: value for name, value in example_inputs.items()
    }
    encoded = encoder_result(model, example_inputs)
    gives_mask = getattr(encoded, "attention_mask", None) is not None
    program = export(
        EncoderPart(model, source, cache, gives_mask=gives_mask),
        kwargs=kwargs,
        dynamic_shapes={name: axes if name == "source" else mask for name in kwargs},
        input_names={"source": source.name},
        metadata="short",
    )
    program.model.graph.outputs[0].name = STATES
    if gives_mask:
        program.model.graph.outputs[1].name = MASK
    _rename(program, "encoder")
    return program


def decoder_program(model: Any, source: SourceInputs) -> ONNXProgram:
    """The decoder: `logits` and `present.0.decoder.key` ... .

    Raises:
        ExportError: it cannot be exported.
        ExportValueError: the model does not return a cache for both (OW825).
    """
    name = _cache_name(model, source)
    example_inputs = source.inputs(_BATCH)
    result = run_model(model, example_inputs, _PAST)
    other = run_model(model, source.inputs(_OTHER_BATCH, longer=True), _OTHER_PAST)
    cache, states = result[name], result.encoder_last_hidden_state
    lengths = (states.shape[1], other.encoder_last_hidden_state.shape[1])
    names = {(_BATCH, _OTHER_BATCH): "batch", (_PAST, _OTHER_PAST): "past", lengths: "source"}
    encoded = encoder_result(model, example_inputs)
    kind = type(encoded)
    if "last_hidden_state" not in _fields(kind):  # a tuple, or a model that names no encoder
        kind = importlib.import_module("transformers.modeling_outputs").BaseModelOutput
    part = DecoderPart(model, name, states.shape[-1], kind).eval()
    ids = torch.arange(1, 1 + _BATCH * _LENGTH, device=states.device).reshape(_BATCH, _LENGTH)
    kwargs: dict[str, Any] = {"input_ids": ids, "past_key_values": cache}
    shapes: dict[str, Any] = {
        "input_ids": {0: "batch", 1: "length"},
        "past_key_values": cache_shapes(cache, other[name], names),
    }
    if source.masked:
        own = getattr(encoded, "attention_mask", None)
        mask = example_inputs["attention_mask"] if own is None else own
        kwargs[MASK] = mask
        same = source.vocabulary or states.shape[1] == mask.shape[1]
        shapes[MASK] = {0: "batch"}
        if source.axis is not None:
            shapes[MASK][1] = "source" if same else "positions"
    if _reads_states(part, kwargs, states):
        kwargs[STATES] = states
        shapes[STATES] = {0: "batch"} | ({1: "source"} if source.axis is not None else {})
    program = export(part, kwargs=kwargs, dynamic_shapes=shapes, metadata="short")
    program.model.graph.outputs[0].name = "logits"
    _rename(program, "decoder")
    return program


def _fields(kind: Any) -> set[str]:
    """The names of the fields of a class of results."""
    return {field.name for field in dataclasses.fields(kind)} if is_dataclass(kind) else set()


def _cache_name(model: Any, source: SourceInputs) -> str:
    inputs = source.inputs(1)
    ids = torch.ones(1, 1, dtype=torch.long, device=next(iter(inputs.values())).device)
    name, cache = named_cache(model, {**inputs, "decoder_input_ids": ids})
    if not hasattr(cache, "cross_attention_cache"):
        checks.raise_bad_argument(
            "model",
            f"the cache of {type(model).__name__} does not have keys and values of its encoder",
            "export its encoder and its decoder with `ow.export`",
        )
    return name


def _reads_states(part: DecoderPart, kwargs: dict[str, Any], states: torch.Tensor) -> bool:
    """Whether the states of the encoder have an effect beside the cache.

    Raises:
        ExportValueError: the decoder does not read several tokens with a cache (OW825).
    """
    logits = []
    with torch.no_grad():
        for value in (states, None):
            own = {name: copy.deepcopy(each) for name, each in kwargs.items()}
            try:
                logits.append(part(**own, encoder_hidden_states=value)[0])
            except Exception as error:  # noqa: BLE001 - models say in their own way what they refuse
                checks.raise_bad_argument(
                    "model",
                    f"the decoder of {type(part.model).__name__} does not read {_LENGTH} tokens"
                    f" with a cache ({str(error).partition(chr(10))[0]})",
                    "export its encoder and its decoder with `ow.export`",
                )
    return not torch.equal(*logits)


def _rename(program: ONNXProgram, part: str) -> None:
    """`present.0.key` -> `present.0.encoder.key`: runtimes tell both caches by these names."""
    for value in program.model.graph.outputs:
        word, _, rest = str(value.name).partition(".")
        if word == PRESENT and rest.count(".") == 1:
            layer, _, name = rest.partition(".")
            value.name = f"{PRESENT}.{layer}.{part}.{name}"


__all__ = ["MASK", "PAST", "STATES", "decoder_program", "encoder_program"]
