"""The table: what a capture replaces in PyTorch and in libraries, and why.

`CALLS` are functions that converted code calls; `CHANGES` are what calls do not reach (C classes,
tables of PyTorch, functions that only PyTorch calls), by the way to capture that makes them.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from onnxwright.exporter.capture.replacements import (
    attention_masks,
    extremes,
    fakes,
    flex_attention,
    forward_derivatives,
    identity,
    ode_solvers,
    packed_sequences,
    recurrences,
    remainders,
    seeded_draws,
    size_nodes,
    sparse_products,
    stack_traces,
    static_caches,
    symbolic_ranges,
    table,
    torch_func,
    torch_state,
    views,
    vision_grids,
)
from onnxwright.exporter.capture.replacements.changes import Changes, applied
from onnxwright.exporter.capture.replacements.table import Change, Replacement
from onnxwright.exporter.capture.source.torch_lists import lists_of_numbers

_CASTS = "torch.export refuses the parameters that a cast of a module puts in place of its own"
_TOKENS = "it counts tokens in Python: the program would keep the number of the example"
_PADDING = "it pads by the position of the first key, which is a tensor while capturing"
_PACKED = "a batch of packed rows has sizes by values; here it is the padded batch with lengths"
_TIMES = "a Python loop over the times fixes their number; here it is one scan"
_LAYER = "transformers.cache_utils.StaticSlidingWindowLayer"

CALLS: tuple[Replacement, ...] = (
    *(
        Replacement(target=f"torch.nn.Module.{name}", make=made, reason=_CASTS)
        for name, made in (
            ("to", fakes.kept_where_there),
            ("float", fakes.kept_where_of_type),
            ("double", fakes.kept_where_of_type),
            ("half", fakes.kept_where_of_type),
            ("bfloat16", fakes.kept_where_of_type),
        )
    ),
    Replacement(
        target="torch.nn.functional.scaled_dot_product_attention",
        make=fakes.with_causal_flag,
        reason="its C++ refuses an `is_causal` that follows from a size (a SymBool)",
    ),
    *(
        Replacement(
            target=f"torch.{name}",
            make=seeded_draws.with_constant_draws,
            reason="random operators of ONNX have no common generator: the draws are constants",
        )
        for name in ("manual_seed", "random.manual_seed")
    ),
    *(
        Replacement(target=f"torch.{name}.forward", make=packed_sequences.with_lengths,
                    reason=_PACKED)
        for name in ("nn.LSTM", "nn.GRU", "nn.RNN", "ao.nn.quantized.dynamic.LSTM",
                     "ao.nn.quantized.dynamic.GRU")
    ),
    Replacement(
        target="transformers.masking_utils._ignore_bidirectional_mask_sdpa",
        make=attention_masks.skipped_where_none,
        reason="while tracing it makes a mask of ones where none was given, which layers that "
        "shorten their scores (Informer) do not take",
    ),
    Replacement(target=f"{_LAYER}.update", make=lambda _: static_caches.update, reason=_TOKENS),
    Replacement(
        target=f"{_LAYER}.get_mask_sizes", make=lambda _: static_caches.mask_sizes, reason=_TOKENS
    ),
    Replacement(
        target=f"{_LAYER}.get_seq_length", make=lambda _: static_caches.seen, reason=_TOKENS
    ),
    Replacement(
        target="transformers.masking_utils.prepare_padding_mask",
        make=static_caches.padding("attention_mask", 0),
        reason=_PADDING,
    ),
    Replacement(
        target="transformers.masking_utils.maybe_pad_block_sequence_ids",
        make=static_caches.padding("block_sequence_ids", -1),
        reason=_PADDING,
    ),
    *(
        Replacement(target=f"transformers.models.*.{name}", make=made, reason=_TIMES)
        for name, made in (
            ("mamba_selective_scan", recurrences.selective_scan),
            ("_rnn_scan", recurrences.rnn_scan),
            ("rwkv_linear_attention_cpu", recurrences.weighted_keys),
        )
    ),
)  # fmt: skip

_TABLES: tuple[Change, ...] = (
    Change(
        target="torch.onnx.is_in_onnx_export",
        make=torch_state.in_onnx_export,
        reason="models ask whether they are exported; only torch.onnx.export answers yes",
    ),
    Change(
        target="torch.autograd.forward_ad",
        make=torch_state.levels_left,
        reason="a transformation of torch.func that fails leaves its level behind",
    ),
    Change(
        target="torch._subclasses.fake_impls.op_implementations_dict",
        make=fakes.fakes,
        reason="operators that torch would decompose, or whose shape it reads from values",
    ),
    Change(
        target="torch.fx.experimental.proxy_tensor._build_proxy_for_sym_expr",
        make=size_nodes.sizes_in_pairs,
        reason="it computes a sum of more than two sizes by a function of two",
    ),
    Change(
        target="torch.fx.experimental.sym_node.SymNode",
        make=remainders.remainders_divided,
        reason="it does not see that `n + (-n) % 4` is divisible by 4: a guard for each window",
    ),
    Change(
        target="torch._subclasses.fake_impls._view_meta",
        make=views.views_as_asked,
        reason="a view has sizes by the strides, not those that are asked for, and guards",
    ),
    Change(
        target="torch.distributions.Distribution._validate_args",
        make=fakes.distribution_checks_disabled,
        reason="the checks decide by values",
    ),
    Change(
        target="torch.fx.proxy.TracerBase._filter_traceback_frames",
        make=stack_traces.user_frames,
        reason="nodes remember the lines of functions called `forward` only",
    ),
)
_NON_STRICT: tuple[Change, ...] = (
    Change(
        target="torch._VF._pack_padded_sequence",
        make=packed_sequences.sequences_padded,
        reason=_PACKED,
    ),
    Change(
        target="torch.nn.attention.flex_attention",
        make=flex_attention.flex_attention_written_out,
        reason="it compiles kernels for the sizes of the example",
    ),
    Change(
        target="torchdiffeq.odeint",
        make=ode_solvers.solvers_written_out,
        needs="torchdiffeq",
        reason="its solvers decide by times and errors in Python",
    ),
    Change(
        target="torch._functorch.apis.vmap_impl",
        make=torch_func.chunks_joined,
        reason="`chunk_size` makes a Python loop, whose number of iterations is fixed",
    ),
    Change(
        target="torch._subclasses.fake_impls.op_implementations_checks",
        make=sparse_products.sparse_products_sized,
        reason="products of sparse matrices have no rule for dynamic sizes",
    ),
    Change(
        target="torch.fx.experimental.proxy_tensor.extract_val",
        make=sparse_products.sparse_constants,
        reason="strides are asked of constants in compressed sparse layouts, which have none",
    ),
    Change(
        target="torch._export.non_strict_utils._tensor_min_max",
        make=extremes.extremes_symbolic,
        reason="`min` and `max` of floats, or of three sizes, keep what is least for the example",
    ),
    Change(
        target="torch.fx.experimental.proxy_tensor._sym_register",
        make=extremes.extremes_of_two,
        reason="a maximum in a size becomes a call that torch's own check does not allow",
    ),
)
_SUBSTITUTES: tuple[Change, ...] = (
    Change(
        target="torch._subclasses.FakeTensor.tolist",
        make=lists_of_numbers,
        reason="a list of a length of run time would have the length of the example",
    ),
    Change(
        target="builtins.range",
        make=symbolic_ranges.ranges_symbolic,
        reason="`range(0, n, n)` has one iteration for every n, and asks for the number",
    ),
    Change(
        target="transformers.vision_utils",
        make=vision_grids.grids_at_once,
        needs="transformers.vision_utils",
        reason="images of values of sizes are computed one by one in Python",
    ),
)
_STRICT: tuple[Change, ...] = (
    Change(
        target="torch._dynamo.variables.torch.tracing_state_functions",
        make=torch_state.in_onnx_export_for_dynamo,
        reason="as `torch.onnx.is_in_onnx_export`, which TorchDynamo answers from a table",
    ),
    Change(
        target="torch._dynamo.symbolic_convert.compare_op_handlers",
        make=identity.truths_compared,
        reason="`ok is True` of a truth value of run time is False, whatever the value",
    ),
)
_FORWARD: tuple[Change, ...] = (
    Change(
        target="torch._efficientzerotensor",
        make=forward_derivatives.zero_tangents_symbolic,
        reason="the kernels of tangents of zeros read sizes as integers",
    ),
)
CHANGES: dict[str, tuple[Change, ...]] = {
    "every": _TABLES,
    "non-strict": _NON_STRICT,
    "substitutes": _SUBSTITUTES,
    "strict": _STRICT,
    "torch.func": _FORWARD,
}
"""Way to capture -> the changes for it."""

for _entry in CALLS:
    table.register(_entry)


def changed(way: str, model: Any = None) -> AbstractContextManager[Changes]:
    """What makes the changes for a way to capture, and undoes them.

    Args:
        way: a key of `CHANGES`.
        model: what is captured.
    """
    return applied([entry.make for entry in CHANGES[way] if table.is_needed(entry)], model)
