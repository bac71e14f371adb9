"""Finds out by compiling which nodes may have operators: those that come back the same."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace

import onnx

from onnxwright.compare.first_difference import difference
from onnxwright.compare.strictness import Strictness
from onnxwright.decompiler.assembly import functions_of, head_of
from onnxwright.decompiler.attributes import tensor_array
from onnxwright.decompiler.guard import Contents, UnsafeTextError
from onnxwright.decompiler.module import write_function, write_model
from onnxwright.decompiler.module_contents import Module, Options
from onnxwright.decompiler.rebuild import rebuild_pieces
from onnxwright.decompiler.sugar import Sugar
from onnxwright.errors import OnnxwrightError
from onnxwright.ir.collector import collector_paused
from onnxwright.ir.proto_graphs import nodes_of, nodes_of_model

Proto = onnx.ModelProto | onnx.FunctionProto
# Compilations to find the nodes that do not come back; then nothing is sugared any more.
_TRIES = 40


def write(proto: Proto, options: Options, name: str | None, sugar: Sugar) -> Module:
    """The written form of a model or function."""
    sugar.used.clear()
    if isinstance(proto, onnx.FunctionProto):
        return write_function(proto, options, name, sugar)
    return write_model(proto, options, name, sugar)


def search(proto: Proto, options: Options, name: str | None, sugar: Sugar) -> Trial | None:
    """Take the operators from every node that would not come back the same.

    Args:
        proto: the model or function.
        options: how it is written.
        name: the name it is written under.
        sugar: what may be written with operators; its `plain` and `reasons` are filled.

    Returns:
        The trial whose text only lacks its weights; None where the text is to be written again,
        with what `sugar` allows now.
    """
    hollow = replace(options, weights="inline", hollow=True)
    trial = Trial(proto, hollow, name, sugar)
    if trial.reason is None:
        same = options.weights in ("inline", "external") and not trial.module.is_body_hollow
        return trial if same else None
    if Trial(proto, hollow, name, Sugar(on=False)).reason is not None:
        # Operators are not to blame; the plain text is what can be done.
        sugar.on = False
        return None
    suspects, tries = list(sugar.used), _TRIES
    while suspects and tries > 0:
        bad, spent = _one_bad(proto, hollow, name, sugar, suspects)
        tries -= spent
        if bad is None:
            return None
        sugar.plain.add(bad)
        suspects = [n for n in suspects if n != bad]
        reason = Trial(proto, hollow, name, sugar).reason
        sugar.reasons.append(f"node {bad} is written as a call: {sugar.last}")
        if reason is None:
            return None
    sugar.on = False
    sugar.reasons.append("too many nodes do not come back the same: all are written as calls")
    return None


def _one_bad(
    proto: Proto, options: Options, name: str | None, sugar: Sugar, suspects: list[int]
) -> tuple[int | None, int]:
    """One node that alone keeps the model from coming back, by halving; and the tries it took."""
    low, high, spent = 0, len(suspects), 0
    # The smallest prefix that fails ends with a bad node.
    while low < high:
        middle = (low + high) // 2
        trial = replace(sugar, plain={*sugar.plain, *suspects[middle + 1 :]}, used=[], reasons=[])
        wrong = Trial(proto, options, name, trial).reason
        spent += 1
        if wrong is None:
            low = middle + 1
        else:
            sugar.last = wrong
            high = middle
    return (suspects[low] if low < len(suspects) else None), spent


class Trial:
    """A text that is written, compiled and compared with the model.

    Attributes:
        reason: why the text does not give the model back; None where it does.
        module: what was written, where `reason` is None.
        head: the text before the functions, as it was checked.
        checked: what the check of its functions needs of the text before them; None where nothing
            had to be compiled.
    """

    module: Module
    head: str = ""
    checked: Contents | None = None

    def __init__(self, proto: Proto, options: Options, name: str | None, sugar: Sugar) -> None:
        try:
            with collector_paused():
                self.reason = self._run(proto, options, name, sugar)
        except OnnxwrightError as error:
            self.reason = str(error).splitlines()[0]
        except _UNREADABLE as error:
            self.reason = f"{type(error).__name__}: {str(error).splitlines()[:1]}"

    def _run(self, proto: Proto, options: Options, name: str | None, sugar: Sugar) -> str | None:
        self.module = write(proto, options, name, sugar)
        if sugar.on and not sugar.used:
            return None
        self.head = head_of(self.module)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rebuilt, self.checked = rebuild_pieces(self.head, functions_of(self.module))
        strict = Strictness(initializers=False)
        mismatch = difference(proto, rebuilt, strict, linked=self.module.linked)
        if mismatch is not None:
            return mismatch.what
        return (
            None if _constants(proto) == _constants(rebuilt) else "the numbers of a constant differ"
        )


# What reading the written text raises where it does not say what the model says.
_UNREADABLE = (ValueError, TypeError, OSError, RecursionError, SyntaxError, UnsafeTextError)


def _constants(proto: Proto) -> Counter[bytes]:
    """What all Constant nodes hold; initializers are not looked at, they may be hollow."""
    counts: Counter[bytes] = Counter()
    is_function = isinstance(proto, onnx.FunctionProto)
    for node in nodes_of(proto.node) if is_function else nodes_of_model(proto):
        for attr in node.attribute:
            if node.op_type == "Constant" and attr.type == onnx.AttributeProto.TENSOR:
                if attr.t.data_type == onnx.TensorProto.STRING or attr.t.data_location:
                    continue  # never a number
                try:
                    counts[tensor_array(attr.t).tobytes()] += 1
                except (ValueError, TypeError):
                    continue  # not readable: kept as it is
    return counts
