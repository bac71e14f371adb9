"""What rewritten code calls: each decision asked at run time.

Outside a capture by source, and for plain values, each does what Python does.
"""

import functools

from onnxwright.exporter.capture.assumptions.size_tests import as_test as truth
from onnxwright.exporter.capture.decisions.deciding import assert_, choose, if_, is_unset
from onnxwright.exporter.capture.decisions.operators import (
    and_,
    chain,
    contains,
    equal,
    invert,
    is_,
    not_,
    or_,
)
from onnxwright.exporter.capture.lists.list_calls import repeated
from onnxwright.exporter.capture.loops.loops import extend, for_, generated, listed, while_
from onnxwright.exporter.capture.rewritten import items
from onnxwright.exporter.capture.rewritten.intrinsics import (
    bound,
    builtin,
    counted,
    method,
    slice_of,
    zip_items,
)
from onnxwright.exporter.capture.rewritten.items import augment, augment_item, set_item, set_items
from onnxwright.exporter.capture.session.program_lists import own_list
from onnxwright.exporter.capture.values import numbers
from onnxwright.exporter.capture.values.kinds import class_of, is_of_type, is_tensor
from onnxwright.exporter.capture.values.one_of import each
from onnxwright.exporter.capture.values.state import State
from onnxwright.exporter.capture.values.symbol_operators import bits
from onnxwright.exporter.capture.values.texts import format_, join_, percent, text

# What takes one of several values as each of them.
attribute = functools.partial(each, items.attribute)
got = functools.partial(each, items.got)
has_attribute = functools.partial(each, items.has_attribute)
item = functools.partial(each, items.item)
math_ = functools.partial(each, numbers.math_)

__all__ = [
    "State", "and_", "assert_", "attribute", "augment", "augment_item", "bits", "bound", "builtin",
    "chain", "choose", "class_of", "contains", "counted", "equal", "extend", "for_", "format_",
    "generated", "got", "has_attribute", "if_", "invert", "is_", "is_of_type", "is_tensor",
    "is_unset", "item", "join_", "listed", "math_", "method", "not_", "or_", "own_list", "percent",
    "repeated", "set_item", "set_items", "slice_of", "text", "truth", "while_", "zip_items",
]  # fmt: skip
