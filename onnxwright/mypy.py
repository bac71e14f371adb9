"""A plugin for mypy: in annotations, `FLOAT["N", 3]` is the class `FLOAT`.

Enable it in the configuration of mypy:

    [tool.mypy]
    plugins = ["onnxwright.mypy"]

What is not a dimension (`FLOAT[1.5]`, `FLOAT[-1]`) is an error of code `valid-type`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from mypy.errorcodes import VALID_TYPE
from mypy.nodes import (
    AssignmentStmt,
    Expression,
    FuncDef,
    Import,
    ImportAll,
    ImportFrom,
    MypyFile,
    Node,
)
from mypy.options import Options
from mypy.plugin import AnalyzeTypeContext, Plugin
from mypy.types import (
    CallableType,
    EllipsisType,
    ProperType,
    RawExpressionType,
    Type,
    UnboundType,
    UnionType,
)

from onnxwright.types.tensors import ANNOTATIONS

_NAMES = frozenset({"Tensor", *(kind.__name__ for kind in ANNOTATIONS.values())})
_CLASSES = frozenset(f"onnxwright.types.tensors.{name}" for name in _NAMES) | {
    "onnxwright.eager.tensor.Tensor"
}


class TensorPlugin(Plugin):
    """Takes what stands between the brackets of `FLOAT["N", 3]` for dimensions, not for types."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        # `get_additional_deps` is the only hook before the names of a file are looked up, and only
        # mypy's Python parser has read the functions of the file by then.
        options.native_parser = False

    def get_additional_deps(self, file: MypyFile) -> list[tuple[int, str, int]]:
        """Make the texts in tensor annotations literals, before mypy looks them up as names."""
        if _imports_the_package(file):
            for statement in _statements(file):
                if isinstance(statement.unanalyzed_type, ProperType):
                    _literal_texts(statement.unanalyzed_type)
        return []

    def get_type_analyze_hook(self, fullname: str) -> Callable[[AnalyzeTypeContext], Type] | None:
        """The hook that gives the class of a tensor annotation, without the dimensions."""
        return partial(_class_of_annotation, fullname) if fullname in _CLASSES else None


def _class_of_annotation(fullname: str, context: AnalyzeTypeContext) -> Type:
    annotation = context.type
    assert isinstance(annotation, UnboundType)
    for argument in annotation.args:
        if not _is_dimension(argument):
            context.api.fail(
                f'"{annotation.name}" takes dimensions: integers from 0, names, None or ...',
                context.context,
                code=VALID_TYPE,
            )
    return context.api.named_type(fullname, [])


def _is_dimension(argument: Type) -> bool:
    """Whether an argument of the brackets can be a dimension; variables are known at run time."""
    if isinstance(argument, RawExpressionType):
        value = argument.literal_value
        if isinstance(value, int) and not isinstance(value, bool):
            return value >= 0
        return isinstance(value, str) and bool(value.strip())
    return isinstance(argument, (EllipsisType, UnboundType))


def _imports_the_package(file: MypyFile) -> bool:
    for statement in file.imports:
        if isinstance(statement, Import):
            names = [name for name, _ in statement.ids]
        else:
            assert isinstance(statement, (ImportFrom, ImportAll))
            names = [statement.id]
        if any(name.partition(".")[0] == "onnxwright" for name in names):
            return True
    return False


# The fields of mypy's nodes that hold statements, or nodes with statements.
_PARTS = ("body", "else_body", "finally_body", "bodies", "handlers", "defs", "func", "items")


def _statements(node: object) -> Iterator[FuncDef | AssignmentStmt]:
    """The functions and assignments of a file at any depth: the statements with annotations."""
    if isinstance(node, (FuncDef, AssignmentStmt)):
        yield node
    for part in _PARTS:
        value = getattr(node, part, None)
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, Node) and not isinstance(inner, Expression):
                yield from _statements(inner)


def _literal_texts(annotation: Type, is_dimension: bool = False) -> Type:
    """Replace texts that are dimensions by literals, in place; returns what stands for the type."""
    if isinstance(annotation, (UnboundType, UnionType)) and is_dimension:
        text = annotation.original_str_expr
        if text is not None:
            return RawExpressionType(
                text, "builtins.str", line=annotation.line, column=annotation.column
            )
    if isinstance(annotation, UnboundType):
        is_tensor = annotation.name.rpartition(".")[2] in _NAMES
        annotation.args = tuple(_literal_texts(a, is_tensor) for a in annotation.args)
    elif isinstance(annotation, UnionType):
        annotation.items = [_literal_texts(item) for item in annotation.items]
    elif isinstance(annotation, CallableType):
        annotation.arg_types = [_literal_texts(kind) for kind in annotation.arg_types]
        annotation.ret_type = _literal_texts(annotation.ret_type)
    return annotation


def plugin(version: str) -> type[Plugin]:
    """The entry point that mypy looks for."""
    del version  # one class serves all of them
    return TensorPlugin


__all__ = ["TensorPlugin", "plugin"]
