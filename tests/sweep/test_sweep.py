"""The OpInfo sweep finds what is wrong, counts what it leaves out, and goes on after a stop."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

pytest.importorskip("expecttest", reason="torch's OpInfos import it")

from onnxwright.atenlib import TABLE, AtenFunction, OpTest, Skip, Tol, XFail, find, like  # noqa: E402
from onnxwright.cli.main import main  # noqa: E402
from onnxwright.sweep import judging  # noqa: E402
from onnxwright.sweep import run as sweep_run  # noqa: E402
from onnxwright.sweep import units as sweep  # noqa: E402
from onnxwright.sweep.cluster import Cluster  # noqa: E402
from onnxwright.sweep.coverage import STATES, coverage  # noqa: E402
from onnxwright.sweep.journal import Journal, merge  # noqa: E402
from onnxwright.sweep.report import Report  # noqa: E402
from onnxwright.sweep.results import Settings, UnitResult  # noqa: E402
from onnxwright.sweep.run import measure, run_units  # noqa: E402
from onnxwright.sweep.run import sweep as run_sweep  # noqa: E402

ABS = "aten::abs"


def unit(test: OpTest | None = None, dtype: str = "float32", name: str = ABS) -> sweep.Unit:
    entry = find(name)
    return sweep.Unit(entry, test or entry.tests[0], dtype)


def outcomes(u: sweep.Unit, *modes: str) -> list[sweep.Outcome]:
    return list(sweep.run_unit(u, modes or sweep.MODES))


def put(monkeypatch: pytest.MonkeyPatch, body: Any, name: str = ABS) -> None:
    """Let an operator have another body."""
    find(name)  # the table is loaded before an entry of it is replaced
    entry = AtenFunction((name,), body, like("self"), (OpTest("abs"),))
    monkeypatch.setitem(TABLE, name, entry)


def test_a_right_function_passes_in_every_mode() -> None:
    found = outcomes(unit(), "eager", "graph", "dynamic")
    assert {o.mode for o in found} == {"eager", "graph", "dynamic"}
    assert {o.status for o in found} == {"passed"}
    assert {o.ran for o in found} == {(ABS,)}


def test_what_a_function_creates_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch's functions that create tensors return other objects than the operators do."""

    def body(op: Any, self: Any, *, dtype: Any = None) -> Any:  # noqa: ARG001 - torch's names
        return op.Neg(self)

    name = "aten::ones_like"
    find(name)  # as in `put`
    entry = AtenFunction((name,), body, like("self"), (OpTest("ones_like"),))
    monkeypatch.setitem(TABLE, name, entry)
    found = outcomes(sweep.Unit(entry, entry.tests[0], "float32"))
    assert any("not close" in o.why for o in found)


WRONG = {
    "Tensor-likes are not close": lambda op, self: op.Neg(op.Abs(self)),
    "shape [1,": lambda op, self: op.Unsqueeze(op.Abs(self), [0]),
    "ZeroDivisionError": lambda op, self: 1 // 0,
    "returns one value": lambda op, self: [op.Abs(self)],
}


@pytest.mark.parametrize("why", WRONG)
def test_a_wrong_function_fails(monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    put(monkeypatch, WRONG[why])
    found = outcomes(unit(), "eager", "graph")
    assert {o.status for o in found} == {"failed"}
    assert all(why in o.why for o in found)


def test_a_wrong_dtype_fails() -> None:
    """The rule casts results, so this is asked of the comparison itself."""
    one, other = torch.ones(2), torch.ones(2, dtype=torch.float64)
    told = judging.compare(one, other, OpTest("abs"), "float32")
    assert told == "dtype torch.float32, torch has torch.float64"
    assert judging.compare(1, 1.0, OpTest("abs"), "float32") == "a int, torch has a float"
    assert judging.compare(torch.tensor(3), 3, OpTest("abs"), "int64") == ""
    assert judging.compare(torch.tensor(3), 4, OpTest("abs"), "int64") != ""


def test_tolerances_are_those_of_torch_or_of_the_table() -> None:
    one, other = torch.ones(2), torch.ones(2) * 1.001
    assert judging.compare(one, other, OpTest("abs"), "float32") != ""
    wide = OpTest("abs", tol={"float32": Tol(1e-2, 0)})
    assert judging.compare(one, other, wide, "float32") == ""
    assert judging.compare(one, other, wide, "float64") != ""
    assert judging.compare(one, one * 5, OpTest("abs", compare="shape"), "float32") == ""


def test_a_function_that_is_lacking_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    u = unit()
    monkeypatch.delitem(TABLE, ABS)
    found = outcomes(u, "eager", "graph")
    assert {(o.status, o.why) for o in found} == {("missing", ABS)}


def test_known_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that fails as said, one that passes unexpectedly, one that may do either."""
    known = XFail("it is known", modes=("graph",))
    test = OpTest("abs", xfail=[known])
    assert Counter(o.status for o in outcomes(unit(test))) == {"passed": 1, "xpassed": 1}
    may = OpTest("abs", xfail=[XFail("at times", sometimes=True)])
    assert {o.status for o in outcomes(unit(may))} == {"passed"}
    put(monkeypatch, WRONG["ZeroDivisionError"])
    found = outcomes(unit(test))
    assert [(o.mode, o.status, o.why) for o in found] == [
        ("eager", "failed", found[0].why),
        ("graph", "xfailed", "it is known"),
    ]


def test_skips_are_told_and_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    put(monkeypatch, WRONG["ZeroDivisionError"])
    test = OpTest("abs", skip=[Skip("it would not end", dtypes=("float32",))])
    assert {(o.status, o.why) for o in outcomes(unit(test))} == {("skipped", "it would not end")}
    assert {o.status for o in outcomes(unit(test, "int64"))} == {"failed"}


def test_a_matcher_that_raises_is_told() -> None:
    test = OpTest("abs", xfail=[XFail("?", matcher=lambda s: s.nobody)])
    (first, _) = outcomes(unit(test))
    assert first.status == "failed"
    assert "matcher of a known failure raises AttributeError" in first.why


def test_what_torch_refuses_is_not_counted() -> None:
    """Samples that raise in torch are refused; so are samples without a symbolic size."""

    class Info:
        def op(self, x: Any) -> Any:
            raise RuntimeError("not for this")

        def sample_inputs(self, *_: Any, **__: Any) -> Any:
            from torch.testing._internal.opinfo.core import SampleInput

            yield SampleInput(torch.ones(2))
            raise ValueError("no more")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep, "infos", lambda: {"abs": Info()})
        found = outcomes(unit(), "eager")
    assert [(o.status, o.why) for o in found] == [
        ("refused", "RuntimeError: not for this"),
        ("refused", "ValueError: no more"),
    ]


def test_a_sample_that_is_written_into_is_put_back() -> None:
    from torch.testing._internal.opinfo.core import SampleInput

    class Info:
        op = staticmethod(lambda x: x.mul_(2))

    sample = SampleInput(torch.tensor([1.0, float("nan")]))
    recorded = sweep.record_sample(Info, sample)
    assert sample.input[0] == 1
    assert recorded.expected[0][0] == 2
    assert [c.name for c in recorded.calls] == ["aten::mul_.Tensor"]


def test_nothing_to_compare_is_no_pass() -> None:
    status, why = judging.judge_results([], [], OpTest("abs"), "float32")
    assert status == "skipped"
    assert "nothing to compare" in why


def test_a_journal_is_gone_on_with(tmp_path: Path) -> None:
    todo = sweep.units(["abs"], ["float32", "int64"])
    settings = Settings(("eager",), limit=1)
    path = tmp_path / "sweep.jsonl"
    journal = Journal(path, settings)
    journal.add(measure(todo[0], settings))
    with path.open("a", encoding="utf-8") as file:
        file.write('{"key": "half a li')
    again = Journal(path, settings, resume=True)
    assert [r.key for r in again.done] == [todo[0].key]
    seen: list[str] = []
    results = run_sweep(todo, settings, journal=again, each=lambda r: seen.append(r.key))
    assert [r.key for r in results] == [u.key for u in todo] == seen
    assert len(path.read_text(encoding="utf-8").splitlines()) == 1 + len(todo)
    read = Journal(path, settings, resume=True).done
    assert [r.data() for r in read] == [r.data() for r in results]
    with pytest.raises(ValueError, match="limit was 1"):
        Journal(path, Settings(("eager",)), resume=True)


@pytest.mark.slow  # `test_cluster` has a task that ends its process in the default run
def test_a_crash_costs_one_sample() -> None:
    """A unit that ends its process is run again sample by sample."""
    todo = sweep.units(["add"], ["float32"])[0]
    settings = Settings(("eager",), limit=2)
    whole = measure(todo, settings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep_run, "_run_task", _crash_at_one)
        (result,) = run_units([todo], settings, Cluster(workers=1))
    assert [o.sample for o in result.outcomes] == [o.sample for o in whole.outcomes]
    bad = [(o.sample, o.status, o.why) for o in result.outcomes if o.status != "passed"]
    why = "its process ended (a crash of a library, or too much memory)"
    assert bad == [(1, "failed", why)]


def _crash_at_one(task: sweep_run._Task) -> dict[str, Any]:
    if task.sample in (None, 1):
        os.kill(os.getpid(), signal.SIGSEGV)
    return sweep_run._run_task(task)


def test_parts_of_a_sweep_are_merged(tmp_path: Path, capsys: Any) -> None:
    line = ["sweep", "--op", "abs", "--op", "neg", "--dtype", "float32", "--dtype", "int64"]
    run = [*line, "-n", "0", "--limit", "1", "--mode", "eager"]
    parts = [tmp_path / f"part{n}.jsonl" for n in (1, 2, 3)]
    for n, part in enumerate(parts, start=1):
        assert main([*run, "--shard", f"{n}/3", "--journal", str(part)]) == 0
    names = [json.loads(x)["key"] for p in parts for x in p.read_text().splitlines()[1:]]
    assert sorted(names) == sorted(u.key for u in sweep.units(["abs", "neg"], ["float32", "int64"]))
    capsys.readouterr()
    merged = tmp_path / "all.json"
    files = [str(part) for part in parts]
    assert main([*line, "--json", str(merged), "merge", *files]) == 0
    assert json.loads(merged.read_text())["totals"] == {"passed": len(names)}
    assert main([*line, "merge", *files[:2]]) == 1
    shown = capsys.readouterr().out
    assert "units are in none of the journals" in shown
    assert "not run: " in shown
    other = tmp_path / "other.jsonl"
    Journal(other, Settings(("graph",), limit=1))
    with pytest.raises(ValueError, match="is of another sweep: modes was"):
        merge([parts[0], other])


def report() -> Report:
    settings = Settings(("eager", "graph"), limit=2)
    done = [measure(u, settings) for u in sweep.units(["abs"], ["float32", "complex64"])]
    bad = sweep.Outcome(ABS, "abs", "int8", "eager", 0, "failed", "<b>wrong</b>", 0.1, (ABS,))
    known = sweep.Outcome(ABS, "abs", "int8", "graph", 0, "xfailed", "no kernel", 0.1, (ABS,))
    done.append(UnitResult("abs[x-int8]", ABS, "abs", "int8", "unary", (bad, known), 0.2))
    return Report(settings, done, 1.5, 702)


def test_a_report_says_everything() -> None:
    made = report()
    assert made.wrong == 1
    totals = made.totals()
    assert (totals["failed"], totals["xfailed"]) == (1, 1)
    assert "abs[x-int8] eager #0 failed: <b>wrong</b>" in made.text()
    assert f"{totals['passed']} passed, 1 failed, 1 xfailed in 1.5 s" in made.text()
    page = made.html()
    assert "<b>wrong" not in page
    assert "&lt;b&gt;wrong" in page
    assert "no kernel" in page
    data = json.loads(json.dumps(made.data()))
    assert data["totals"] == dict(totals)
    assert data["units"][-1]["wrong"][0]["why"] == "<b>wrong</b>"
    assert data["units"][-1]["reasons"] == [
        {"mode": "graph", "status": "xfailed", "why": "no kernel", "samples": 1}
    ]


def test_coverage_is_computed_from_a_report() -> None:
    data = json.loads(json.dumps(report().data()))
    found = coverage(data, ["aten::abs", "aten::nobody"], [ABS])
    rows = {r.name: r for r in found.rows}
    cell = rows[ABS].cells["float32", "eager"]
    assert (cell.state, cell.passed) == ("passed", 1)
    assert rows[ABS].cells["int8", "eager"].state == "gap"
    assert dict(rows[ABS].cells["int8", "graph"].reasons) == {"no kernel": 1}
    assert found.names == ["aten::nobody"]
    assert "names: 1 of 2\n  missing: aten::nobody" in found.text()
    assert set(found.states()) <= set(STATES)
    assert "no kernel" in found.html()
    assert found.core["aten::convolution_backward"] == "computes a gradient"
    json.dumps(found.data())


def test_command_sweep(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {k: tmp_path / f"sweep.{k}" for k in ("json", "html", "jsonl")}
    line = ["sweep", "--op", "abs", "--dtype", "float32", "-n", "0", "--limit", "1"]
    line += ["--json", str(files["json"]), "--html", str(files["html"])]
    assert main([*line, "--journal", str(files["jsonl"])]) == 0
    assert "2 passed in" in capsys.readouterr().out
    assert json.loads(files["json"].read_text(encoding="utf-8"))["totals"] == {"passed": 2}
    assert "<table>" in files["html"].read_text(encoding="utf-8")
    assert main([*line, "--journal", str(files["jsonl"]), "--resume"]) == 0
    put(monkeypatch, WRONG["ZeroDivisionError"])
    capsys.readouterr()
    assert main(line) == 1
    assert "ZeroDivisionError" in capsys.readouterr().out
    report_file = str(files["json"])
    assert main(["coverage", "--report", report_file, "--op", ABS]) == 0
    assert "aten::abs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (["sweep", "--op", "nobody"], "no function with tests has such a name"),
        (["sweep", "--op", "fake_quantize_per_tensor_affine"], "test_quantized.py compares"),
        (["sweep", "--dtype", "float31"], "--dtype is one of float32"),
        (["sweep", "--resume"], "--resume needs the journal"),
        (["sweep", "--op", "abs", "-n", "many"], "-n takes a number"),
        (["sweep", "--op", "abs", "--shard", "5/4"], "--shard takes I/N with I from 1 to N"),
        (["sweep", "--op", "abs", "--limit", "0"], "--limit takes a number above 0"),
        (["sweep", "--op", "abs", "--timeout", "-1"], "--timeout takes a number above 0"),
        (["sweep", "--op", "abs", "--opset", "99"], "--opset is one of 1 to"),
        (["sweep", "--op", "abs", "--memory", "lots"], "--memory takes a size"),
        (["sweep", "--op", "abs", "--scheduler", "here"], "--scheduler takes an address"),
        (["sweep", "a.jsonl"], "sweep merge a.jsonl b.jsonl"),
        (["sweep", "merge", __file__], "is not the journal of a sweep"),
        (["coverage", "--op", "nobody"], "there is no function for nobody"),
        (["coverage", "--report", __file__], "is not the JSON of a sweep"),
    ],
)
def test_commands_refuse_nonsense(capsys: Any, line: list[str], told: str) -> None:
    assert main(line) == 2
    assert told in capsys.readouterr().err
