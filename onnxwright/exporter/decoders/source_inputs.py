"""What an encoder reads: example inputs, their mask, and the axis that may have other lengths."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from onnxwright.exporter import checks

_TOKENS = "input_ids"
_LENGTH = 7
# Axes of inputs that are not tokens, by their names in transformers.
_SAMPLES = 4000
_FRAMES = 64


@dataclass(frozen=True)
class SourceInputs:
    """The inputs of an encoder.

    Fields:
        name: the name of the main input: `input_ids`, `input_features` or another one.
        row: an example of it with one row.
        axis: the axis whose length may change; None where the model fixes all.
        masked: whether `attention_mask` changes what the model computes.
        vocabulary: the number of tokens where the input is tokens, else 0.
    """

    name: str
    row: torch.Tensor
    axis: int | None = None
    masked: bool = False
    vocabulary: int = 0

    def inputs(self, batch: int, *, longer: bool = False) -> dict[str, torch.Tensor]:
        """Example inputs.

        Args:
            longer: whether the length of `axis` is twice that of the example.

        Returns:
            The main input, and `attention_mask` where it is one, in which the end of the last row
            is padding.
        """
        row = self.row
        if longer and self.axis is not None:
            row = torch.cat([row, row], self.axis)
        inputs = {self.name: _rows(row, batch, self.vocabulary)}
        if self.masked:
            inputs["attention_mask"] = _mask(row, self.axis, batch)
        return inputs

    def padded(self, lengths: tuple[int, ...]) -> dict[str, torch.Tensor]:
        """Example inputs with rows of different lengths, padded at the end where there is a mask.

        Args:
            lengths: the number of rows, and the length of each where the input is tokens.
        """
        if not self.vocabulary:
            inputs = self.inputs(len(lengths))
            if self.masked and len(lengths) == 1:
                inputs["attention_mask"] = torch.ones_like(inputs["attention_mask"])
            return inputs
        row = torch.zeros(1, max(lengths), dtype=torch.long, device=self.row.device)
        inputs = {self.name: _rows(row, len(lengths), self.vocabulary)}
        if self.masked:
            inputs["attention_mask"] = torch.tensor(
                [[1] * n + [0] * (row.shape[1] - n) for n in lengths], device=row.device
            )
        return inputs


def source_inputs(model: Any, example: Any = None) -> SourceInputs:
    """Find by running a model what its encoder reads.

    Args:
        example: an example of the main input, or None: tokens, or what the shapes that transformers
            uses for sound and pictures and the sizes in the configuration say.

    Raises:
        ExportValueError: no example runs (OW825).

    Source:
        `main_input_name` of transformers' models.
    """
    name = str(getattr(model, "main_input_name", _TOKENS))
    device = next((p.device for p in model.parameters()), torch.device("cpu"))
    if example is not None:
        rows: Iterator[torch.Tensor] = iter([example[:1]])
    else:
        rows = _candidates(model.config, name, next(model.parameters()).dtype)
    vocabulary = int(model.config.get_text_config().vocab_size) if name == _TOKENS else 0
    axis, reason = 1 if name == _TOKENS else None, ""
    for row in rows:
        source = SourceInputs(name, row.to(device), axis, False, vocabulary)
        try:
            run_model(model, source.inputs(1))
        except Exception as error:  # noqa: BLE001 - models say in their own way what does not fit
            reason = reason or str(error).partition("\n")[0]
            continue
        return _with_mask(model, _with_axis(model, source))
    checks.raise_bad_argument(
        "model" if example is None else "inputs",
        f"its encoder does not run with an example of `{name}`" + f" ({reason})" * bool(reason),
        f"give `inputs={{{name!r}: tensor}}`, an example that the encoder reads",
    )


def run_model(model: Any, inputs: dict[str, Any], tokens: int = 1) -> Any:
    """What a model with an encoder and a decoder returns."""
    first = next(iter(inputs.values()))
    ids = torch.ones(first.shape[0], tokens, dtype=torch.long, device=first.device)
    with torch.no_grad():
        return model(**inputs, decoder_input_ids=ids, use_cache=True)


def encoder_result(model: Any, inputs: dict[str, Any]) -> Any:
    """What the encoder of a model returns, some a mask too; None where it has no name."""
    encoder = model.get_encoder() if hasattr(model, "get_encoder") else None
    if not isinstance(encoder, torch.nn.Module):
        return None
    results: list[Any] = []
    hook = encoder.register_forward_hook(lambda _module, _args, result: results.append(result))
    try:
        run_model(model, inputs)
    finally:
        hook.remove()
    return results[0] if results else None


def _candidates(config: Any, name: str, dtype: torch.dtype) -> Iterator[torch.Tensor]:
    """Examples with the axes that transformers gives inputs of a name."""
    if name == _TOKENS:
        yield torch.arange(1, 1 + _LENGTH)[None]
        return
    inner = getattr(config, "encoder", config)
    shapes: list[tuple[int, ...]] = []
    if name == "pixel_values":
        size = getattr(inner, "image_size", 224)
        height, width = size if isinstance(size, (list, tuple)) else (size, size)
        shapes.append((int(getattr(inner, "num_channels", 3)), int(height), int(width)))
    elif name == "input_values":
        shapes.append((_SAMPLES,))
    else:
        sizes = [
            int(value)
            for key in ("num_mel_bins", "input_feat_per_channel", "feature_size", "input_dim")
            if isinstance(value := getattr(inner, key, None), int)
        ]
        positions = getattr(inner, "max_source_positions", None)
        frames = [2 * positions] if isinstance(positions, int) else []
        for size in sizes:
            shapes += [(size, n) for n in frames] + [(_FRAMES, size), (size, _FRAMES)]
    drawn = torch.Generator().manual_seed(0)
    for shape in shapes:
        yield torch.randn(1, *shape, generator=drawn).to(dtype)


def _with_axis(model: Any, source: SourceInputs) -> SourceInputs:
    """The same with the axis that may be longer: the model runs, and its encoder gives more."""
    if source.axis is not None:
        return source
    before = run_model(model, source.inputs(1)).encoder_last_hidden_state.shape
    for axis in range(1, source.row.dim()):
        longer = SourceInputs(source.name, source.row, axis)
        try:
            after = run_model(model, longer.inputs(1, longer=True)).encoder_last_hidden_state.shape
        except Exception:  # noqa: BLE001, S112 - the model does not take another length there
            continue
        if len(after) == len(before) and after[1] > before[1]:
            return longer
    return source


def _with_mask(model: Any, source: SourceInputs) -> SourceInputs:
    """The same with a mask where one has an effect."""
    if "attention_mask" not in inspect.signature(model.forward).parameters:
        return source
    masked = SourceInputs(source.name, source.row, source.axis, True, source.vocabulary)
    try:
        logits = [run_model(model, one.inputs(2)).logits for one in (source, masked)]
    except Exception:  # noqa: BLE001 - a parameter that stands for something else
        return source
    return source if torch.equal(*logits) else masked


def _rows(row: torch.Tensor, batch: int, vocabulary: int) -> torch.Tensor:
    """Rows that differ, of the shape of one."""
    shape = (batch, *row.shape[1:])
    drawn = torch.Generator().manual_seed(1)
    if vocabulary:
        return torch.randint(1, vocabulary, shape, generator=drawn).to(row.device)
    noise = torch.randn(shape, generator=drawn).to(row)
    return (row + row.abs().mean() * noise).contiguous()


def _mask(row: torch.Tensor, axis: int | None, batch: int) -> torch.Tensor:
    """Padding at the end of the last row, along the axis of the positions."""
    length = row.shape[axis] if axis is not None else max(row.shape[1:])
    mask = torch.ones(batch, length, dtype=torch.long, device=row.device)
    mask[-1, length - max(1, length // 3) :] = 0
    return mask
