# ruff: noqa: S311 - nothing is secret here
"""One case of each kind, by its seed."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from tests.fuzzing.damaged_scripts import run_damaged
from tests.fuzzing.entries import case

KINDS = ("models", "structures", "rare", "bytes", "tokens", "scripts", "kill")
_ROOT = Path(__file__).resolve().parents[2]


def one(kind: str, seed: int) -> tuple[str, str]:
    """Run one case.

    Args:
        kind: one of `KINDS`.
        seed: its number.

    Returns:
        How it ended (`done`, `refused` or `WRONG`), and what it was about.
    """
    if kind == "tokens":
        return _tokens(seed)
    if kind == "scripts":
        return run_damaged(seed)
    return _kill(seed) if kind == "kill" else case(kind, seed)


@cache
def _sources() -> tuple[str, ...]:
    folder = _ROOT / "tests" / "converter" / "valid"
    return tuple(p.read_text(encoding="utf-8") for p in sorted(folder.glob("*.py")))


def _tokens(seed: int) -> tuple[str, str]:
    """A damaged script: a model, or an error with a place."""
    from tests.harness.mutations import ending, mutations

    source = next(iter(mutations(_sources(), seed)))
    found = ending(source)
    how = {"model": "done", "WRONG": "WRONG"}.get(found.kind, "refused")
    return how, f"script: {found.text}\n{source if how == 'WRONG' else ''}"


def _kill(seed: int) -> tuple[str, str]:
    """A save that is killed at some step: a whole model is left."""
    from tests.ir.test_writing import KILLED, WAYS

    rng = random.Random(seed)
    old, way = rng.choice(WAYS), rng.choice(WAYS)
    step = rng.randrange(1, 30)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.onnx"
        lines = ["import sys", f"sys.path.insert(0, {str(_ROOT)!r})", "from pathlib import Path",
                 "from tests.ir.test_writing import save, value_of"]  # fmt: skip
        before = "\n".join([*lines, f"save(Path({str(path)!r}), 1.0, {old!r})"])
        killed = KILLED.format(tests=str(_ROOT), step=step, path=str(path), way=way)
        after = "\n".join([*lines, f"print(value_of(Path({str(path)!r})))"])
        options = {"capture_output": True, "text": True, "check": False}
        ends = [
            subprocess.run([sys.executable, "-c", text], **options)  # type: ignore[call-overload]
            for text in (before, killed, after)
        ]
    wanted = {"2.0"} if ends[1].returncode == 0 else {"1.0", "2.0"}
    if ends[1].returncode not in (0, -signal.SIGKILL) or ends[2].stdout.strip() not in wanted:
        return "WRONG", f"save: {old} to {way}, step {step}: {[e.stderr[-500:] for e in ends]}"
    return "done" if ends[1].returncode == 0 else "refused", "save"
