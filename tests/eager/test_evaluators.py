"""Which evaluator runs a call: by context, per call, for the process; fallbacks; protocols."""

from __future__ import annotations

import asyncio
import copy
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import onnxwright as ow
from onnxwright import (
    Evaluator,
    OrtEvaluator,
    ReferenceEvaluator,
    default_evaluator,
    evaluator,
    latest_opset,
    script,
    set_default_evaluator,
)
from onnxwright import opset18 as op
from onnxwright.eager import Tensor, select
from onnxwright.eager.ort import sessions
from onnxwright.eager.ort.sessions import Entry, SessionCache, newest_opset
from onnxwright.errors import EagerError, OnnxwrightWarning
from onnxwright.types import FLOAT
from tests.harness.tables import each

X = np.arange(4, dtype=np.float32)


class Spy:
    """Notes what it is asked, and gives the first input back."""

    name = "spy"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def run_op(self, op: Any, inputs: Any, attributes: Any, outputs: int) -> Any:
        self.seen.append(op.name)
        return [inputs[0]] * outputs


@script
def double(x: FLOAT[...]) -> FLOAT[...]:
    return op.Add(x, x)


def test_default_is_onnx_runtime() -> None:
    assert isinstance(default_evaluator(), OrtEvaluator)
    assert isinstance(default_evaluator(), Evaluator)


@each("which", ["ort", "reference", OrtEvaluator(), ReferenceEvaluator()])
def test_choices_agree(which: Any) -> None:
    with evaluator(which) as chosen:
        assert select.current() is chosen
        assert op.Mul(X, 2.0).tolist() == (X * 2).tolist()
        assert (Tensor(X) - 1).tolist() == (X - 1).tolist()
        assert double(X).tolist() == (X * 2).tolist()


def test_a_name_is_always_the_same_evaluator() -> None:
    assert select.find_evaluator("ort") is select.find_evaluator("ort")
    assert select.find_evaluator("reference") is select.find_evaluator("reference")


def test_an_own_evaluator_is_nested_and_left() -> None:
    spy = Spy()
    with evaluator(spy):
        op.Neg(X)
        with evaluator("ort"):
            op.Abs(X)
        double(X)
    op.Exp(X)
    assert spy.seen == ["Neg", "Add"]


def test_per_call() -> None:
    spy = Spy()
    op.Neg(X, _evaluator=spy)
    double(X, _evaluator=spy)
    double(Tensor(X), _evaluator="reference")
    assert spy.seen == ["Neg", "Add"]


def test_for_the_process() -> None:
    spy = Spy()
    before = set_default_evaluator(spy)
    try:
        op.Neg(X)
        thread = threading.Thread(target=lambda: op.Abs(X))
        thread.start()
        thread.join()
    finally:
        assert set_default_evaluator(before) is spy
    assert spy.seen == ["Neg", "Abs"]


def test_threads_do_not_see_each_others_choice() -> None:
    spy = Spy()
    with evaluator(spy):
        thread = threading.Thread(target=lambda: op.Abs(X))
        thread.start()
        thread.join()
    assert spy.seen == []


def test_tasks_do_not_see_each_others_choice() -> None:
    first, second = Spy(), Spy()

    async def work(spy: Spy, names: list[str]) -> None:
        with evaluator(spy):
            for name in names:
                getattr(op, name)(X)
                await asyncio.sleep(0)

    async def both() -> None:
        await asyncio.gather(work(first, ["Neg"] * 3), work(second, ["Abs"] * 3))

    asyncio.run(both())
    assert first.seen == ["Neg"] * 3
    assert second.seen == ["Abs"] * 3


@each("bad", ["onnx", 3, None, OrtEvaluator, object()])
def test_what_is_no_evaluator_is_refused(bad: Any) -> None:
    with pytest.raises(EagerError, match="OW615"), evaluator(bad):
        pass


WRONG = {
    "too few": [],
    "no list": np.ones(1),
    "no array": ["text"],
}


@each("what", WRONG)
def test_a_wrong_result_of_an_evaluator_is_told(what: str) -> None:
    class Bad:
        def run_op(self, op: Any, inputs: Any, attributes: Any, outputs: int) -> Any:
            return WRONG[what]

    with evaluator(Bad()), pytest.raises(EagerError, match="OW616"):
        op.Neg(X)


def test_fallback_reports_once() -> None:
    z = np.array([1j, 2], np.complex64)
    with evaluator(OrtEvaluator(fallback="reference")):
        with pytest.warns(OnnxwrightWarning, match="OW614"):
            first = op.Reshape(z, [2, 1])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            second = op.Reshape(z, [2, 1])
            assert op.Add(X, X).tolist() == (X + X).tolist()
    assert first.tolist() == second.tolist() == [[1j], [2]]


def test_reference_failure_is_told_like_the_runtimes() -> None:
    with evaluator("reference"), pytest.raises(EagerError, match="OW612") as caught:
        op.MatMul(np.ones((2, 3), np.float32), np.ones((2, 3), np.float32))
    assert "FLOAT[2, 3]" in str(caught.value)
    assert caught.value.diagnostic.span.file == __file__


def test_options_are_checked() -> None:
    with pytest.raises(EagerError, match="OW625"):
        OrtEvaluator(fallback="onnx")
    assert repr(OrtEvaluator(["CPUExecutionProvider"])) == (
        "OrtEvaluator(providers=['CPUExecutionProvider'])"
    )


def test_session_options_of_the_user_are_used() -> None:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.enable_profiling = False
    with evaluator(OrtEvaluator(session_options=options)) as e:
        op.Neg(X)
        assert len(e.cache) == 1


def test_one_session_serves_all_shapes_and_versions() -> None:
    from onnxwright import opset17

    with evaluator(OrtEvaluator()) as e:
        for shape in ((), (3,), (2, 3), (0, 4), (1, 2, 3)):
            op.Add(np.ones(shape, np.float32), np.ones(shape, np.float32))
        opset17.Add(X, X)
        assert len(e.cache) == 1
        op.Add(X.astype(np.float64), X.astype(np.float64))
        assert len(e.cache) == 2
        e.clear()
        assert len(e.cache) == 0
        assert op.Add(X, X).tolist() == (X + X).tolist()


def test_the_cache_is_bounded_in_bytes() -> None:
    words = list(range(20_000))  # attributes are part of a session
    options = {"min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0, "mode": "TF"}
    with evaluator(OrtEvaluator(max_bytes=1_000_000)) as e:
        for first in range(4):
            pool = [n + first for n in words]
            counts = op.TfIdfVectorizer(
                [first, first, 7],
                ngram_counts=[0],
                ngram_indexes=words,
                pool_int64s=pool,
                **options,
            )
            assert counts[[0, 7 - first]].tolist() == [2.0, 1.0]
            assert 200_000 < e.cache.nbytes <= 1_000_000
        assert e.cache.evictions > 0


def test_second_chance() -> None:
    """What was used since the last eviction stays; the oldest of the others goes."""
    cache: SessionCache[Entry] = SessionCache(3, 1 << 20)
    for name in "abc":
        cache.add(name, Entry(1))
    cache.add("d", Entry(1))  # all were new: the oldest goes
    assert sorted(cache) == ["b", "c", "d"]
    cache.get("b")
    cache.add("e", Entry(1))
    assert "b" in set(cache)
    assert len(cache) == 3
    assert cache.nbytes == 3


def test_newest_opset_is_found_by_trying() -> None:
    assert 20 <= newest_opset() <= latest_opset.version


NEW = {
    "defined by a function": (lambda: latest_opset.SwiGLU(X, X) if "SwiGLU" in latest_opset else X),
    "only widened since": (lambda: latest_opset.Mod(X + 1, X + 2, fmod=1)),
    "a context-dependent function": (lambda: latest_opset.Celu(X, alpha=2.0)),
}


@each("what", NEW)
def test_operators_newer_than_the_runtime(what: str) -> None:
    assert NEW[what]().shape == (4,)


def test_a_huge_tensor_is_no_special_case() -> None:
    """Nothing on the way copies by protobuf, whose limit is 2 GB: sizes pass through untouched."""
    x = np.zeros((3, 1 << 20), np.float32)
    assert op.Neg(x).shape == x.shape


def test_without_the_arena() -> None:
    with evaluator(OrtEvaluator(arena=False)):
        assert op.Neg(X).tolist() == (-X).tolist()


def test_com_microsoft_ops_run() -> None:
    from onnxwright import Opset

    gelu = Opset("com.microsoft", 1).Gelu(X)
    assert np.allclose(gelu, op.Mul(X, op.Mul(0.5, op.Add(op.Erf(op.Div(X, 2**0.5)), 1.0))), 1e-4)


def test_the_users_own_sessions_are_left_alone() -> None:
    """Nothing we set up is global: a plain session of the same process works as ever."""
    import onnx.parser
    import onnxruntime

    op.Add(X, X)
    op.MatMul(X, X)
    text = '<ir_version: 10, opset_import: ["" : 18]> g (float[N] x) => (float[N] y) { y = Neg(x) }'
    session = onnxruntime.InferenceSession(
        onnx.parser.parse_model(text).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    assert session.run(None, {"x": X})[0].tolist() == (-X).tolist()


@pytest.mark.parametrize(
    ("variable", "threads"),
    [("1", 1), ("3,2", 3), (" 2 ", 2), ("", 0), ("-1", 0), ("many", 0), (None, 0)],
)
def test_the_environment_limits_the_threads_of_sessions(
    monkeypatch: pytest.MonkeyPatch, variable: str | None, threads: int
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if variable is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", variable)
    assert sessions.model_options().intra_op_num_threads == threads
    assert sessions.small_options(parallel=True).intra_op_num_threads == threads
    assert sessions.small_options().intra_op_num_threads == 1


def test_only_a_bounded_number_of_sessions_has_threads() -> None:
    e = OrtEvaluator()
    assert e._may_be_parallel(op.MatMul)
    assert not e._may_be_parallel(op.Add)


@script()
def _decided(x: FLOAT["N"]) -> FLOAT["N"]:
    y = x
    for _ in range(3):
        if y.sum() > 2:
            y = y - 1
    return y


class _Counting(ReferenceEvaluator):
    """The reference, which counts its operators."""

    calls = 0

    def run_op(self, *args: Any) -> Any:
        type(self).calls += 1
        return super().run_op(*args)


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "run_model": lambda model, x: ow.run_model(model, [x])[0],
    "debug": lambda model, x: next(iter(ow.debug(model, [x]).outputs.values())),
    "CompiledModel": lambda model, x: ow.CompiledModel(model)(x),
    "a copy": lambda model, x: copy.copy(ow.CompiledModel(model))(x),
    "compile": lambda _, x: _COMPILED(x),
}
_COMPILED = _decided.compile()


@pytest.mark.parametrize("way", WAYS)
def test_an_evaluator_runs_whole_models(way: str) -> None:
    """Node by node, in loops and branches, too; outside of it a session runs as before."""
    x = np.array([1, 2, 3], np.float32)
    model = _decided.to_model_proto()
    run = WAYS[way]
    plain = run(model, x)
    before = _Counting.calls
    with evaluator(_Counting()):
        assert run(model, x).tolist() == plain.tolist() == [-1, 0, 1]
    assert _Counting.calls > before + 3
    before = _Counting.calls
    assert run(model, x).tolist() == [-1, 0, 1]
    assert way == "debug" or _Counting.calls == before


def test_a_node_that_fails_on_an_evaluator_names_its_line() -> None:
    @script()
    def broken(x: FLOAT["N"], y: FLOAT["M"]) -> FLOAT["N"]:
        return op.Add(x, y)

    with evaluator("reference"), pytest.raises(EagerError, match="OW612") as caught:
        ow.run_model(broken.to_model_proto(), [np.ones(2, np.float32), np.ones(3, np.float32)])
    assert "return op.Add(x, y)" in str(caught.value)
    assert "node Add" in str(caught.value)
