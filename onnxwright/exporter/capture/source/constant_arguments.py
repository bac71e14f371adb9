"""Functions of torch with an argument that may be None, or one of several texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.overrides import TorchFunctionMode

from onnxwright.exporter.capture.source.optional_values import (
    called,
    first_of,
    replaced,
    works,
)
from onnxwright.exporter.capture.source.state import Branch, State, result_of
from onnxwright.exporter.capture.source.texts import Text, possible_texts


class ConstantArguments(TorchFunctionMode):  # type: ignore[misc]
    """In this context, a call with such an argument is a decision between calls with constants."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function of torch."""
        kwargs = kwargs or {}

        def again(*args: Any, **kwargs: Any) -> Any:
            return self.__torch_function__(func, types, args, kwargs)

        if first_of((args, kwargs)) is not None:
            return called(again, args, kwargs)
        text = first_of((args, kwargs), Text)
        if text is None or text.decide is None:
            return func(*args, **kwargs)

        def with_(value: str) -> Callable[[], Any]:
            given = replaced((args, kwargs), text, value)
            return lambda: again(*given[0], **given[1])

        possible = sorted(possible_texts(text) or ())
        # Texts that the function does not take are not those that it is called with.
        taken = [one for one in possible if works(with_(one))] or possible[:1]
        return _among(text, [(one, with_(one)) for one in taken])


def _among(text: Text, calls: list[tuple[str, Callable[[], Any]]]) -> Any:
    """The call that a text chooses."""
    if len(calls) == 1:
        return calls[0][1]()

    def either(then: Branch, orelse: Branch, state: State) -> None:
        text.decide(text.is_text(calls[0][0]), then, orelse, state)

    return result_of(either, calls[0][1], lambda: _among(text, calls[1:]))
