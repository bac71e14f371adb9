"""Where a message of the eager mode points: the user's line."""

from __future__ import annotations

from onnxwright.diagnostics.caller import is_internal, span_of, user_names, user_span

__all__ = ["is_internal", "span_of", "user_names", "user_span"]
