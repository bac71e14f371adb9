"""onnx_ir without its import of sympy, which takes half of a cold start.

onnx_ir imports sympy at the top of two of its modules, for arithmetic on symbolic dimensions.
Importing sympy takes longer than importing everything else that a first model needs.  While onnx_ir
is imported, those two `import sympy` statements are given a stand-in; the first attribute that is
asked of it imports sympy and puts it in the place of the stand-in.  Nothing else sees a difference:
the stand-in is never in `sys.modules`, so that every other `import sympy` is an ordinary one.
"""

from __future__ import annotations

import builtins
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec

_PACKAGE = "onnx_ir"
_LIBRARY = "sympy"
# The modules of onnx_ir that get the stand-in, and what they take from it while they are imported:
# functions that they call later.
_TAKEN: dict[str, frozenset[str]] = {
    "onnx_ir._core": frozenset(),
    "onnx_ir._symbolic_shapes": frozenset({"Max", "Min", "Mod", "floor", "sqrt"}),
}


class Deferred(ModuleType):
    """Stands for sympy in a module of onnx_ir until something of it is needed."""

    def __init__(self, namespace: dict[str, Any], loader: _Loader) -> None:
        super().__init__(_LIBRARY)
        self.__dict__.update(_namespace=namespace, _loader=loader)

    def __getattr__(self, name: str) -> Any:
        namespace: dict[str, Any] = self.__dict__["_namespace"]
        if self.__dict__["_loader"].running and name in _TAKEN[namespace["__name__"]]:
            return _later(name)
        library = import_module(_LIBRARY)
        if namespace.get(_LIBRARY) is self:
            namespace[_LIBRARY] = library
        return getattr(library, name)

    def __dir__(self) -> list[str]:
        return dir(import_module(_LIBRARY))

    def __reduce__(self) -> tuple[Any, ...]:
        return import_module, (_LIBRARY,)


def _later(name: str) -> Any:
    """A function of sympy that imports it when called."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(import_module(_LIBRARY), name)(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return call


class _Loader:
    """The loader of onnx_ir, with the stand-in given to what it imports while it is `running`."""

    def __init__(self, loader: Any, finder: _Finder) -> None:
        self.loader = loader
        self.finder = finder
        self.running = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        real_module: ModuleType | None = self.loader.create_module(spec)
        return real_module

    def exec_module(self, module: ModuleType) -> None:
        _remove(self.finder)
        # The module names its real loader.
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self.loader
        before = builtins.__import__

        def with_stand_in(
            name: str,
            globals: Any = None,  # noqa: A002 - the names of `__import__`
            locals: Any = None,  # noqa: A002
            fromlist: Sequence[str] | None = (),
            level: int = 0,
        ) -> ModuleType:
            if name == _LIBRARY and self.running and _LIBRARY not in sys.modules:
                if globals and globals.get("__name__") in _TAKEN and not fromlist:
                    return Deferred(globals, self)
            return before(name, globals, locals, fromlist, level)

        self.running = True
        builtins.__import__ = with_stand_in
        try:
            self.loader.exec_module(module)
        finally:
            self.running = False
            # Another thread may have put its own there: that one still calls this one, which
            # from now on only passes on.
            if builtins.__import__ is with_stand_in:
                builtins.__import__ = before


class _Finder:
    """Finds onnx_ir as the other finders do, until it is imported; finds no other module."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != _PACKAGE:
            return None
        if _LIBRARY in sys.modules:
            _remove(self)
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec: ModuleSpec | None = find(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, self)  # type: ignore[assignment]
                return spec
        return None


def _remove(finder: _Finder) -> None:
    """Take a finder off the list, if it is there.

    A thread that looks for a module goes through the list that was there: where an item of that
    were removed, it would miss the next finder.
    """
    sys.meta_path = [one for one in sys.meta_path if one is not finder]


def install() -> None:
    """Let the first import of onnx_ir in this process, whoever makes it, leave sympy for later."""
    if _PACKAGE not in sys.modules and _LIBRARY not in sys.modules:
        sys.meta_path.insert(0, _Finder())
