"""Samples with symbolic sizes: traced and built once, run at the sample's sizes and at others."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

from onnxwright.atenlib.complexes import Complex, pack
from onnxwright.exporter.dimensions import Dimensions
from onnxwright.exporter.translate.lowerings import Lowerings
from onnxwright.exporter.translate.translator import Translator
from onnxwright.semantics.backend import is_value
from onnxwright.sweep.aten_runs import BuiltGraph, Output, is_in_place, leaves, run_built
from onnxwright.sweep.torch_values import feed_of


class RefusedError(Exception):
    """Torch does not have this sample with symbolic sizes; the text says why."""


class MissingError(Exception):
    """The graph has an operator without a function; the text is its name."""


@dataclass(frozen=True)
class Compared:
    """One run of the model beside torch's.

    Fields:
        sizes: what the symbols were.
        got: ours.
        expected: torch's.
    """

    sizes: Mapping[str, int]
    got: Sequence[Any]
    expected: Sequence[Any]


def run_dynamic(operator: Callable[..., Any], sample: Any, opset_version: int) -> list[Compared]:
    """Build one model with symbolic sizes and run it at two of them.

    Args:
        operator: what the OpInfo tests.
        sample: torch's SampleInput.

    Raises:
        RefusedError: torch cannot trace it with symbolic sizes, has no symbol left, or takes no
            other size.
        MissingError: an operator has no function.
    """
    flat, spec = pytree.tree_flatten((sample.input, tuple(sample.args), dict(sample.kwargs)))
    places = [n for n, x in enumerate(flat) if isinstance(x, torch.Tensor)]

    def call(*tensors: torch.Tensor) -> list[torch.Tensor]:
        filled = list(flat)
        for n, tensor in zip(places, tensors, strict=True):
            filled[n] = tensor
        first, args, kwargs = pytree.tree_unflatten(filled, spec)
        result = operator(first, *args, **kwargs)
        return [x for x in leaves(result) if isinstance(x, torch.Tensor)]

    tensors = [flat[n] for n in places]
    traced = _trace(call, tensors)
    doubled, expected = _at_other_sizes(call, traced, tensors)
    built = _build(traced, opset_version)
    runs = [
        (traced.sizes, tensors, _fresh(call, tensors)),
        (doubled.sizes, doubled.tensors, expected),
    ]
    return [Compared(s, run_built(built, feed_of(t)), w) for s, t, w in runs]


def _fresh(call: Callable[..., Any], tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Torch's result on copies, as an operator may write into its arguments."""
    result: list[torch.Tensor] = call(*(t.clone() for t in tensors))
    return result


@dataclass(frozen=True)
class _Traced:
    module: Any
    fakes: list[torch.Tensor]
    sizes: dict[str, int]
    environment: Any

    def allows(self, sizes: Mapping[str, int]) -> bool:
        """Whether the graph is still what torch would have traced."""
        bound = {s: sizes[str(s)] for s in self._symbols() if str(s) in sizes}
        ranges = self.environment.var_to_range
        if any(
            s in ranges and not ranges[s].lower <= v <= ranges[s].upper for s, v in bound.items()
        ):
            return False
        return all(str(g.expr.xreplace(bound)) != "False" for g in self.environment.guards)

    def _symbols(self) -> set[Any]:
        return {s for fake in self.fakes for d in fake.shape for s in _symbols_of(d)}


@dataclass(frozen=True)
class _Sized:
    sizes: dict[str, int]
    tensors: list[torch.Tensor]


def _symbols_of(size: Any) -> set[Any]:
    return set() if isinstance(size, int) else set(size.node.expr.free_symbols)


def _trace(call: Callable[..., Any], tensors: Sequence[torch.Tensor]) -> _Traced:
    """The operators of a call as a graph with symbolic sizes."""
    quiet = logging.root.manager.disable
    try:
        logging.disable(logging.ERROR)  # torch logs what it then raises
        with torch.no_grad():
            # Copies, because tracing notes in a tensor that it was traced.
            copies = [t.detach().clone() for t in tensors]
            module = make_fx(call, tracing_mode="symbolic", pre_dispatch=True)(*copies)
    except Exception as error:
        text = str(error).strip().splitlines()
        raise RefusedError(
            f"no trace with symbolic sizes: {type(error).__name__}: {text[0][:200] if text else ''}"
        ) from error
    finally:
        logging.disable(quiet)
    _put_writes_in_order(module)
    fakes = [n.meta["val"] for n in module.graph.nodes if n.op == "placeholder"]
    sizes: dict[str, int] = {}
    for fake, tensor in zip(fakes, tensors, strict=True):
        for symbolic, size in zip(fake.shape, tensor.shape, strict=True):
            if not isinstance(symbolic, int) and symbolic.node.expr.is_Symbol:
                sizes[str(symbolic.node.expr)] = size
    if not sizes:
        raise RefusedError("torch leaves no size symbolic")
    return _Traced(module, fakes, sizes, module.shape_env)


def _put_writes_in_order(module: Any) -> None:
    """Let what reads a tensor after it was written into read the result of the writing."""
    order = {node: n for n, node in enumerate(module.graph.nodes)}
    for node in list(module.graph.nodes):
        if node.op == "call_function" and hasattr(node.target, "_schema"):
            if is_in_place(node.target):
                node.args[0].replace_all_uses_with(
                    node, delete_user_cb=lambda user, at=order[node]: order[user] > at
                )


def _at_other_sizes(
    call: Callable[..., Any], traced: _Traced, tensors: Sequence[torch.Tensor]
) -> tuple[_Sized, list[torch.Tensor]]:
    """The sample with all symbols doubled, else with one of them, where torch takes it."""
    choices = [list(traced.sizes), *([s] for s in traced.sizes if len(traced.sizes) > 1)]
    why = "the graph holds for no doubled size"
    for chosen in choices:
        sizes = {n: v * 2 if n in chosen else v for n, v in traced.sizes.items()}
        if not traced.allows(sizes):
            continue
        larger = _Sized(
            sizes, [_resized(t, f, sizes) for t, f in zip(tensors, traced.fakes, strict=True)]
        )
        try:
            return larger, _fresh(call, larger.tensors)
        except Exception as error:  # noqa: BLE001 - whatever torch raises, it refuses these sizes
            why = f"torch takes no doubled size: {type(error).__name__}: {str(error)[:150]}"
    raise RefusedError(why)


def _resized(tensor: torch.Tensor, fake: torch.Tensor, sizes: Mapping[str, int]) -> torch.Tensor:
    """A tensor of other sizes with the same elements over and over, so that indices stay good.

    Floating numbers of the copies are a little smaller, each by a factor of its own: no two are
    equal where the order of equal ones is not said, and no two rows of a matrix are parallel.
    """
    for axis, symbolic in enumerate(fake.shape):
        if isinstance(symbolic, int):
            continue
        expression = symbolic.node.expr
        size = int(expression.xreplace({s: sizes[str(s)] for s in expression.free_symbols}))
        if size != tensor.shape[axis]:
            times = math.ceil(size / tensor.shape[axis])
            copies = [tensor, *(_like(tensor, n) for n in range(1, times))]
            tensor = torch.cat(copies, axis).narrow(axis, 0, size)
    return tensor.contiguous()


def _like(tensor: torch.Tensor, seed: int) -> torch.Tensor:
    """A copy with other numbers near by; integers and truth values stay."""
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return tensor
    generator = torch.Generator().manual_seed(seed)
    factor = 1 - torch.rand(tensor.shape, generator=generator) / 8
    return (tensor * factor).to(tensor.dtype)


def _build(traced: _Traced, opset_version: int) -> BuiltGraph:
    translator = Translator(opset_version, Lowerings(), Dimensions({}))
    inputs = [translator.input(f"x{n}", fake) for n, fake in enumerate(traced.fakes)]
    results = translator.run(traced.module, inputs)
    if translator.missing:
        raise MissingError(", ".join(translator.missing))
    packed: list[Any] = []
    outputs: list[Any] = []
    for value in results:
        pair = isinstance(value, Complex)
        if pair or is_value(value):
            outputs.append(Output(len(packed), pair))
            packed.append(pack(translator.op, value) if pair else value)
        else:
            outputs.append(value)
    return BuiltGraph(translator.backend.to_model_proto(packed), {}, outputs)
