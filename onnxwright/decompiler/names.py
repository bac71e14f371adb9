"""Python names for ONNX names: plain ASCII identifiers, unique, never a word with a meaning."""

from __future__ import annotations

import builtins
import keyword
import re
from functools import lru_cache

_WORDS = frozenset((*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "self"))
# A name of more letters than the first is cut to the second, which leaves space for a number.
_LONGEST, _CUT = 48, 36


@lru_cache(maxsize=1 << 16)
def identifier(text: str, fallback: str = "v") -> str:
    """An identifier that reminds of `text`: letters, digits and underscores of ASCII only.

    Args:
        text: any name of a model, which may hold anything at all.
        fallback: the prefix if the name does not begin with a letter.

    Example:
        >>> identifier("/layer.1/conv/Conv_output_0"), identifier("1"), identifier("class")
        ('layer_1_conv_Conv_output_0', 'v1', 'class_')
    """
    name = re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_")
    if len(name) > _LONGEST:  # the end of a path says more than its beginning
        name = name[-_CUT:].partition("_")[2].strip("_") or name[:_CUT]
    if not name:
        name = fallback
    elif name[0].isdigit():
        name = fallback + name
    return f"{name}_" if name in _WORDS else name


@lru_cache(maxsize=1 << 16)
def is_plain(text: str) -> bool:
    """Whether a name of a model is a valid Python keyword argument as it is."""
    if text == "__debug__":  # a name that nothing may bind, not even a keyword argument
        return False
    return text.isascii() and text.isidentifier() and not keyword.iskeyword(text)


_OUTPUT = re.compile(r"_output_\d+(_\d+)?$")
_NUMBERED = re.compile(r"(.+?)[_.]?\d+")
# Names that tools give to values nobody named.
_TOOLS = frozenset(
    {"", "v", "t", "n", "val", "value", "tmp", "temp", "node", "const", "constant", "getitem",
     "output", "unnamed", "onnx", "result"}
)  # fmt: skip
# What tools call the results of operators of theirs.
_TOOL_OPERATORS = frozenset(
    {"view", "permute", "transpose", "unsqueeze", "squeeze", "slice", "select", "linear", "conv2d",
     "layer_norm", "to_copy", "clone", "contiguous", "scalar_tensor_default", "expand", "cat",
     "stack", "embedding", "addmm", "mm", "bmm", "t", "matmul", "rsub", "where", "full", "reshape",
     "flatten", "split", "chunk", "arange", "convert_element_type", "alias", "lift_fresh_copy"}
)  # fmt: skip


@lru_cache(maxsize=1 << 16)
def machine_made(name: str, operator: str) -> bool:
    """Whether a value's name says no more than that an operator made it.

    Example:
        >>> [machine_made(n, "Add") for n in ("add_3", "val_7", "/a/Add_output_0", "12", "logits")]
        [True, True, True, True, False]
        >>> machine_made("h2", "Add"), machine_made("scale_2", "Mul")
        (False, False)
    """
    if _OUTPUT.search(name) and ("/" in name or operator.lower() in name.lower()):
        return True
    plain = name.rpartition("::")[2].lower().lstrip("_%#")
    match = _NUMBERED.fullmatch(plain)
    base = match.group(1) if match is not None else plain
    if plain.isdigit():
        return True
    if match is not None and base in _TOOLS and len(base) > 1:
        return True
    compact = base.replace("_", "")
    return compact == operator.lower().replace("_", "") or base in _TOOL_OPERATORS


class Names:
    """The names of a module, or of one function in it: every name of the written text is from here.

    A function's names are free in the module as well, and a name that the module gets while the
    function is written is free in the function: nothing that a function reads is shadowed in it.

    Example:
        >>> names = Names()
        >>> names.take("x"), names.take("x"), Names(names).take("x")
        ('x', 'x_1', 'x_2')
        >>> local = Names(names)
        >>> local.take("fc_weight"), local.take_outside("fc.weight"), local.take("fc.weight")
        ('fc_weight', 'fc_weight_1', 'fc_weight_2')
    """

    def __init__(self, outer: Names | None = None) -> None:
        self.outer = outer
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def is_free(self, name: str) -> bool:
        """Whether a name is given neither here nor around."""
        if name in self._taken:
            return False
        return self.outer is None or self.outer.is_free(name)

    def take(self, text: str, fallback: str = "v") -> str:
        """A free name for an ONNX name."""
        name = self._free(text, fallback)
        self._taken.add(name)
        return name

    def take_outside(self, text: str, fallback: str = "v") -> str:
        """A free name for something of the module that a function here reads."""
        name = self._free(text, fallback)
        self.reserve_outside(name)
        return name

    def reserve(self, *names: str) -> None:
        """Keep names from being given."""
        self._taken.update(names)

    def reserve_outside(self, *names: str) -> None:
        """Keep names of the module from being given."""
        (self.outer or self).reserve(*names)

    def _free(self, text: str, fallback: str) -> str:
        base = identifier(text, fallback)
        name, count = base, self._next.get(base, 0)
        while not self.is_free(name):
            count += 1
            name = f"{base}_{count}"
        self._next[base] = count
        return name
