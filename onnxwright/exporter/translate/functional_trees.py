"""The programs of a capture without writes to their inputs and buffers."""

from __future__ import annotations

import dataclasses

from torch.export import ExportedProgram

from onnxwright.exporter.capture.assumptions.branches import Fork, Tree
from onnxwright.exporter.capture.held_state import with_buffers_joined
from onnxwright.exporter.translate import mutation


def functional_tree(tree: Tree, first: ExportedProgram) -> Tree:
    """The programs of a tree without writes; the first leaf is given."""
    if isinstance(tree, Fork):
        holds = functional_tree(tree.holds, first)
        return dataclasses.replace(tree, holds=holds, fails=_every_functional(tree.fails))
    return dataclasses.replace(tree, program=first)


def _every_functional(tree: Tree) -> Tree:
    if isinstance(tree, Fork):
        return dataclasses.replace(
            tree, holds=_every_functional(tree.holds), fails=_every_functional(tree.fails)
        )
    return dataclasses.replace(tree, program=mutation.functional(with_buffers_joined(tree.program)))
