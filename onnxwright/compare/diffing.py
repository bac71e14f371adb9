"""`diff(a, b)`: what was added, removed, changed and rewired between two models."""

from __future__ import annotations

from typing import Any

from onnxwright.compare.assertions import find_difference, load_pair
from onnxwright.compare.changes import Change, Diff, Row
from onnxwright.compare.descriptions import show
from onnxwright.compare.graph_diff import compare


def diff(a: Any, b: Any) -> Diff:
    """Compare two models, functions or graphs.

    Nodes are matched by what they compute, by what becomes of it, by the weights they read and by
    their place; names count for little, since exporters number what they make.  Initializers are
    matched by their numbers and their readers, too: one that only has another name is reported
    as renamed.  Of what is matched, changed parts are reported, and the rest as added or removed.

    Args:
        a, b: models of any kind (see `ow.load`), functions or graphs, also of `onnx_ir`.  A script
            is compared as a function with another function, and as a model with a model.  External
            data is compared where its folder is known, that is for paths.

    Returns:
        The differences; false where there are none, `str()` of it is a text, `.brief()` a
        shorter one, `.data()` and `.json()` are data, `.html()` is a page.

    Raises:
        ModelTypeError: one of the two is none of these (OW752).
        TypeError: a model, a function and a graph are not compared with each other.

    Example:
        >>> from onnx import parser
        >>> text = "g (float[2] x) => (float[2] y) { y = Softmax<axis = %d>(x) }"
        >>> print(diff(parser.parse_graph(text % 0), parser.parse_graph(text % 1)))
        1 node changed; 0 nodes the same
        graph `g`:
          ~ node y = Softmax<axis=0>(x)
              attribute axis: 0 -> 1
    """
    (left, one), (right, other) = load_pair(a, b)
    if type(left) is not type(right):
        raise TypeError(f"{type(left).__name__} and {type(right).__name__} cannot be compared")
    difference = compare(left, right, (one or None, other or None))
    if difference and all(c.kind == "rewired" for c in difference.changes):
        # Twins that were matched crosswise: the exact matching decides.
        same = find_difference(
            a, b, value_infos=False, metadata=False, doc_strings=False, graph_names=False
        )
        if same is None:
            return Diff([], {}, difference.same + len(difference.changes))
    return difference


__all__ = ["Change", "Diff", "Row", "diff", "show"]
