"""What a refused export proposes: the answer of the example inputs is pasted, and it succeeds."""

from __future__ import annotations

import re
import textwrap
import warnings
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from onnxwright import exporter
from onnxwright.diagnostics.span import register_source
from onnxwright.errors import ExportError

DYNAMIC = ({0: torch.export.Dim.DYNAMIC},)


@dataclass(frozen=True)
class Case:
    """A body of `forward(x)`, and the answer that is proposed; none if the examples give none."""

    name: str
    body: str
    proposed: str


CASES = [
    Case(
        "ranks, the example takes the first side",
        """
        if x.sum() > 0:
            return x
        return x.sum()
        """,
        "assume={'PLACE:3': True}",
    ),
    Case(
        "ranks, the example takes the second side",
        """
        y = x * 2
        if x.sum() < 0:
            y = x.sum()
        return y + 1
        """,
        "assume={'PLACE:4': False}",
    ),
    Case(
        "a ternary",
        """
        return (x if x.sum() > 0 else "no") * 2
        """,
        "assume={'PLACE:3': True}",
    ),
    Case(
        "a decision by a size",
        """
        kept = x[x[:, 0] > 0]
        if kept.shape[0] == 1:
            return kept.sum()
        return kept
        """,
        "assume={'PLACE:4': False}",
    ),
    Case(
        "a decision that the example answers both ways",
        """
        for row in (x[:2], x[1:]):
            kept = row[row[:, 0] > 0]
            if kept.shape[0] == 1:
                return kept.sum()
        return x
        """,
        "",
    ),
    Case(
        "a loop",
        """
        y = x
        while y.sum() > 0:
            y = y[None] - 1
        return y
        """,
        "",
    ),
]


def _model(case: Case, name: str) -> Any:
    """A function in a file of its own."""
    text = "import torch\ndef forward(x):\n" + textwrap.indent(
        textwrap.dedent(case.body).strip("\n"), "    "
    )
    register_source(name, text)
    space: dict[str, Any] = {"__name__": "proposals"}
    exec(compile(text, name, "exec"), space)  # noqa: S102 - text of this file's own
    return space["forward"]


@pytest.mark.share(3)
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_what_is_proposed_can_be_pasted(case: Case) -> None:
    place = f"proposed{CASES.index(case)}.py"
    x = torch.tensor([[1.0, 2.0, 3.0], [2.0, 1.0, 0.5], [1.0, 0.25, 2.0], [0.0, 1.0, 1.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ExportError) as refused:
            exporter.export(_model(case, place), (x,), dynamic_shapes=DYNAMIC)
        found = re.findall(r"with `(assume=\{'\S+': \w+\})` the model has", str(refused.value))
        assert found == [case.proposed.replace("PLACE", place)] * bool(case.proposed)
        if found:
            answer = re.findall(r"'(\S+)': (\w+)", found[0])
            program = exporter.export(
                _model(case, place),
                (x,),
                dynamic_shapes=DYNAMIC,
                assume={key: value == "True" for key, value in answer},
            )
            torch.testing.assert_close(program(x), _model(case, place)(x))


class Counts(torch.nn.Module):
    """Runs of it can be counted, and change a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("runs", torch.zeros(()))
        self.calls = 0

    def forward(self, x: Any) -> Any:
        self.calls += 1
        self.runs += 1
        if x.sum() > 0:
            return x
        return x.sum() + torch.rand(())


def test_looking_for_proposals_leaves_the_model_as_it_is() -> None:
    module = Counts()
    state = torch.get_rng_state()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ExportError, match="the side alone"):
            exporter.export(module, (torch.ones(2),), capture="source")
    assert int(module.runs) == 0
    assert module.calls == 0
    assert torch.equal(state, torch.get_rng_state())
