"""Names of tensors of caches: inputs `past_key_values.0.key`, outputs `present.0.key`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from onnxwright.exporter.signature import inputs_of

PAST, PRESENT = "past_key_values", "present"
# Attributes of a layer under the names that runtimes and config files use.
_SINGULAR = {"keys": "key", "values": "value"}
# The parts of a layer of a `StaticCache`, as `register_caches` flattens them.
_STATIC = ("key", "value", "length")


def cache_inputs(program: ExportedProgram) -> dict[int, str]:
    """The names of the inputs of a program that are tensors of caches.

    Returns:
        Place among the flattened inputs -> `past_key_values.{layer}.{part}`; the name of the
        argument is the first word where there are several caches.
    """
    spec = getattr(program.call_spec, "in_spec", None)
    if spec is None:
        return {}
    users = [e.node.name for e in inputs_of(program) if e.kind is InputKind.USER_INPUT]
    return _names(spec, PAST, users)


def cache_outputs(program: ExportedProgram) -> dict[int, str]:
    """The outputs of a program that are tensors of caches: place -> `present.{layer}.{part}`."""
    spec = getattr(program.call_spec, "out_spec", None)
    return {} if spec is None else _names(spec, PRESENT)


def leaf_names(spec: Any) -> dict[int, str]:
    """The names of tensors of caches in a structure of inputs: place of the leaf -> name."""
    return _names(spec, PAST)


def _names(spec: Any, word: str, nodes: Sequence[str] = ()) -> dict[int, str]:
    caches = list(_caches(spec, 0, ""))
    named: dict[int, str] = {}
    for start, argument, cache in caches:
        if len(caches) > 1 and not argument:  # an argument by position
            argument = _common_start(nodes[start : start + cache.num_leaves])
        first = word if len(caches) == 1 or not argument else argument
        named |= {start + n: f"{first}.{part}" for n, part in enumerate(_parts(cache)) if part}
    return named


def _common_start(names: Sequence[str]) -> str:
    """The letters that all names begin with: `draft` of `draft_key_cache_0` and others."""
    first, last = min(names, default=""), max(names, default="")
    same = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), 0)
    return first[:same].rstrip("_")


def _caches(spec: Any, start: int, argument: str) -> Iterator[tuple[int, str, Any]]:
    """The caches in a structure: the place of the first leaf, the nearest key, the structure."""
    if _kind(spec) in _PARTS:
        yield start, argument, spec
        return
    keys = spec.context if isinstance(spec.context, (list, tuple)) else ()
    for n, child in enumerate(_children(spec)):
        key = keys[n] if n < len(keys) and isinstance(keys[n], str) else argument
        yield from _caches(child, start, key)
        start += child.num_leaves


def _kind(spec: Any) -> str:
    """The class of a structure, or the cache that it is derived of."""
    names = [kind.__name__ for kind in getattr(spec.type, "__mro__", ())]
    return next((name for name in names if name in _PARTS), "")


def _children(spec: Any) -> list[Any]:
    return list(spec.children()) if callable(spec.children) else list(spec.children_specs)


def _parts(spec: Any, part: str = "") -> list[str]:
    """`{layer}.{part}` for each leaf of a cache, in order."""
    return _PARTS[_kind(spec)](spec, part)


def _dynamic(spec: Any, part: str) -> list[str]:
    """Keys of all layers, then values; or a dict for each layer."""
    children = _children(spec)
    layers = spec.context and spec.context[0] == "states"
    if not layers:
        names = [str(name).split("_")[0] for name in spec.context[0]]
        return [
            f"{n}.{part}{name}"
            for name, child in zip(names, children, strict=True)
            for n in range(child.num_leaves)
        ]
    return [
        f"{n}.{part}{_SINGULAR.get(name, name)}"
        for n, child in enumerate(children)
        for name, leaves in zip(child.context, _children(child), strict=True)
        for _ in range(leaves.num_leaves)
    ]


def _static(spec: Any, part: str) -> list[str]:
    return [
        f"{n}.{part}{name}"
        for n, child in enumerate(_children(spec))
        for name in _STATIC[: child.num_leaves]
    ]


def _pair(spec: Any, part: str) -> list[str]:
    """The cache of the decoder, then what it has read of the encoder."""
    halves = zip(("decoder.", "encoder."), _children(spec), strict=True)
    return [name for half, child in halves for name in _parts(child, half)]


_PARTS = {"DynamicCache": _dynamic, "StaticCache": _static, "EncoderDecoderCache": _pair}
