"""The first node of a program whose value differs from PyTorch's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Interpreter, Node

from onnxwright.exporter.places import module_of, span_of, target_name
from onnxwright.exporter.program.random_values import Draws
from onnxwright.exporter.program.sessions import session_of
from onnxwright.exporter.program.verification import OutputCheck, compare
from onnxwright.exporter.torch_internals import pytree
from onnxwright.exporter.torch_types import to_complex, to_torch
from onnxwright.exporter.translate.building import Built, Settings, build_with


@dataclass(frozen=True)
class FxDivergence:
    """A node whose value differs.

    Fields:
        node: the name of the FX node.
        target: its operator.
        place: the user's line, `file:line:col`; empty if torch kept none.
        module: the module it is in.
        check: how the values differ.
        ours, theirs: the values.
    """

    node: str
    target: str
    place: str
    module: str
    check: OutputCheck
    ours: Any
    theirs: Any

    def __str__(self) -> str:
        where = f" at {self.place}" if self.place else ""
        inside = f" in `{self.module}`" if self.module else ""
        return (
            f"`{self.node}` ({self.target}){where}{inside}: {self.check.problem}; "
            f"largest difference {self.check.max_abs:.3g}"
        )


# Operators whose elements are whatever the memory holds.
_UNDEFINED = ("aten::empty", "aten::new_empty")


class _Recorder(Interpreter):  # type: ignore[misc]
    """Runs a program in PyTorch and keeps the value of each node."""

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.values: dict[str, Any] = {}

    def run_node(self, n: Node) -> Any:
        value = super().run_node(n)
        if target_name(n.target).startswith(_UNDEFINED):
            value.zero_()  # as the function of the library has it
        self.values[n.name] = pytree.tree_map(
            lambda x: x.detach().clone() if isinstance(x, torch.Tensor) else x, value
        )
        return value


def first_divergence(
    program: Any,
    settings: Settings,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    *,
    rtol: float | None = None,
    atol: float | None = None,
) -> FxDivergence | None:
    """Run a program in PyTorch and in ONNX Runtime, and compare node by node.

    Args:
        rtol, atol: tolerances; by dtype if None.

    Returns:
        The first node that differs; None if none does. Nodes that random numbers are in are not
        compared.
    """
    built, extra = build_with(program.translated, settings)
    session = session_of(built.model, settings.target, providers=program.providers)
    arrays = session.run(program.feeds(args, kwargs))
    random = {v.name for v in Draws(built.model).values()}
    by_name = dict(zip((v.name for v in built.model.graph.outputs), arrays, strict=True))
    torch_values = _torch_values(program, built, args, kwargs)
    for node, outputs in extra:
        theirs = torch_values.get(node.name)
        several = theirs if isinstance(theirs, (tuple, list)) else [theirs]
        for (name, is_pair), one in zip(outputs, several, strict=False):
            if name is None or name in random or not isinstance(one, torch.Tensor):
                continue
            ours = to_complex(by_name[name]) if is_pair else to_torch(by_name[name])
            check = compare(node.name, "given", ours, one, rtol, atol)
            if check.problem:
                span = span_of(node)
                place = span.place if span is not None else ""
                return FxDivergence(
                    node.name, str(node.target), place, module_of(node)[0], check, ours, one
                )
    return None


def _torch_values(
    program: Any, built: Built, args: Sequence[Any], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """The value of each node by PyTorch."""
    exported = program.translated
    flat = program.flat_inputs(tuple(args), dict(kwargs))
    remaining_inputs = iter(flat)
    values = []
    for entry, _ in built.inputs:
        if entry.kind.name == "USER_INPUT":
            values.append(next(remaining_inputs))
    users = iter(values)
    weights = {**exported.state_dict, **exported.constants}
    inputs = [
        next(users) if spec.kind.name == "USER_INPUT" else weights.get(spec.target)
        for spec in exported.graph_signature.input_specs
    ]
    inputs = [x.detach().clone() if isinstance(x, torch.Tensor) else x for x in inputs]
    recorder = _Recorder(exported.graph_module)
    with torch.no_grad():
        recorder.run(*inputs)
    return recorder.values
