"""What a captured program took from the example inputs, and should not have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.autograd import forward_ad
from torch.export import ExportedProgram

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import warn
from onnxwright.diagnostics.file_owners import path_in_torch
from onnxwright.exporter.capture.assumptions.guard_text import size_text
from onnxwright.exporter.dimensions import shape_environment
from onnxwright.exporter.signature import WEIGHT_KINDS, inputs_of
from onnxwright.exporter.torch_internals import FakeTensor, pytree

# Where torch.export takes the numbers that tensors are made of.
_NUMBERS = "_export/non_strict_utils"


def fixed_values(program: ExportedProgram) -> list[Any]:
    """The numbers that a program has as constants though they follow from dynamic sizes.

    `int(n * 0.5)`, `float(n)` and `range(n)` want a number of Python, so that capture without
    tracing of Python cannot keep them symbolic.

    Args:
        program: the captured program.

    Returns:
        An equality of torch's symbols and a number for each; what operators demand of sizes is not
        among them.
    """
    environment = shape_environment(program)
    guards = () if environment is None else environment.guards
    return list(dict.fromkeys(guard.expr for guard in guards if is_fixed_value(guard)))


def is_fixed_value(guard: Any) -> bool:
    """Whether a guard of torch says that a number that follows from sizes was taken as it was.

    Args:
        guard: one of `ShapeEnv.guards`.

    Returns:
        Whether; not for what operators demand, and sizes that have to be multiples.
    """
    expression = guard.expr
    if type(expression).__name__ != "Equality" or not expression.rhs.is_number:
        return False
    frame = guard.sloc.framework_loc
    if not expression.lhs.free_symbols or (_is_operator(frame) and not _is_of_split(frame, guard)):
        return False
    return type(expression.lhs).__name__ not in ("Mod", "PythonMod")


def is_uneven_split(guard: Any) -> bool:
    """Whether a guard of torch is about the number or the sizes of parts that follow from a size.

    `chunk` and `split` give as many parts as in the example; `tensor_split` asks how many of them
    are larger by one.

    Args:
        guard: one of `ShapeEnv.guards`.
    """
    expression = guard.expr
    if isinstance(expression, sympy.Eq):
        return bool(expression.rhs.is_number) and _is_split(guard.sloc.framework_loc)
    is_compared = isinstance(expression, (sympy.Le, sympy.Lt, sympy.Ge, sympy.Gt))
    return is_compared and any(type(s).__name__ in ("Mod", "PythonMod") for s in expression.args)


def is_taken_as_one(expression: Any) -> bool:
    """Whether a condition says that a number that follows from sizes is 1, as `n // 4 == 1`.

    An operator that asks whether an axis has one element fixes its size, without a line of Python.

    Args:
        expression: the condition, of torch's symbols.
    """
    if type(expression).__name__ != "Equality" or expression.rhs != 1:
        return False
    return not expression.lhs.is_Symbol and bool(expression.lhs.free_symbols)


def warn_specialized_dims(
    program: ExportedProgram, names: dict[str, str], notes: tuple[str, ...] = ()
) -> None:
    """Warn of numbers that follow from dynamic sizes and are constants (OW827).

    Args:
        program: the captured program.
        names: torch's symbol -> the user's name.
        notes: what is known of the reasons.
    """
    for fixed in fixed_values(program):
        if not fixed.lhs.is_Symbol:
            dimension = f"what is computed of sizes as `{size_text(fixed.lhs, names)}`"
            size = int(fixed.rhs) if fixed.rhs.is_integer else float(fixed.rhs)
            warn(
                messages.FixedDimension(
                    dimension=dimension, size=size, notes=notes, span=user_span()
                )
            )


def _is_of_split(frame: Any, guard: Any) -> bool:
    """Whether a guard is how many parts of a size of Python a tensor has.

    The size of the parts of `chunk` follows from the dynamic size: their number stays.
    """
    operands = guard.expr.lhs.args
    return _is_split(frame) and len(operands) == 2 and bool(operands[1].is_Integer)


def _is_split(frame: Any) -> bool:
    """Whether a line is of what torch makes of `split` and `chunk`."""
    path = path_in_torch(str(getattr(frame, "filename", ""))) or ""
    return path.startswith("_decomp") and frame.name == "split"


def _is_operator(frame: Any) -> bool:
    """Whether a line is of torch's operators, not of the user's Python or of modules."""
    path = path_in_torch(str(getattr(frame, "filename", ""))) or ""
    if path.startswith(("_dynamo", _NUMBERS)):
        return False
    return path.startswith(("_", "fx", "utils"))


def lost_constants(program: ExportedProgram) -> list[str]:
    """Constants of a program that have no numbers, though its weights and inputs have.

    Torch makes such a constant where it does not see what a tensor is computed from.

    Args:
        program: the captured program.

    Returns:
        Their names.
    """
    needed = _needed(program)
    names: list[str] = []
    for entry in inputs_of(program):
        if entry.kind not in WEIGHT_KINDS or entry.target in program.state_dict:
            continue
        if entry.node in needed and _is_hollow(program.constants.get(entry.target)):
            names.append(entry.target)
    if names and any(isinstance(w, FakeTensor) for w in program.state_dict.values()):
        return []
    example_leaves = pytree.tree_leaves(program.example_inputs)
    return [] if any(isinstance(x, FakeTensor) for x in example_leaves) else names


def _is_hollow(tensor: Any) -> bool:
    """Whether a tensor is a tracing proxy of another."""
    if not isinstance(tensor, torch.Tensor):
        return False
    wrapped = bool(torch._C._functorch.is_functorch_wrapped_tensor(tensor))
    return wrapped or isinstance(tensor, FakeTensor)


def _needed(program: ExportedProgram) -> set[torch.fx.Node]:
    """The nodes that results and writes are made of."""
    waiting = [
        n
        for n in program.graph.nodes
        if n.op == "output" or (n.op == "call_function" and n.is_impure())
    ]
    needed: set[torch.fx.Node] = set()
    while waiting:
        node = waiting.pop()
        if node not in needed and not _is_state(node):
            needed.add(node)
            waiting += node.all_input_nodes
    return needed


@contextmanager
def forward_ad_unwound() -> Iterator[None]:
    """Leave no level of torch.func behind, where one fails in the middle of a capture."""
    rewind = forward_ad_rewound()
    try:
        yield
    finally:
        rewind()


def forward_ad_rewound() -> Callable[[], None]:
    """What leaves the levels of torch.func that are entered from now on."""
    before, dual = _level(), forward_ad._current_level

    def rewind() -> None:
        while _level() > before:
            torch._C._functorch.pop_dynamic_layer_stack()
        if dual < 0:
            _leave_forward_ad()

    return rewind


def _leave_forward_ad() -> None:
    """Leave the one level of forward derivatives that there is, where torch still counts it."""
    forward_ad._current_level = -1
    try:
        level = torch._C._enter_dual_level()
    except RuntimeError:
        level = 0
    torch._C._exit_dual_level(level)


def _level() -> int:
    top = torch._C._functorch.peek_interpreter_stack()
    return 0 if top is None else int(top.level())


def _is_state(node: torch.fx.Node) -> bool:
    """Whether a node is about the state of torch.func, not about values."""
    name = getattr(node.target, "__name__", "")
    return name.startswith("_vmap_") or name == "lazy_load_decompositions"
