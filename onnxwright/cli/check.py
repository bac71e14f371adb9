"""`onnxwright check FILE.py`: compiles every script of a file, so that its errors come now."""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from onnxwright.cli.programs import executed, scripts_of
from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.diagnostics.render import render_all
from onnxwright.dsl.function import ScriptFunction
from onnxwright.errors import OnnxwrightError, OnnxwrightWarning


def check_files(files: Sequence[str], *, color: bool = False) -> int:
    """Compile every script of the files and print what is wrong.

    Args:
        files: paths of Python files; each is executed as a module, not as a program.
        color: whether the messages are coloured.

    Returns:
        0 where everything compiles, 1 where something does not, 2 where a file cannot be executed.

    Raises:
        Nothing.

    Source:
        DESIGN section 3, delayed compilation.

    Example:
        >>> check_files(["nowhere.py"])
        2
    """
    return max(_check_file(Path(file), color) for file in files)


def _check_file(path: Path, color: bool) -> int:
    if not path.is_file():
        print(f"onnxwright check: there is no file {path}", file=sys.stderr)
        return 2
    try:
        module = executed(path)
    except OnnxwrightError as error:
        print(render_all(error.diagnostics, color=color))
        return 1
    except Exception:  # noqa: BLE001 - the file is not ours; show its traceback and go on
        print(f"onnxwright check: {path} cannot be executed", file=sys.stderr)
        traceback.print_exc()
        return 2
    wrong, count = 0, 0
    for script in scripts_of(module):
        found, failed = _messages(script)
        if found:
            print(render_all(found, color=color) + "\n")
        wrong += failed
        count += 1
    print(f"{path}: {count} {'script' if count == 1 else 'scripts'}, {wrong} with errors")
    return 1 if wrong else 0


def _messages(script: ScriptFunction[..., Any]) -> tuple[list[Diagnostic], bool]:
    """What compiling a script says, and whether it failed."""
    failed = False
    found: list[Diagnostic] = []
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            script.check()
        except OnnxwrightError as error:
            failed = True
            found += error.diagnostics
    heard = [w.message for w in seen]
    return [w.diagnostic for w in heard if isinstance(w, OnnxwrightWarning)] + found, failed


__all__ = ["check_files"]
