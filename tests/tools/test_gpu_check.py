"""The tests run on other execution providers, and a missing one is reported, not skipped over."""

from __future__ import annotations

import pytest

from tools import gpu_check


def test_a_provider_that_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu_check.main(["--provider", "NoExecutionProvider"]) == gpu_check.NOTHING
    assert "nothing ran: NoExecutionProvider is not in" in capsys.readouterr().out


def test_sessions_are_made_on_the_provider(capfd: pytest.CaptureFixture[str]) -> None:
    one = "tests/eager/test_providers.py::test_sessions_of_a_model_are_kept_by_provider"
    assert gpu_check.main(["--provider", "CPUExecutionProvider", one]) == 0
    out = capfd.readouterr().out
    assert "sessions on CPUExecutionProvider: " in out
    assert out.rstrip().endswith("CPUExecutionProvider: passed")


def test_the_share_exists() -> None:
    assert all((gpu_check.ROOT / path).exists() for path in gpu_check.SHARE)
