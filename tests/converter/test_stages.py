"""Each stage alone: source in, printed HIR and facts out.

`stages/STAGE/CASE.txt` holds a function, a line `-- after --`, and what the stage makes of it.
`OW_ACCEPT=1 python -m pytest tests/converter/test_stages.py` writes what is found.
"""

from __future__ import annotations

import ast
import os
import types
from collections.abc import Callable
from pathlib import Path

from onnxwright.converter.analyze.liveness import liveness
from onnxwright.converter.frontend import hir
from onnxwright.converter.frontend.capture import SourceUnit
from onnxwright.converter.frontend.parse import parse
from onnxwright.converter.normalize.exits import FlagNames
from onnxwright.converter.normalize.loop_exits import loop_exits
from onnxwright.converter.normalize.single_exit import normalize, single_exit
from onnxwright.converter.normalize.verbatim_exits import verbatim_exits
from onnxwright.diagnostics.diagnostic import Sink
from tests.converter.hir_text import text
from tests.harness.tables import each

HERE = Path(__file__).parent / "stages"
MARK = "\n-- after --\n"

STAGES: dict[str, Callable[[hir.Block], hir.Block]] = {
    "parse": lambda block: block,
    "verbatim_exits": verbatim_exits,
    "loop_exits": lambda block: loop_exits(block, FlagNames()),
    "single_exit": lambda block: single_exit(block, FlagNames()),
    "normalize": normalize,
    "liveness": lambda block: liveness(normalize(block)),
}
CASES = sorted(HERE.glob("*/*.txt"))


def body_of(source: str) -> hir.Block:
    """The function in a text as HIR, before any pass."""
    tree = ast.parse(source)
    node = next(n for n in tree.body if isinstance(n, ast.FunctionDef))
    function = types.FunctionType(compile("0", "case.py", "eval"), {}, node.name)
    sink = Sink()
    parsed = parse(SourceUnit(function, "case.py", source, node), sink)
    sink.raise_if_any()
    return parsed.body


@each("path", CASES)
def test_a_stage_makes_exactly_this(path: Path) -> None:
    source, _, expected = path.read_text(encoding="utf-8").partition(MARK)
    actual = text(STAGES[path.parent.name](body_of(source))) + "\n"
    if os.environ.get("OW_ACCEPT"):
        path.write_text(source.rstrip("\n") + "\n" + MARK + actual, encoding="utf-8")
        return
    assert actual == expected


@each("stage", sorted(STAGES))
def test_every_stage_has_cases(stage: str) -> None:
    assert any(path.parent.name == stage for path in CASES)
