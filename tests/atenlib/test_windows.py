"""Window functions."""

from __future__ import annotations

import torch

from tests.atenlib.one_op import check
from tests.harness.tables import each

aten = torch.ops.aten
TOL = (1e-5, 1e-6)  # torch computes in the type of the result, we in float64


@each("name", ["bartlett", "blackman", "hamming", "hann", "kaiser"])
@each("length", [0, 1, 2, 7, 64])
def test_windows(name: str, length: int) -> None:
    packet = getattr(aten, f"{name}_window")
    check(packet.default, length, dynamic=(), tol=TOL)
    for periodic in (True, False):
        check(packet.periodic, length, periodic, dynamic=(), tol=TOL)
        check(packet.periodic, length, periodic, dtype=torch.float64, dynamic=(), tol=TOL)


def test_numbers_of_windows() -> None:
    check(aten.hamming_window.periodic_alpha, 9, True, 0.6, dynamic=(), tol=TOL)
    check(aten.hamming_window.periodic_alpha_beta, 9, False, 0.6, 0.3, dynamic=(), tol=TOL)
    check(aten.kaiser_window.beta, 9, False, 3.5, dynamic=(), tol=TOL)
