"""Functions that give another value at each call, though the program writes nothing.

A capture calls them once: the value that it got is a constant of the model, which is reported.
Generators of random numbers have a state that `settings` looks at.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from typing import Any

from onnxwright.exporter.capture.control.store import Store
from onnxwright.exporter.capture.model_lines import model_line

# Each, and the number of arguments with which it computes from them alone.
_NAMES: dict[str, int | None] = {
    **dict.fromkeys(("time.time", "time.time_ns", "time.monotonic", "time.monotonic_ns")),
    **dict.fromkeys(("time.perf_counter", "time.perf_counter_ns", "time.process_time")),
    **dict.fromkeys(("time.process_time_ns", "time.thread_time", "time.thread_time_ns")),
    **dict.fromkeys(("time.localtime", "time.gmtime", "time.ctime", "time.asctime"), 1),
    "time.strftime": 2,
    **dict.fromkeys(("datetime.datetime.now", "datetime.datetime.utcnow")),
    **dict.fromkeys(("datetime.datetime.today", "datetime.date.today")),
    **dict.fromkeys(("os.urandom", "uuid.uuid1", "uuid.uuid4", "secrets.randbelow")),
    **dict.fromkeys(("secrets.randbits", "secrets.choice", "secrets.token_bytes")),
    **dict.fromkeys(("secrets.token_hex", "secrets.token_urlsafe")),
}


def _reader(name: str, f: Any, given: int | None) -> Callable[..., Any]:
    """`f`, which tells the store that it was asked."""

    def read(store: Store, /, *args: Any, **kwargs: Any) -> Any:
        if given is None or len(args) < given:
            store.outside.setdefault(name, model_line())
        return f(*args, **kwargs)

    return read


_FUNCTIONS = {name: pkgutil.resolve_name(name) for name in _NAMES}
OUTSIDE: dict[Any, Callable[..., Any]] = {
    f: _reader(name, f, _NAMES[name]) for name, f in _FUNCTIONS.items()
}
"""The functions -> what does the same and tells the store: `f(store, *args)`."""
