"""What is unique of results that are unique only up to signs, phases or rotations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Parts = Callable[[Sequence[Any]], list[Any]]


def of_svd(results: Sequence[Any]) -> list[Any]:
    """The singular values, the matrix again, and the products that say that vectors are unitary.

    Args:
        results: `U`, `S` and the adjoint of `V`; without vectors whatever there is.

    Returns:
        What does not depend on the choice of vectors.

    Example:
        >>> import torch
        >>> a = torch.eye(2)
        >>> [tuple(part.shape) for part in of_svd(torch.linalg.svd(a))]
        [(2,), (2, 2), (2, 2), (2, 2)]
    """
    if len(results) < 3 or not results[0].numel() or not results[2].numel():
        return list(results)
    u, s, vh = results
    k = s.shape[-1]
    again = u[..., :k] * s.unsqueeze(-2).to(u.dtype) @ vh[..., :k, :]
    return [s, again, u.mH @ u, vh @ vh.mH]


def of_old_svd(results: Sequence[Any]) -> list[Any]:
    """As `of_svd`, for `V` itself; where no vectors were asked for they are zeros."""
    u, s, v = results
    return of_svd([u, s, v.mH])


def of_eigh(results: Sequence[Any]) -> list[Any]:
    """The eigenvalues, the matrix again, and the product that says that vectors are unitary."""
    values, vectors = results
    again = vectors * values.unsqueeze(-2).to(vectors.dtype) @ vectors.mH
    return [values, again, vectors.mH @ vectors]


def of_eig(results: Sequence[Any]) -> list[Any]:
    """The eigenvalues in an order, the matrix again, and the lengths of the vectors."""
    values, *vectors = results
    key = values.real + 0.7548776662466927 * values.imag  # no two of a matrix fall together
    ordered = values.gather(-1, key.argsort(-1))
    if not vectors or not values.numel():
        return [ordered]
    (x,) = vectors
    return [ordered, x * values.unsqueeze(-2) @ x.pinverse(), x.abs().square().sum(-2)]


# The comparison kind of an OpTest -> what is compared in place of the results.
KINDS: dict[str, Parts] = {"svd": of_svd, "svd with v": of_old_svd, "eigh": of_eigh, "eig": of_eig}
