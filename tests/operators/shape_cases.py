"""Calls of operators and the types they give, as data: before and after of every shape rule.

`Split @13 (f32[N,9]) {'axis': 1} -> f32[N,3] f32[N,6]`: operators, version, inputs, attributes and
what comes out.  An input is written `f32[N,3]`; `f32` has no known rank, `?` no known type, `-` is
absent.  `i64[2]=0,-1` is an input that is known to hold numbers, `i64[2]~N,3` one known as a shape.
The result is written the same way; `declines` where the rule leaves the call to ONNX, `contradicts`
where the inputs contradict each other and ONNX Runtime refuses them (`of 2`: of two outputs).
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).with_name("shape_cases.txt")
_ROW = re.compile(r"(.+) @(\d+) \((.*)\) (?:(\{.*\}) )?-> (.*?)(?: of (\d))?")


class Case(NamedTuple):
    """One call and what comes out."""

    op: str
    version: int
    inputs: str
    attributes: dict[str, Any]
    count: int
    outputs: str


def load() -> list[Case]:
    """The calls of the file."""
    cases = []
    for line in filter(None, FILE.read_text(encoding="utf-8").splitlines()):
        row = _ROW.fullmatch(line)
        assert row is not None, line
        names, version, inputs, attributes, outputs, several = row.groups()
        count = int(several or len(outputs.split()))
        call = (int(version), inputs, ast.literal_eval(attributes or "{}"), count, outputs)
        cases += [Case(name, *call) for name in names.split()]
    return cases


CASES = load()
