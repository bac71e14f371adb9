"""`ModuleList` and `Sequential`: modules in order, named `0`, `1`, `2`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, overload

from onnxwright.builder.nn.module import Module


class ModuleList(Module):
    """Modules in order; a `forward` goes through them.

    Args:
        modules: the modules.

    Example:
        >>> blocks = ModuleList([Module(), Module()])
        >>> len(blocks.append(Module())), [name for name, _ in blocks.named_children()]
        (3, ['0', '1', '2'])
    """

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        self.extend(modules)

    def append(self, module: Module) -> ModuleList:
        """Put a module at the end.

        Args:
            module: the module.

        Returns:
            The list.

        Raises:
            TypeError: it is not a module.
        """
        if not isinstance(module, Module):
            raise TypeError(f"{type(self).__name__} holds modules, got {type(module).__name__}")
        self._own()[str(len(self))] = module
        return self

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Put modules at the end, in order.

        Args:
            modules: the modules.

        Returns:
            The list.
        """
        for module in modules:
            self.append(module)
        return self

    def __len__(self) -> int:
        return sum(1 for _ in self.children())

    def __iter__(self) -> Iterator[Module]:
        return self.children()

    @overload
    def __getitem__(self, index: int) -> Module: ...
    @overload
    def __getitem__(self, index: slice) -> list[Module]: ...
    def __getitem__(self, index: int | slice) -> Module | list[Module]:
        return list(self.children())[index]


class Sequential(ModuleList):
    """Modules in order; each is called with what the one before gives.

    Args:
        modules: the modules.

    Example:
        >>> from onnxwright import FLOAT, GraphBuilder
        >>> class Negate(Module):
        ...     def forward(self, op, x):
        ...         return op.Neg(op.Abs(x))
        >>> g = GraphBuilder(opset=21)
        >>> g.output(Sequential(Negate(), Negate())(g.op, g.input("x", FLOAT["N"])), "y")
        >>> [node.name for node in g.to_model_proto().graph.node]
        ['0/Abs', '0/Neg', '1/Abs', '1/Neg']
    """

    def __init__(self, *modules: Module) -> None:
        super().__init__(modules)

    def forward(self, op: Any, x: Any) -> Any:
        """Build the nodes of all modules.

        Args:
            op: the operators of a `GraphBuilder`.
            x: what the first module is called with.

        Returns:
            What the last one gives; `x` where there is none.
        """
        for module in self:
            x = module(op, x)
        return x
