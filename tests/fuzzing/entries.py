# ruff: noqa: S311 - nothing is secret here
"""What damaged models are given to, and which endings are allowed."""

from __future__ import annotations

import contextlib
import io
import os
import random
import signal
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort

import onnxwright as ow
from onnxwright.cli.main import main
from onnxwright.decompiler.rebuild import rebuild
from onnxwright.eager.control_flow import callable_bodies
from onnxwright.errors import InternalError, OnnxwrightError
from onnxwright.testing import assert_isomorphic, diff
from tests.fuzzing.damage import damaged_bytes, mutated, sound_models
from tests.fuzzing.structures import names_of, rare, structured

SECONDS = 20
"""A case that takes longer than this hangs."""


DAMAGE: dict[str, Callable[[random.Random], Any]] = {
    "models": mutated,
    "bytes": damaged_bytes,
    "structures": structured,
    "rare": rare,
}
STOPPED: list[Callable[[], object]] = []
"""Called where ONNX Runtime goes on although it was stopped: a Loop without nodes is never left."""
MANY = 100
"""A Loop that was stopped after more iterations than this went on, and would not have ended."""


class HangError(BaseException):
    """A case took too long."""


def inputs(model: Any) -> list[Any]:
    """Values for the inputs, where they can be made; others are missing."""
    made = []
    if isinstance(model, bytes):
        model = onnx.ModelProto()
    for info in model.graph.input[:4]:
        dims = [d.dim_value or 2 for d in info.type.tensor_type.shape.dim]
        small = all(0 <= d < 64 for d in dims) and len(dims) < 6
        made.append(np.ones(dims if small else [2], np.float32))
    return made


ENTRIES: dict[str, Callable[[Any, Any], Any]] = {
    "show": lambda m, _: str(ow.show(m)),
    "summary": lambda m, _: str(ow.show(m).summary),
    "html": lambda m, _: ow.show(m).html(),
    "to_script": lambda m, _: ow.to_script(m),
    "diff": lambda m, o: (str(d := diff(m, o)), d.brief(), d.html()),
    "debug": lambda m, _: str(ow.debug(m, inputs(m))),
    "run_model": lambda m, _: ow.run_model(m, inputs(m)),
    "CompiledModel": lambda m, _: ow.CompiledModel(m),
    "first_divergence": lambda m, o: str(ow.first_divergence(m, o, inputs(m))),
    "assert_isomorphic": lambda m, _: assert_isomorphic(m, m),
    "optimize": lambda m, _: ow.optimize(m),
    "convert_version": lambda m, _: ow.convert_version(m, 21),
    "extract": lambda m, _: ow.extract(m, ["x"], ["y"]),
    "set_shapes": lambda m, _: ow.set_shapes(m, {"x": ["N"]}),
}
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("show", "{}"),
    ("show", "{}", "--summary"),
    ("show", "{}", "--json"),
    ("to-script", "{}"),
    ("diff", "{}", "{other}"),
    ("run", "{}", "--random", "--dim", "N=2"),
    ("run", "{}", "--random", "--dim", "N=2", "--trace"),
    ("compare", "{}", "{other}", "--random", "--dim", "N=2"),
)


def _part(rng: random.Random, model: Any) -> Any:
    names = [*names_of(model), "nothing", ""]
    return ow.extract(model, rng.choices(names, k=2), [rng.choice(names)])


def _rebuilt(_: random.Random, model: Any) -> None:
    """The script that the model becomes makes the model again."""
    made = rebuild(ow.to_script(model))
    with contextlib.suppress(onnx.checker.ValidationError):
        onnx.checker.check_model(model)
        assert_isomorphic(model, made)


def _any_add(op: Any, x: Any, y: Any) -> Any:
    return op.Add(x, y)


def _of_ir(_: random.Random, model: Any) -> None:
    try:
        made = ir.from_proto(model)
    except Exception:  # noqa: BLE001 - onnx_ir refuses what it cannot read with any error
        return
    ow.optimize(made)


def _called(_: random.Random, model: Any) -> None:
    """The model is a part of another one."""
    g = ow.GraphBuilder(opset=21)
    given = [g.input(f"i{n}", i.type) for n, i in enumerate(model.graph.input)]
    made = g.call(model, *given)
    for value in made if isinstance(made, tuple) else (made,):
        g.output(value)
    g.to_model_proto()


WIDE: dict[str, Callable[[random.Random, Any], Any]] = {
    **{name: (lambda _, m, entry=entry: entry(m, m)) for name, entry in ENTRIES.items()},
    "any version": lambda rng, m: ow.convert_version(m, rng.choice((7, 11, 13, 17, 20, 23, 26))),
    "optimize for a target": lambda rng, m: ow.optimize(
        m, target=rng.choice(("any", "onnxruntime")), level=rng.choice(("exact", "rounding"))
    ),
    "part": _part,
    "rebuilt": _rebuilt,
    "symbols": lambda rng, m: ow.set_shapes(
        m, {i.name: [rng.choice(("N", "2*N", None, 3))] for i in m.graph.input}
    ),
    "rename": lambda rng, m: ow.rename(
        m, values={rng.choice(names_of(m)): rng.choice(("z", "y", ""))}, dims={"N": "M"}
    ),
    "compose": lambda _, m: ow.compose(m, m),
    "compiled optimized": lambda _, m: ow.CompiledModel(ow.optimize(m)),
}
"""What structured damage is given to, as well."""
WIDER: dict[str, Callable[[random.Random, Any], Any]] = {
    **WIDE,
    "builder": lambda _, m: ow.GraphBuilder.from_model(m).to_model_proto(),
    "call in a builder": _called,
    "find": lambda _, m: ow.find(m, _any_add, explain=True),
    "optimize, inlined": lambda _, m: ow.optimize(m, inline=True, prune=True),
    "ir": _of_ir,
}
"""What rare structures are given to; the entries of the others keep the cases that have numbers."""
WIDE_COMMANDS: tuple[tuple[str, ...], ...] = (
    *COMMANDS,
    ("optimize", "{}", "-o", "made.onnx", "--report"),
    ("optimize", "{}", "-o", "made.onnx", "--inline", "--target", "onnxruntime"),
    ("fold", "{}", "-o", "made.onnx"),
    ("inline", "{}", "-o", "made.onnx"),
    ("remove-unused", "{}", "-o", "made.onnx"),
    ("convert", "{}", "--opset", "21", "-o", "made.onnx"),
    ("convert", "{}", "--opset", "11", "-o", "made.onnx"),
    ("extract", "{}", "--inputs", "x", "--outputs", "y", "-o", "made.onnx"),
    ("set-shapes", "{}", "--dim", "N=3", "-o", "made.onnx"),
    ("rename", "{}", "--values", "x=z", "-o", "made.onnx"),
    ("compose", "{}", "{other}", "-o", "made.onnx"),
    ("to-script", "{}", "--weights", "npz", "-o", "made.py"),
    ("show", "{}", "--html", "made.html"),
)


def case(kind: str, seed: int) -> tuple[str, str]:
    """Run one case.

    Args:
        kind: "models", "bytes", "structures" or "rare".
        seed: what decides the damage and the entry.

    Returns:
        How it ended (`done`, `refused`, `endless` for a Loop that does not end, or `WRONG`),
        and the entry with the reason.
    """
    rng = random.Random(f"{kind} {seed}")
    model: Any = DAMAGE[kind](rng)
    other = rng.choice(sound_models())
    calls = {"structures": WIDE, "rare": WIDER}.get(kind, {})
    entries = [*calls, *WIDE_COMMANDS] if calls else [*ENTRIES, *COMMANDS]
    with tempfile.TemporaryDirectory() as folder, _quiet(folder) as out:
        drawn = rng.choice(entries)
        name = drawn if isinstance(drawn, str) else " ".join(drawn)
        try:
            with _limit(), _runs_that_end(_has_loops(model)):
                if name in calls:
                    calls[name](rng, model)
                    return "done", name
                if name in ENTRIES:
                    ENTRIES[name](model, other)
                    return "done", name
                return _command(name, model, other, Path(folder), out)
        except InternalError:
            return "WRONG", f"{name}: {traceback.format_exc()}"
        except EndlessError:
            return "endless", name
        except OnnxwrightError as error:
            bad = {c for c in str(error) if not (c.isprintable() or c in "\n\t")}
            return ("WRONG", f"{name}: {bad} in a message") if bad else ("refused", name)
        except HangError as error:
            # A Loop may say that it runs for ever; anything else has to end.
            if _iterations(error) > MANY:
                return "endless", name
            return "WRONG", f"{name}: {traceback.format_exc()}"
        except BaseException:  # noqa: BLE001 - that is what is looked for
            return "WRONG", f"{name}: {traceback.format_exc()}"


def _has_loops(model: Any) -> bool:
    data = model if isinstance(model, bytes) else model.SerializeToString()
    return b"Loop" in data


def _iterations(error: BaseException) -> int:
    """How many iterations the Loop had done that was stopped; 0 if none was."""
    code = callable_bodies._loop.__code__
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    return max((f.f_locals.get("step", 0) for f in frames if f.f_code is code), default=0)


def _command(
    name: str, model: Any, other: onnx.ModelProto, folder: Path, out: io.TextIOWrapper
) -> tuple[str, str]:
    data = model if isinstance(model, bytes) else model.SerializeToString()
    (folder / "m.onnx").write_bytes(data)
    (folder / "o.onnx").write_bytes(other.SerializeToString())
    paths = {"{}": str(folder / "m.onnx"), "{other}": str(folder / "o.onnx")}
    try:
        status: Any = main([paths.get(word, word) for word in name.split()])
    except SystemExit as ended:
        status = ended.code
    out.flush()
    text = out.buffer.getvalue().decode()  # type: ignore[attr-defined]  # it is a BytesIO
    if status not in (0, 1, 2) or "Traceback" in text:
        return "WRONG", f"{name}: status {status}: {text[-3000:]}"
    return ("done" if status != 2 else "refused"), name


@contextlib.contextmanager
def _quiet(folder: str) -> Iterator[io.TextIOWrapper]:
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", errors="backslashreplace")
    before = Path.cwd()
    os.chdir(folder)
    Path("outside.bin").write_bytes(bytes(8))
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(out):
            warnings.simplefilter("ignore")
            with contextlib.redirect_stderr(out):
                yield out
    finally:
        os.chdir(before)


class EndlessError(BaseException):
    """ONNX Runtime was still running the model when it was stopped."""


class _Runs:
    """Ends runs of sessions that take too long, from one thread for all runs of a case."""

    def __init__(self, loops: bool) -> None:
        self.loops = loops
        self.over = threading.Event()
        self.now: tuple[float, Any] | None = None
        self.ended: Any = None
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while not self.over.wait(0.5):
            running = self.now
            if running is None:
                continue
            since, options = running
            if time.monotonic() - since > SECONDS / 2:
                self.ended = options
                options.terminate = True
            if time.monotonic() - since > SECONDS:
                for stop in STOPPED if self.loops else ():
                    stop()


@contextlib.contextmanager
def _runs_that_end(loops: bool) -> Iterator[None]:
    """A run of a session ends after a time: no signal is handled while native code runs."""
    session = ort.capi.onnxruntime_pybind11_state.InferenceSession
    run = session.run
    runs = _Runs(loops)

    def watched(self: Any, names: Any, feed: Any, options: Any = None) -> Any:
        options = options or ort.RunOptions()
        runs.now = time.monotonic(), options
        try:
            return run(self, names, feed, options)
        except Exception as error:
            if runs.ended is options:
                raise EndlessError from error
            raise
        finally:
            runs.now = None

    session.run = watched
    try:
        yield
    finally:
        session.run = run
        runs.over.set()


@contextlib.contextmanager
def _limit() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise HangError(f"more than {SECONDS} seconds")

    # Of this process's own time: the machine may be busy.  A case that waits is ended from outside.
    before = signal.signal(signal.SIGPROF, stop)
    # Again each second: what is raised in a finalizer goes no further.
    signal.setitimer(signal.ITIMER_PROF, SECONDS, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
