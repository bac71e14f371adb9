"""Inputs that take other branches of a program that decides by values.

What the user gave is changed: signs, sizes of numbers, order, all true, all false.  Integers stay
between the least and the largest that were given, as they may be indices; sorted ones stay sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

from onnxwright.exporter.capture.frontend.observing import Answers, Branch, ValueDecisions
from onnxwright.exporter.capture.session.session import LongLoopError
from onnxwright.exporter.program.resizing import is_integer, is_sorted
from onnxwright.exporter.torch_internals import pytree

Inputs = tuple[tuple[Any, ...], dict[str, Any]]


def _scaled(factor: float) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda x: x * factor


def _filled(number: float) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda x: torch.full_like(x, number)


def _mixed(x: torch.Tensor) -> torch.Tensor:
    """Other numbers about as large, of both signs."""
    values = torch.randn(x.shape, generator=_generator(), dtype=torch.float64)
    return (values * (float(x.abs().float().mean()) + 0.1)).to(x.dtype)


def _shuffled(x: torch.Tensor) -> torch.Tensor:
    order = torch.randperm(x.numel(), generator=_generator())
    return x.flatten()[order].reshape(x.shape)


def _rolled(x: torch.Tensor, steps: int) -> torch.Tensor:
    """The elements at other places: another one is the largest; sorted integers stay."""
    if is_integer(x) and is_sorted(x):
        return x
    return x.flatten().roll(steps).reshape(x.shape)


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


_FLOATS = (
    _scaled(-1), _scaled(10), _scaled(0.1), _filled(0), _mixed, _filled(1), _filled(-1),
    _scaled(-10), _scaled(-0.1), lambda x: x + 1, lambda x: x - 1, lambda x: x.abs(),
    lambda x: -x.abs(), _scaled(100), _shuffled, _scaled(0.01),
)  # fmt: skip
_WHOLE = (
    _shuffled, lambda x: x.min().expand(x.shape), lambda x: x.max().expand(x.shape),
    lambda x: x.max() + x.min() - x, lambda x: x.flip(-1) if x.ndim else x,
)  # fmt: skip
_SORTED = (
    lambda x: x.min().expand(x.shape), lambda x: x.max().expand(x.shape),
    lambda x: (x.max() + x.min() - x).flip(-1),
)  # fmt: skip
_TRUTHS = (lambda x: ~x, _filled(0), _filled(1), _shuffled)


def changed_values(values: Sequence[Any], rolls: int = 0) -> Iterator[list[Any]]:
    """Inputs with other values.

    Args:
        rolls: by how many places the elements are rolled at most.

    Yields:
        As many values, of the same types and sizes: all tensors changed, then one alone, then all
        tensors rolled.

    Example:
        >>> from itertools import islice
        >>> [x.tolist() for (x,) in islice(changed_values([torch.tensor([1.0, 2.0])]), 2)]
        [[-1.0, -2.0], [10.0, 20.0]]
    """
    tensors = [n for n, v in enumerate(values) if isinstance(v, torch.Tensor) and v.numel()]
    alone = [(n,) for n in tensors] if len(tensors) > 1 else []
    for places in [tuple(tensors), *alone] if tensors else []:
        for step in range(len(_FLOATS)):
            changed = list(values)
            for n in places:
                changed[n] = _changed(changed[n], step)
            yield changed
    for steps in range(1, rolls + 1 if tensors else 1):
        yield [_rolled(v.detach(), steps) if n in tensors else v for n, v in enumerate(values)]


def _changed(value: torch.Tensor, step: int) -> torch.Tensor:
    rules: Sequence[Callable[[torch.Tensor], torch.Tensor]] = _FLOATS
    if value.dtype == torch.bool:
        rules = _TRUTHS
    elif not value.is_floating_point() and not value.is_complex():
        # Some kernels read past the end of an array for offsets that are not sorted.
        rules = _SORTED if is_sorted(value) else _WHOLE
    return rules[step % len(rules)](value.detach()).to(value.dtype).clone()


# Runs of the module in search of inputs for one verification.
_RUNS = 60
# A loop may not end for inputs that are drawn: it is stopped after these iterations, and after as
# many times those that it has for the given inputs.
_ITERATIONS, _TIMES = 1000, 10


class BranchSearch:
    """The search for inputs that take all sides of a program's decisions."""

    def __init__(self, decisions: ValueDecisions, module: Any) -> None:
        self.decisions, self.module = decisions, module
        self.answers = Answers()
        self.fixed = Answers()
        self.most: int | None = None
        self.stopped: dict[str, None] = {}

    def add(self, inputs: Inputs) -> bool:
        """Run the module; whether it decides something as it did not before.

        Args:
            inputs: of the module, the given ones first; nothing is added if it raises an error, or
                a loop does not end.
        """
        try:
            with self.decisions.observed(self.most) as answers, torch.no_grad():
                self.module(*inputs[0], **inputs[1])
        except LongLoopError as error:
            self.stopped.setdefault(str(error))
            return False
        except Exception:  # noqa: BLE001 - the module does not take these values
            return False
        if self.most is None:
            self.most = max(_ITERATIONS, _TIMES * answers.longest)
        assumed = Answers((c, answers.get(c, set())) for c in self.decisions.assumed)
        if not self.fixed:
            self.fixed = assumed
        if any(not answer <= self.fixed[c] for c, answer in assumed.items()):
            return False
        new = False
        for choice in self.decisions.at_run_time:
            seen_answers = self.answers.setdefault(choice, set())
            new |= not answers.get(choice, set()) <= seen_answers
            seen_answers |= answers.get(choice, set())
        return new

    def ends(self, inputs: Inputs) -> bool:
        """Whether the loops of the module end for inputs, or it has none by a value.

        Args:
            inputs: of the module; they are not changed.
        """
        if not any(c.kind == "Loop" for c in self.decisions.at_run_time):
            return True
        count = len(self.stopped)
        self.add(pytree.tree_map_only(torch.Tensor, torch.clone, inputs))
        return len(self.stopped) == count

    @property
    def complete(self) -> bool:
        """Whether all sides have run."""
        return all(len(ran) == choice.sides for choice, ran in self.answers.items())

    def find(self, starts: Iterable[Inputs]) -> Iterator[Inputs]:
        """Inputs that take sides that no inputs took before."""
        runs = 0
        chosen = [c.sides for c in self.decisions.at_run_time if c.kind == "Item"]
        for start in starts:
            flat, spec = pytree.tree_flatten(start)
            for values in changed_values(flat, max(chosen, default=0)):
                if self.complete or runs == _RUNS:
                    return
                runs += 1
                changed: Inputs = pytree.tree_unflatten(values, spec)
                if self.add(pytree.tree_map_only(torch.Tensor, torch.clone, changed)):
                    yield changed

    def branches(self) -> list[Branch]:
        """Each decision, and which of its sides ran."""
        return [
            Branch(c.kind, c.file, c.line, c.text, frozenset(self.answers.get(c, ())), c.sides)
            for c in self.decisions.at_run_time
        ]
