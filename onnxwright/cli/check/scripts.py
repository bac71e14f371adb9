"""`onnxwright check FILE.py`: compiles every script of a file, so that its errors come now."""

from __future__ import annotations

import contextlib
import json
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onnxwright.cli.check.formats import sarif_log, workflow_commands
from onnxwright.cli.shared.console import DIFFERS, OK, USAGE, escape_control_chars, print_json
from onnxwright.cli.shared.programs import executed, failure_of, scripts_of
from onnxwright.diagnostics.render import render_all, render_json
from onnxwright.dsl.function import ScriptFunction
from onnxwright.errors import Message, OnnxwrightError, OnnxwrightWarning


@dataclass
class Report:
    """What was found in one file.

    Fields:
        file: its path, as it was given.
        scripts: name of each script -> whether it compiles.
        messages: what is to be said of them, warnings included.
        failure: why the file could not be executed; empty where it could.
    """

    file: str
    scripts: dict[str, bool] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    failure: str = ""

    @property
    def wrong(self) -> int:
        """How many scripts do not compile."""
        return sum(not compiles for compiles in self.scripts.values())

    @property
    def status(self) -> int:
        """The exit status of this file alone."""
        if self.failure:
            return USAGE
        return DIFFERS if self.wrong or any(d.severity == "error" for d in self.messages) else OK

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain data, for JSON."""
        return {
            "file": self.file,
            "ok": self.status == OK,
            "scripts": [{"name": n, "compiles": ok} for n, ok in self.scripts.items()],
            "diagnostics": [json.loads(render_json(d)) for d in self.messages],
            "error": self.failure or None,
        }


def check_files(files: Sequence[str], *, color: bool = False, form: str = "text") -> int:
    """Compile every script of the files and print what is wrong.

    Args:
        files: paths of Python files; each is executed as a module, not as a program.
        color: whether the messages are coloured.
        form: "text"; "json": one object; "github": annotations of a workflow of GitHub; "sarif":
            one log of SARIF 2.1.0.

    Returns:
        0 where everything compiles, 1 where something does not, 2 where a file cannot be executed.

    Raises:
        Nothing.

    Example:
        >>> check_files(["nowhere.py"])
        2
    """
    reports = []
    for file in files:
        report = check_file(file)
        reports.append(report)
        if form == "text":
            _print(report, color)
    if form == "json":
        data = [report.as_dict() for report in reports]
        print_json({"ok": all(entry["ok"] for entry in data), "files": data})
    elif form == "github":
        for report in reports:
            for line in workflow_commands(report.messages, report.file, report.failure):
                print(line)
    elif form == "sarif":
        messages = [d for report in reports for d in report.messages]
        failures = [(report.file, report.failure) for report in reports if report.failure]
        print_json(sarif_log(messages, failures))
    return max(report.status for report in reports)


def check_file(file: str) -> Report:
    """Compile every script of one file.

    Args:
        file: the path of a Python file.
    """
    report = Report(file)
    path = Path(file)
    if not path.is_file():
        word = f"{path} is a folder, not a file" if path.is_dir() else f"there is no file {path}"
        report.failure = word
        return report
    try:
        # What the file prints is not the command's result, which may go through a pipe.
        with contextlib.redirect_stdout(sys.stderr):
            module = executed(path)
    except OnnxwrightError as error:
        report.messages += error.diagnostics
        return report
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the file is the user's
        report.failure = failure_of(path, error)
        return report
    for script in scripts_of(module):
        script_messages, failed = _messages(script)
        report.messages += script_messages
        report.scripts[script.function.__qualname__] = not failed
    return report


def _print(report: Report, color: bool) -> None:
    if report.failure:
        sys.stdout.flush()
        print(escape_control_chars(f"onnxwright check: {report.failure}"), file=sys.stderr)
        return
    if report.messages:
        print(render_all(report.messages, color=color) + "\n")
    count = len(report.scripts)
    if report.status != OK and not count:
        print(f"{report.file}: it cannot be executed")
        return
    noun = "script" if count == 1 else "scripts"
    print(f"{report.file}: {count} {noun}, {report.wrong} with errors")


def _messages(script: ScriptFunction[..., Any]) -> tuple[list[Message], bool]:
    """What compiling a script says, and whether it failed."""
    failed = False
    messages: list[Message] = []
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            script.check()
        except OnnxwrightError as error:
            failed = True
            messages += error.diagnostics
    heard = [w.message for w in seen]
    return [w.diagnostic for w in heard if isinstance(w, OnnxwrightWarning)] + messages, failed
