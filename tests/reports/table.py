"""What a row of the tables of public reports is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import parser

F32 = np.float32


def arange(*shape: int) -> np.ndarray[Any, Any]:
    """Numbers that all differ, some of them negative."""
    count = int(np.prod(shape))
    return (np.arange(count, dtype=F32) / 4 - F32(0.5)).reshape(shape)


@dataclass(frozen=True, kw_only=False)
class ModelReport:
    """A report about what a tool made of a model.

    Fields:
        repository, number: where it was reported.
        what: what it is about.
        graph: the graph of a model of our own that shows it, without its name.
        feeds: its inputs, in order.
        right: the right results, from the inputs.
        opset: the opset version.
        functions: the model's functions.
        imports: further opset imports.
    """

    repository: str
    number: int
    what: str
    graph: str
    feeds: Sequence[np.ndarray[Any, Any]]
    right: Callable[..., Any]
    opset: int = 20
    functions: str = ""
    imports: str = ""

    @property
    def model(self) -> onnx.ModelProto:
        """The model."""
        domains = ', "d" : 1' if self.functions else ""
        head = f'<ir_version: 10, opset_import: ["" : {self.opset}{domains}{self.imports}]>'
        return parser.parse_model(f"{head} g {self.graph} {self.functions}")

    @property
    def results(self) -> list[Any]:
        """The right results."""
        found = self.right(*self.feeds)
        return list(found) if isinstance(found, tuple) else [found]

    def __str__(self) -> str:
        return f"{self.repository}#{self.number}"
