"""onnxwright: write ONNX in Python, run it line by line, compile it to a standard model.

Names are loaded when they are first used; importing this package imports no ONNX package.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from onnxwright import deferred_sympy as _deferred_sympy
from onnxwright import op_dispatch as _op_dispatch
from onnxwright.version import __version__ as __version__

if TYPE_CHECKING:
    import onnx_ir as ir  # noqa: F401 - handed out by `_Package.ir`

    # Written by `python -m tools.facade` from the tables below.
    # isort: off
    from onnxwright import atenlib as atenlib
    from onnxwright import testing as testing
    from onnxwright import torch_onnx as torch_onnx
    from onnxwright.atenlib.op import aten as aten
    from onnxwright.builder import nn as nn
    from onnxwright.builder.graphs import build_graph as build_graph
    from onnxwright.builder.graphs import build_into as build_into
    from onnxwright.builder.typed import GraphBuilder as GraphBuilder
    from onnxwright.compare.diffing import diff as diff
    from onnxwright.decompiler import proto2python as proto2python
    from onnxwright.decompiler import to_script as to_script
    from onnxwright.dsl.function import OnnxFunction as OnnxFunction
    from onnxwright.dsl.function import ScriptFunction as ScriptFunction
    from onnxwright.dsl.library import export_onnx_lib as export_onnx_lib
    from onnxwright.dsl.script import graph as graph
    from onnxwright.dsl.script import script as script
    from onnxwright.dsl.verbatim import Details as Details
    from onnxwright.eager import CompiledModel as CompiledModel
    from onnxwright.eager import Evaluator as Evaluator
    from onnxwright.eager import OrtEvaluator as OrtEvaluator
    from onnxwright.eager import ReferenceEvaluator as ReferenceEvaluator
    from onnxwright.eager import Tensor as Tensor
    from onnxwright.eager import debug as debug
    from onnxwright.eager import default_evaluator as default_evaluator
    from onnxwright.eager import evaluator as evaluator
    from onnxwright.eager import first_divergence as first_divergence
    from onnxwright.eager import implement as implement
    from onnxwright.eager import implement_function as implement_function
    from onnxwright.eager import run_model as run_model
    from onnxwright.eager import set_default_evaluator as set_default_evaluator
    from onnxwright.eager import trace as trace
    from onnxwright.errors import AtenArgumentError as AtenArgumentError
    from onnxwright.errors import AtenError as AtenError
    from onnxwright.errors import AtenLookupError as AtenLookupError
    from onnxwright.errors import AtenUnsupportedError as AtenUnsupportedError
    from onnxwright.errors import ConversionError as ConversionError
    from onnxwright.errors import EagerError as EagerError
    from onnxwright.errors import ExportError as ExportError
    from onnxwright.errors import InternalError as InternalError
    from onnxwright.errors import ModelToolError as ModelToolError
    from onnxwright.errors import OnnxwrightError as OnnxwrightError
    from onnxwright.errors import OnnxwrightWarning as OnnxwrightWarning
    from onnxwright.errors import PassError as PassError
    from onnxwright.errors import ScriptError as ScriptError
    from onnxwright.exporter import ONNXProgram as ONNXProgram
    from onnxwright.exporter import cache_of as cache_of
    from onnxwright.exporter import export as export
    from onnxwright.exporter import export_bisect as export_bisect
    from onnxwright.exporter import export_decoder as export_decoder
    from onnxwright.exporter import export_replacement as export_replacement
    from onnxwright.exporter import interop as interop
    from onnxwright.exporter import observe as observe
    from onnxwright.exporter import torch_backend as torch_backend
    from onnxwright.ir.door import load as load
    from onnxwright.ir.door import save as save
    from onnxwright.model_tools import compose as compose
    from onnxwright.model_tools import extract as extract
    from onnxwright.model_tools import initializers_to_inputs as initializers_to_inputs
    from onnxwright.model_tools import inputs_to_initializers as inputs_to_initializers
    from onnxwright.model_tools import remove_metadata as remove_metadata
    from onnxwright.model_tools import rename as rename
    from onnxwright.model_tools import set_initializer as set_initializer
    from onnxwright.model_tools import set_shapes as set_shapes
    from onnxwright.opset import *  # noqa: F403
    from onnxwright.opset.op import Op as Op
    from onnxwright.opset.opsets import Opset as Opset
    from onnxwright.optimizer import Attr as Attr
    from onnxwright.optimizer import Attrs as Attrs
    from onnxwright.optimizer import Const as Const
    from onnxwright.optimizer import facts as facts
    from onnxwright.optimizer import find as find
    from onnxwright.optimizer import optimize as optimize
    from onnxwright.optimizer import passes as passes
    from onnxwright.optimizer import rewrite as rewrite
    from onnxwright.optimizer import rule as rule
    from onnxwright.optimizer.chosen_rules import library_rules as library_rules
    from onnxwright.optimizer.parts import fold_constants as fold_constants
    from onnxwright.optimizer.parts import inline as inline
    from onnxwright.optimizer.parts import remove_unused as remove_unused
    from onnxwright.optimizer.parts import replace_functions as replace_functions
    from onnxwright.quantize import quantize_weights as quantize_weights
    from onnxwright.quantize import to_half as to_half
    from onnxwright.types import ANNOTATIONS as ANNOTATIONS
    from onnxwright.types import BFLOAT16 as BFLOAT16
    from onnxwright.types import BOOL as BOOL
    from onnxwright.types import COMPLEX64 as COMPLEX64
    from onnxwright.types import COMPLEX128 as COMPLEX128
    from onnxwright.types import DOUBLE as DOUBLE
    from onnxwright.types import FLOAT as FLOAT
    from onnxwright.types import FLOAT4E2M1 as FLOAT4E2M1
    from onnxwright.types import FLOAT6E2M3 as FLOAT6E2M3
    from onnxwright.types import FLOAT6E3M2 as FLOAT6E3M2
    from onnxwright.types import FLOAT8E4M3FN as FLOAT8E4M3FN
    from onnxwright.types import FLOAT8E4M3FNUZ as FLOAT8E4M3FNUZ
    from onnxwright.types import FLOAT8E5M2 as FLOAT8E5M2
    from onnxwright.types import FLOAT8E5M2FNUZ as FLOAT8E5M2FNUZ
    from onnxwright.types import FLOAT8E8M0 as FLOAT8E8M0
    from onnxwright.types import FLOAT16 as FLOAT16
    from onnxwright.types import INT2 as INT2
    from onnxwright.types import INT4 as INT4
    from onnxwright.types import INT8 as INT8
    from onnxwright.types import INT16 as INT16
    from onnxwright.types import INT32 as INT32
    from onnxwright.types import INT64 as INT64
    from onnxwright.types import STRING as STRING
    from onnxwright.types import UINT2 as UINT2
    from onnxwright.types import UINT4 as UINT4
    from onnxwright.types import UINT8 as UINT8
    from onnxwright.types import UINT16 as UINT16
    from onnxwright.types import UINT32 as UINT32
    from onnxwright.types import UINT64 as UINT64
    from onnxwright.types import AttrKind as AttrKind
    from onnxwright.types import AttributeSpec as AttributeSpec
    from onnxwright.types import DType as DType
    from onnxwright.types import MapType as MapType
    from onnxwright.types import OnnxType as OnnxType
    from onnxwright.types import OptionalType as OptionalType
    from onnxwright.types import SequenceType as SequenceType
    from onnxwright.types import Shape as Shape
    from onnxwright.types import ShapeMark as ShapeMark
    from onnxwright.types import SparseTensorType as SparseTensorType
    from onnxwright.types import Spec as Spec
    from onnxwright.types import TensorMeta as TensorMeta
    from onnxwright.types import TensorType as TensorType
    from onnxwright.types import Value as Value
    from onnxwright.types import ValueSpec as ValueSpec
    from onnxwright.types import parse_annotation as parse_annotation
    from onnxwright.types import read_shape as read_shape
    from onnxwright.types import show_annotation as show_annotation
    from onnxwright.types.initializers import External as External
    from onnxwright.types.initializers import initializer as initializer
    from onnxwright.values import TracedOnnxFunction as TracedOnnxFunction
    from onnxwright.versions.api import convert_version as convert_version
    from onnxwright.viz import show as show
    # isort: on

_deferred_sympy.install()

# Public name -> the module that has it.
_HOMES = {
    "script": "onnxwright.dsl.script",
    "GraphBuilder": "onnxwright.builder.typed",
    "build_graph": "onnxwright.builder.graphs",
    "build_into": "onnxwright.builder.graphs",
    "Details": "onnxwright.dsl.verbatim",
    "External": "onnxwright.types.initializers",
    "initializer": "onnxwright.types.initializers",
    "to_script": "onnxwright.decompiler",
    "load": "onnxwright.ir.door",
    "save": "onnxwright.ir.door",
    "diff": "onnxwright.compare.diffing",
    "convert_version": "onnxwright.versions.api",
    "compose": "onnxwright.model_tools",
    "extract": "onnxwright.model_tools",
    "initializers_to_inputs": "onnxwright.model_tools",
    "inputs_to_initializers": "onnxwright.model_tools",
    "remove_metadata": "onnxwright.model_tools",
    "rename": "onnxwright.model_tools",
    "set_initializer": "onnxwright.model_tools",
    "set_shapes": "onnxwright.model_tools",
    "quantize_weights": "onnxwright.quantize",
    "to_half": "onnxwright.quantize",
    "export": "onnxwright.exporter",
    "ONNXProgram": "onnxwright.exporter",
    "cache_of": "onnxwright.exporter",
    "export_bisect": "onnxwright.exporter",
    "export_decoder": "onnxwright.exporter",
    "export_replacement": "onnxwright.exporter",
    "observe": "onnxwright.exporter",
    "torch_backend": "onnxwright.exporter",
    "proto2python": "onnxwright.decompiler",
    "graph": "onnxwright.dsl.script",
    "export_onnx_lib": "onnxwright.dsl.library",
    "TracedOnnxFunction": "onnxwright.values",
    "show": "onnxwright.viz",
    "ScriptFunction": "onnxwright.dsl.function",
    "OnnxFunction": "onnxwright.dsl.function",
    "Opset": "onnxwright.opset.opsets",
    "Op": "onnxwright.opset.op",
    "default_evaluator": "onnxwright.eager",
    "set_default_evaluator": "onnxwright.eager",
    "Evaluator": "onnxwright.eager",
    "OrtEvaluator": "onnxwright.eager",
    "ReferenceEvaluator": "onnxwright.eager",
    "Tensor": "onnxwright.eager",
    "trace": "onnxwright.eager",
    "debug": "onnxwright.eager",
    "first_divergence": "onnxwright.eager",
    "implement": "onnxwright.eager",
    "implement_function": "onnxwright.eager",
    "run_model": "onnxwright.eager",
    "CompiledModel": "onnxwright.eager",
    "OnnxwrightError": "onnxwright.errors",
    "ConversionError": "onnxwright.errors",
    "ModelToolError": "onnxwright.errors",
    "OnnxwrightWarning": "onnxwright.errors",
    "ScriptError": "onnxwright.errors",
    "EagerError": "onnxwright.errors",
    "ExportError": "onnxwright.errors",
    "PassError": "onnxwright.errors",
    "InternalError": "onnxwright.errors",
    "optimize": "onnxwright.optimizer",
    "rewrite": "onnxwright.optimizer",
    "find": "onnxwright.optimizer",
    "rule": "onnxwright.optimizer",
    "library_rules": "onnxwright.optimizer.chosen_rules",
    "fold_constants": "onnxwright.optimizer.parts",
    "inline": "onnxwright.optimizer.parts",
    "remove_unused": "onnxwright.optimizer.parts",
    "replace_functions": "onnxwright.optimizer.parts",
    "facts": "onnxwright.optimizer",
    "Const": "onnxwright.optimizer",
    "Attr": "onnxwright.optimizer",
    "Attrs": "onnxwright.optimizer",
    "aten": "onnxwright.atenlib.op",
    "AtenError": "onnxwright.errors",
    "AtenArgumentError": "onnxwright.errors",
    "AtenLookupError": "onnxwright.errors",
    "AtenUnsupportedError": "onnxwright.errors",
}
# Modules under the names that onnxscript's authoring API uses.
_MODULES = {
    "interop": "onnxwright.exporter.interop",
    "atenlib": "onnxwright.atenlib",
    "passes": "onnxwright.optimizer.passes",
    "nn": "onnxwright.builder.nn",
    "testing": "onnxwright.testing",
    "values": "onnxwright.values",
    "onnx_opset": "onnxwright.onnx_opset",
    "onnx_types": "onnxwright.onnx_types",
    "tensor": "onnxwright.tensor",
    "torch_onnx": "onnxwright.torch_onnx",
    # The function of this name and the module are one: the module can be called.
    "evaluator": "onnxwright.evaluator",
}
_NEED_TORCH = ("onnxwright.exporter", "onnxwright.exporter.interop", "onnxwright.torch_onnx")
_TYPES = "onnxwright.types"
_OPSETS = "onnxwright.opset"


def __getattr__(name: str) -> Any:
    if name == "__all__":
        spec = importlib.util.find_spec("torch")
        missing = () if spec is not None else _NEED_TORCH
        every = {**_HOMES, **_MODULES}
        return [n for n in __dir__() if not n.startswith("_") and every.get(n) not in missing]
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES.get(name)
    if home is not None:
        value = getattr(importlib.import_module(home), name)
    elif name in _MODULES:
        value = importlib.import_module(_MODULES[name])
    elif name.startswith("opset") or name in ("latest_opset", "all_opsets"):
        value = getattr(importlib.import_module(_OPSETS), name)
    else:
        types = importlib.import_module(_TYPES)
        if not hasattr(types, name):
            raise AttributeError(_unknown(name))
        value = getattr(types, name)
    globals()[name] = value
    return value


def _first_eager_call(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Load the eager mode (numpy, ONNX Runtime), which sets its own dispatcher."""
    from onnxwright.eager.dispatch import dispatch

    return dispatch(op, args, kwargs)


_op_dispatch.set_dispatcher(_first_eager_call)


def _unknown(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, __dir__(), 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"module {__name__!r} has no attribute {name!r}{hint}"


def __dir__() -> list[str]:
    types = importlib.import_module(_TYPES)
    opsets = map(repr, importlib.import_module(_OPSETS).all_opsets.values())
    names = {*_HOMES, *_MODULES, *types.__all__, *opsets}
    return sorted({*names, "all_opsets", "ir", "latest_opset", "__version__"})


class _Package(ModuleType):
    """This package, where `ir` is `onnx_ir`.

    Once a submodule is imported, Python sets it as an attribute of its package, and that would win
    against `__getattr__`.  A property wins against both, whatever was imported before.
    """

    @property
    def ir(self) -> ModuleType:
        """The package `onnx_ir`, in which models are represented."""
        return importlib.import_module("onnx_ir")

    @ir.setter
    def ir(self, module: ModuleType) -> None:
        """Python sets the submodule `onnxwright.ir` here when it is imported; that is internal."""


sys.modules[__name__].__class__ = _Package
