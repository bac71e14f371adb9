"""Models in and results out: paths, pipes, scripts, broken files; nothing is left half-written."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxwright.cli.shared.console import CliError
from onnxwright.cli.shared.programs import find_program, split_target

if TYPE_CHECKING:
    from onnxwright.ir.loading import Opened

# The most bytes that protobuf reads or writes as one message.
LIMIT = (1 << 31) - 1
_MODELS = (".onnx", ".ort", ".onnxtxt", ".textproto")


@dataclass(frozen=True)
class Loaded:
    """A model that a command was given.

    Fields:
        proto: the model, external data not loaded.
        path: its file; None where it came from a pipe or a script.
        label: what the user called it.
    """

    proto: Any
    path: Path | None
    label: str

    @property
    def source(self) -> Any:
        """The path where there is one (for external data), else the proto."""
        return self.path if self.path is not None else self.proto


def load(argument: str, *, function: bool = False) -> Loaded:
    """The model that an argument names.

    Args:
        argument: the path of a model, `FILE.py:fn`, or `-` for standard input.
        function: a script that is not a model on its own may be a FunctionProto instead.

    Returns:
        The model.

    Raises:
        CliError: it cannot be read, or is not a model.
        ScriptError: the script cannot be compiled.

    Example:
        >>> load("nowhere.onnx")
        Traceback (most recent call last):
            ...
        onnxwright.cli.shared.console.CliError: there is no file nowhere.onnx
    """
    if argument == "-":
        if sys.stdin.isatty():
            raise CliError("`-` reads a model from a pipe, and standard input is a terminal")
        return Loaded(_opened(sys.stdin.buffer, "standard input").proto, None, "standard input")
    target = split_target(argument)
    if target is not None:
        program = find_program(*target)
        if not hasattr(program, "to_model_proto"):
            return Loaded(program, None, argument)
        if function:
            from onnxwright.viz.view import read

            return Loaded(read(program), None, argument)
        return Loaded(program.to_model_proto(), None, argument)
    path = Path(argument)
    check_file(path)
    return Loaded(_opened(path, str(path)).proto, path, argument)


def _opened(source: Any, label: str) -> Opened:
    """A model read and checked; one line says why it cannot be read at all."""
    from onnxwright.diagnostics.catalogue.loading import ModelNotReadable
    from onnxwright.errors import ModelError
    from onnxwright.ir.loading import open_model

    try:
        return open_model(source, defined=False)
    except ModelError as error:
        diagnostic = error.diagnostic
        if isinstance(diagnostic, ModelNotReadable):
            raise CliError(f"{label} is not an ONNX model: {diagnostic.reason}") from error
        title, help_ = (diagnostic.words(t) for t in (diagnostic.title, diagnostic.help))
        words = f"{label}: {title}\n  help: {help_}"
        raise CliError(words) from error


def check_weights(loaded: Loaded) -> None:
    """Raise where a model's weights are in other files that cannot be found.

    Args:
        loaded: the model; one from a pipe has its weights beside nothing but the working folder.

    Raises:
        CliError: a file is missing; the text names it.
    """
    import onnx

    folder = loaded.path.parent if loaded.path is not None else Path()
    for tensor in loaded.proto.graph.initializer:
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            continue
        name = next((e.value for e in tensor.external_data if e.key == "location"), "")
        if not (folder / name).is_file():
            where = f"{folder / name} is not there" if loaded.path is not None else (
                f"{name} is not in the working folder, where those of a model from a pipe are "
                "looked for"
            )  # fmt: skip
            raise CliError(f"the weights of {loaded.label} are in other files, and {where}")


def check_file(path: Path) -> None:
    """Raise what is to be said where a path names no readable file."""
    try:
        if path.is_dir():
            raise CliError(f"{path} is a folder, not a file")
        if not path.exists():
            raise CliError(f"there is no file {path}")
    except (OSError, ValueError) as error:
        raise CliError(f"{path!s} is not a path: {first_line(error)}") from error
    if not os.access(path, os.R_OK):
        raise CliError(f"{path} cannot be read: permission denied")


def first_line(error: BaseException) -> str:
    """The first line of an error, or its class where it says nothing."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def write(target: str, data: bytes | str, *, model: bool = False) -> None:
    """Write a result: to a temporary name beside the target first, so it is whole or not there.

    Args:
        target: a path, or `-` for standard output.
        model: whether it is a model; nothing else takes the place of one.

    Raises:
        CliError: it cannot be written; what was there is still there.

    Example:
        >>> write("a.txt", "one")
        >>> Path("a.txt").read_text()
        'one'
    """
    raw = data.encode("utf-8") if isinstance(data, str) else data
    if target == "-":
        if isinstance(data, bytes) and sys.stdout.isatty():
            raise CliError("the result is binary; redirect it, or name a file with -o")
        sys.stdout.flush()
        sys.stdout.buffer.write(raw)
        sys.stdout.buffer.flush()
        return
    from onnxwright.ir.writing import write_file

    check_folder(Path(os.path.realpath(target)))
    if not model and Path(target).suffix in _MODELS and Path(target).is_file():
        raise CliError(f"{target} is a model, which this would overwrite; name another file")
    try:
        write_file(target, raw)
    except IsADirectoryError as error:
        raise CliError(f"{target} is a folder; name a file in it") from error
    except OSError as error:
        raise CliError(f"{target} cannot be written: {error.strerror}") from error


def check_folder(path: Path) -> None:
    """Raise where a file cannot be written because its folder is not there."""
    if not path.parent.is_dir():
        word = "is a file" if path.parent.exists() else "does not exist"
        raise CliError(f"{path} cannot be written: the folder {path.parent} {word}")


def is_too_large(error: BaseException) -> bool:
    """Whether protobuf refused a message for its size (its error has no better mark)."""
    return type(error).__name__ == "EncodeError" or "2GB" in str(error)


def write_model(target: str, proto: Any) -> None:
    """Write a model in the form its name asks for; weights beside it where it is over 2 GB.

    Args:
        target: a path (`.onnx`, `.onnxtxt`, `.textproto`, `.json`), or `-`.

    Raises:
        CliError: it cannot be written.
    """
    import onnx_ir as ir

    from onnxwright.ir.reading import form_of
    from onnxwright.ir.saving import in_form, save

    form = form_of(Path(target))
    try:
        data = proto.SerializeToString() if form == "protobuf" else in_form(proto, form)
        too_large = len(data) > LIMIT
    except Exception as error:
        if not is_too_large(error):
            raise
        too_large = True
    if not too_large:
        write(target, data, model=True)
        return
    if target == "-":
        raise CliError("the model is over 2 GB and cannot go through a pipe; name a file with -o")
    check_folder(Path(os.path.realpath(target)))
    try:
        save(ir.from_proto(proto), target)
    except OSError as error:
        raise CliError(f"{target} cannot be written: {error.strerror}") from error
