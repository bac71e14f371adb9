"""What a call of converted code runs: a replacement, a converted copy, or the function itself.

`bound(f)` is called where `f` is, and gives what to call.  What is opaque (C, PyTorch, libraries
without source) is called as it is; what it may change of its arguments is logged first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import BuiltinFunctionType, CellType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

import torch

from onnxwright.diagnostics.file_owners import Owner, owner_of
from onnxwright.exporter.capture.control import convert, iterators
from onnxwright.exporter.capture.control.cached_functions import call_cached
from onnxwright.exporter.capture.control.convertible import (
    CALLING,
    CHANGING,
    ITERATORS,
    MUTATORS,
    READING,
    TRACING,
    is_convertible,
    without_fx,
)  # fmt: skip
from onnxwright.exporter.capture.control.opaque import (
    OUTSIDE,
    call_noted,
    is_of_python,
    note_object,
    written_by_code,
)  # fmt: skip
from onnxwright.exporter.capture.control.places import (
    InnerState,
    Items,
    class_value,
    has_items,
    has_state,
)
from onnxwright.exporter.capture.control.replacement_table import Own, replace_attributes, replaced
from onnxwright.exporter.capture.control.store import (
    Store,
    current,
    note_attribute,
    note_elements,
    original,
)
from onnxwright.exporter.capture.session.errors import OpaqueCallError

# By which PyTorch calls the `forward` of such a function; None where it is written in C++ (2.14).
_APPLY = getattr(torch.autograd.Function.apply, "__func__", None)
_SPECIAL: Any = type([].__len__)
_METHOD_TYPES = (type(list.append), type(object.__setattr__))


def bound(f: Any) -> Any:
    """What converted code calls in the place of a function.

    Returns:
        What to call with the same arguments; outside a capture, the object.
    """
    store = current()
    if store is None:
        return f
    called = _bound(store, f)
    if store.on_opaque is None or _is_converted(called):
        return called
    return functools.partial(_told, store.on_opaque, f, called)


def _is_converted(f: Any) -> bool:
    """Whether a function is a converted copy."""
    inner = f.__func__ if type(f) is MethodType else f
    return type(inner) is FunctionType and convert.has_runtime(inner.__code__)


def _told(on_opaque: Callable[..., None], f: Any, called: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a function that is not converted; first say with what."""
    on_opaque(f, *args, *kwargs.values())
    return called(*args, **kwargs)


def _bound(store: Store, f: Any) -> Any:
    """As `bound`, in a capture."""
    kind = type(f)
    if kind is BuiltinFunctionType:
        return _replaced(store, f) or _of_builtin(store, f)
    if kind is FunctionType:
        return _replaced(store, f) or _of_function(store, f)
    if kind is MethodType:
        instead = _replaced(store, f.__func__)
        return _of_method(store, f) if instead is None else MethodType(instead, f.__self__)
    if isinstance(f, torch.nn.Module):
        return f
    if isinstance(f, type):
        return _of_class(store, f)
    return _of_object(store, f)


def function(f: Any) -> Any:
    """A function of the user as `bound` gives it, for those that Python calls by itself."""
    return f if current() is None or not _is_users(f) else bound(f)


def _is_users(f: Any) -> bool:
    if type(f) is functools.partial:
        return _is_users(f.func)
    inner = f.__func__ if type(f) is MethodType else f
    return type(inner) is FunctionType and is_convertible(inner)


def _replaced(store: Store, f: Any) -> Callable[..., Any] | None:
    """What the table of replacements has for a function; None for nothing."""
    replacement = replaced(f)
    if replacement is None:
        return None
    entry, instead = replacement
    if not isinstance(entry.function, FunctionType):
        return instead
    own = _of_function(store, f) if isinstance(f, FunctionType) else f
    return functools.partial(_of_function(store, entry.function), Own(f) if own is f else own)


def _of_function(store: Store, f: FunctionType) -> Any:
    f = without_fx(f)
    replaced = REPLACED.get(f)
    if replaced is not None:
        return functools.partial(replaced, store)
    code = f.__code__
    if convert.has_runtime(code):
        store.ran(f)
        return f
    is_own = is_convertible(f)
    may_decide = is_own or owner_of(code.co_filename) in (Owner.TORCH, Owner.GENERATED)
    if store.code_for is not None and may_decide:
        other = store.code_for(f)
        if other is not None:
            store.ran(f)
            return convert.with_code(f, other, f.__closure__)
    if is_own:
        converted_copy = convert.converted(f)
        if converted_copy is None:
            return _without_source(store, f)
        store.ran(f)
        return converted_copy
    if code.co_filename.startswith("<"):
        return _without_source(store, f)
    if store.code_for is None or owner_of(code.co_filename) is Owner.ONNXWRIGHT:
        return _of_opaque(store, f)
    return _around_users(store, f)


def _around_users(store: Store, f: FunctionType) -> Any:
    """A function of PyTorch or Python that calls functions of the user: these are converted.

    They are its free variables, as those of decorators, or arguments.
    """
    if str(f.__globals__.get("__name__", "")).startswith(TRACING):
        return _of_opaque(store, f)
    cells = f.__closure__ or ()
    held = [_contents(cell) for cell in cells]
    if any(map(_is_users, held)):
        inner = [CellType(bound(v)) if _is_users(v) else c for v, c in zip(held, cells)]
        f = convert.with_code(f, f.__code__, tuple(inner))
    return _Calling(_of_opaque(store, f))


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return None


def _without_source(store: Store, f: FunctionType) -> Any:
    """A function of the user that cannot be converted: what its code binds is known all the same.

    Raises:
        OpaqueCallError: a side of a decision calls it, and it writes somewhere.
    """
    store.ran(f)
    replace_attributes()
    written = written_by_code(f)
    if store.depth and (written.places or (written.is_any and is_convertible(f))):
        raise OpaqueCallError(f.__qualname__, "function")
    for place in written.places:
        store.note(place)
    return functools.partial(call_noted, store, f) if written.is_any else f


def _of_method(store: Store, f: MethodType) -> Any:
    owner: Any = f.__self__
    inner = f.__func__
    name = getattr(inner, "__name__", "")
    if name in MUTATORS and has_items(owner):
        store.note(Items(owner))
    elif has_state(owner):
        store.note(InnerState(owner))
    elif inner is _APPLY and store.code_for is not None:
        return _apply_of(owner)
    elif _is_changing(store, owner, inner, name):
        note_object(store, owner)
    if type(inner) is not FunctionType:
        callee = bound(inner)
    else:
        callee = _of_function(store, inner)
    return f if callee is inner else MethodType(callee, owner)


def _is_changing(store: Store, owner: Any, inner: Any, name: str) -> bool:
    """Whether a method of Python's library, or of PyTorch's modules, may change its object."""
    if isinstance(owner, torch.nn.Module):  # `ModuleList.append`, `register_forward_hook`
        is_of_side = store.depth > 0  # where such a change is seen as one of the whole module
        return not is_of_side and (name in MUTATORS or name.endswith("_hook"))
    return is_of_python(inner) and not isinstance(owner, (type, ModuleType))


def _of_builtin(store: Store, f: BuiltinFunctionType) -> Any:
    owner = f.__self__
    replaced = REPLACED.get(f)
    if replaced is not None:
        return functools.partial(replaced, store)
    if owner is None or isinstance(owner, ModuleType):
        return _of_opaque(store, f)
    name = f.__name__
    if isinstance(owner, torch.Tensor):
        if name.endswith("_") and not name.endswith("__"):
            note_elements(store, owner)
    elif name in MUTATORS and has_items(owner):
        store.note(Items(owner))
    elif isinstance(owner, type) and f is not owner.__new__:
        is_apply = name == "apply" and issubclass(owner, torch.autograd.Function)
        return _apply_of(owner) if is_apply and store.code_for else _of_opaque(store, f)
    elif name == "__next__":
        return iterators.own_iterator(store, owner).__next__
    elif isinstance(owner, GeneratorType):  # `send` and the like
        return getattr(iterators.own_iterator(store, owner), name)
    elif has_state(owner):
        store.note(InnerState(owner))
    elif isinstance(owner, functools._lru_cache_wrapper) and name == "cache_clear":
        return functools.partial(_clear, store, owner)
    else:
        iterators.refuse_unseen(store, owner, name)
    return f


def _clear(store: Store, f: Any) -> None:
    """`f.cache_clear()`, of what the capture knows."""
    for key in [key for key in store.memo if key[0] == id(f)]:
        del store.memo[key]


def _apply_of(kind: Any) -> Any:
    """`apply` of an autograd function: PyTorch calls its `forward`, which is converted."""
    if _is_users(kind.forward):
        kind = type(kind.__name__, (kind,), {"forward": staticmethod(bound(kind.forward))})
    return kind.apply


def _of_class(store: Store, f: type) -> Any:
    if f is super or type(f).__call__ is not type.__call__ or issubclass(f, BaseException):
        return f
    iterators.refuse_ended(f)
    init = f.__init__
    if (
        type(init) is not FunctionType
        or not is_convertible(init)
        or f.__new__ is not object.__new__
    ):
        is_iterator = f.__module__ == "itertools" or f in ITERATORS
        return functools.partial(_making, f) if is_iterator else f
    return functools.partial(_construct, f)


def _construct(kind: Any, /, *args: Any, **kwargs: Any) -> Any:
    """`kind(*args, **kwargs)` with a converted `__init__`."""
    instance = kind.__new__(kind)
    bound(kind.__init__)(instance, *args, **kwargs)
    return instance


def _of_object(store: Store, f: Any) -> Any:
    if type(f) is functools.partial:
        inner = bound(f.func)
        return f if inner is f.func else functools.partial(inner, *f.args, **f.keywords)
    if isinstance(f, functools._lru_cache_wrapper):
        return functools.partial(call_cached, store, f, bound(f.__wrapped__))
    if isinstance(f, _METHOD_TYPES):
        replaced = REPLACED.get(f)
        if replaced is not None:
            return functools.partial(replaced, store)
        return functools.partial(_unbound, store, f) if f.__name__ in MUTATORS else f
    if type(f) is _SPECIAL:  # a special method of an object of C
        if f.__name__ in MUTATORS and has_items(f.__self__):
            store.note(Items(f.__self__))
        elif f.__name__ in ("__setattr__", "__delattr__"):
            special = "__set__" if f.__name__ == "__setattr__" else "__delete__"
            write = _writing(lambda _, *args: f(*args), special)
            return functools.partial(write, store, f.__self__)
        elif f.__name__ == "__next__":
            return iterators.own_iterator(store, f.__self__).__next__
        return f
    if type(f).__module__.startswith("onnxwright."):  # what stands for an object of the program
        return f
    call = getattr(type(f), "__call__", None)  # noqa: B004 - its function is converted
    if type(call) is FunctionType and is_convertible(call):
        return MethodType(bound(call), f)
    return _of_opaque(store, f)


def _unbound(store: Store, f: Any, owner: Any, /, *args: Any, **kwargs: Any) -> Any:
    """`list.append(owner, x)`."""
    if has_items(owner):
        store.note(Items(owner))
    return f(owner, *args, **kwargs)


# -- opaque functions ------------------------------------------------------------------------------


class _Calling:
    """An opaque function that calls functions of the user: these are converted."""

    def __init__(self, f: Any) -> None:
        self.f = f

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it with what `bound` gives of functions."""
        return self.f(*map(function, args), **{k: function(v) for k, v in kwargs.items()})


def _of_opaque(store: Store, f: Any) -> Any:
    """An opaque function: as it is if it only reads; otherwise its arguments are logged first."""
    try:
        if f in CALLING:
            return _Calling(f)
    except TypeError:
        return f
    name = getattr(f, "__name__", "")
    module = getattr(f, "__module__", None) or type(f).__module__
    if name not in CHANGING and (module.partition(".")[0] in READING):
        return f
    return functools.partial(call_noted, store, f)


# -- writes that are calls -------------------------------------------------------------------------


def setter_of(
    owner: Any, name: str, special: str = "__set__", *, by_class: bool = True
) -> Callable[..., Any] | None:
    """What of the user's `owner.name = value` calls, with the value; None where Python stores.

    Args:
        owner: the object.
        name: the attribute.
        special: `__delete__` for what `del owner.name` calls, with nothing.
        by_class: whether `__setattr__` or `__delattr__` of the class comes first, as in Python.
    """
    is_set = special == "__set__"
    own = type(owner).__setattr__ if is_set else type(owner).__delattr__
    if by_class and type(own) is FunctionType and is_convertible(own):
        return functools.partial(bound(own), owner, name)
    inside = class_value(type(owner), name)
    if isinstance(inside, property):
        of_property = inside.fset if is_set else inside.fdel
        return None if of_property is None else functools.partial(bound(of_property), owner)
    descriptor_setter = getattr(type(inside), special, None)
    if type(descriptor_setter) is FunctionType and is_convertible(descriptor_setter):
        return functools.partial(bound(descriptor_setter), inside, owner)
    return None


def _writing(f: Any, special: str, *, by_class: bool = False) -> Callable[..., Any]:
    """A function of Python or PyTorch that sets or deletes an attribute, as `setter_of` says."""

    def write(store: Store, owner: Any, name: str, /, *value: Any) -> Any:
        setter = setter_of(owner, name, special, by_class=by_class)
        if setter is not None:
            return setter(*value)
        owner = original(owner)
        note_attribute(store, owner, name)
        return f(owner, name, *value)

    return write


def get_attribute(store: Store, owner: Any, name: str, /, *default: Any) -> Any:
    """`getattr(owner, name)`, where the attribute may be a property."""
    store.read_names.add(name)
    return getattr(convert.runtime().holder(owner, name), name, *default)


def has_attribute(store: Store, owner: Any, name: str, /) -> bool:
    """`hasattr(owner, name)`."""
    try:
        get_attribute(store, owner, name)
    except AttributeError:
        return False
    return True


def _registering(f: Any) -> Callable[..., Any]:
    """A function of Python or PyTorch that sets an attribute: the store is told first."""

    def register(store: Store, owner: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
        note_attribute(store, owner, name)
        return f(owner, name, *args, **kwargs)

    return register


def _making(kind: type, /, *args: Any, **kwargs: Any) -> Any:
    """An iterator of Python, whose functions are converted."""
    if kind in CALLING:
        args = tuple(map(function, args))
    return iterators.made_here(kind(*args, **kwargs))


REPLACED: dict[Any, Callable[..., Any]] = {
    **OUTSIDE,
    setattr: _writing(setattr, "__set__", by_class=True),
    delattr: _writing(delattr, "__delete__", by_class=True),
    getattr: get_attribute,
    hasattr: has_attribute,
    next: iterators.next_of,
    iter: iterators.iterator_of,
    object.__setattr__: _writing(object.__setattr__, "__set__"),
    object.__delattr__: _writing(object.__delattr__, "__delete__"),
    type.__setattr__: _writing(type.__setattr__, "__set__"),
    torch.nn.Module.__setattr__: _writing(torch.nn.Module.__setattr__, "__set__"),
    torch.nn.Module.__delattr__: _writing(torch.nn.Module.__delattr__, "__delete__"),
    torch.nn.Module.register_buffer: _registering(torch.nn.Module.register_buffer),
    torch.nn.Module.register_parameter: _registering(torch.nn.Module.register_parameter),
    torch.nn.Module.register_module: _registering(torch.nn.Module.register_module),
    torch.nn.Module.add_module: _registering(torch.nn.Module.add_module),
}
"""Functions that write or read the clock -> what tells the store and does it: `f(store, *args)`."""
