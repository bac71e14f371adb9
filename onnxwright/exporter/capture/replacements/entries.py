"""The table: what a capture replaces in PyTorch and in libraries, and why.

`CALLS` are functions that converted code calls, `FUNCTIONS` those that are others also where
PyTorch calls them; `CHANGES` are what calls do not reach (C classes, tables of PyTorch, functions
that only PyTorch calls).  `FUNCTIONS` and `CHANGES` are by the way to capture that makes them.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import torch

from onnxwright.exporter.capture.control import replacement_table as table
from onnxwright.exporter.capture.control.replacement_table import Change, Replacement
from onnxwright.exporter.capture.decisions.deciding import cond_of_torch
from onnxwright.exporter.capture.lists.torch_functions import (
    lists_of_numbers,
    numbers_as_keys,
    of_numbers,
)
from onnxwright.exporter.capture.loops.torch_while_loop import while_loop_of_torch
from onnxwright.exporter.capture.replacements import (
    array_memory,
    assigned_buffers,
    fakes,
    flex_attention,
    packed_sequences,
    recurrences,
    size_results,
    slice_writes,
    stack_traces,
    static_caches,
    substitutes,
    torch_func,
    torch_state,
    views,
    vision_grids,
)
from onnxwright.exporter.capture.session.changes import Changes, Entry, applied
from onnxwright.exporter.capture.values.symbol_operators import operators_of_symbols

_CASTS = "torch.export refuses the parameters that a cast of a module puts in place of its own"
_CAST = "`torch.nn.Module._apply` assigns parameters, also where nothing changes"
_TOKENS = "it counts tokens in Python: the program would keep the number of the example"
_COUNTED = "transformers keeps `cumulative_length_int` beside the tensor, and decides by it"
_PADDING = "it pads by the position of the first key, which is a tensor while capturing"
_OFFSET = "`kv_offset` of a sliding-window layer is `cumulative_length - window + 1`, an int there"
_PACKED = "a batch of packed rows has sizes by values; here it is the padded batch with lengths"
_PACKED_ISSUE = "https://github.com/pytorch/pytorch/issues/112044"
_TIMES = "a Python loop over the times fixes their number; here it is one scan"
_LOOP = "its kernels are for CUDA; on a CPU transformers loops over `range(seq_len)`"
_STEPS = "PyTorch goes through the time steps in Python, which fixes their number"
_STEPS_ISSUE = "https://github.com/pytorch/pytorch/issues/115092"
_SEED = "random operators of ONNX have no common generator: the model draws other numbers"
_SEED_OF_ONE = "RandomNormal-1 has a `seed` of its own, and other numbers than PyTorch"
_OF_TORCH = "a capture by source would be refused: it decides or repeats as Python does"
_DYNAMO = "TorchDynamo traces the parts, and does not know the modes of a capture"
_DECIDES = "it reads a value in C++, where no operator of the model decides"
_LAYER = "transformers.cache_utils.StaticSlidingWindowLayer"
_ATEN = torch.ops.aten

CALLS: tuple[Replacement, ...] = (
    *(
        Replacement(target=target, make=function, reason=_OF_TORCH, upstream=_DYNAMO)
        for target, function in (
            ("torch.cond", cond_of_torch),
            ("torch._higher_order_ops.while_loop.while_loop", while_loop_of_torch),
        )
    ),
    Replacement(
        target="torch.tensor",
        make=of_numbers,
        reason="beside symbolic numbers it takes what stands for a float of Python for a double",
        upstream="for a list with symbolic numbers its C++ calls `torch._refs.tensor`",
    ),
    *(
        Replacement(target=f"torch.nn.Module.{name}", make=function, reason=_CASTS, upstream=_CAST)
        for name, function in (
            ("to", substitutes.kept_where_there),
            *((name, substitutes.kept_where_of_type) for name in substitutes.FLOATS),
        )
    ),
    Replacement(
        target="torch.nn.functional.scaled_dot_product_attention",
        make=substitutes.with_causal_flag,
        reason="its C++ refuses an `is_causal` that follows from a size (a SymBool)",
        upstream="https://github.com/pytorch/pytorch/issues/154038",
    ),
    *(
        Replacement(
            target=f"torch.{name}",
            make=torch_state.with_a_warning,
            reason=_SEED,
            upstream=_SEED_OF_ONE,
        )
        for name in ("manual_seed", "random.manual_seed")
    ),
    *(
        Replacement(target=f"torch.{name}.forward", make=packed_sequences.with_lengths,
                    reason=_PACKED, upstream=_PACKED_ISSUE)
        for name in ("nn.LSTM", "nn.GRU", "nn.RNN", "ao.nn.quantized.dynamic.LSTM",
                     "ao.nn.quantized.dynamic.GRU")
    ),
    Replacement(
        target="transformers.masking_utils._ignore_bidirectional_mask_sdpa",
        make=static_caches.skipped_where_none,
        reason="while tracing it makes a mask of ones where none was given, which layers that "
        "shorten their scores (Informer) do not take",
        upstream="it asks `is_torchdynamo_exporting()` before whether there is a mask",
    ),
    *(
        Replacement(target=f"{_LAYER}.{name}", make=function, reason=_TOKENS, upstream=_COUNTED)
        for name, function in (
            ("update", lambda _: static_caches.update),
            ("get_mask_sizes", lambda _: static_caches.mask_sizes),
            ("get_seq_length", lambda _: static_caches.seen),
        )
    ),
    Replacement(
        target="transformers.cache_utils.DynamicLayer.get_seq_length",
        make=lambda _: static_caches.length_of,
        reason="it asks whether the keys have elements, to give their length or 0, which is it",
        upstream="`if not self.is_initialized or self.keys.numel() == 0: return 0`",
    ),
    Replacement(
        target="transformers.masking_utils.prepare_padding_mask",
        make=static_caches.padding("attention_mask", 0),
        reason=_PADDING,
        upstream=_OFFSET,
    ),
    Replacement(
        target="transformers.masking_utils.maybe_pad_block_sequence_ids",
        make=static_caches.padding("block_sequence_ids", -1),
        reason=_PADDING,
        upstream=_OFFSET,
    ),
    *(
        Replacement(
            target=f"transformers.models.*.{name}", make=function, reason=_TIMES, upstream=_LOOP
        )
        for name, function in (
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
        upstream="`_flags._is_onnx_exporting` is set by torch.onnx.export alone",
    ),
    Change(
        target="torch.autograd.forward_ad",
        make=torch_state.levels_left,
        reason="a transformation of torch.func that fails leaves its level behind",
        upstream="`exit_dual_level` is not called where tracing fails within it",
    ),
    *(
        Change(target=f"torch.ops.{op}", make=fakes.taken_as_it_is(op), reason=why, upstream=what)
        for ops, why, what in (
            (
                (_ATEN.gru.input, _ATEN.lstm.input, _ATEN.rnn_relu.input, _ATEN.rnn_tanh.input),
                _STEPS,
                _STEPS_ISSUE,
            ),
            (
                (_ATEN.cdist.default,),
                "it has another formula for more rows, also of run-time number",
                "the default `compute_mode` takes a product of matrices from 26 rows on",
            ),
            ((_ATEN.cov.default,), _DECIDES, "it asks by `equal` whether the divisor is above 0"),
            (
                (_ATEN.ctc_loss.IntList, _ATEN.ctc_loss.Tensor),
                _DECIDES,
                "`_ctc_loss` has results whose sizes are values",
            ),
            ((_ATEN.linalg_lstsq.default,), _DECIDES, "the number of residuals is by the rank"),
            ((_ATEN.narrow.Tensor,), _DECIDES, "it calls `item` in C++, and loses the symbol"),
            (
                (_ATEN.one_hot.default,),
                _DECIDES,
                "without a number of classes it reads the values",
            ),
            (
                (
                    _ATEN.fake_quantize_per_channel_affine.default,
                    _ATEN.fake_quantize_per_tensor_affine.default,
                    _ATEN.fake_quantize_per_tensor_affine.tensor_qparams,
                ),
                "it is run by an operator without a rule for tensors without values",
                "`fake_quantize_per_tensor_affine_cachemask` has kernels for CPU and CUDA only",
            ),
        )
        for op in ops
    ),
    Change(
        target="torch.fx.experimental.proxy_tensor._build_proxy_for_sym_expr",
        make=size_results.sizes_in_pairs,
        reason="it computes a sum of more than two sizes by a function of two",
        upstream="it calls `operator.add` with all of `expr.args`",
    ),
    Change(
        target="torch._subclasses.fake_impls._view_meta",
        make=views.views_as_asked,
        reason="a view has sizes by the strides, not those that are asked for, and guards",
        upstream="`_view_meta` splits axes one by one, with a guard for each",
    ),
    Change(
        target="torch.distributions.Distribution._validate_args",
        make=substitutes.distribution_checks_disabled,
        reason="the checks decide by values",
        upstream="`Distribution.__init__` raises unless `constraint.check(value).all()`",
    ),
    Change(
        target="torch.fx.proxy.TracerBase._filter_traceback_frames",
        make=stack_traces.user_frames,
        reason="nodes remember the lines of functions called `forward` only",
        upstream="it keeps frames named `forward`, and what these call",
    ),
    Change(
        target="torch.fx.experimental.proxy_tensor.PythonKeyTracer.create_proxy",
        make=array_memory.values_kept,
        reason="a constant of an array has what the program writes to the array afterwards",
        upstream="`torch.tensor(array)` is traced as a copy of a constant with the array's memory",
    ),
)
_NON_STRICT: tuple[Change, ...] = (
    Change(
        target="torch.export._trace.register_buffer_assignment_hook",
        make=assigned_buffers.assigned_at_the_end,
        reason="it copies the new value over what was read from the buffer, and of the root only",
        upstream="`copy_` is put before the output node, for the `_buffers` of the root",
    ),
    Change(
        target="transformers.cache_utils.Cache.is_compileable",
        make=static_caches.masks_at_any_length,
        needs="transformers.masking_utils",
        reason="it is asked beside `q_length == 1`, whether a mask may be left out",
        upstream="`_ignore_causal_mask_sdpa` leaves out none where `is_torchdynamo_exporting()`",
    ),
    Change(
        target="torch._VF._pack_padded_sequence",
        make=packed_sequences.sequences_padded,
        reason=_PACKED,
        upstream=_PACKED_ISSUE,
    ),
    Change(
        target="torch.nn.attention.flex_attention",
        make=flex_attention.flex_attention_written_out,
        reason="it compiles kernels for the sizes of the example",
        upstream="outside of TorchDynamo it calls `torch.compile` of itself",
    ),
    Change(
        target="torch._functorch.apis.vmap_impl",
        make=torch_func.chunks_joined,
        reason="`chunk_size` makes a Python loop, whose number of iterations is fixed",
        upstream="`_chunked_vmap` goes through a list of chunks",
    ),
    Change(
        target="torch._export.non_strict_utils._tensor_min_max",
        make=size_results.extremes_symbolic,
        reason="`min` and `max` of floats, or of three sizes, keep what is least for the example",
        upstream="it calls `torch.sym_min` for two arguments, of which one is a SymInt, alone",
    ),
    Change(
        target="torch.fx.experimental.proxy_tensor._sym_register",
        make=size_results.extremes_of_two,
        reason="a maximum in a size becomes a call that torch's own check does not allow",
        upstream="`_nary_sym_max` is not among the functions that a verified program may call",
    ),
)
_SUBSTITUTES: tuple[Change, ...] = (
    Change(
        target="torch._subclasses.FakeTensor.tolist",
        make=lists_of_numbers,
        reason="a list of a length of run time would have the length of the example",
        upstream="`tolist` gives a list of Python, which has one length",
    ),
    Change(
        target="torch.Tensor.__hash__",
        make=numbers_as_keys,
        reason="of `{n, 2}`, where a tensor stands for `n`, Python would not see that `n` is 2",
        upstream="the hash of a tensor is its identity",
    ),
    Change(
        target="torch.autograd._engine_run_backward",
        make=slice_writes.refuse_gradients,
        reason="a write to a slice of run-time bounds is made without gradients",
        upstream="autograd makes the slice again, with new sizes of which nothing is known",
    ),
    Change(
        target="torch.SymBool",
        make=operators_of_symbols,
        reason="`(n > 2) * 3` would have the answer of the example, and `a != a` is true of NaN",
        upstream="`SymBool` has no arithmetic, or asks for its answer; sympy's floats are real",
    ),
    Change(
        target="transformers.vision_utils",
        make=vision_grids.grids_at_once,
        needs="transformers.vision_utils",
        reason="images of values of sizes are computed one by one in Python",
        upstream="it loops over `grid_thw.tolist()`",
    ),
)
_STRICT: tuple[Change, ...] = (
    Change(
        target="torch._dynamo.variables.torch.tracing_state_functions",
        make=torch_state.in_onnx_export_for_dynamo,
        reason="as `torch.onnx.is_in_onnx_export`, which TorchDynamo answers from a table",
        upstream="`tracing_state_functions` has False for it",
    ),
    Change(
        target="torch._dynamo.symbolic_convert.compare_op_handlers",
        make=torch_state.truths_compared,
        reason="`ok is True` of a truth value of run time is False, whatever the value",
        upstream="TorchDynamo compares the objects that stand for the values",
    ),
)
_FORWARD: tuple[Change, ...] = (
    Change(
        target="torch._efficientzerotensor",
        make=torch_func.zero_tangents_symbolic,
        reason="the kernels of tangents of zeros read sizes as integers",
        upstream="`ZeroTensorFallback` in C++ calls `sizes()`, not `sym_sizes()`",
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


def changed(way: str, model: Any = None, *more: Entry) -> AbstractContextManager[Changes]:
    """What makes the changes for a way to capture, and undoes them.

    Args:
        way: a key of `CHANGES`, or "source", which makes those of two of them.
        model: what is captured.
        more: further changes, before those.
    """
    ways = ("substitutes", "non-strict") if way == "source" else (way,)
    there = (entry for one in ways for entry in CHANGES[one])
    entries = [entry.make for entry in there if table.is_needed(entry)]
    return applied([*more, *entries], model)
