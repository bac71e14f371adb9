"""`assert_isomorphic(a, b)`: two models are one and the same but for names of intermediates."""

from __future__ import annotations

from typing import Any

from onnx import parser

from onnxwright.compare.first_difference import difference
from onnxwright.compare.mismatch import Mismatch
from onnxwright.compare.strictness import Strictness
from onnxwright.ir.loading import is_source, open_model
from onnxwright.types.roles import Script

_OF_SCRIPTS = dict.fromkeys(("graph_names", "io_names", "doc_strings", "metadata"), False)
_BODY_ONLY = dict.fromkeys(("graph_names", "doc_strings", "metadata", "value_infos"), False)


def find_difference(a: Any, b: Any, **parts: Any) -> Mismatch | None:
    """The first difference between two models, functions or graphs.

    Args:
        a, b: ModelProto, FunctionProto, GraphProto, an `onnx_ir` model, function or graph, a
            script, or a path of a model file.
        parts: what to compare, as for `assert_isomorphic`.

    Returns:
        The difference, or None where there is none.

    Raises:
        TypeError: one of the two is none of these, or a keyword is unknown.

    Example:
        >>> from onnx import parser
        >>> g = parser.parse_graph("g (float[2] x) => (float[2] y) { y = Relu(x) }")
        >>> find_difference(g, g) is None
        True
    """
    unknown = sorted(set(parts) - set(Strictness.names()))
    if unknown:
        known = ", ".join(Strictness.names())
        raise TypeError(f"unknown keyword `{unknown[0]}`; the parts to compare are: {known}")
    if isinstance(a, Script) and isinstance(b, Script):
        # Two scripts of one file never have the same name or the same Python lines.
        parts = {**_OF_SCRIPTS, **parts}
    (left, one), (right, other) = load(a), load(b)
    parts.setdefault("folders", (one, other))
    return difference(left, right, Strictness(**parts))


def assert_isomorphic(a: Any, b: Any, **parts: Any) -> None:
    """Assert that two models, functions or graphs are the same up to names of intermediates.

    The order of nodes, initializers, functions, attributes and metadata entries does not matter,
    nor does the way the numbers of a tensor are stored.  Everything else does, unless its keyword
    is given as False; of two scripts, `graph_names`, `io_names`, `doc_strings` and `metadata` are
    compared only where they are given as True.

    Args:
        a, b: ModelProto, FunctionProto, GraphProto, an `onnx_ir` model, function or graph, a
            script, or a path of a model file.
        parts: `io_names`, `initializer_names`, `initializers` (the numbers), `types`,
            `value_infos`, `graph_names`, `doc_strings`, `metadata`, `opset_imports`, `ir_version`,
            `producer`, `functions`, `attributes` (all True); `node_names`, `subgraph_names`,
            `commutative` (all False); `folders`, where the external data of each is found.

    Raises:
        AssertionError: they differ; the message names the first difference and its place.
        TypeError: one of the two is none of these, or a keyword is unknown.

    Example:
        >>> from onnx import parser
        >>> text = "g (float[2] x) => (float[2] y) { y = %s(x) }"
        >>> assert_isomorphic(parser.parse_graph(text % "Relu"), parser.parse_graph(text % "Neg"))
        Traceback (most recent call last):
            ...
        AssertionError: not isomorphic: an operator differs
          in graph `g`
          in node 0: y = Relu(x)
          first:  y = Relu(x)
          second: y = Neg(x)
    """
    found = find_difference(a, b, **parts)
    if found is not None:
        raise AssertionError(f"not isomorphic: {found}")


def assert_isomorphic_function(a: Any, b: Any, **parts: Any) -> None:
    """Assert that two functions are the same up to their names and all names in them.

    Args:
        a, b: scripts, FunctionProtos, functions of `onnx_ir`, or functions in ONNX's text form.
        parts: what to compare, as for `assert_isomorphic`; names, docstrings and metadata are not
            compared unless asked for.

    Raises:
        AssertionError: they differ.

    Example:
        >>> text = '<domain: "d", opset_import: ["" : 18]> %s (%s) => (y) { y = Neg(%s) }'
        >>> assert_isomorphic_function(text % ("f", "x", "x"), text % ("g", "a", "a"))
    """
    one, other = (parser.parse_function(x) if isinstance(x, str) else x for x in (a, b))
    assert_isomorphic(one, other, **{**_BODY_ONLY, "io_names": False, **parts})


def assert_isomorphic_graph(a: Any, b: Any, **parts: Any) -> None:
    """Assert that two graphs are the same up to the names of the graphs and of intermediates.

    Args:
        a, b: scripts (their models' graphs), GraphProtos, graphs of `onnx_ir`, or graphs in ONNX's
            text form.
        parts: what to compare, as for `assert_isomorphic`; names of graphs, docstrings and
            metadata are not compared unless asked for.

    Raises:
        AssertionError: they differ.

    Example:
        >>> text = "%s (float[2] x) => (float[2] y) { y = Neg(x) }"
        >>> assert_isomorphic_graph(text % "f", text % "g")
    """
    one, other = (_graph(x) for x in (a, b))
    assert_isomorphic(one, other, **{**_BODY_ONLY, **parts})


def _graph(x: Any) -> Any:
    if isinstance(x, str):
        return parser.parse_graph(x)
    return x.to_model_proto().graph if hasattr(x, "to_model_proto") else x


def load(x: Any) -> tuple[Any, str]:
    """A model from outside, read and checked, or a script as it is.

    Args:
        x: the model or script.

    Returns:
        It, and where its external data is found; nothing for what is in memory.
    """
    if not is_source(x):
        return x, ""
    opened = open_model(x, defined=False)
    return opened.proto, str(opened.folder) if opened.path or opened.base else ""


__all__ = [
    "assert_isomorphic",
    "assert_isomorphic_function",
    "assert_isomorphic_graph",
    "find_difference",
    "load",
]
