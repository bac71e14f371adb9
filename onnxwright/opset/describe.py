"""Operators as text: Python signatures, documentation pages, and suggestions for misspelled names.

Everything is made from the schema when it is asked for; nothing is copied from onnx.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable
from typing import Any

from onnxwright.opset import registry
from onnxwright.opset.registry import OpSignature


def did_you_mean(name: str, names: Iterable[str]) -> str | None:
    """The name that was probably meant.

    Returns:
        The likeliest one, None where none is near.

    Example:
        >>> did_you_mean("matmul", ["MatMul", "Mul"]), did_you_mean("ReLU", ["Relu"])
        ('MatMul', 'Relu')
        >>> did_you_mean("batch_normalization", ["BatchNormalization"])
        'BatchNormalization'
    """
    candidates = list(names)

    def plain(text: str) -> str:
        return text.replace("_", "").lower()

    for candidate in candidates:
        if plain(candidate) == plain(name):
            return candidate
    close = difflib.get_close_matches(name, candidates, n=1, cutoff=0.7)
    if not close:
        folded = {plain(candidate): candidate for candidate in candidates}
        close = [folded[c] for c in difflib.get_close_matches(plain(name), folded, 1, 0.75)]
    return close[0] if close else None


ANY_SIGNATURE = inspect.Signature(
    [
        inspect.Parameter("inputs", inspect.Parameter.VAR_POSITIONAL),
        inspect.Parameter("attributes", inspect.Parameter.VAR_KEYWORD),
    ]
)


def python_signature(sig: OpSignature) -> inspect.Signature:
    """An operator's schema as a Python signature.

    Returns:
        Inputs in order (a variadic one as `*args`), then attributes as keywords; what may be
        absent has a default.

    Example:
        >>> from onnxwright.opset.registry import signature
        >>> sig = signature("", "Softmax", 13)
        >>> print(python_signature(sig))
        (input: 'T', *, axis: 'int' = -1) -> 'T'
    """
    params: list[inspect.Parameter] = []
    optional = False
    for p in sig.inputs:
        # Split-1 has an input and an attribute of one name; the attribute keeps it.
        name = p.name + "_" if p.name in sig.attributes else p.name
        annotation = registry.show_type(p.type_str)
        if p.is_variadic:
            kind = inspect.Parameter.VAR_POSITIONAL
            params.append(inspect.Parameter(name, kind, annotation=annotation))
            continue
        optional = optional or p.is_optional
        params.append(
            inspect.Parameter(
                name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=None if optional else inspect.Parameter.empty,
                annotation=f"{annotation} | None" if optional else annotation,
            )
        )
    for attr in sig.attributes.values():
        default = inspect.Parameter.empty if attr.required else attr.default
        optional_mark = "" if attr.required or attr.default is not None else " | None"
        params.append(
            inspect.Parameter(
                attr.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=default,
                annotation=attr.kind.python + optional_mark,
            )
        )
    shown = [registry.show_type(p.type_str) for p in sig.outputs]
    if sig.variadic_output is not None:
        returns = f"tuple[{shown[-1]}, ...]" if len(shown) == 1 else "tuple"
    else:
        returns = shown[0] if len(shown) == 1 else f"tuple[{', '.join(shown)}]"
    return inspect.Signature(params, return_annotation=returns)


def url_of(domain: str, name: str) -> str:
    """The address of an operator's page in the onnx documentation.

    Example:
        >>> url_of("", "Add"), url_of("ai.onnx.ml", "Scaler")
        ('https://onnx.ai/onnx/operators/onnx__Add.html', \
'https://onnx.ai/onnx/operators/onnx_aionnxml_Scaler.html')
    """
    middle = domain.replace("ai.onnx", "aionnx").replace(".", "")
    return f"https://onnx.ai/onnx/operators/onnx_{middle}_{name}.html"


def document(sig: OpSignature) -> str:
    """The documentation of an operator: signature, description, inputs, attributes, outputs.

    Returns:
        The text that `help(op.Add)` shows.
    """
    lines = [str(sig), "", inspect.cleandoc(sig.doc or "(no description)"), ""]
    schema = sig.schema
    for title, params in (("Inputs", schema.inputs), ("Outputs", schema.outputs)):
        if params:
            lines.append(f"{title}:")
            lines += [_entry(p.name, show_param_type(p), p.description) for p in params]
            lines.append("")
    if sig.attributes:
        lines.append("Attributes:")
        for a in sig.attributes.values():
            kind = a.kind.python if a.required else f"{a.kind.python} = {a.default!r}"
            lines.append(_entry(a.name, kind, a.doc))
        lines.append("")
    lines.append(f"Since version {sig.since_version}. {url_of(sig.domain, sig.name)}")
    return "\n".join(lines)


def show_param_type(param: Any) -> str:
    """The type of an input or output of an onnx schema, with its option.

    Args:
        param: a formal parameter of `onnx.defs`.
    """
    option = param.option.name.lower()
    shown = registry.show_type(param.type_str)
    return shown if option == registry.SINGLE else f"{shown}, {option}"


def _entry(name: str, kind: str, text: str) -> str:
    return f"    {name} ({kind}): {' '.join((text or '').split())}"
