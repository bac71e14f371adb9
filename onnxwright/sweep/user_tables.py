"""A user's own ATen functions in a sweep: those that a module defines, with OpInfos by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import ModuleType

import torch

from onnxwright.atenlib.load import functions
from onnxwright.atenlib.op import AtenFunction
from onnxwright.atenlib.optest import OpTest
from onnxwright.sweep.results import UnitResult
from onnxwright.sweep.units import DTYPES, Unit, infos


@dataclass(frozen=True)
class UserTable:
    """The functions of a file.

    Fields:
        entries: the functions by the full names of their operators.
        units: the pieces of the sweep, one for each OpInfo and dtype of each function.
        untested: functions that no OpInfo covers -> why.
    """

    entries: Mapping[str, AtenFunction]
    units: list[Unit]
    untested: Mapping[str, str]


def table_of(module: ModuleType, dtypes: Sequence[str] | None = None) -> UserTable:
    """The ATen functions that a module defines, in the library's table or in one of its own.

    A function without tests is run on the samples of the OpInfos of its name.

    Args:
        dtypes: names of torch dtypes; all of the sweep by default.

    Returns:
        The table; without entries where the module defines none.

    Raises:
        ValueError: a test names an OpInfo that torch does not have.
    """
    own = {}
    tables = [functions(), *(v for v in vars(module).values() if isinstance(v, dict))]
    for table in tables:
        for name, entry in table.items():
            if isinstance(entry, AtenFunction) and _is_of(entry, module):
                own[str(name)] = entry
    units: list[Unit] = []
    untested: dict[str, str] = {}
    for entry in dict.fromkeys(own.values()):
        tests = entry.tests or tuple(map(OpTest, _infos_named(entry)))
        unknown = next((test.name for test in tests if test.name not in infos()), None)
        if unknown is not None:
            raise ValueError(f"{entry.place}: torch has no OpInfo {unknown!r}")
        if not tests:
            untested[entry.name] = entry.untested or "torch has no OpInfo of its name"
        units += [
            Unit(entry, test, dtype)
            for test in tests
            for dtype in dtypes or DTYPES
            if getattr(torch, dtype) in infos()[test.name].supported_dtypes("cpu")
        ]
    return UserTable(own, units, untested)


@contextmanager
def in_use(table: UserTable) -> Iterator[None]:
    """Let calls of ATen operators find the functions of a table first."""
    library = functions()
    before = {name: library.get(name) for name in table.entries}
    library.update(table.entries)
    try:
        yield
    finally:
        for name, entry in before.items():
            if entry is None:
                del library[name]
            else:
                library[name] = entry


def without_others(result: UnitResult, table: UserTable) -> UnitResult:
    """A result in which samples that do not run the function count as skipped."""
    names = {n for n, entry in table.entries.items() if entry.name == result.function}
    return replace(
        result,
        outcomes=tuple(
            replace(o, status="skipped", why=f"the sample runs {', '.join(o.ran) or 'nothing'}")
            if o.ran and not names & set(o.ran)
            else o
            for o in result.outcomes
        ),
    )


def _is_of(entry: AtenFunction, module: ModuleType) -> bool:
    return entry.body.__globals__ is vars(module)


def _infos_named(entry: AtenFunction) -> list[str]:
    """The OpInfos of an operator: those whose name, or whose ATen name, is that of the operator."""
    short = {name.split("::")[-1].split(".")[0] for name in entry.names}
    return [
        name
        for name, info in infos().items()
        if info.name.rpartition(".")[2] in short or info.aten_name in short
    ]
