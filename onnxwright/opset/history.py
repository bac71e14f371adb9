"""Which operators there are in which opset version, as the installed onnx says.

The only file that reads `onnx.defs`, which it imports when the first operator is asked for.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnx.defs import OpSchema


@functools.cache
def _defs() -> Any:
    from onnx import defs

    return defs


@functools.lru_cache(maxsize=4096)
def load_schema(domain: str, name: str, version: int) -> OpSchema:
    """A schema of the installed onnx."""
    schema: OpSchema = _defs().get_schema(name, version, domain)
    return schema


@functools.cache
def _history() -> dict[str, dict[str, tuple[tuple[int, bool], ...]]]:
    """Domain -> name -> (since_version, deprecated), oldest first."""
    versions_of: dict[str, dict[str, list[tuple[int, bool]]]] = {}
    for schema in _defs().get_all_schemas_with_history():
        versions = versions_of.setdefault(schema.domain, {}).setdefault(schema.name, [])
        versions.append((schema.since_version, schema.deprecated))
    return {
        domain: {name: tuple(sorted(ops[name])) for name in sorted(ops)}
        for domain, ops in sorted(versions_of.items())
    }


def normalize_domain(domain: str) -> str:
    """The domain as models store it: "ai.onnx" is "".

    Returns:
        The same domain, or "" for the standard one.
    """
    return "" if domain == "ai.onnx" else domain


def domains() -> tuple[str, ...]:
    """The domains the installed onnx has operators of.

    Returns:
        The domains; "" is the standard one.

    Source:
        `onnx.defs`.

    Example:
        >>> "" in domains(), "ai.onnx.ml" in domains()
        (True, True)
    """
    return tuple(_history())


def is_known_domain(domain: str) -> bool:
    """Whether the installed onnx has operators of this domain.

    Returns:
        False for domains of the user's own.
    """
    return normalize_domain(domain) in _history()


@functools.cache
def newest(domain: str = "") -> int:
    """The newest version of an opset that the installed onnx knows.

    Returns:
        The version; 1 for a domain that onnx does not know.

    Source:
        `onnx.defs.onnx_opset_version`.

    Example:
        >>> newest() >= 23, newest("my.domain")
        (True, 1)
    """
    domain = normalize_domain(domain)
    newest_version = _defs().onnx_opset_version() if domain == "" else 1
    ops = _history().get(domain, {})
    return max([newest_version, *(since for versions in ops.values() for since, _ in versions)])


def versions_of(domain: str, name: str) -> tuple[tuple[int, bool], ...]:
    """The versions that changed an operator, oldest first.

    Returns:
        Pairs of the version and whether it took the operator out; empty for an unknown one.

    Source:
        `onnx.defs`, the history of schemas.

    Example:
        >>> versions_of("", "Upsample")
        ((1, False), (7, False), (9, False), (10, True))
    """
    return _history().get(normalize_domain(domain), {}).get(name, ())


def first_version(domain: str, name: str) -> int | None:
    """The version of the opset that an operator came with.

    Returns:
        The version; None for an unknown operator.

    Source:
        `onnx.defs`, the history of schemas.

    Example:
        >>> first_version("", "Gelu"), first_version("", "Nope")
        (20, None)
    """
    versions = versions_of(domain, name)
    return versions[0][0] if versions else None


def all_names(domain: str) -> tuple[str, ...]:
    """Every operator a domain ever had, sorted."""
    return tuple(_history().get(normalize_domain(domain), {}))


@functools.cache
def op_names(domain: str, version: int) -> tuple[str, ...]:
    """The operators of an opset that are not deprecated, sorted.

    Returns:
        Their names.

    Source:
        `onnx.defs`.

    Example:
        >>> "Gelu" in op_names("", 20), "Gelu" in op_names("", 19)
        (True, False)
    """
    names: list[str] = []
    for name, versions in _history().get(normalize_domain(domain), {}).items():
        at = [deprecated for since, deprecated in versions if since <= version]
        if at and not at[-1]:
            names.append(name)
    return tuple(names)
