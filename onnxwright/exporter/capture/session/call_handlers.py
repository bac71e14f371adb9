"""What the mode of `torch_calls` asks about a call of a function of torch."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

Below = Callable[..., Any]
"""`below(function, *args)` calls a function whose calls of torch pass the handlers after one."""


class CallHandler:
    """What calls of some functions of torch, or with some arguments, mean in a capture.

    A handler is asked only where one of these holds; a function of torch that it calls
    passes the handlers after it.

    Attributes:
        functions: it is asked for these functions,
        kinds: for arguments of these classes, also in lists, tuples and dicts,
        exact_kinds: the same, but of no class below,
        is_after: whether `after` is given each result.
    """

    functions: Collection[Any] = ()
    kinds: tuple[type, ...] = ()
    exact_kinds: tuple[type, ...] = ()
    is_after = False

    def is_for_all(self) -> bool:
        """Whether it is asked for each call from now on."""
        return False

    def on_call(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """The result of a call.

        Args:
            func: the function, as `__torch_function__` is given it.
            args, kwargs: its arguments.
        """
        return func(*args, **kwargs)

    def after(self, args: Any, result: Any, below: Below) -> Any:
        """What is returned for a result.

        Args:
            args: the arguments of the call.
            result: what the function gave.
            below: makes the calls of torch that this needs.
        """
        return result
