"""The inputs and outputs of a captured program: what each is, and what it is called."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind

from onnxwright.exporter import checks
from onnxwright.exporter.shown import shown

# The first names in order, or names by those there would be otherwise.
Names: TypeAlias = Sequence[str] | Mapping[str, str] | None
WEIGHT_KINDS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)
# What a model can take.
_COMPUTED = (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool, int, float)
MUTATIONS = (OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION)


@dataclass(frozen=True)
class ProgramInput:
    """One placeholder of a program.

    Fields:
        node: the FX placeholder.
        kind: parameter, buffer, constant, user input ...
        target: the qualified name of a weight, else empty.
        constant: whether the caller has to pass `value` there, and nothing is computed from it.
        value: that number, string or None.
        persistent: whether a buffer is part of the state dict.
    """

    node: Any
    kind: InputKind
    target: str
    constant: bool
    value: Any
    persistent: bool | None


@dataclass(frozen=True)
class ProgramOutput:
    """One result of a program.

    Fields:
        kind: user output, mutation of a buffer ...
        target: the name of what is mutated, else empty.
        constant: whether it is a plain Python value.
        value: that value.
    """

    kind: OutputKind
    target: str
    constant: bool
    value: Any


def inputs_of(program: ExportedProgram) -> list[ProgramInput]:
    """The placeholders of a program, in order."""
    nodes = [n for n in program.graph.nodes if n.op == "placeholder"]
    entries = []
    for node, spec in zip(nodes, program.graph_signature.input_specs, strict=True):
        constant = isinstance(spec.arg, ConstantArgument)
        value = spec.arg.value if constant else None
        if spec.kind is InputKind.USER_INPUT and not isinstance(node.meta.get("val"), _COMPUTED):
            # An object of another class, such as a member of an Enum.
            constant, value = True, value if constant else node.meta.get("val")
        entries.append(
            ProgramInput(node, spec.kind, spec.target or "", constant, value, spec.persistent)
        )
    return entries


def outputs_of(program: ExportedProgram) -> list[ProgramOutput]:
    """The results of a program, in order; a parameter that is written is as a buffer."""
    entries = []
    for spec in program.graph_signature.output_specs:
        constant = isinstance(spec.arg, ConstantArgument)
        is_written = spec.kind is getattr(OutputKind, "PARAMETER_MUTATION", None)  # from 2.9 on
        entries.append(
            ProgramOutput(
                OutputKind.BUFFER_MUTATION if is_written else spec.kind,
                spec.target or "",
                constant,
                spec.arg.value if constant else None,
            )
        )
    return entries


def weight_of(program: ExportedProgram, entry: ProgramInput) -> torch.Tensor:
    """The tensor of a parameter, buffer or constant."""
    if entry.target in program.state_dict:
        weight: torch.Tensor = program.state_dict[entry.target]
        return weight
    constant: torch.Tensor = program.constants[entry.target]
    return constant


def checked_names(
    kind: str,
    requested: Names,
    own: Sequence[str],
    reserved: Collection[str] = (),
) -> list[str]:
    """The names to use for inputs or outputs.

    Args:
        requested: names for the first ones at least; or those of some, by what they would
            be called.
        own: the names there would be otherwise.
        reserved: names that other values of the model have.

    Returns:
        A name for each of `own`, all different.

    Raises:
        ExportValueError: more names than values, no name, a name twice, or a name for a value that
            is not there (OW825).
    """
    if isinstance(requested, str):
        requested = [requested]
    if isinstance(requested, Mapping):
        plain = checked_names(kind, None, own, reserved)
        unknown = [name for name in requested if name not in plain]
        if unknown:
            checks.raise_bad_argument(
                kind,
                f"{shown(unknown[0])} is not the name of a value",
                f"the names are {', '.join(plain) or 'none'}",
            )
        requested = [requested.get(name, name) for name in plain]
    names = list(requested or ())
    everything: list[object] = [*names]
    wrong = [n for n in everything if not isinstance(n, str) or not n]
    if wrong:
        checks.raise_bad_argument(
            kind,
            f"{shown(wrong[0])} is not a name",
            "give strings that are not empty",
        )
    if len(names) > len(own):
        checks.raise_bad_argument(
            kind,
            f"{len(names)} names for {len(own)} values: {', '.join(own) or 'none'}",
            "give at most one name for each value",
        )
    twice = {n for n in names if names.count(n) > 1 or n in reserved}
    if twice:
        checks.raise_bad_argument(
            kind,
            f"`{min(twice)}` " + ("is an input" if min(twice) in reserved else "occurs twice"),
            "give each value a name of its own",
        )
    taken = {*names, *reserved}
    for name in own[len(names) :]:
        chosen, n = name, 0
        while chosen in taken:
            n += 1
            chosen = f"{name}_{n}"
        taken.add(chosen)
        names.append(chosen)
    return names
