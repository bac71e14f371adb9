"""`quantize_weights`: the weights of products and tables in four or eight bits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx_ir as ir

from onnxwright.diagnostics.catalogue import quantize as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.ir.names import Namer
from onnxwright.quantize import emit
from onnxwright.quantize.models import (
    INT4_IR_VERSION,
    names_of,
    opened,
    raise_version,
    use_microsoft_domain,
)
from onnxwright.quantize.patterns import Patterns
from onnxwright.quantize.product_sums import write_sums
from onnxwright.quantize.removing import remove_unread, stored_bytes
from onnxwright.quantize.report import QuantizedWeight, QuantizeReport, Skipped
from onnxwright.quantize.rounding import Method, Rounded, round_to_nearest, rounded_by
from onnxwright.quantize.weights import Source, WeightUse, weight_uses

_BLOCKS_SINCE, _HALF_SINCE, _AXIS_SINCE, _DYNAMIC_SINCE, _SLICE_SINCE = 21, 19, 13, 11, 10
_TARGETS = ("any", "onnxruntime")
_LEAST_BLOCK = 16  # of MatMulNBits and GatherBlockQuantized


@dataclass(frozen=True)
class Options:
    """What `quantize_weights` was asked for."""

    bits: int
    block: int
    symmetric: bool
    embeddings: bool
    runtime: bool
    accuracy_level: int | None
    dynamic: bool
    method: Method | None


def quantize_weights(
    model: Any,
    bits: int = 4,
    *,
    block: int | None = 32,
    symmetric: bool = True,
    skip: str | Iterable[str] = (),
    embeddings: bool = False,
    target: str = "any",
    accuracy_level: int | None = None,
    dynamic: bool = False,
    method: str | Method = "nearest",
    report: bool = False,
) -> Any:
    """A model whose weights of products have four or eight bits.

    MatMul and Gemm that read a matrix of FLOAT, FLOAT16 or BFLOAT16 read DequantizeLinear: in
    blocks along the inner size for four bits (opset 21; an older model is converted), one scale for
    each column for eight bits (opset 13, of half precision 19).  A Gemm becomes MatMul and Add,
    which ONNX Runtime fuses with DequantizeLinear.  Weights may be shared, transposed, cast, in
    bodies of If, Loop and Scan, in functions, and arguments of functions.  They are read one at a
    time, those in files too.  Inputs and outputs keep their names and types.

    Args:
        model: a ModelProto, an `onnx_ir.Model`, a path, bytes, a file, an `ONNXProgram` or a
            script; it is not changed.
        bits: 4 or 8.
        block: how many elements along the inner size share a scale, for four bits and for
            `target="onnxruntime"`; None for a whole column.  The last block may be shorter.
        symmetric: whether zero points are 0.
        skip: names of nodes and weights that stay what they are, or patterns (`fnmatch`).
        embeddings: whether tables that Gather reads are quantized too.  Only the rows that are
            gathered are dequantized.
        target: "any" for operators of ONNX alone; "onnxruntime" for MatMulNBits and
            GatherBlockQuantized, which need no newer opset; tables of four bits with zero points
            need 10.
        accuracy_level: the attribute of MatMulNBits: 0 (not given) or 1 computes in FLOAT, 2 in
            FLOAT16, 3 in BFLOAT16, 4 rounds activations to INT8.
        dynamic: whether activations are rounded to eight bits in each run (DynamicQuantizeLinear
            and MatMulInteger); for eight bits.
        method: "nearest", or a function that takes a matrix (K, N) of FLOAT and returns integers
            (K, N), scales (blocks, N) and zero points (blocks, N) or None.  Tables are given
            transposed.
        report: whether to return a `QuantizeReport` too.

    Returns:
        The same kind as `model`; an `onnx_ir.Model` for a path, bytes or a file.  With `report`, a
        pair of it and the report.

    Raises:
        ScriptValueError: an option is not valid (OW920), or what `method` returned (OW921).
        ConversionError: the model cannot be converted to the opset version that it needs (OW870).

    Warns:
        OnnxwrightWarning: a pattern of `skip` matches nothing (OW922).

    Source:
        ONNX DequantizeLinear 21: blocked and per-axis quantization.

    Example:
        >>> import onnx
        >>> model = onnx.parser.parse_model(
        ...     '<ir_version: 10, opset_import: ["" : 21]>'
        ...     "g (float[1,4] x) => (float[1,2] y)"
        ...     "<float[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}> { y = MatMul(x, w) }"
        ... )
        >>> small, done = quantize_weights(model, report=True)
        >>> [node.op_type for node in small.graph.node], done.bytes
        (['DequantizeLinear', 'MatMul'], (32, 12))
    """
    options = _options(bits, block, symmetric, embeddings, target, accuracy_level, dynamic, method)
    source = opened(model)
    quantized, patterns = source.model, Patterns("skip", skip)
    done = QuantizeReport(opset=(_version(quantized), _version(quantized)))
    before = stored_bytes(quantized)
    chosen = _chosen(quantized, options, patterns, None)
    if chosen:
        raise_version(quantized, _least_version(chosen, options))
        chosen = _chosen(quantized, options, patterns, done)
        _quantize(quantized, chosen, options, done)
        if not options.runtime and not options.dynamic:
            write_sums(quantized)
        if options.bits == 4 and not options.runtime:
            quantized.ir_version = max(quantized.ir_version, INT4_IR_VERSION)
    else:
        _chosen(quantized, options, patterns, done)
    patterns.warn_unused([w.name for w in done.weights] + [s.name for s in done.skipped])
    done.bytes = (before, stored_bytes(quantized))
    done.opset = (done.opset[0], _version(quantized))
    result = source.close(quantized)
    return (result, done) if report else result


def _version(model: ir.Model) -> int:
    return int(model.graph.opset_imports.get("", 1))


def _least_version(chosen: list[WeightUse], options: Options) -> int:
    """The opset version that what will be written needs."""
    calls = any(_is_call(use) for use in chosen)
    if options.dynamic and not calls:
        return _DYNAMIC_SINCE
    if options.runtime and not calls:
        has_zeros = options.bits == 4 and (not options.symmetric or options.method is not None)
        tables = has_zeros and any(use.node.op_type == "Gather" for use in chosen)
        return _SLICE_SINCE if tables else 1
    if options.bits == 4:
        return _BLOCKS_SINCE
    half = any(use.source.dtype is not ir.DataType.FLOAT for use in chosen)
    return _HALF_SINCE if half else _AXIS_SINCE


def _chosen(
    model: ir.Model, options: Options, patterns: Patterns, done: QuantizeReport | None
) -> list[WeightUse]:
    """The uses that are quantized; the others are written into the report."""
    chosen = []
    for use in weight_uses(model, embeddings=options.embeddings):
        name = use.source.value.name or ""
        reason = use.reason or _reason(use, options)
        if patterns.match(name, use.node.name, use.node.outputs[0].name):
            reason = "it was asked to skip it"
        if not reason:
            chosen.append(use)
        elif done is not None:
            done.skipped.append(Skipped(name, use.label, reason))
    return chosen


def _reason(use: WeightUse, options: Options) -> str:
    """Why a weight cannot be quantized in the way that was asked for."""
    rows, columns = use.matrix_shape
    if not rows or not columns:
        return "it has no elements"
    if options.runtime and use.source.dtype is ir.DataType.BFLOAT16:
        return "ONNX Runtime's CPU has no kernel of MatMulNBits for BFLOAT16"
    if (options.runtime or options.dynamic) and _is_call(use):
        return "it is an argument of a function, whose body has the product"
    if use.node.op_type == "Gather" and rows % 2 and options.bits == 4:
        return "its rows have an odd number of elements, and two of four bits are in a byte"
    step = min(options.block, rows) if options.block else rows
    scales = -(-rows // step) * columns
    zeros = 0 if options.symmetric else scales
    size = (rows * columns + zeros) * options.bits / 8 + scales * _width(use)
    if size >= rows * columns * _width(use):
        return "it would not be smaller"
    return ""


def _is_call(use: WeightUse) -> bool:
    return use.node.op_type not in ("MatMul", "Gemm", "Gather") or bool(use.node.domain)


def _width(use: WeightUse) -> int:
    return 4 if use.source.dtype is ir.DataType.FLOAT else 2


def _quantize(
    model: ir.Model, chosen: list[WeightUse], options: Options, done: QuantizeReport
) -> None:
    """Quantize weight by weight; each is read once, and let go before the next one."""
    names = names_of(model)
    if options.runtime:
        use_microsoft_domain(model)
    groups: dict[object, list[WeightUse]] = {}
    for use in chosen:
        table = use.node.op_type == "Gather"
        groups.setdefault((use.source.key, use.transposed, table), []).append(use)
    rounded: dict[Any, list[ir.Value]] = {}
    sources: list[Source] = []
    for uses in groups.values():
        source = uses[0].source
        matrix = source.read()
        rounded_matrix, why = None, "it has elements that are not finite"
        if _is_finite(matrix):
            rounded_matrix = _rounded(matrix.T if uses[0].transposed else matrix, uses[0], options)
            why = rounded_matrix.fault
        before = int(matrix.size) * _width(uses[0])
        del matrix
        source.release()
        if rounded_matrix is None or why:
            name = source.value.name or ""
            done.skipped += [Skipped(name, use.label, why) for use in uses]
            continue
        done.weights.append(QuantizedWeight(
            source.value.name or "", tuple(use.label for use in uses),
            source.shape if uses[0].node.op_type == "Gather" else uses[0].matrix_shape,
            rounded_matrix.bits, rounded_matrix.block, (before, rounded_matrix.nbytes),
            rounded_matrix.error,
        ))  # fmt: skip
        _write(names, uses, rounded_matrix, before, options, rounded)
        remove_unread([use.source.value for use in uses])
        sources.append(source)
    done.weights = [
        replace(weight, floats_for=_reader_of(source.value))
        for weight, source in zip(done.weights, sources, strict=True)
    ]


def _reader_of(value: ir.Value) -> str:
    """What reads a weight that was quantized as floats; empty where nothing does."""
    if value.is_graph_output():
        return "it is an output"
    nodes = [use.node for use in value.uses()]
    if not nodes:
        return ""
    others = f", and {len(nodes) - 1} more" if len(nodes) > 1 else ""
    return f"{nodes[0].op_type} {nodes[0].name or nodes[0].outputs[0].name} reads it{others}"


def _is_finite(array: Any) -> bool:
    """Whether all elements are finite; in pieces, so that no second array of the size is made."""
    step = max(1, (1 << 22) // max(int(array.shape[1]), 1))
    return all(
        bool(np.isfinite(array[n : n + step].astype(np.float32)).all())
        for n in range(0, array.shape[0], step)
    )


def _rounded(matrix: Any, use: WeightUse, options: Options) -> Rounded:
    blocked = options.runtime or (options.bits == 4)
    block = options.block if blocked else 0
    dtype = np.float32 if options.dynamic else matrix.dtype
    if options.method is None:
        return round_to_nearest(
            matrix, options.bits, block, symmetric=options.symmetric, dtype=dtype
        )
    name = use.source.value.name or ""
    return rounded_by(options.method, matrix, options.bits, block, dtype, name)


def _write(
    names: Namer, uses: list[WeightUse], rounded_matrix: Rounded, before: int, options: Options,
    rounded: dict[Any, list[ir.Value]],
) -> None:  # fmt: skip
    kind = uses[0].source.dtype
    assert kind is not None
    plain = not options.runtime and not options.dynamic
    products = plain and uses[0].node.op_type != "Gather"
    copies = products and len(uses) * rounded_matrix.nbytes <= before // 2
    name = names.unique(uses[0].source.value.name or "weight")
    weights = emit.Weights(name.removesuffix("_1"), rounded_matrix, kind, copies=copies)
    for use in uses:
        write = emit.Emitter(names, use.node, use.graph, use.constants)
        if use.node.op_type == "Gather":
            if options.runtime:
                emit.gathered_block_quantized(write, weights, use)
            else:
                emit.gathered(write, weights, use, blocks=use.opset >= _BLOCKS_SINCE)
        elif _is_call(use):
            _give_to_call(write, weights, use)
        elif options.runtime:
            factor = emit.multiplied_nbits(write, weights, use, options.accuracy_level)
            emit.product(write, weights, use, factor)
        elif options.dynamic:
            factor = emit.multiplied_integers(write, weights, use, rounded)
            emit.product(write, weights, use, factor)
        else:
            emit.product(write, weights, use, emit.multiplied(write, weights, use))


def _give_to_call(write: emit.Emitter, weights: emit.Weights, use: WeightUse) -> None:
    """Let a call of a function read the dequantized weight."""
    value = emit.dequantized(write, weights, use)
    if use.transposed:
        value = write.node("Transpose", [value], write.named(f"{weights.name}_turned"), perm=[1, 0])
    write.flush()
    use.node.replace_input_with(use.operand, value)


def _options(
    bits: int, block: Any, symmetric: bool, embeddings: bool, target: str,
    accuracy_level: int | None, dynamic: bool, method: Any,
) -> Options:  # fmt: skip
    """The options, checked."""
    if isinstance(bits, bool) or bits not in (4, 8):
        _refuse("bits", bits, "4 and 8 are supported")
    if target not in _TARGETS:
        _refuse("target", target, "'any' for operators of ONNX, 'onnxruntime' for its own as well")
    if block is not None and (isinstance(block, bool) or not isinstance(block, int) or block < 2):
        _refuse("block", block, "a number of elements from 2 on, or None for a whole column")
    runtime = target == "onnxruntime"
    if runtime and (block is None or block < _LEAST_BLOCK or block & (block - 1)):
        _refuse("block", block, "operators of ONNX Runtime take powers of two from 16 on")
    if accuracy_level is not None:
        if not runtime or dynamic:
            _refuse("accuracy_level", accuracy_level, (
                "it is an attribute of MatMulNBits: give target='onnxruntime'; models of standard "
                "operators are run with the session option session.qdq_matmulnbits_accuracy_level"
            ))  # fmt: skip
        if isinstance(accuracy_level, bool) or accuracy_level not in range(5):
            _refuse("accuracy_level", accuracy_level, "0, 1, 2, 3 and 4 are supported")
    if dynamic and bits != 8:
        _refuse("dynamic", dynamic, "activations are rounded to eight bits: give bits=8")
    if dynamic and runtime:
        _refuse("dynamic", dynamic, "it is written with standard operators: give target='any'")
    if isinstance(method, str) and method != "nearest":
        _refuse("method", method, "'nearest', or a function from a matrix to integers and scales")
    if not isinstance(method, str) and not callable(method):
        _refuse("method", method, "'nearest', or a function from a matrix to integers and scales")
    return Options(
        bits, block or 0, bool(symmetric), bool(embeddings), runtime, accuracy_level, bool(dynamic),
        None if isinstance(method, str) else method,
    )  # fmt: skip


def _refuse(name: str, value: object, advice: str) -> None:
    fail(messages.BadQuantizeOption(
        name=name, value=repr(value), advice=advice
    ))  # fmt: skip
