"""The one slot for what an operator does when it is called outside a compiled function.

The operators (`opset`) read it, the eager mode fills it: neither knows the other.  The package
itself puts a function there that loads the eager mode at the first call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Dispatcher = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]

# A function of (op, args, kwargs).
dispatcher: Dispatcher | None = None


def set_dispatcher(function: Dispatcher | None) -> Dispatcher | None:
    """Say what calling an operator outside a compiled function does.

    Args:
        function: a function of (op, args, kwargs); None unsets it.

    Returns:
        The one before.
    """
    global dispatcher  # noqa: PLW0603 - the one slot there is
    before = dispatcher
    dispatcher = function
    return before
