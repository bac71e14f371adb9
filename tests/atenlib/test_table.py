"""The table of ATen functions: whole, without doubles, held to the lists of others."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from onnxwright.atenlib import TABLE, AtenFunction, aten, find, functions, like
from onnxwright.errors import AtenArgumentError, AtenLookupError
from tests.harness.tables import check_rows

HERE = Path(__file__).parent
OPS = HERE.parent.parent / "onnxwright" / "atenlib"
LONGEST = 450

ENTRIES = list(dict.fromkeys(functions().values()))
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="the lists are torch's")


def test_files_are_not_long() -> None:
    written = [path for path in OPS.rglob("*.py") if path.name != "kernels.py"]  # it is generated
    lines = {path.stem: len(path.read_text(encoding="utf-8").splitlines()) for path in written}
    assert len(lines) > 100
    assert {name: count for name, count in lines.items() if count > LONGEST} == {}


def test_a_second_definition_shows_both_places() -> None:
    mine: dict[str, AtenFunction] = {}

    @aten("my::op", rule=like("self"), table=mine)
    def first(op: Any, self: Any) -> Any:
        return self

    def second(op: Any, self: Any) -> Any:
        return self

    with pytest.raises(AtenArgumentError) as caught:
        aten("my::other", "my::op", rule=like("self"), table=mine)(second)
    places = [f"test_table.py:{f.__code__.co_firstlineno}" for f in (mine["my::op"].body, second)]
    first_line = str(caught.value).splitlines()[0]
    assert first_line == (
        f"error[OW801]: `my::op` is already defined at {places[0]}; "
        f"second definition at {places[1]}"
    )
    assert list(mine) == ["my::op"], "nothing of the refused one is kept"
    aten("my::op", rule=like("self"), table=mine, replace=True)(second)
    assert mine["my::op"].body is second


def _of_family(table: dict[str, AtenFunction], *names: str) -> AtenFunction:
    """One function of a family whose bodies are the same lines."""

    def body(op: Any, self: Any, *, factor: int = 1) -> Any:
        return op.Mul(self, factor)

    rule = like("self")
    return aten(*names, rule=rule, table=table, complex="same", doc="A multiple.")(body)


def test_a_family_may_not_define_a_name_twice() -> None:
    table: dict[str, AtenFunction] = {}
    first = _of_family(table, "my::times", "my::multiple")
    again = _of_family(table, "my::times", "my::multiple")  # as a module that runs again
    assert first.body.__doc__ == "A multiple."
    assert table["my::times"] is again
    assert again.complex_body is again.body
    with pytest.raises(AtenArgumentError, match="my::multiple"):
        _of_family(table, "my::other", "my::multiple")


def test_the_same_lines_may_run_again() -> None:
    """A module that is loaded again defines nothing twice."""
    mine: dict[str, AtenFunction] = {}
    for _ in range(2):

        @aten("my::op", rule=like("self"), table=mine)
        def first(op: Any, self: Any) -> Any:
            return self

    assert len(mine) == 1


def test_names_lead_to_their_entries() -> None:
    for entry in ENTRIES:
        assert all(TABLE[name] is entry for name in entry.names)
        assert entry.place.count(":") == 1
    with pytest.raises(AtenLookupError, match="no ATen function is registered for `aten::nope`"):
        find("aten::nope")


def test_an_entry_is_tested_or_says_why_not_and_says_what_it_means() -> None:
    def check(entry: AtenFunction) -> None:
        assert bool(entry.tests) != bool(entry.untested)
        assert all(x.reason for test in entry.tests for x in (*test.xfail, *test.skip))
        assert (entry.body.__doc__ or "").strip()

    check_rows(ENTRIES, check, lambda entry: entry.name)


@needs_torch
def test_opinfos_exist_and_units_have_names() -> None:
    """No entry names an OpInfo that torch does not have; every unit has a name of its own."""
    pytest.importorskip("expecttest", reason="torch's OpInfos import it")
    from onnxwright.sweep.units import infos, units

    names = {test.name for entry in ENTRIES for test in entry.tests}
    assert names - set(infos()) == set()
    keys = [unit.key for unit in units()]
    assert len(keys) == len(set(keys))


def missing(which: str) -> set[str]:
    """The operators that are known to have no function."""
    return set(json.loads((HERE / "missing.json").read_text(encoding="utf-8"))[which])


def same(names: set[str], listed: set[str]) -> None:
    """The lists only shrink: nothing new is missing, and what is there is taken off the list."""
    assert sorted(names - listed) == [], "lost; give them a function again"
    assert sorted(listed - names) == [], "these are there now: take them out of missing.json"


@needs_torch
def test_core_operators_are_there() -> None:
    """All of torch's core set that means something in inference."""
    from onnxwright.sweep.aten_schemas import core_operators, has_function, no_inference

    names = {n for n in core_operators() if not has_function(n) and not no_inference(n)}
    same(names, missing("core"))


@needs_torch
def test_core_operators_without_a_meaning_in_inference() -> None:
    """What is left out of the core set is left out for what its schema says."""
    from onnxwright.sweep.aten_schemas import core_operators, no_inference

    reasons = {n: no_inference(n) for n in core_operators() if no_inference(n)}
    assert "aten::convolution_backward" in reasons
    assert "aten::atan2.out" in reasons
    assert all(n.endswith(("_backward", ".out")) or "::sym_" in n for n in reasons)


def test_names_of_the_other_library() -> None:
    """The names that onnxscript's torchlib has, but for those that are known to be missing."""
    theirs = set(json.loads((HERE / "torchlib_names.json").read_text(encoding="utf-8")))
    # Python's own operators on sizes are not operators of torch: the exporter reads them.
    theirs = {n for n in theirs if not n.startswith(("_operator::", "math::"))}
    same({n for n in theirs if n not in TABLE}, missing("torchlib"))


@needs_torch
def test_opinfos_that_torch_onnx_passes() -> None:
    """What torch.onnx exports right (float32, two samples each) is held to its samples here."""
    pytest.importorskip("expecttest", reason="torch's OpInfos import it")
    from onnxwright.sweep.units import units

    theirs = set(json.loads((HERE / "torch_onnx_opinfos.json").read_text(encoding="utf-8")))
    tested = {u.test.name for u in units(None, ["float32"])}
    same(theirs - tested, missing("opinfos"))
