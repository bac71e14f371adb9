"""Random programs mean the same in plain numpy, eager, ONNX Runtime and onnx.reference."""

from __future__ import annotations

import pytest

from tests.harness.programs import Program, main, make_program, run_program, shrink

DRAWN = 300
CHUNK = 25


@pytest.mark.share(6)
@pytest.mark.parametrize("first", range(0, DRAWN, CHUNK))
def test_random_programs_agree(first: int) -> None:
    """The same programs on every machine."""
    for seed in range(first, first + CHUNK):
        run_program(make_program(seed))


@pytest.mark.slow
def test_twenty_thousand_programs_agree() -> None:
    """The slow run; on failure it prints the smallest forms of the first failures."""
    assert main(["--count", "20000", "--seed", "0", "-n", "2"]) == 0


def test_a_seed_gives_one_program() -> None:
    """A report names a seed; the seed gives the program back."""
    assert repr(make_program(7)) == repr(make_program(7))
    assert make_program(7).source != make_program(8).source


def test_programs_use_what_python_has() -> None:
    """Every construct is drawn often enough to matter."""
    text = [make_program(seed).source for seed in range(DRAWN // 3)]
    for word in (
        "elif", "else:", "for ", "while ", "break", "continue", "return ", "del ", ":=", " and ",
        " or ", "not ", "zip(", "enumerate(", "range(", "helper0(", "sum(", "abs(", "alpha",
        "times", ".shape[", "len(", "[None]", "...", "::-1", "//", "%", "** 2", "@ ", " if ",
    ):  # fmt: skip
        assert sum(word in one for one in text) >= len(text) // 50, word


def test_a_wrong_program_is_reported_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The report has the source and all values; shrinking keeps the cause."""
    from tests.harness.numpy_ops import NumpyOps

    source = make_program(0).source.split("@script")[0].split("def ")[0] + (
        "@script\n"
        "def main(x: FLOAT[2, 2]):\n"
        "    y = x + 1\n"
        "    for i in range(2):\n"
        "        y = op.Neg(op.Abs(y)) + i\n"
        "    return y\n"
    )
    import numpy as np

    program = Program(0, source, ((np.ones((2, 2), np.float32),),), ("FLOAT",))
    run_program(program)
    monkeypatch.setattr(NumpyOps, "Neg", staticmethod(lambda x: x))
    with pytest.raises(AssertionError, match=r"(?s)differ from numpy.*def main.*numpy: .*eager: "):
        run_program(program)
    small = shrink(program)
    assert "Neg" in small.source
    assert "for" not in small.source
