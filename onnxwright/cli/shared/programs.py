"""Python files as commands take them: executed as modules, and the scripts found in them."""

from __future__ import annotations

import contextlib
import difflib
import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from onnxwright.cli.shared.console import CliError
from onnxwright.diagnostics.text import as_utf8
from onnxwright.errors import OnnxwrightError

if TYPE_CHECKING:
    import onnx

    from onnxwright.dsl.function import ScriptFunction

T = TypeVar("T")


def executed(path: Path) -> ModuleType:
    """The module a file makes; a part guarded by `__name__ == "__main__"` does not run."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    return module


def scripts_of(module: ModuleType) -> Iterator[ScriptFunction[..., Any]]:
    """The scripts of a module and of its classes, each once, in order of definition."""
    from onnxwright.dsl.function import ScriptFunction

    seen: set[int] = set()
    spaces: list[Mapping[str, Any]] = [vars(module)]
    spaces += [
        vars(value)
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__
    ]
    for space in spaces:
        for held in list(space.values()):
            value = held.__func__ if isinstance(held, (staticmethod, classmethod)) else held
            if isinstance(value, ScriptFunction) and id(value) not in seen:
                seen.add(id(value))
                yield value


def split_target(argument: str) -> tuple[Path, str] | None:
    """`FILE.py:fn` as a path and a name (empty where only the file is given); None for others.

    Args:
        argument: as the user wrote it.

    Returns:
        The two parts.

    Example:
        >>> split_target("my models/a.py:fn")[1], split_target("a.onnx")
        ('fn', None)
    """
    if argument.endswith(".py"):
        return Path(argument), ""
    head, _, name = argument.rpartition(":")
    return (Path(head), as_utf8(name)) if head.endswith(".py") else None


MAKER = "make_model"
"""What gives the whole model back in the Python that `to-script` writes."""


def find_program(path: Path, name: str) -> ScriptFunction[..., Any] | onnx.ModelProto:
    """A script of a Python file; or, of one that `to-script` wrote, the model.

    Args:
        name: the script's name (`Class.name` for one of a class), or `make_model`; empty for what
            the file is about: its `make_model`, or its only script.

    Returns:
        The script or the model.

    Raises:
        CliError: the file, script or model does not exist, or the file cannot be executed.
    """
    module = module_of(path)
    maker = vars(module).get(MAKER)
    # NOTE: imported here, since numpy comes with it: `--help` of any command does without.
    from onnxwright.types.roles import Script

    if name in ("", MAKER) and callable(maker) and not isinstance(maker, Script):
        import onnx

        with contextlib.redirect_stdout(sys.stderr):
            script = _tried(path, maker)
        if not isinstance(script, onnx.ModelProto):
            raise CliError(
                f"`{MAKER}` of {path} gives a {type(script).__name__}, which is not a model"
            )
        return script
    return _script(path, module, name)


def find_script(path: Path, name: str) -> ScriptFunction[..., Any]:
    """A script of a Python file.

    Args:
        name: the script's name (`Class.name` for one of a class); empty for the only one.

    Raises:
        CliError: the file or script does not exist, or the file cannot be executed.
    """
    return _script(path, module_of(path), name)


def module_of(path: Path) -> ModuleType:
    """The module that a Python file makes.

    Returns:
        The module; what it prints goes to standard error.

    Raises:
        CliError: there is no file, or it cannot be executed.
        OnnxwrightError: what the file does is wrong.
    """
    if not path.is_file():
        raise CliError(f"there is no file {path}")
    # What the file prints is not the command's result, which may go through a pipe.
    with contextlib.redirect_stdout(sys.stderr):
        return _tried(path, lambda: executed(path))


def _tried(path: Path, run: Callable[[], T]) -> T:
    """What a part of the user's file gives; what it raises is reported as an error of that file."""
    try:
        return run()
    except OnnxwrightError:
        raise
    except (Exception, SystemExit) as error:
        raise CliError(failure_of(path, error)) from error


def _script(path: Path, module: ModuleType, name: str) -> ScriptFunction[..., Any]:
    from onnxwright.dsl.function import ScriptFunction

    scripts = {s.function.__qualname__: s for s in scripts_of(module)}
    if not name:
        if len(scripts) == 1:
            return next(iter(scripts.values()))
        have = ", ".join(scripts) or "none"
        raise CliError(f"name a script of {path}, as in {path}:NAME; it has: {have}")
    if name in scripts:
        return scripts[name]
    value: Any = module
    for part in name.split("."):
        value = getattr(value, part, None)
    if isinstance(value, ScriptFunction):
        return value
    near = difflib.get_close_matches(name, scripts, 1)
    hint = f"; did you mean {near[0]}?" if near else f"; it has: {', '.join(scripts) or 'none'}"
    raise CliError(f"{path} has no script {name}{hint}")


def failure_of(path: Path, error: BaseException) -> str:
    """Why a Python file cannot be executed, and where in it.

    The file is the user's: the last of its own lines that ran is what they want to know.

    Returns:
        A line or more.
    """
    if isinstance(error, SystemExit):
        return f"{path} cannot be executed: it ends Python by itself (SystemExit: {error.code})"
    shown = traceback.TracebackException.from_exception(error)
    own = [f for f in shown.stack if Path(f.filename).suffix == ".py" and _is_theirs(f)]
    place = f" at {own[-1].filename}:{own[-1].lineno}" if own else ""
    words = "".join(shown.format_exception_only()).strip()
    return f"{path} cannot be executed{place}: {words}"


def _is_theirs(frame: traceback.FrameSummary) -> bool:
    ours = str(Path(__file__).resolve().parent.parent)
    return not frame.filename.startswith((ours, "<frozen"))
