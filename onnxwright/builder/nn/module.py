"""`Module`: weights and the code that builds a graph with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import onnx_ir as ir

from onnxwright.builder.nn.building import building_with, value_of
from onnxwright.builder.nn.parameter import Parameter
from onnxwright.diagnostics.catalogue.builder import StateMismatch
from onnxwright.diagnostics.diagnostic import fail


class Module:
    """A part of a model: its parameters, its parts, and `forward`, which builds nodes.

    It is called with the operators of a `GraphBuilder` and values: `model(g.op, x)`.  Parameters
    and modules that are set as attributes are its parts, and are named after the attributes from
    the module that is called first: the weights of a model have the names of its state dict.
    Values and nodes are named after the module that makes them, and nodes have its path in their
    metadata, as exported models have it.

    Args:
        name: what is put before all names, where it is the module that is called first.

    Example:
        >>> import numpy as np
        >>> from onnxwright import FLOAT, GraphBuilder, nn
        >>> class Linear(nn.Module):
        ...     def __init__(self, inputs, outputs):
        ...         self.weight = nn.Parameter([outputs, inputs])
        ...
        ...     def forward(self, op, x):
        ...         return op.MatMul(x, op.Transpose(self.weight, perm=[1, 0]))
        >>> class Model(nn.Module):
        ...     def __init__(self):
        ...         self.fc = Linear(4, 2)
        ...
        ...     def forward(self, op, x):
        ...         return op.Relu(self.fc(op, x))
        >>> model = Model()
        >>> model.load_state_dict({"fc.weight": np.ones((2, 4), np.float32)})
        >>> g = GraphBuilder(opset=21)
        >>> g.output(model(g.op, g.input("x", FLOAT["N", 4])), "y")
        >>> graph = g.to_model_proto().graph
        >>> [t.name for t in graph.initializer], [n.name for n in graph.node][:2]
        (['fc.weight'], ['fc/Transpose', 'fc/MatMul'])
    """

    # Parameters and modules by attribute, in the order in which they were set.
    _parts: dict[str, Parameter | Module]

    def __init__(self, name: str | None = None) -> None:
        self._name = name

    @property
    def name(self) -> str | None:
        """What is put before all names, where it is the module that is called first."""
        name: str | None = self.__dict__.get("_name")
        return name

    def forward(self, op: Any, *args: Any, **kwargs: Any) -> Any:
        """Build the nodes of the module; to be written in a subclass.

        Args:
            op: the operators of a `GraphBuilder`.
            args, kwargs: values.

        Returns:
            Values.

        Raises:
            NotImplementedError: the subclass does not have it.
        """
        raise NotImplementedError(f"{type(self).__name__} has no `forward(self, op, ...)`")

    def __call__(self, op: Any, *args: Any, **kwargs: Any) -> Any:
        """Build the nodes of the module in a graph.

        Args:
            op: the operators of a `GraphBuilder`: `g.op`.
            args, kwargs: what `forward` takes.

        Returns:
            What `forward` gives.

        Raises:
            TypeError: `op` is not of a `GraphBuilder`.
            ScriptValueError: the module is not a part of the one that was called first (OW551).
        """
        with building_with(self, op):
            return self.forward(op, *args, **kwargs)

    # -- parts -------------------------------------------------------------------------------------

    def _own(self) -> dict[str, Parameter | Module]:
        # Made when it is needed: subclasses need not call `super().__init__()`.
        parts: dict[str, Parameter | Module] = self.__dict__.setdefault("_parts", {})
        return parts

    def __setattr__(self, name: str, value: Any) -> None:
        own = self._own()
        if isinstance(value, (Parameter, Module)):
            self.__dict__.pop(name, None)
            own[name] = value
        else:
            own.pop(name, None)
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        part = self.__dict__.get("_parts", {}).get(name)
        if part is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return value_of(part) if isinstance(part, Parameter) else part

    def __delattr__(self, name: str) -> None:
        if self._own().pop(name, None) is None:
            object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self._own()})

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules set as attributes, with their names."""
        for name, part in self._own().items():
            if isinstance(part, Module):
                yield name, part

    def children(self) -> Iterator[Module]:
        """The modules set as attributes."""
        return (child for _, child in self.named_children())

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """This module and all inside it, each once, with their paths.

        Args:
            prefix: the path of this module.

        Yields:
            Path and module.
        """
        seen: set[int] = set()
        stack: list[tuple[str, Module]] = [(prefix, self)]
        while stack:
            path, module = stack.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            yield path, module
            inner = [(_join(path, name), child) for name, child in module.named_children()]
            stack.extend(reversed(inner))

    def modules(self) -> Iterator[Module]:
        """This module and all inside it, each once."""
        return (module for _, module in self.named_modules())

    def named_parameters(
        self, prefix: str = "", recurse: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters, each once under its first name.

        Args:
            prefix: the path of this module.
            recurse: also those of the modules inside.

        Yields:
            Name and parameter.
        """
        seen: set[int] = set()
        for name, parameter in self._all_parameters(prefix, recurse):
            if id(parameter) not in seen:
                seen.add(id(parameter))
                yield name, parameter

    def _all_parameters(
        self, prefix: str = "", recurse: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        for path, module in self.named_modules(prefix) if recurse else [(prefix, self)]:
            for name, part in module._own().items():
                if isinstance(part, Parameter):
                    yield _join(path, part.name or name), part

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once; with `recurse` also those of the modules inside."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    # -- numbers -----------------------------------------------------------------------------------

    def state_dict(self, prefix: str = "") -> dict[str, ir.TensorProtocol | None]:
        """The numbers of all parameters, as tensors of onnx_ir; None where there are none.

        Args:
            prefix: what is put before the names.
        """
        return {name: p.tensor(name) for name, p in self._all_parameters(prefix)}

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> None:
        """Give all parameters their numbers; nothing is changed where something does not fit.

        Args:
            state_dict: tensors of torch, arrays, tensors of onnx_ir or TensorProtos by name.
            strict: whether a name that is missing, or is not that of a parameter, is an error.

        Raises:
            ScriptValueError: names are missing or unknown, or a tensor does not have the shape and
                element type of its parameter (OW552).
            ScriptTypeError: something is not a tensor (OW403).
        """
        parameters = dict(self._all_parameters())
        if strict:
            own = dict(self.named_parameters())
            missing = [name for name in own if name not in state_dict]
            unknown = [name for name in state_dict if name not in parameters]
            if missing or unknown:
                _does_not_fit(missing, unknown)
        before = [(p, p.data) for p in parameters.values()]
        try:
            for name, parameter in parameters.items():
                if name in state_dict:
                    parameter.load(state_dict[name], name)
        except BaseException:
            for parameter, data in before:
                parameter.data = data
            raise

    def __repr__(self) -> str:
        lines = []
        for name, part in self._own().items():
            shown = repr(part).replace("\n", "\n  ")
            lines.append(f"  ({name}): {shown}\n")
        inside = "\n" + "".join(lines) if lines else ""
        return f"{type(self).__name__}({inside})"


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _does_not_fit(missing: list[str], unknown: list[str]) -> None:
    parts = [
        f"{word} {', '.join(f'`{n}`' for n in names[:5])}{' ...' if len(names) > 5 else ''}"
        for word, names in (("without", missing), ("with the unknown", unknown))
        if names
    ]
    fail(StateMismatch(
        what=f"the state dict is {' and '.join(parts)}",
        advice="give exactly the names of the parameters, or `strict=False` to load those it has",
    ))  # fmt: skip
