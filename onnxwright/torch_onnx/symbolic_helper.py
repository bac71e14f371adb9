"""torch.onnx's module `symbolic_helper`: what symbolic functions most often call of it."""

from __future__ import annotations

from onnxwright.exporter.torch_names.symbolic_helper import (
    _get_const,
    _get_tensor_dim_size,
    _get_tensor_rank,
    _get_tensor_sizes,
    _is_none,
    _is_tensor,
    _is_value,
    _maybe_get_const,
    _maybe_get_scalar,
    _unimplemented,
    _unpack_list,
    parse_args,
)

__all__ = [
    "_get_const",
    "_get_tensor_dim_size",
    "_get_tensor_rank",
    "_get_tensor_sizes",
    "_is_none",
    "_is_tensor",
    "_is_value",
    "_maybe_get_const",
    "_maybe_get_scalar",
    "_unimplemented",
    "_unpack_list",
    "parse_args",
]
