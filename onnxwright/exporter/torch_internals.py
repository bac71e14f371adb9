"""Names of PyTorch that begin with an underscore: what each is for, and those that several modules
use.

A release of PyTorch may remove such a name without notice.  Each one is used in one module, so that
there is one place to change; a test compares the table with the code.
"""

from __future__ import annotations

from typing import Any

from torch._C import DispatchKey
from torch._higher_order_ops.flex_attention import math_attention
from torch._ops import HigherOrderOperator, OpOverload
from torch._refs import tensor as refs_tensor
from torch._subclasses import fake_impls
from torch._subclasses.fake_tensor import FakeTensor, is_fake
from torch.export import _trace as tracing
from torch.export.dynamic_shapes import _combine_args as combined_arguments
from torch.export.dynamic_shapes import _tree_map_with_path as mapped_with_path
from torch.fx.experimental.proxy_tensor import _AttrProxy as ModuleProxy
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes as modes_disabled
from torch.utils._sympy import functions as size_functions
from torch.utils._sympy.functions import FloorDiv, Max, Min
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.printers import PythonPrinter
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy

PRIVATE: dict[str, str] = {
    "torch._C.DispatchKey": "the keys under which operators have kernels in Python",
    "torch.autograd._engine_run_backward": "gradients after a write that has none",
    "torch._C.DisableTorchFunction": "the truth of a tensor that is a constant",
    "torch._C._enter_dual_level": "leave a level of forward derivatives that was left open",
    "torch._C._exit_dual_level": "as above",
    "torch._C._functorch.is_functorch_wrapped_tensor": "constants that torch.func left",
    "torch._C._functorch.peek_interpreter_stack": "leave a level of torch.func",
    "torch._C._functorch.pop_dynamic_layer_stack": "as above",
    "torch._C._nn.pad_sequence": "a list of run-time length, padded",
    "torch._C._nn._parse_to": "what `module.to(...)` asks for",
    "torch._C._set_grad_enabled": "`torch.no_grad()` of a function that decides",
    "torch._VF": "the functions under packed sequences, which are replaced",
    "torch._decomp.core_aten_decompositions": "decompositions of operators without a lowering",
    "torch._decomp.global_decomposition_table": "as above",
    "torch._dynamo._trace_wrapped_higher_order_op.TransformGetItemToIndex": (
        "indexing by tensors in the functions of flex_attention"
    ),
    "torch._dynamo.config": "what PyTorch keeps of the shape rules of operators",
    "torch._dynamo.backends.common.aot_autograd": "the backend of torch.compile",
    "torch._dynamo.symbolic_convert.compare_op_handlers": "`ok is True` in a strict capture",
    "torch._dynamo.variables.torch": "`is_in_onnx_export` in a strict capture",
    "torch._efficientzerotensor": "tangents of zeros",
    "torch._export.passes.replace_set_grad_with_hop_pass": "as `_set_grad_enabled`",
    "torch._export.non_strict_utils": "`min` and `max` of sizes",
    "torch._functorch.aot_autograd.make_boxed_func": "the backend of torch.compile",
    "torch._functorch.apis": "chunks of vmap",
    "torch._functorch.eager_transforms": "notes forward derivatives",
    "torch._guards.TracingContext": "the user's line in a strict capture",
    "torch._guards.detect_fake_mode": "where a part of a program is traced",
    "torch._higher_order_ops.flex_attention.math_attention": "the formula of flex_attention",
    "torch._is_functional_tensor": "whether the tokens of a cache are a number",
    "torch._logging.structured.INTERN_TABLE": "the lines of what a draft assumes",
    "torch._ops.HigherOrderOperator": "the class of operators with graphs as arguments",
    "torch._ops.OpOverload": "the class of operators",
    "torch._ops.OpOverloadPacket": "an operator that a table gives for all overloads",
    "torch._pack_padded_sequence": "sequences that are packed outside of a capture",
    "torch._pad_packed_sequence": "as above",
    "torch._prims_common": "sizes of views",
    "torch._prims_common.ELEMENTWISE_TYPE_PROMOTION_KIND": "types of tangents",
    "torch._prims_common.elementwise_dtypes": "as above",
    "torch._prims_common.infer_size": "as above",
    "torch._refs.tensor": "tensors of lists of sizes",
    "torch._subclasses.fake_impls": "the shape rules of operators",
    "torch._subclasses.fake_tensor.FakeTensor": "the class of tensors without values",
    "torch._subclasses.fake_tensor.is_fake": "which tensors of a result have no values",
    "torch._subclasses.fake_tensor.unset_fake_temporarily": "the backend of torch.compile",
    "torch.ao.quantization.fx._decomposed": "registers operators of quantized programs",
    "torch.compiler._is_exporting_flag": "why a model differs from its module",
    "torch.export._draft_export": "what a draft assumes",
    "torch.export._trace": "attributes and buffers that a module assigns",
    "torch.export.dynamic_shapes._DimHint": "the kinds of dynamic dimensions",
    "torch.export.dynamic_shapes._combine_args": "arguments by the names of parameters",
    "torch.export.dynamic_shapes._tree_map_with_path": "dynamic shapes of nested inputs",
    "torch.fx._pytree": "caches as inputs",
    "torch.fx.experimental.proxy_tensor._AttrProxy": "a module that has two names, while traced",
    "torch.nn.Module._call_impl": "where the calls of modules become converted ones",
    "torch.onnx._globals.GLOBALS": "`is_in_onnx_export`, where the others are missing",
    "torch.onnx._internal.exporter._building.OpRecorder": "onnxscript's torchlib",
    "torch.onnx._internal.exporter._flags": "`is_in_onnx_export`",
    "torch.onnx._internal.exporter._tensors.SymbolicTensor": "onnxscript's torchlib",
    "torch.onnx._internal.torchscript_exporter._globals.GLOBALS": "`is_in_onnx_export` before 2.11",
    "torch.overrides._get_current_function_mode": "code that is not part of the capture around it",
    "torch.overrides._pop_mode_temporarily": "as above",
    "torch.utils._python_dispatch._disable_current_modes": "reads the values of constants",
    "torch.utils._python_dispatch._get_current_dispatch_mode": "as `_is_functional_tensor`",
    "torch.utils._python_dispatch.is_traceable_wrapper_subclass": "weights that wrap tensors",
    "torch.utils._python_dispatch.transform_subclass": "as above",
    "torch.utils._pytree": "nested inputs and outputs; the public one has no classes of users",
    "torch.utils._pytree.tree_map": "functions of PyTorch that call those of users",
    "torch.utils._pytree.tree_map_": "as above",
    "torch.utils._pytree.tree_map_only": "as above",
    "torch.utils._sympy.functions.FloorDiv": "whole quotients of sizes",
    "torch.utils._sympy.functions.Max": "the larger of two sizes",
    "torch.utils._sympy.functions.Min": "the lesser of two sizes",
    "torch.utils._sympy.numbers.int_oo": "bounds of sizes",
    "torch.utils._sympy.printers.PythonPrinter": "expressions of sizes as Python",
    "torch.utils._sympy.value_ranges.ValueRanges": "bounds of sizes",
    "torch.utils._sympy.value_ranges.bound_sympy": "bounds of expressions of sizes",
}
"""Full name -> what it is for."""

DOCUMENTED = frozenset(("torch._assert", "torch._check"))
"""Names with an underscore that PyTorch documents for its users."""

__all__ = [
    "DOCUMENTED",
    "PRIVATE",
    "DispatchKey",
    "FakeTensor",
    "FloorDiv",
    "HigherOrderOperator",
    "Max",
    "Min",
    "ModuleProxy",
    "OpOverload",
    "PythonPrinter",
    "ValueRanges",
    "bound_sympy",
    "combined_arguments",
    "fake_impls",
    "int_oo",
    "is_fake",
    "mapped_with_path",
    "math_attention",
    "modes_disabled",
    "pytree",
    "refs_tensor",
    "size_functions",
    "tracing",
    "values_of_sizes",
]  # fmt: skip


def values_of_sizes(environment: Any) -> dict[Any, Any]:
    """The values that sizes have in the example; changes of it are changes of PyTorch's.

    Args:
        environment: torch's environment of sizes.

    Returns:
        Symbol -> sympy integer.

    Source:
        ShapeEnv.backed_var_to_val; var_to_val in PyTorch 2.10.
    """
    is_new = hasattr(environment, "backed_var_to_val")
    values: dict[Any, Any] = environment.backed_var_to_val if is_new else environment.var_to_val
    return values
