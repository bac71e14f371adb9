"""ATen functions in a table of one's own."""

from typing import Any

import numpy as np

from onnxwright import aten
from onnxwright.atenlib import AtenFunction
from onnxwright.atenlib.protocols import Op, Value
from onnxwright.atenlib.rules import elementwise

MINE: dict[str, AtenFunction] = {}


@aten("my::twice", rule=elementwise("self"), table=MINE)
def twice(op: Op, self: Value) -> Value:
    return op.Add(self, self)


def main() -> None:
    made: Any = twice.run(np.ones(2, np.float32))
    print(made.tolist(), [*MINE])


def mistakes() -> None:
    aten("my::thrice", rule="elementwise")  # error


if __name__ == "__main__":
    main()
