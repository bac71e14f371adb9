"""Models that call torch.func: its transformations are traced on their own, before the capture.

Torch traces `torch.export` above autograd, where derivatives are not operators yet.  Here the model
is traced below autograd first, on the fake tensors of the capture; what it then runs are operators
without transformations.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch._functorch import apis, eager_transforms
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes, infer_size
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing, get_proxy_mode, make_fx
from torch.overrides import _get_current_function_mode, _pop_mode_temporarily

from onnxwright.exporter.capture.replacements.fakes import without_fakes
from onnxwright.exporter.capture.session.changes import Changes
from onnxwright.exporter.torch_internals import DispatchKey, pytree

# What torch says of them, and its files that run them.
_SIGNS = ("functorch", "found a fake tensor in the exported program constant")
_FILES = ("_functorch/eager_transforms.py", "_functorch/vmap.py", "_functorch/apis.py")


def comes_from_it(error: BaseException | None) -> bool:
    """Whether an error, or what it came from, was raised within a transformation of torch.func.

    Returns:
        Whether a frame of torch.func is in its traceback, or it says so.
    """
    while error is not None:
        if any(sign in str(error) for sign in _SIGNS):
            return True
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename.replace("\\", "/").endswith(_FILES):
                return True
            trace = trace.tb_next
        error = error.__cause__ or error.__context__
    return False


def is_used(program: torch.export.ExportedProgram) -> bool:
    """Whether a captured program has steps of transformations.

    Returns:
        Whether a level of torch.func begins in it.
    """
    return any(
        getattr(node.target, "__name__", "").endswith("_increment_nesting")
        for node in program.graph.nodes
    )


def chunks_joined(changes: Changes, model: Any) -> None:
    """`vmap(chunk_size=...)` takes all rows at once: chunks only save memory."""
    before = apis.vmap_impl

    def whole(
        func: Any, in_dims: Any, out_dims: Any, randomness: Any, _: Any, *args: Any, **kwargs: Any
    ) -> Any:
        return before(func, in_dims, out_dims, randomness, None, *args, **kwargs)

    changes.attribute(apis, "vmap_impl", whole)


def note_forward_derivatives(changes: Changes, levels: list[int]) -> None:
    """Note the forward derivatives that are computed.

    Args:
        changes: undo it.
        levels: the level of each is added here.
    """
    before = eager_transforms._jvp_increment_nesting

    def noted() -> int:
        level: int = before()
        levels.append(level)
        return level

    changes.attribute(eager_transforms, "_jvp_increment_nesting", noted)


def without_transformations(model: torch.nn.Module) -> torch.nn.Module:
    """A module that computes what another does, by operators below autograd.

    Args:
        model: the module.

    Returns:
        A module with the same parameters and arguments; it can be run within a capture only.
    """
    inner = copy.copy(model)
    copied = copy.copy(model)

    def forward(*args: Any, **kwargs: Any) -> Any:
        state = {**dict(copied.named_parameters()), **dict(copied.named_buffers())}
        names, spec = list(state), pytree.tree_flatten((args, kwargs))[1]
        form: list[Any] = []

        def flat(*values: Any) -> Any:
            parameters = dict(zip(names, values, strict=False))
            rest, named = pytree.tree_unflatten(values[len(names) :], spec)
            result = torch.func.functional_call(inner, parameters, rest, named)
            leaves, form[:] = _with_form(result)
            return leaves

        values = [*state.values(), *pytree.tree_leaves((args, kwargs))]
        return pytree.tree_unflatten(traced_below_autograd(flat, values), form[0])

    forward.__signature__ = inspect.signature(model.forward)  # type: ignore[attr-defined]
    object.__setattr__(copied, "forward", forward)
    return copied


def traced_below_autograd(function: Callable[..., Any], values: Sequence[Any]) -> Any:
    """Run a function within a capture that then sees what it does by operators below autograd.

    Args:
        function: takes the values; transformations of torch.func may be part of it.
        values: fake tensors and numbers of the capture.

    Returns:
        What the function returns.
    """
    mode = get_proxy_mode()
    tracked = getattr(getattr(mode, "tracer", None), "sympy_expr_tracker", {})
    sizes = [entry.value for entry in tracked.values()]  # the function may have them from elsewhere
    count = len(values)
    with untraced(), without_fakes():
        graph = make_fx(lambda *inputs: function(*inputs[:count]), pre_dispatch=False)(
            *values, *sizes
        )
    if graph.graph.eliminate_dead_code():  # checks of torch.func itself
        graph.recompile()
    return graph(*values, *sizes)


def _with_form(result: Any) -> tuple[list[Any], list[Any]]:
    leaves, form = pytree.tree_flatten(result)
    return leaves, [form]


@contextmanager
def untraced() -> Iterator[None]:
    """In this context, what is run is not part of the capture around it."""
    with ExitStack() as stack:
        while _get_current_function_mode() is not None:
            stack.enter_context(_pop_mode_temporarily())
        stack.enter_context(disable_proxy_modes_tracing())
        yield


# -- forward derivatives with the sizes of the program ---------------------------------------------
# Torch computes them in C++, where the kernels of tangents of zeros, which are tensors without
# memory, read sizes as integers, which fixes them to the example.  Those here keep sizes symbolic.

aten = torch.ops.aten


def _dtype(
    x: Any,
    y: Any,
    kind: ELEMENTWISE_TYPE_PROMOTION_KIND = ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT,
) -> torch.dtype:
    """The element type of a result; `torch.result_type` would ask for sizes."""
    return elementwise_dtypes(x, y, type_promotion_kind=kind)[1]


def _zeros(x: Any, y: Any, dtype: torch.dtype) -> Any:
    """The tangent of zeros of what two operands broadcast to."""
    sizes = torch.broadcast_shapes(x.shape, y.shape)
    return torch._efficientzerotensor(sizes, dtype=dtype, device=x.device)


def _sum(x: Any, y: Any, alpha: Any = 1) -> Any:
    """`x + alpha * y`, one of them zeros."""
    dtype = _dtype(x, y)
    if x._is_zerotensor() and y._is_zerotensor():
        return _zeros(x, y, dtype)
    sizes = torch.broadcast_shapes(x.shape, y.shape)
    rest = (y if alpha == 1 else y * alpha) if x._is_zerotensor() else x
    return rest.to(dtype).expand(sizes)


def _difference(x: Any, y: Any, alpha: Any = 1) -> Any:
    return _sum(x, y, alpha=-alpha)


def _product(x: Any, y: Any) -> Any:
    return _zeros(x, y, _dtype(x, y))


def _quotient(x: Any, y: Any) -> Any:
    """`x / y`; division by zeros gives infinity or NaN."""
    dtype = _dtype(x, y, ELEMENTWISE_TYPE_PROMOTION_KIND.INT_TO_FLOAT)
    if not y._is_zerotensor():
        return _zeros(x, y, dtype)
    top = torch.zeros(x.shape, dtype=dtype) if x._is_zerotensor() else x
    return top / torch.zeros(y.shape, dtype=dtype)


def _viewed(x: Any, sizes: Any) -> Any:
    inferred = infer_size(sizes, x.numel())
    return torch._efficientzerotensor(inferred, dtype=x.dtype, device=x.device)


_KERNELS: dict[Any, Callable[..., Any]] = {
    aten.add.Tensor: _sum,
    aten.sub.Tensor: _difference,
    aten.mul.Tensor: _product,
    aten.div.Tensor: _quotient,
    aten.view.default: _viewed,
}


def zero_tangents_symbolic(changes: Changes, model: Any) -> None:
    """Arithmetic on tangents of zeros does not fix sizes."""
    changes.kernels(DispatchKey.ZeroTensor, _KERNELS)
