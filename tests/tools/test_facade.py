"""What type checkers see of the package is written from its table of names."""

from __future__ import annotations

from tools import facade


def test_the_block_is_current() -> None:
    text = facade.FILE.read_text(encoding="utf-8")
    assert facade.written(text) == text, "run `python -m tools.facade`"


def test_every_name_of_the_table_is_in_it() -> None:
    block = facade.block()
    assert "from onnxwright.optimizer import optimize as optimize\n" in block
    assert "from onnxwright.eager import evaluator as evaluator\n" in block
    assert "from onnxwright import atenlib as atenlib\n" in block
