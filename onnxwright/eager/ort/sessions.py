"""ONNX Runtime sessions: made with shared threads and memory, kept in a bounded cache.

Sessions of one operator are many and small: they share one memory arena, have threads only where
threads pay, skip the graph optimizer, and say nothing on stderr.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import onnx
from onnx import helper

from onnxwright.diagnostics.catalogue import eager as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.opset.registry import newest

E = TypeVar("E", bound="Entry")

# What one session costs beside its model, measured with shared memory.
SESSION_BYTES = 64 * 1024
_SILENT = 4
_CPU = "CPUExecutionProvider"


@functools.cache
def runtime() -> Any:
    """The module `onnxruntime`, imported at the first eager call."""
    import onnxruntime

    return onnxruntime


@functools.cache
def is_old() -> bool:
    """Whether the runtime is older than 1.27: only Python 3.10 has one."""
    major, minor = runtime().__version__.split(".")[:2]
    return (int(major), int(minor)) < (1, 27)


@functools.cache
def has_shared_arena() -> bool:
    """Set up the memory arena that our sessions share, once per process."""
    from onnxruntime.capi import onnxruntime_pybind11_state as core

    # NOTE: only what a session asks for by name is shared.  Never set_global_thread_pool_sizes:
    # with it, every plain InferenceSession that the user makes in this process is refused.
    try:
        memory = core.OrtMemoryInfo(
            "Cpu", core.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, core.OrtMemType.DEFAULT
        )
        # Grow by what is asked for, not to the next power of two.
        core.create_and_register_allocator(memory, core.OrtArenaCfg({"arena_extend_strategy": 1}))
    except Exception:  # noqa: BLE001 - an older runtime, or one configured by somebody else
        return False
    return True


def small_options(*, parallel: bool = False, arena: bool = True) -> Any:
    """Session options for a model of one node.

    Args:
        parallel: whether the session has threads of its own.
        arena: whether it takes its memory from the shared arena, which keeps what is freed.

    Returns:
        A fresh `SessionOptions`.
    """
    ort = runtime()
    options = ort.SessionOptions()
    options.log_severity_level = _SILENT
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.enable_mem_pattern = False
    options.intra_op_num_threads = thread_limit() if parallel else 1
    if arena and has_shared_arena():
        options.add_session_config_entry("session.use_env_allocators", "1")
    else:
        options.enable_cpu_mem_arena = False
    return options


def model_options() -> Any:
    """Session options for a whole model: as the runtime would have them, but silent and exact.

    By default, the runtime rounds activations to eight bits where they are multiplied with
    dequantized weights: what the model says is computed here.

    Returns:
        A fresh `SessionOptions`.
    """
    options = runtime().SessionOptions()
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    options.log_severity_level = _SILENT
    options.intra_op_num_threads = thread_limit()
    return options


def thread_limit() -> int:
    """How many threads a session may have, from `OMP_NUM_THREADS`, as PyTorch and BLAS read it.

    Returns:
        The first number of the variable; 0, the runtime's own choice, where it is not set.
    """
    first = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(first) if first.isdecimal() else 0


def new_session(model: bytes | str, options: Any, providers: Sequence[Any] | None) -> Any:
    """A session; a provider that fails is an error, never silently replaced.

    Args:
        model: the model's bytes, or the path of its file.
        providers: the execution providers, which `check_providers` has seen; the CPU if not given.

    Returns:
        The `InferenceSession`.
    """
    # It ends the process for a FLOAT16 weight that is also an input.
    without = ["FuseFp16InitializerToFp32NodeTransformer"] if is_old() else None
    if providers is None:
        return runtime().InferenceSession(
            model, options, providers=[_CPU], disabled_optimizers=without
        )
    # Without `enable_fallback` the runtime prints a provider's error and takes the CPU.
    return runtime().InferenceSession(
        model, options, providers=list(providers) or [_CPU], disabled_optimizers=without,
        enable_fallback=0,
    )  # fmt: skip


def check_providers(providers: Sequence[Any] | None) -> None:
    """Refuse execution providers that the installed runtime does not have.

    Args:
        providers: names, or pairs of a name and options; None for the CPU.

    Raises:
        EagerValueError: the provider is not available (OW625).
    """
    if providers is None:
        return
    there = runtime().get_available_providers()
    advice = f"a list of execution providers; this ONNX Runtime has {', '.join(there)}"
    is_list = isinstance(providers, (list, tuple))
    for provider in providers if is_list else [providers]:
        name = provider[0] if isinstance(provider, tuple) and provider else provider
        if not is_list or name not in there:
            fail(
                messages.BadOption(
                    option="providers",
                    value=repr(list(providers) if is_list else providers),
                    advice=advice,
                )
            )


@functools.cache
def newest_opset() -> int:
    """The newest version of the standard opset that this runtime loads, found by trying."""
    top = newest()
    for version in range(top, 6, -1):
        graph = helper.make_graph(
            [helper.make_node("Neg", ["x"], ["y"])],
            "probe",
            [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, None)],
            [onnx.ValueInfoProto(name="y")],
        )
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", version)], ir_version=10
        )
        try:
            new_session(model.SerializeToString(), small_options(), None)
        except Exception:  # noqa: BLE001, S112 - any refusal means: try the one before
            continue
        return version
    return 7


class Entry:
    """What a cache keeps: its size, and whether it was used since the last look."""

    __slots__ = ("nbytes", "used")

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self.used = True


class SessionCache(Generic[E]):
    """A dictionary bounded in number and bytes that drops what was not used lately.

    Reading takes no lock: a use only sets a flag, and the second-chance rule does the rest.

    Args:
        limit: the most entries.
        byte_limit: the most bytes of all entries together.

    Example:
        >>> cache = SessionCache(2, 1 << 20)
        >>> for name in "abc":
        ...     _ = cache.add(name, Entry(10))
        >>> len(cache), cache.get("a") is None
        (2, True)
    """

    def __init__(self, limit: int, byte_limit: int) -> None:
        self.limit = limit
        self.byte_limit = byte_limit
        self.nbytes = 0
        self.evictions = 0
        self._entries: dict[Hashable, E] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(list(self._entries))

    def entries(self) -> list[E]:
        """All entries; none counts as used by this."""
        return list(self._entries.values())

    def get(self, key: Hashable) -> E | None:
        """The entry of a key, marked as used; None where there is none."""
        entry = self._entries.get(key)
        if entry is not None:
            entry.used = True
        return entry

    def add(self, key: Hashable, entry: E) -> E:
        """Keep an entry and drop others where that is too much; the first of a key stays."""
        with self._lock:
            before = self._entries.get(key)
            if before is not None:
                return before
            self._entries[key] = entry
            self.nbytes += entry.nbytes
            while len(self._entries) > 1 and (
                len(self._entries) > self.limit or self.nbytes > self.byte_limit
            ):
                self._drop_one(key)
            return entry

    def replace(self, key: Hashable, old: E, new: E) -> None:
        """Put another entry in the place of one, if it is still there."""
        with self._lock:
            if self._entries.get(key) is old:
                self._entries[key] = new
                self.nbytes += new.nbytes - old.nbytes

    def _drop_one(self, keep: Hashable) -> None:
        """Drop the oldest entry that was not used since it was last passed over."""
        while True:
            key, entry = next(iter(self._entries.items()))
            del self._entries[key]
            if entry.used or key == keep:
                # Passed over once: to the end of the line, and not used until it is.
                entry.used = False
                self._entries[key] = entry
                if key == keep and len(self._entries) == 1:
                    return
                continue
            self.nbytes -= entry.nbytes
            self.evictions += 1
            return

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._entries.clear()
            self.nbytes = 0
