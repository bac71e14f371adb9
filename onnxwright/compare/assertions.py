"""`assert_isomorphic(a, b)`: two models are one and the same but for names of intermediates."""

from __future__ import annotations

from typing import Any

from onnx import parser
from typing_extensions import Unpack

from onnxwright.compare.first_difference import Proto, difference
from onnxwright.compare.mismatch import Mismatch
from onnxwright.compare.strictness import Parts as ComparedParts
from onnxwright.compare.strictness import Strictness
from onnxwright.ir.loading import Parts, held_by, open_model
from onnxwright.ir.model_kinds import kind_of
from onnxwright.types.roles import Script

_OF_SCRIPTS: ComparedParts = {
    "graph_names": False, "io_names": False, "doc_strings": False, "metadata": False,
}  # fmt: skip
_BODY_ONLY: ComparedParts = {
    "graph_names": False, "doc_strings": False, "metadata": False, "value_infos": False,
}  # fmt: skip


def find_difference(a: Any, b: Any, **parts: Unpack[ComparedParts]) -> Mismatch | None:
    """The first difference between two models, functions or graphs.

    Args:
        a, b: models of any kind (see `ow.load`), functions or graphs, also of `onnx_ir`.  A script
            is compared as a function with another function, and as a model with a model.
        parts: what to compare, as for `assert_isomorphic`.

    Returns:
        The difference, or None where there is none.

    Raises:
        ModelTypeError: one of the two is none of these (OW752).
        TypeError: a keyword is unknown.

    Example:
        >>> from onnx import parser
        >>> g = parser.parse_graph("g (float[2] x) => (float[2] y) { y = Relu(x) }")
        >>> find_difference(g, g) is None
        True
    """
    unknown = sorted(set(parts) - set(Strictness.names()))
    if unknown:
        names = ", ".join(Strictness.names())
        raise TypeError(f"unknown keyword `{unknown[0]}`; the parts to compare are: {names}")
    if isinstance(a, Script) and isinstance(b, Script):
        # Two scripts of one file never have the same name or the same Python lines.
        parts = {**_OF_SCRIPTS, **parts}
    (left, one), (right, other) = load_pair(a, b)
    parts.setdefault("folders", (one, other))
    return difference(left, right, Strictness(**parts))


def assert_isomorphic(a: Any, b: Any, **parts: Unpack[ComparedParts]) -> None:
    """Assert that two models, functions or graphs are the same up to names of intermediates.

    The order of nodes, initializers, functions, attributes and metadata entries does not matter,
    nor does the way the numbers of a tensor are stored.  Everything else does, unless its keyword
    is given as False; of two scripts, `graph_names`, `io_names`, `doc_strings` and `metadata` are
    compared only where they are given as True.

    Args:
        a, b: models of any kind (see `ow.load`), functions or graphs, also of `onnx_ir`.  A script
            is compared as a function with another function, and as a model with a model.
        parts: `io_names`, `initializer_names`, `initializers` (the numbers), `types`,
            `value_infos`, `graph_names`, `doc_strings`, `metadata`, `opset_imports`, `ir_version`,
            `producer`, `functions`, `attributes` (all True); `node_names`, `subgraph_names`,
            `commutative` (all False); `folders`, where the external data of each is found.

    Raises:
        AssertionError: they differ; the message names the first difference and its place.
        ModelTypeError: one of the two is none of these (OW752).
        TypeError: a keyword is unknown.

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
    difference = find_difference(a, b, **parts)
    if difference is not None:
        raise AssertionError(f"not isomorphic: {difference}")


def assert_isomorphic_function(a: Any, b: Any, **parts: Unpack[ComparedParts]) -> None:
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
    chosen: ComparedParts = {**_BODY_ONLY, "io_names": False, **parts}
    assert_isomorphic(one, other, **chosen)


def assert_isomorphic_graph(a: Any, b: Any, **parts: Unpack[ComparedParts]) -> None:
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
    chosen: ComparedParts = {**_BODY_ONLY, **parts}
    assert_isomorphic(one, other, **chosen)


def _graph(x: Any) -> Any:
    if isinstance(x, str):
        return parser.parse_graph(x)
    return held_by(x).graph if kind_of(x) is not None else x


def load_pair(a: Any, b: Any) -> tuple[tuple[Proto, str], tuple[Proto, str]]:
    """Two models or parts of models, read and checked.

    Args:
        a, b: models of any kind, functions or graphs.  A script is compared as a function with
            another function, and as a model with a model.

    Returns:
        For each its proto, and the folder of its external data; "" for what is in memory.

    Raises:
        ModelError: one is damaged.
        ModelTypeError: one is none of these (OW752).
    """
    one, other = (_load(x, "first") for x in (a, b))
    if type(one[0]) is not type(other[0]):
        one, other = (
            _load(x, "refused") if _can_be_both(x) else model for x, model in ((a, one), (b, other))
        )
    return one, other


def _can_be_both(x: Any) -> bool:
    """Whether an object can be a model and a function: a script."""
    kind = kind_of(x)
    return kind is not None and kind.function is not None


def _load(x: Any, parts: Parts) -> tuple[Proto, str]:
    opened = open_model(x, defined=False, parts=parts)
    return opened.proto, str(opened.folder) if opened.path or opened.base else ""
