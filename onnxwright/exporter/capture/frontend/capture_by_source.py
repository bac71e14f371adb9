"""A capture by source: each function runs with its decisions rewritten."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from onnxwright.diagnostics.file_owners import Owner, owner_of
from onnxwright.exporter.capture.assumptions.size_tests import decide_sizes
from onnxwright.exporter.capture.decisions.conditional import conditional
from onnxwright.exporter.capture.decisions.size_sides import SizeDecisions
from onnxwright.exporter.capture.frontend.rewritten_functions import Rewritten
from onnxwright.exporter.capture.lists.torch_functions import register_lists
from onnxwright.exporter.capture.session.changes import Changes, Entry
from onnxwright.exporter.capture.session.errors import (
    ChosenChangedError,
    GeneratorError,
    ItemsReadError,
    NumberReadError,
    PartChosenError,
)
from onnxwright.exporter.capture.session.session import Session, set_session
from onnxwright.exporter.capture.session.torch_errors import (
    asks_number,
    is_about_fixed_size,
    is_about_stand_in,
    lines_passed,
    reads_value,
)
from onnxwright.exporter.capture.values.iterators import RunTimeLengthError
from onnxwright.exporter.places import line_of

# -- `torch.no_grad()` of programs that decide: an inference model has no use for it ---------------
# PyTorch makes a part of its own of what stands in such a block, and loses the graphs of branches
# and loops in it.

try:
    from torch._export.passes import replace_set_grad_with_hop_pass as passes
except ImportError:  # a release of torch that does it elsewhere
    passes = None

_NAME = "replace_set_grad_with_hop_pass"


def drop_grad_modes(changes: Changes, _: Any) -> None:
    """Let captured programs not switch the recording of gradients.

    Args:
        changes: undo it.
    """
    module: Any = passes
    replace = getattr(module, _NAME, None)
    if replace is None:
        return

    def dropped(graph_module: fx.GraphModule, *args: Any) -> Any:
        inner = [m for m in graph_module.modules() if isinstance(m, fx.GraphModule)]
        for node in [n for m in inner for n in m.graph.nodes]:
            if node.target is torch._C._set_grad_enabled:
                node.graph.erase_node(node)
        return replace(graph_module, *args)

    changes.attribute(module, _NAME, dropped)


# -- strategy --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    """A capture that worked.

    Fields:
        result: what the capture gave.
        session: what was decided.
        rewritten: the functions that decide.
    """

    result: Any
    session: Session
    rewritten: Rewritten


def by_source(
    run: Callable[[Iterable[Entry]], Any],
    assume: Mapping[str, bool] | None = None,
    changed: Rewritten | None = None,
    keeps_loops: bool = False,
    with_sizes: bool = False,
) -> Found:
    """What a capture gives whose functions decide by values.

    Args:
        run: the capture, with the changes that it makes.
        assume: answers of the user.
        changed: how functions are rewritten.
        keeps_loops: whether loops over dynamic sizes are loops of the program.
        with_sizes: whether decisions by sizes are exported for both sides.

    Returns:
        What `run` gives, and how.

    Raises:
        CannotRewriteError: a function that decides has a form that is not rewritten.
    """
    register_lists()
    changed = Rewritten() if changed is None else changed
    session = Session(assume or {}, keeps_loops=keeps_loops, decide=conditional)
    if with_sizes:
        session.sizes = SizeDecisions()
    entries = (
        changed.run_rewritten,
        functools.partial(set_session, session),
        drop_grad_modes,
        functools.partial(decide_sizes, session.sizes),
    )
    try:
        result = run(entries)
    except ChosenChangedError:
        raise
    except Exception as raised:
        changed.check_plain(has_choices=session.has_choices)
        if is_about_fixed_size(raised):
            generators = [e for e in changed.reasons.values() if isinstance(e, GeneratorError)]
            for reason in (*session.unrolled.values(), *generators):
                raise reason from raised
        raise _with_reason(raised, changed) from raised.__cause__
    changed.check_plain(has_choices=session.has_choices)
    return Found(result, session, changed)


def _with_reason(raised: Exception, changed: Rewritten) -> Exception:
    """The error of a capture, or why the function that read a value is not rewritten."""
    cause = reads_value(raised)
    for frame, line in lines_passed(cause):
        reason = changed.reason_for(frame.f_code)
        if reason is not None:
            return reason
        if frame.f_code.co_flags & inspect.CO_GENERATOR:
            return GeneratorError(line_of(frame.f_code.co_filename, line))
        if isinstance(cause, RunTimeLengthError):
            return ItemsReadError(line_of(frame.f_code.co_filename, line))
        if asks_number(cause):
            return NumberReadError(line_of(frame.f_code.co_filename, line))
        break
    if is_about_stand_in(raised):
        for frame, line in lines_passed(raised):
            if owner_of(frame.f_code.co_filename) is not Owner.PYTHON:
                place = line_of(frame.f_code.co_filename, line)
                is_part = "as child module" in str(raised)
                return PartChosenError(place) if is_part else NumberReadError(place)
    return raised
