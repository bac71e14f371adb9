"""Calls below `forward` go through `bound` while a store is open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from onnxwright.exporter.capture.control import convert
from onnxwright.exporter.capture.control import runtime as _runtime  # noqa: F401 - says which
from onnxwright.exporter.capture.control.store import Store, current, open_store
from onnxwright.exporter.capture.replacements.changes import Changes
from onnxwright.exporter.torch_lock import TORCH_LOCK


def convert_calls(changes: Changes, store: Store) -> None:
    """Run what modules call as converted copies.

    The one function of PyTorch that is replaced is the one by which a module calls its `forward`
    and its hooks; other threads run it as it was, since they have no store.

    Args:
        changes: undo it; they are made with torch's lock.
        store: gets what is written; functions run in it with the code that they have in the one
            around.
    """
    around = current()
    if around is not None:
        store.code_for = around.code_for
    changes.later(open_store(store))
    before = torch.nn.Module._call_impl
    made = convert.converted(before)
    if made is not None and not convert.is_converted(before.__code__):
        changes.attribute(torch.nn.Module, "_call_impl", made)


@contextmanager
def calls_converted(store: Store) -> Iterator[Store]:
    """In this context, what modules call runs as converted copies.

    Args:
        store: as in `convert_calls`.
    """
    changes = Changes()
    with TORCH_LOCK:
        try:
            convert_calls(changes, store)
            yield store
        finally:
            changes.undo()
