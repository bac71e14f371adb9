"""What stops the rewriting of a function; told in the message of the capture."""

from __future__ import annotations

from onnxwright.diagnostics.span import Span


class CannotRewriteError(RuntimeError):
    """A function that decides by values has a form that is not rewritten.

    Args:
        reason: the form, in words.
        span: its place; None where there is none.
    """

    def __init__(self, reason: str, span: Span | None = None) -> None:
        place = f" ({span.file}:{span.line})" if span is not None else ""
        super().__init__(f"{reason}{place} is not rewritten")
        self.reason, self.span = reason, span
