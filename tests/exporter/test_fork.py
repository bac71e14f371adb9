"""A process that is forked while another thread exports."""

from __future__ import annotations

import os
import signal
import threading
import warnings

import pytest
import torch

import onnxwright as ow
from onnxwright.exporter.torch_lock import TORCH_LOCK


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_does_not_wait_for_a_thread_it_does_not_have() -> None:
    held, release = threading.Event(), threading.Event()

    def exports() -> None:
        with TORCH_LOCK:
            held.set()
            release.wait(0.5)

    thread = threading.Thread(target=exports)
    thread.start()
    held.wait()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn of a fork with threads
        child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if TORCH_LOCK.acquire(timeout=5) else 5)
    release.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
    assert TORCH_LOCK.acquire(timeout=1)
    TORCH_LOCK.release()


@pytest.mark.parametrize("window", [16, 64])
def test_the_inverse_of_a_spectrogram_is_one_operator(window: int) -> None:
    """The capture does not add up the window sample by sample."""

    class Through(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            shape = torch.hann_window(window)
            frames = torch.stft(x, window, window // 4, window=shape, return_complex=True)
            return torch.istft(frames, window, window // 4, window=shape, length=x.shape[1])

    program = ow.export(Through(), (torch.randn(2, 1600),), dynamic_shapes=({0: "b", 1: "t"},))
    assert len(program.exported_program.graph.nodes) < 40
    x = torch.randn(1, 2003)
    torch.testing.assert_close(program(x), Through()(x), rtol=1e-4, atol=1e-5)
