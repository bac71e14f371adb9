"""The one lock around everything that changes attributes of torch for a while."""

from __future__ import annotations

import threading

TORCH_LOCK = threading.RLock()
"""Held while torch is patched, traces, or functionalizes: these change global state of torch, and
two threads that overlap would restore each other's changes.  Re-entrant: a module that is captured
may export another one."""
