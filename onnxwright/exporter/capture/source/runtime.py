"""What rewritten code calls: each decision asked at run time.

Outside a capture by source, and for plain values, each does what Python does.
"""

from onnxwright.exporter.capture.source.builtin_calls import (
    bound,
    builtin,
    counted,
    slice_of,
    zip_items,
)
from onnxwright.exporter.capture.source.deciding import assert_, choose, if_, is_unset
from onnxwright.exporter.capture.source.items import attribute, got, has_attribute, item
from onnxwright.exporter.capture.source.kinds import is_of_type, is_tensor
from onnxwright.exporter.capture.source.list_calls import (
    append,
    bits,
    cleared,
    equal,
    insert,
    removed,
    reversed_in_place,
)
from onnxwright.exporter.capture.source.loops import extend, for_, generated, listed, while_
from onnxwright.exporter.capture.source.math_calls import math_
from onnxwright.exporter.capture.source.next_items import stored
from onnxwright.exporter.capture.source.operators import (
    and_,
    augment,
    chain,
    contains,
    invert,
    is_,
    not_,
    or_,
)
from onnxwright.exporter.capture.source.ordering import method, ordered, sort
from onnxwright.exporter.capture.source.refusals import REFUSED
from onnxwright.exporter.capture.source.state import State
from onnxwright.exporter.capture.source.texts import format_, percent, text
from onnxwright.exporter.capture.source.writing import augment_item, popped, set_item
from onnxwright.exporter.capture.source.yields import yielded

__all__ = [
    "REFUSED", "State", "and_", "append", "assert_", "attribute", "augment", "augment_item",
    "bits", "bound", "builtin", "chain", "choose", "cleared", "contains", "counted", "equal",
    "extend", "for_", "format_", "generated", "got", "has_attribute", "if_", "insert", "invert",
    "is_", "is_of_type", "is_tensor", "is_unset", "item", "listed", "math_", "method", "not_",
    "or_", "ordered", "percent", "popped", "removed",
    "reversed_in_place", "set_item", "slice_of", "sort", "stored", "text", "while_", "yielded",
    "zip_items",
]  # fmt: skip
