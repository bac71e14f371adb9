"""What ONNX Runtime can run: the types its kernels take, as words for messages."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NoReturn

from onnxwright.diagnostics.catalogue import eager as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.eager import node_model
from onnxwright.eager.ort import sessions
from onnxwright.eager.values import Value, show_values
from onnxwright.opset.op import Op
from onnxwright.opset.registry import show_types


@functools.cache
def _kernels() -> dict[tuple[str, str], tuple[Any, ...]]:
    """(domain, op) -> the kernels on the CPU; empty where this runtime does not say."""
    from onnxruntime.capi import onnxruntime_pybind11_state as core

    list_all = getattr(core, "get_all_opkernel_def", None)
    by_operator: dict[tuple[str, str], list[Any]] = {}
    for kernel in list_all() if list_all is not None else ():
        domain = "" if kernel.domain == "ai.onnx" else kernel.domain
        by_operator.setdefault((domain, kernel.op_name), []).append(kernel)
    return {key: tuple(kernels) for key, kernels in by_operator.items()}


def kernel_types(domain: str, name: str, version: int) -> dict[str, frozenset[str]] | None:
    """The types for which there is a kernel.

    Args:
        domain: the operator's domain.

    Returns:
        Type variable -> types as onnx writes them, of all kernels of that version together; None
        where no kernel exists at all.
    """
    result: dict[str, set[str]] = {}
    kernels = _kernels().get((domain, name), ())
    matching = [k for k in kernels if k.version_range[0] <= version <= k.version_range[1]]
    for kernel in matching:
        for variable, types in kernel.type_constraints.items():
            result.setdefault(variable, set()).update(types)
    return {v: frozenset(t) for v, t in result.items()} if matching else None


def kernels_text(domain: str, name: str, version: int) -> str:
    """What kernels there are, as words.

    Args:
        domain: the operator's domain.
    """
    types = kernel_types(domain, name, version)
    if types is None:
        versions = sorted({k.version_range[0] for k in _kernels().get((domain, name), ())})
        if versions:
            listed = ", ".join(map(str, versions))
            return f"it has kernels for the versions {listed} of this operator, not for {version}"
        return "it has no kernel for this operator"
    shown = [f"{v}: {_all_types(t)}" for v, t in sorted(types.items())]
    return "its kernels take " + ("; ".join(shown) if shown else "other types")


def _all_types(types: frozenset[str]) -> str:
    well_formed = frozenset(t for t in types if t.count("(") == t.count(")"))
    try:
        return show_types(well_formed, most=40)
    except TypeError:  # a type that onnx does not have
        return " | ".join(sorted(well_formed))


def fail_no_kernel(evaluator: str, op: Op, inputs: Sequence[Value], error: Exception) -> NoReturn:
    """Refuse a call that the runtime has no kernel for, with the types that its kernels take.

    Raises:
        EagerError: always.
    """
    version = min(op.version, sessions.newest_opset()) if op.domain == "" else op.version
    fail(
        messages.NoKernel(
            evaluator=evaluator,
            op=op.name,
            inputs=show_values(inputs),
            reason=str(error),
            kernels=kernels_text(op.domain, op.name, version),
            signature=node_model.op_text(op),
        )
    )
