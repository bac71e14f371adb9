"""The options of `script`, `to_model_proto` and `compile`, as type checkers read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import TypedDict


class ScriptOptionTypes(TypedDict, total=False):
    """What `script` takes beside its own parameters."""

    input_types: Any
    output_types: Any
    io_types: Any
    attributes: Mapping[str, Any] | None
    functions: Any
    value_infos: Mapping[str, Any] | None
    opset_version: int | None
    ir_version: int | None
    producer_name: str
    doc_string: str | None
    metadata: Mapping[str, str] | None
    producer_version: str
    model_version: int
    optimize: bool


class ModelOptionTypes(ScriptOptionTypes, total=False):
    """What `to_model_proto` takes."""

    name: str | None
    domain: str


class CompileOptionTypes(ModelOptionTypes, total=False):
    """What `compile` takes."""

    providers: Sequence[Any] | None
    session_options: Any
