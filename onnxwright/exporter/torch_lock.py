"""The one lock around everything that changes attributes of torch for a while."""

from __future__ import annotations

import os
import threading

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
