"""Subscripts and shapes."""

from onnxwright import BOOL, DOUBLE, FLOAT, INT64, script


@script()
def static(x: FLOAT[3, 4]) -> tuple[FLOAT, FLOAT, FLOAT, FLOAT]:
    """Known positions."""
    n, m = x.shape
    return x[0, -1], x[1:, -1] * n, x[..., None, ::-1], x[[0, 2], [1, m - 1]]


@script()
def dynamic(x: DOUBLE["N", "M"], i: INT64, j: INT64["K"], mask: BOOL["N"]):
    a = x[i, :i]
    b = x[j, i] + x[j][:, i]
    c = x[mask, 0] if len(x) > 2 else x[:, 0]
    d = x[x > 1.5]
    del mask
    return a, abs(b), c, d[::-1] ** 2, x.T @ x, max(x[0, 0], x[i, i])
