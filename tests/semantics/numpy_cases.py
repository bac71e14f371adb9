"""Expressions over arrays that mean in each mode what they mean in numpy, as data.

Arrays: `x` float32 [N, 3], `z` float32 [2, 3, 4], `v` float32 [5], `i` int64 [N, 3], `k` int32 [4],
`s` int8 [4], `u` uint8 [4], `p` bool [N, 3], `d` float64 [4], `c` a scalar float32, `n` with NaN.
"""

from __future__ import annotations

REDUCTIONS = [
    f"{a}.{m}({args})"
    for a in "xzi"
    for m in ("sum", "prod", "mean", "max", "min", "any", "all", "var", "std", "argmax", "argmin")
    for args in ("", "axis=0", "axis=-1", "axis=1, keepdims=True", "axis=(0, 1)", "keepdims=True")
    if not (m.startswith("arg") and "(0" in args)
]

METHODS = [
    "s.sum()", "u.sum(axis=0)", "k.sum(0)", "p.sum()", "p.sum(axis=1)", "s.prod()", "p.mean()",
    "k.mean(axis=0, keepdims=True)", "x.sum(dtype=np.float64)", "x.sum(axis=())", "s.max()",
    "p.max(axis=0)", "p.min()", "u.min()", "p.any(axis=1, keepdims=True)", "p.all()", "d.std()",
    "x.var(axis=0, ddof=1)", "x.std(ddof=1)", "z.var(axis=(0, -1), ddof=1, keepdims=True)",
    "n.max()", "n.min(axis=0)", "n.argsort()", "np.sort(n)", "np.sort(np.stack([n, -n, n + 1]), 0)",
    "np.argsort(np.where(x > 0, np.float32(np.nan), x))", "np.sort(-n, None)",
    "n.argmax()", "n.argmin(axis=0)", "n.sum()", "p.argmax()",
    "s.argmin()", "x.cumsum()", "x.cumsum(axis=1)", "i.cumsum(axis=-1)", "s.cumsum()", "p.cumsum()",
    "x.reshape(-1)", "z.reshape(6, 4)", "z.reshape((4, -1))", "z.reshape([2, 12])",
    "x.reshape(3, -1)", "x.reshape(x.shape[0], 3, 1)", "x.reshape(x.shape)", "v.reshape(1, 5, 1)",
    "c.reshape(1)", "x.astype(np.int32)", "x.astype('float64')", "i.astype(np.float32)",
    "i.astype(bool)", "p.astype(np.int64)", "x.astype(float)", "i.astype(np.int8)", "x.T", "z.T",
    "v.T", "z.transpose()", "z.transpose(2, 0, 1)", "z.transpose((1, 0, 2))",
    "z.transpose(-1, 0, -2)", "x.transpose(1, 0)", "z.flatten()", "z.ravel()", "c.ravel()",
    "x[None].squeeze()", "x[None].squeeze(0)", "x[:, None].squeeze(axis=1)", "z.squeeze()",
    "x.clip(0, 1)", "x.clip(-0.5, None)", "x.clip(max=0.25)", "i.clip(1, 3)", "x.clip(2, 1)",
    "n.clip(0, 1)", "x.clip(v[:3], 1.0)", "x.round()", "x.round(1)", "d.round(2)", "i.round()",
    "i.round(-1)", "z.swapaxes(0, 2)", "z.swapaxes(-1, 1)", "v.repeat(2)", "x.repeat(3)",
    "z.repeat(2, axis=1)", "x.repeat(2, axis=0)", "v.repeat([1, 0, 2, 1, 3])", "x.dot(x.T)",
    "v.dot(v)", "x.dot(v[:3])", "z.swapaxes(1, 2).dot(x.T)", "x.copy()", "x.take([0, 2], axis=1)",
    "x.take([-1, 0])", "x.nonzero()", "v.argsort()", "x.argsort(axis=0)", "x.ndim", "z.size",
    "z.shape", "x @ x.T", "abs(x)", "divmod(i, 3)", "divmod(x, 2.0)", "c.sum()", "c.mean()",
]  # fmt: skip

FUNCTIONS = [
    *[f"np.{f}(x)" for f in (
        "exp", "sin", "cos", "tanh", "floor", "ceil", "rint", "trunc", "square", "sign", "abs",
        "negative", "isnan", "isfinite", "isinf", "logical_not", "expm1", "exp2", "cbrt", "arctan",
        "sinh", "cosh", "arcsinh", "deg2rad", "rad2deg", "sum", "mean", "std", "max", "amin",
        "cumsum", "ravel", "transpose", "squeeze", "round", "zeros_like", "ones_like", "nonzero",
        "argwhere", "sort", "argsort", "count_nonzero", "any", "all", "positive", "fabs", "tan",
    )],
    *[f"np.{f}(abs(x) + 1)" for f in ("sqrt", "log", "log2", "log10", "log1p", "reciprocal",
                                      "arccosh")],
    *[f"np.{f}(x.clip(-0.9, 0.9))" for f in ("arcsin", "arccos", "arctanh", "log1p")],
    *[f"np.{f}(x, y)" for f in (
        "add", "subtract", "multiply", "divide", "maximum", "minimum", "less", "greater_equal",
        "equal", "not_equal", "fmod", "remainder", "floor_divide", "fmax", "fmin", "logical_and",
        "logical_or", "logical_xor", "outer", "divmod", "inner",
    )],
    *[f"np.{f}(i, 3)" for f in ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "power",
                                "right_shift", "floor_divide", "maximum", "remainder", "divmod")],
    "np.sqrt(abs(i))", "np.exp(s / 1 if False else x)", "np.floor(i)", "np.isnan(i)",
    "np.isfinite(n)", "np.isnan(n)", "np.maximum(n, 0)", "np.fmax(n, 0)", "np.sign(n)",
    "np.invert(p)", "np.invert(i)", "np.maximum(s, 3)", "np.maximum(p, ~p)", "np.sin(k)",
    "np.sqrt(u)", "np.where(x > 0, x, y)", "np.where(p, x, 0)", "np.where(p, 1.0, x)",
    "np.where(x > 0, x, -x).sum()", "np.where(p)", "np.concatenate([x, y])",
    "np.concatenate((x, y), axis=1)", "np.concatenate([x, y], axis=-1)",
    "np.concatenate([x, y], axis=None)", "np.concatenate([x, W])", "np.stack([x, y])",
    "np.stack([x, y], axis=-1)", "np.stack((v, v), 1)", "np.vstack([v, v])", "np.hstack([v, v])",
    "np.hstack([x, y])", "np.vstack([x, y])", "np.split(z, 2)", "np.split(z, 2, axis=2)",
    "np.split(v, [1, 3])", "np.array_split(v, 2)", "np.split(z, [1], axis=-1)", "np.tile(x, 2)",
    "np.tile(v, (2, 1))", "np.tile(z, (1, 2, 1))", "np.repeat(v, 2)", "np.repeat(x, 2, axis=1)",
    "np.take(x, [0, -1], axis=1)", "np.take(v, i[:, 0])", "np.take(x, 1, 1)",
    "np.take_along_axis(x, np.argsort(x, axis=1), axis=1)", "np.einsum('ij,kj->ik', x, y)",
    "np.einsum('ij->j', x)", "np.einsum('i,i->i', u, u)", "np.inner(s, s)", "np.where(p, p, x > 0)",
    "np.triu(u[:, None] * u)", "np.tril(s[:, None] * s, -1)", "np.full_like(p, 5)",
    "np.pad(p, 1, constant_values=2)",
    "np.einsum('ij,jk', x, x.T)", "np.expand_dims(x, 0)",
    "np.expand_dims(x, (0, -1))", "np.clip(x, 0, 1)", "np.clip(x, -1, y)", "np.matmul(x, y.T)",
    "np.dot(x, y.T)", "np.transpose(z, (2, 0, 1))", "np.transpose(z)",
    "np.swapaxes(z, 0, 1)", "np.moveaxis(z, 0, -1)", "np.moveaxis(z, (0, 1), (1, 2))",
    "np.reshape(z, (6, 4))", "np.reshape(z, -1)", "np.sum(x, axis=0)", "np.sum(i)",
    "np.mean(i, axis=1)", "np.prod(v)", "np.var(x, ddof=1)", "np.argmax(x, axis=1)",
    "np.cumsum(v)", "np.flip(x)", "np.flip(z, 1)", "np.flip(z, (0, 2))", "np.roll(v, 2)",
    "np.roll(x, 1)", "np.roll(z, -1, axis=2)", "np.roll(x, 1, axis=0)", "np.triu(x)",
    "np.tril(x, -1)", "np.broadcast_to(v, (2, 5))", "np.pad(v, 1)", "np.pad(x, ((0, 1), (2, 0)))",
    "np.pad(v, (1, 2), mode='reflect')", "np.pad(v, 2, mode='edge')",
    "np.pad(v, 1, constant_values=3.5)", "np.full_like(x, 2)", "np.full_like(x, 2, dtype=np.int64)",
    "np.zeros_like(i)", "np.tensordot(x, y, axes=([1], [1]))", "np.tensordot(z, z, 3)",
    "np.diff(v)", "np.diff(x, axis=0)", "np.diff(x, n=2)", "np.linalg.norm(x)",
    "np.linalg.norm(x, axis=1)", "np.linalg.norm(v, 1)", "np.sort(x, axis=0)", "np.add.reduce(x)",
    "np.maximum.reduce(x, axis=1)", "np.multiply.outer(v, v)", "np.sqrt(c)", "np.round(x, 1)",
    "np.shape(z)", "np.ndim(x)", "np.size(z)", "W + np.exp(x[:2])", "W * x[:2]", "np.add(1, x)",
    "W @ x.T", "W[0] > v[:3]", "np.power(x, 2)", "np.power(2.0, x)",
    "np.permute_dims(z, (1, 0, 2))",
    "np.astype(x, np.int32)", "np.copy(x)", "np.around(x, 1)", "np.argmin(i)",
]  # fmt: skip

ALL = [*REDUCTIONS, *METHODS, *FUNCTIONS]
