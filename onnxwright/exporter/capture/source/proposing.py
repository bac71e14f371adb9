"""What a refused capture proposes: how the example inputs answer the decisions it failed in."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path

from onnxwright.diagnostics.file_owners import Owner, owner_of
from onnxwright.exporter.capture.source.functions import Rewritten
from onnxwright.exporter.capture.source.session import noting
from onnxwright.exporter.places import is_of_user


def proposed(error: BaseException, rewritten: Rewritten, run: Callable[[], object]) -> str:
    """What to paste where a capture failed in a decision.

    Args:
        error: what the capture raised.
        rewritten: how functions are rewritten.
        run: runs the module on the example inputs, and leaves it as it was.

    Returns:
        A sentence; empty where the error comes from no decision that the example inputs answer, or
        from one that they answer both ways.
    """
    places = _decisions(error)
    if not places:
        return ""
    with noting() as answers:
        try:
            with rewritten.running():
                run()
        except Exception:  # noqa: BLE001 - the user's code; nothing is known then
            return ""
    given = [(place, answers.get(place, {}).get(("If", 2), set())) for place in places]
    texts = [
        f"`assume={{{f'{Path(file).name}:{line}'!r}: {bool(next(iter(values)))}}}`"
        for (file, line), values in given
        if len(values) == 1
    ]
    if not texts:
        return ""
    return f"with {' or '.join(texts)} the model has the side alone that the example inputs take"


def _decisions(error: BaseException) -> list[tuple[str, int]]:
    """The lines of the decisions that a capture failed in, innermost first."""
    found: dict[tuple[str, int], None] = {}
    asking: tuple[str, int] | None = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if owner_of(file) is not Owner.ONNXWRIGHT:
            asking = file, line
            continue
        # Decisions that loops make of themselves have no answer.
        decides = frame.f_code.co_name in ("if_", "choose") and frame.f_locals.get("written", True)
        if asking and decides and is_of_user(asking[0]):
            found.pop(asking, None)
            found[asking] = None
        asking = None
    chosen: tuple[str, int] | None = getattr(error, "decision", None)
    if chosen is not None:  # a result that the decision left as one of several values
        found.setdefault(chosen)
    return list(reversed(found))
