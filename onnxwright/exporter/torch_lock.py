"""The one lock around everything that changes attributes of torch for a while."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator

from torch._dynamo import config

TORCH_LOCK = threading.RLock()
"""Held while torch is patched, traces, or functionalizes: these change global state of torch, and
two threads that overlap would restore each other's changes.  Re-entrant: a module that is captured
may export another one."""

# A child of a fork has the memory of its parent and one thread.  A fork waits until no thread
# changes torch: the child would keep the changes, and a lock that nobody releases.
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(
        before=TORCH_LOCK.acquire,
        after_in_parent=TORCH_LOCK.release,
        after_in_child=TORCH_LOCK.release,
    )


@contextlib.contextmanager
def shapes_computed_anew() -> Iterator[None]:
    """Captures in it keep no results of the shape rules of operators.

    PyTorch keeps them by the sizes of the inputs.  Where those are expressions, making and
    comparing the keys takes longer than the rules.
    """
    with TORCH_LOCK, config.patch(fake_tensor_cache_enabled=False):
        yield
