"""`OperatorFacts`: what is known of one ONNX operator, in every version of it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum
from importlib import import_module
from typing import Any, TypeAlias

from onnxwright.operators.flops import Cost, free
from onnxwright.operators.op_call import OpCall
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType
from onnxwright.types.shapes import Dim, Shape

InferRule: TypeAlias = Callable[[OpCall], "Shape | list[OnnxType | None]"]
DimsRule: TypeAlias = Callable[[OpCall], Shape]
CompareRule: TypeAlias = Callable[[Dim, Dim], "bool | None"]
FoldRule: TypeAlias = Callable[[OpCall], Any]
LeastRanks: TypeAlias = "tuple[int, ...] | Callable[[Mapping[str, Any]], tuple[int, ...]]"
AttributeFault: TypeAlias = Callable[[Mapping[str, Any]], "str | None"]


# Runtime -> the module that lists what it lacks, imported on first use.
_KERNELS = {"onnxruntime": "onnxwright.operators.kernels_onnxruntime"}
_NONE_MISSING: Mapping[str, tuple[str, ...]] = {}


class Folding(Enum):
    """When calls whose inputs are all constant are computed ahead of time."""

    NEVER = "never"
    SMALL = "small arrays only"
    ALWAYS = "arrays of any size: onnx's reference implementation computes what runtimes do"


NEVER, ALWAYS = Folding.NEVER, Folding.ALWAYS


@dataclass(frozen=True, slots=True)
class Change:
    """A version from which on an operator does not mean what it meant before.

    Only changes that the signature does not show need one: an attribute that became an input is
    seen by comparing the schemas.

    Fields:
        reason: what differs, as a sentence.
        only_with: if given, only calls that set one of these attributes differ.
        one_output_is_same: whether a call that asks for the first output only means the same.
    """

    reason: str
    only_with: tuple[str, ...] = ()
    one_output_is_same: bool = False

    def concerns(self, attributes: Collection[str] | None, outputs: int | None) -> bool:
        """Whether a call differs.

        Args:
            attributes: the names of the attributes that the call sets, None where not known.
            outputs: how many outputs it has, None where not known.

        Returns:
            True also where that is not known.
        """
        if self.one_output_is_same and outputs == 1:
            return False
        if not self.only_with or attributes is None:
            return True
        return any(name in attributes for name in self.only_with)


@dataclass(frozen=True, slots=True)
class Unasked:
    """What a kernel reads without asking whether it is there.

    Fields:
        elements: whether it reads an element of each input.
        inputs: optional inputs that it reads.
    """

    elements: bool = False
    inputs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class OperatorFacts:
    """What is known of an operator; what a field says holds for every version of it.

    Fields:
        name: the operator.
        domain: its domain, "" for the standard one.
        commutative: whether the inputs may be given in any order.
        random: whether it draws numbers: two equal calls differ, so none is shared or folded.
        elementwise: whether each element of the result is computed from the elements at the same
            place of the (broadcast) inputs, so that reordering elements may come before or after.
        moves_data: whether every element of the result is an element of the data input, unchanged.
        copies: whether every element of its results is an element of an input or a fixed number, so
            that it may as well work on another type of the same bits.
        modular: whether its results on integers are right modulo 2**n, so that a wider type may
            be cast back.
        exact_on_integers: whether its results on integers are the same in a wider type, floats
            that hold the integers among them (`copies` says that too).
        correctly_rounded: whether it computes as IEEE 754 says, in single and double precision, so
            that every runtime gives the same bits; operators that move data do anyway.
        needs_input_types: whether ONNX's inference of it reads the types of its inputs without
            asking whether they are known: where one is not, the process ends.
        attribute_fault: what is wrong with the values of its attributes, None where nothing is;
            it has one where runtimes end the process for values that its page rules out.
        least_ranks: the fewest axes that each of its inputs must have where ONNX Runtime reads a
            length without asking whether there is one, and ends the process; 0 for any rank.  A
            function where the attributes say it.
        reads_unasked: what ONNX Runtime before 1.27 reads all the same, and ends the process: an
            element of inputs that may have none, or optional inputs that may be left out.
        takes_sizes: whether an input holds sizes, which may be constants of a fixed shape.
        cheap: whether it costs at most a few additions for each element, or less.
        heavy: whether it computes many operations for each byte that it reads.
        reduces: whether it reduces the axes that `axes` names; `keepdims` keeps them with length 1.
        droppable_outputs: whether its last outputs may be left out without a change to the others.
        has_bodies: whether it runs graphs that are its attributes.
        training: what depends on a training mode; empty for most.
        symbol: the Python operator that means the same on tensors; empty where there is none.
        infer: the types of its outputs, or the shape of its only one.
        dims: the value of its output where it is a small vector of integers, dimensions among them.
        compare: for comparisons, the result for two dimensions, None where it depends on names.
        folding: when it may be computed ahead of time.
        fold: computes it with numpy; without it, onnx's reference implementation does.
        flops: estimates its floating point operations.
        changes: versions from which on it differs although its signature does not show it.

    Example:
        >>> from onnxwright.operators import facts
        >>> facts("Add").commutative, facts("Sub").commutative
        (True, False)
    """

    name: str
    domain: str = ""
    commutative: bool = False
    random: bool = False
    elementwise: bool = False
    moves_data: bool = False
    copies: bool = False
    modular: bool = False
    exact_on_integers: bool = False
    correctly_rounded: bool = False
    needs_input_types: bool = False
    attribute_fault: AttributeFault | None = None
    least_ranks: LeastRanks = ()
    reads_unasked: Unasked | None = None
    takes_sizes: bool = False
    cheap: bool = False
    heavy: bool = False
    reduces: bool = False
    droppable_outputs: bool = False
    has_bodies: bool = False
    training: str = ""
    symbol: str = ""
    infer: InferRule | None = None
    dims: DimsRule | None = None
    compare: CompareRule | None = None
    folding: Folding = Folding.SMALL
    fold: FoldRule | None = None
    flops: Cost | None = None
    changes: Mapping[int, Change] = field(default_factory=dict)

    def missing_kernels(
        self, target: str = "onnxruntime", version: int | None = None
    ) -> Mapping[str, tuple[str, ...]]:
        """The types that the schema allows and a runtime does not run.

        Args:
            target: the runtime; "onnxruntime" is its CPU, in the version that
                `operators.kernels_onnxruntime` names.
            version: the opset version, the newest if not given.

        Returns:
            Type variable -> names of element types; empty where there is a kernel for all, and for
            runtimes that nothing is known of.

        Example:
            >>> from onnxwright.operators import facts
            >>> facts("HardSwish").missing_kernels()
            {'T': ('BFLOAT16', 'DOUBLE')}
            >>> facts("IsNaN").missing_kernels(version=13), facts("IsNaN").missing_kernels()
            ({'T1': ('BFLOAT16',)}, {})
        """
        module = _KERNELS.get(target)
        if module is None or self.domain:
            return _NONE_MISSING
        rows = _kernels_missing(module, self.name)
        entries = [v for v in rows if version is None or v <= version]
        return rows[entries[-1]] if entries else _NONE_MISSING

    def has_kernel(
        self, dtype: DType, target: str = "onnxruntime", version: int | None = None
    ) -> bool:
        """Whether a runtime runs the operator on an element type, for all of its inputs.

        Args:
            dtype: the element type.
            target: the runtime, as for `missing_kernels`.
            version: the opset version, the newest if not given.

        Returns:
            True also where nothing is known of the runtime.

        Example:
            >>> from onnxwright.operators import facts
            >>> facts("HardSwish").has_kernel(DType.DOUBLE), facts("Relu").has_kernel(DType.DOUBLE)
            (False, True)
        """
        return all(
            dtype.name not in types for types in self.missing_kernels(target, version).values()
        )


moves_data = functools.partial(OperatorFacts, copies=True, moves_data=True, cheap=True, flops=free)
"""The facts of an operator that computes nothing: its results are elements of its inputs."""


@functools.cache
def _kernels_missing(module: str, name: str) -> dict[int, Mapping[str, tuple[str, ...]]]:
    """First version of the schema of an operator -> type variable -> types that are not run."""
    written: dict[int, dict[str, str]] = import_module(module).MISSING.get(name, {})
    return {
        version: {variable: tuple(types.split()) for variable, types in row.items()}
        for version, row in written.items()
    }
