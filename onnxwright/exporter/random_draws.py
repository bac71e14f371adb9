"""Models that draw random numbers outside of training: two calls give different results."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from onnxwright.diagnostics.catalogue import export_forms as messages
from onnxwright.diagnostics.diagnostic import warn
from onnxwright.diagnostics.file_owners import Owner, owner_of
from onnxwright.exporter.places import operator_text, span_of, target_name
from onnxwright.exporter.program.onnx_program import ONNXProgram
from onnxwright.exporter.program.random_values import Draws

# What draws, beside dropout and the like, which draw in training only.
_DRAWING = (
    "bernoulli", "binomial", "cauchy", "exponential", "geometric", "log_normal", "multinomial",
    "normal", "poisson", "rand", "uniform",
)  # fmt: skip


def warn_random_draws(program: ExportedProgram, onnx_program: ONNXProgram) -> None:
    """Warn once of a model whose libraries draw random numbers outside of training (OW889).

    Code of the user's own that draws says so itself.
    """
    if onnx_program.module is not None and onnx_program.module.training:
        return
    nodes = [n for n in _draws(program) if owner_of(_file(n)) is Owner.INSTALLED]
    if nodes and Draws(onnx_program.model).any():
        places = dict.fromkeys(str(span.place) for n in nodes if (span := span_of(n)))
        warn(
            messages.DrawsRandomNumbers(
                operator=operator_text(nodes[0].target),
                notes=tuple(f"and at {place}" for place in [*places][1:]),
                span=span_of(nodes[0]),
            )
        )


def _draws(program: ExportedProgram) -> Iterator[Node]:
    """The operators of a program that draw random numbers which something reads."""
    for module in program.graph_module.modules():
        for node in module.graph.nodes if isinstance(module, GraphModule) else ():
            tags = getattr(node.target, "tags", ())
            name = target_name(node.target).partition("::")[2]
            if torch.Tag.nondeterministic_seeded in tags and name.startswith(_DRAWING):
                if node.users:
                    yield node


def _file(node: Node) -> str:
    span = span_of(node)
    return "" if span is None else span.file
