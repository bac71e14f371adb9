"""The functions that a model may call are found without making the items of tables."""

from __future__ import annotations

import torch

import onnxwright as ow
from tests.exporter.source.programs import as_module


class Filled(dict):  # type: ignore[type-arg]
    """Makes its items when it is asked, as the tables of transformers import their models."""

    def __len__(self) -> int:
        raise ImportError("not installed")

    __iter__ = keys = values = items = __len__  # type: ignore[assignment]


FILLED = Filled()


def reads_a_table(x):
    return x * 2 if FILLED is not None else x


def test_items_of_objects_are_not_made_to_find_functions() -> None:
    program = ow.export(as_module(reads_a_table), (torch.ones(3),))
    torch.testing.assert_close(program(torch.ones(3)), torch.ones(3) * 2)
