"""`FLOAT["N", 3]` in annotations written as `Annotated[FLOAT, "N", 3]`, and back."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from onnxwright.cli.migrate.source import Migrated, Source
from onnxwright.types import polynomials
from onnxwright.types.tensors import ANNOTATIONS

_TENSORS = frozenset({"Tensor", *(kind.__name__ for kind in ANNOTATIONS.values())})
_TYPING = ("typing", "typing_extensions")
_NOT_DIMENSIONS = "not all metadata are dimensions, so the annotation stays as it is"


def to_annotated(text: str) -> Migrated:
    r"""Write the dimensions of annotations as `Annotated[FLOAT, "N", 3]`.

    Args:
        text: the text of a Python file.

    Returns:
        The new text, with notes on annotations that stay as they are.

    Raises:
        SyntaxError: it is not Python.

    Example:
        >>> print(to_annotated('from onnxwright import FLOAT\ndef f(x: FLOAT["N", 3]): ...').text)
        from onnxwright import FLOAT
        from typing import Annotated
        def f(x: Annotated[FLOAT, "N", 3]): ...
    """
    return _Rewriter(text).to_annotated()


def to_brackets(text: str) -> Migrated:
    r"""Write `Annotated[FLOAT, "N", 3]` as `FLOAT["N", 3]`.

    Args:
        text: the text of a Python file.

    Returns:
        The new text, with notes on annotations that stay as they are.

    Raises:
        SyntaxError: it is not Python.

    Example:
        >>> text = "from typing import Annotated\nfrom onnxwright import FLOAT\n"
        >>> print(to_brackets(text + 'def f(x: Annotated[FLOAT, "N"]): ...').text)
        from onnxwright import FLOAT
        def f(x: FLOAT["N"]): ...
    """
    return _Rewriter(text).to_brackets()


class _Rewriter:
    """One file, and the names under which it knows tensor types, `Shape` and `Annotated`."""

    def __init__(self, text: str) -> None:
        self.source = Source(text)
        self.tensors: dict[str, str] = {}  # what the file writes -> the class
        self.shape: str | None = None
        self.annotated: set[str] = set()
        self.modules: list[tuple[str, str]] = []  # what the file writes -> the module
        self.home = "onnxwright"  # where the file imports tensor types from
        for node in self.source.nodes(ast.stmt):
            if isinstance(node, ast.Import):
                self._read_import(node)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                self._read_import_from(node)

    def _read_import(self, node: ast.Import) -> None:
        for alias in node.names:
            written = alias.asname or alias.name
            if alias.name.split(".")[0] == "onnxwright":
                self.modules.append((written, alias.name))
            elif alias.name in _TYPING:
                self.annotated.add(f"{written}.Annotated")

    def _read_import_from(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        for alias in node.names:
            written = alias.asname or alias.name
            if module.split(".")[0] == "onnxwright":
                if alias.name in _TENSORS:
                    self.tensors[written] = alias.name
                    self.home = module
                elif alias.name == "Shape":
                    self.shape = written
                elif alias.name == "*":
                    self.tensors.update({name: name for name in _TENSORS})
                elif alias.name in ("types", "onnx_types"):
                    self.modules.append((written, f"{module}.{alias.name}"))
            elif module in _TYPING and alias.name == "Annotated":
                self.annotated.add(written)

    # -- the two directions ------------------------------------------------------------------------

    def to_annotated(self) -> Migrated:
        for annotation in self._annotations():
            inside = {id(part.slice.elts[0]) for part in self._all_annotated(annotation)}
            for part in self._parts(annotation):
                if isinstance(part, ast.Subscript) and self._is_tensor(part.value):
                    self._lengthen(part, in_annotated=id(part) in inside)
        return self.source.result()

    def to_brackets(self) -> Migrated:
        kept = False
        for annotation in self._annotations():
            for part in self._all_annotated(annotation):
                kept = not self._shorten(part) or kept
        if not kept:
            self._drop_imports()
        return self.source.result()

    # -- what a file has ---------------------------------------------------------------------------

    def _annotations(self) -> Iterator[ast.expr]:
        """The annotations of parameters, results and variables, and the values of type aliases."""
        annotations: list[ast.expr] = []
        for node in ast.walk(self.source.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                annotations += [node.returns] if node.returns is not None else []
            elif isinstance(node, (ast.arg, ast.AnnAssign)) and node.annotation is not None:
                annotations.append(node.annotation)
        used = {
            part.id for one in annotations for part in ast.walk(one) if isinstance(part, ast.Name)
        }
        for node in self.source.nodes(ast.Assign):
            (target, *others) = node.targets
            if isinstance(target, ast.Name) and not others and target.id in used:
                annotations.append(node.value)
        for one in annotations:
            self._note_texts(one)
            yield one

    def _note_texts(self, annotation: ast.expr) -> None:
        """A whole annotation in quotes is another syntax tree; it stays, with a note."""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            if any(f"{name}[" in annotation.value for name in (*self.tensors, "Annotated")):
                self.source.note(annotation, "an annotation in quotes stays as it is")

    def _parts(self, annotation: ast.expr) -> Iterator[ast.expr]:
        """The types in an annotation, but not what stands in brackets after a tensor type."""
        yield annotation
        if isinstance(annotation, ast.Subscript):
            if self._is_tensor(annotation.value):
                return
            children: list[ast.expr] = [annotation.slice]
            if self._is_annotated(annotation):
                assert isinstance(annotation.slice, ast.Tuple)
                children = annotation.slice.elts[:1]
        else:
            children = [c for c in ast.iter_child_nodes(annotation) if isinstance(c, ast.expr)]
        for child in children:
            yield from self._parts(child)

    def _all_annotated(self, annotation: ast.expr) -> Iterator[_Annotated]:
        for part in self._parts(annotation):
            if self._is_annotated(part):
                yield part  # type: ignore[misc]  # `_is_annotated` has looked at the brackets

    def _is_annotated(self, node: ast.expr) -> bool:
        return (
            isinstance(node, ast.Subscript)
            and ast.unparse(node.value) in self.annotated
            and isinstance(node.slice, ast.Tuple)
            and len(node.slice.elts) > 1
        )

    def _is_tensor(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self.tensors
        return self._module_of(node) is not None

    def _module_of(self, node: ast.expr) -> str | None:
        """What a file writes before the dot of `ow.FLOAT`."""
        if not isinstance(node, ast.Attribute) or node.attr not in _TENSORS:
            return None
        before = ast.unparse(node.value)
        is_module = any(
            before == written or (before.startswith(written + ".") and written == module)
            for written, module in self.modules
        )
        return before if is_module else None

    # -- edits -------------------------------------------------------------------------------------

    def _lengthen(self, node: ast.Subscript, *, in_annotated: bool) -> None:
        start, end = self.source.span(node)
        _, after_value = self.source.span(node.value)
        dims = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(dims) == 1 and _is_constant(dims[0], ...):
            self.source.replace(after_value, end, "")  # any shape: the class alone
            return
        plain = bool(dims) and all(map(_is_plain_dimension, dims))
        if plain and not in_annotated:
            before, after = ", ", "]"
        else:
            before, after = f", {self._shape_name(node.value)}[", "]" if in_annotated else "]]"
        if not in_annotated:
            self.source.replace(start, start, f"{self._annotated_name(node)}[")
        if not dims:
            self.source.replace(after_value, end, f"{before}(){after}")
            return
        gap = self.source.between(after_value, self.source.span(dims[0])[0])
        if "(" in gap:  # a tuple in parentheses
            words = ", ".join(map(self.source.text, dims))
            self.source.replace(after_value, end, before + words + after)
            return
        bracket = after_value + gap.index("[")
        if gap.split("[", 1)[1]:  # a space or a new line comes by itself
            before = before.rstrip()
        self.source.replace(after_value, bracket + 1, before)
        if after == "]]":
            self.source.replace(end, end, "]")

    def _shorten(self, node: _Annotated) -> bool:
        kind, *metadata = node.slice.elts
        if isinstance(kind, ast.Subscript) or not self._is_tensor(kind):
            return not self._is_tensor(getattr(kind, "value", kind))
        start, end = self.source.span(node)
        dims = metadata
        if len(metadata) == 1 and self._is_shape(metadata[0]):
            inner = metadata[0].slice  # type: ignore[attr-defined]  # `Shape[...]`
            dims = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            self.source.replace(self.source.span(metadata[0])[1], end, "")
        elif not all(map(_is_plain_dimension, metadata)):
            self.source.note(node, _NOT_DIMENSIONS)
            return False
        first = self.source.span((dims or metadata)[0])[0]
        gap = self.source.between(self.source.span(kind)[1], first)
        space = gap[max(gap.find(","), gap.rfind("[")) + 1 :]
        before = f"{self.source.text(kind)}[{space if chr(10) in space else ''}"
        if dims:
            self.source.replace(start, first, before)
        else:
            self.source.replace(start, end, f"{before}()]")
        return True

    def _is_shape(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Subscript):
            return False
        if isinstance(node.value, ast.Attribute) and node.value.attr == "Shape":
            return ast.unparse(node.value.value) in dict(self.modules)
        return isinstance(node.value, ast.Name) and node.value.id == self.shape

    def _annotated_name(self, node: ast.expr) -> str:
        if not self.annotated:
            if "Annotated" in self.source.bound_names():
                self.source.need("import typing", node)
                return "typing.Annotated"
            self.source.need("from typing import Annotated", node)
            return "Annotated"
        return min(self.annotated, key=len)

    def _shape_name(self, kind: ast.expr) -> str:
        module = self._module_of(kind)
        if module is not None:
            return f"{module}.Shape"
        if self.shape is None:
            home = self.home if self.home in ("onnxwright", "onnxwright.types") else "onnxwright"
            self.source.need(f"from {home} import Shape", kind)
        return self.shape or "Shape"

    def _drop_imports(self) -> None:
        """Take `Annotated` and `Shape` out of the imports, where nothing names them any more."""
        used = self.source.remaining_names()
        for node in self.source.nodes(ast.ImportFrom):
            gone = [
                alias
                for alias in node.names
                if (alias.asname or alias.name) not in used
                and (
                    (node.module in _TYPING and alias.name == "Annotated")
                    or ((node.module or "").startswith("onnxwright") and alias.name == "Shape")
                )
            ]
            if gone:
                self.source.remove_names(node, gone)


class _Annotated(ast.Subscript):
    """`Annotated[kind, ...]`, for type checkers: what stands in the brackets is a tuple."""

    slice: ast.Tuple


def _is_constant(node: ast.expr, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def _is_plain_dimension(node: ast.expr) -> bool:
    """Whether metadata is read as a dimension whatever the file computes."""
    if not isinstance(node, ast.Constant) or isinstance(node.value, bool):
        return False
    if isinstance(node.value, str):
        read = polynomials.read(node.value) if node.value.strip() else None
        return read is not None and all(len(n.split()) == 1 for n in polynomials.names(read))
    return node.value is None or (isinstance(node.value, int) and node.value >= 0)
