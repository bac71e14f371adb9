"""Finds out by compiling which nodes may have operators: those that come back the same."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace

import onnx

from onnxwright.compare.first_difference import difference
from onnxwright.compare.isomorphism import Strictness
from onnxwright.decompiler.attributes import tensor_array
from onnxwright.decompiler.guard import check_text
from onnxwright.decompiler.module import write_function, write_model
from onnxwright.decompiler.rebuild import rebuild
from onnxwright.decompiler.scope import Module, Options
from onnxwright.decompiler.sugar import Sugar
from onnxwright.errors import OnnxwrightError

Proto = onnx.ModelProto | onnx.FunctionProto
# Compilations to find the nodes that do not come back; then nothing is sugared any more.
_TRIES = 40


def write(proto: Proto, options: Options, name: str | None, sugar: Sugar) -> tuple[str, Module]:
    """The text of a model or function."""
    sugar.used.clear()
    if isinstance(proto, onnx.FunctionProto):
        return write_function(proto, options, name, sugar)
    return write_model(proto, options, name, sugar)


def settle(proto: Proto, options: Options, name: str | None, sugar: Sugar) -> None:
    """Take the sugar from every node that would not come back the same.

    Args:
        proto: the model or function.
        options: how it is written.
        name: the name it is written under.
        sugar: what may be sugared; its `plain` and `reasons` are filled.
    """
    hollow = replace(options, weights="inline", hollow=True)
    if _wrong(proto, hollow, name, sugar) is None:
        return
    plain = Sugar(on=False)
    if _wrong(proto, hollow, name, plain) is not None:
        # Sugar is not to blame; the plain text is what can be done.
        sugar.on = False
        return
    suspects, tries = list(sugar.used), _TRIES
    cleared: set[int] = set()
    while suspects and tries > 0:
        bad, spent = _one_bad(proto, hollow, name, sugar, suspects, cleared)
        tries -= spent
        if bad is None:
            return
        sugar.plain.add(bad)
        suspects = [n for n in suspects if n != bad]
        reason = _wrong(proto, hollow, name, sugar)
        sugar.reasons.append(f"node {bad} is written as a call: {sugar.last}")
        if reason is None:
            return
    sugar.on = False
    sugar.reasons.append("too many nodes do not come back the same: all are written as calls")


def _one_bad(
    proto: Proto, options: Options, name: str | None, sugar: Sugar, suspects: list[int],
    cleared: set[int],
) -> tuple[int | None, int]:  # fmt: skip
    """One node that alone keeps the model from coming back, by halving; and the tries it took."""
    low, high, spent = 0, len(suspects), 0
    # The smallest prefix that fails ends with a bad node.
    while low < high:
        middle = (low + high) // 2
        trial = replace(sugar, plain={*sugar.plain, *suspects[middle + 1 :]}, used=[], reasons=[])
        wrong = _wrong(proto, options, name, trial)
        spent += 1
        if wrong is None:
            low = middle + 1
        else:
            sugar.last = wrong
            high = middle
    cleared.update(suspects[:low])
    return (suspects[low] if low < len(suspects) else None), spent


def _wrong(proto: Proto, options: Options, name: str | None, sugar: Sugar) -> str | None:
    """Why the written text does not give the model back; None where it does."""
    try:
        source, _ = write(proto, options, name, sugar)
        if sugar.on and not sugar.used:
            return None
        check_text(source)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = rebuild(source)
    except OnnxwrightError as error:
        return str(error).splitlines()[0]
    except (ValueError, TypeError, OSError, RecursionError, SyntaxError) as error:
        return f"{type(error).__name__}: {str(error).splitlines()[:1]}"
    found = difference(proto, made, Strictness(initializers=False))
    if found is not None:
        return found.what
    return None if _constants(proto) == _constants(made) else "the numbers of a constant differ"


def _constants(proto: Proto) -> Counter[bytes]:
    """What all Constant nodes hold; initializers are not looked at, they may be hollow."""
    found: Counter[bytes] = Counter()
    functions = [proto] if isinstance(proto, onnx.FunctionProto) else [*proto.functions]
    stack = [node for f in functions for node in f.node]
    stack += [] if isinstance(proto, onnx.FunctionProto) else proto.graph.node
    while stack:
        node = stack.pop()
        for attr in node.attribute:
            for graph in (attr.g, *attr.graphs) if attr.type in _GRAPHS else ():
                stack.extend(graph.node)
            if node.op_type == "Constant" and attr.type == onnx.AttributeProto.TENSOR:
                if attr.t.data_type == onnx.TensorProto.STRING or attr.t.data_location:
                    continue  # never a number
                try:
                    found[tensor_array(attr.t).tobytes()] += 1
                except (ValueError, TypeError):
                    continue  # not readable: kept as it is
    return found


_GRAPHS = (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)


__all__ = ["settle", "write"]
