"""External data: which file a tensor may name, checked before the file is opened.

A location is relative to the folder of the model, stays inside it, and names a regular file that is
neither a link to somewhere else nor one of several names of one file.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

import onnx

from onnxwright.ir.validation.damage import Damage, is_text, quoted

_ADVICE = "put the data file into the folder of the model, and the model's tensors back on it"
_NO_FOLDER = (
    "it is looked for in the current directory; a model that is given as bytes or as a proto does "
    "not say where its files are: give the path of the model"
)
_SMALL = 1 << 63


def entries_of(tensor: onnx.TensorProto, where: str) -> dict[str, str]:
    """The entries of `external_data` by key.

    Args:
        tensor: a tensor stored in another file.
        where: where the tensor is, for messages.

    Raises:
        Damage: one is not text, or occurs twice.
    """
    entries: dict[str, str] = {}
    for entry in tensor.external_data:
        if not is_text(entry.key, entry.value):
            raise Damage("external", where, "an entry of `external_data` is not UTF-8 text")
        if entry.key in entries:
            raise Damage("external", where, f"`external_data` has two entries {quoted(entry.key)}")
        entries[entry.key] = entry.value
    return entries


def check_location(location: str, where: str) -> None:
    """Refuse a location that leads out of the model's folder by its text alone.

    Args:
        location: the value of the entry `location`.
        where: where the tensor is, for messages.

    Raises:
        Damage: it is empty, absolute, or has `..` in it.

    Example:
        >>> check_location("weights/a.bin", "here")
        >>> check_location("../a.bin", "here")
        Traceback (most recent call last):
            ...
        onnxwright.ir.validation.damage.Damage: here: its data is in `../a.bin`, outside the folder of the model
    """  # noqa: E501 - the last line is the text of an error
    shown = quoted(location)
    if not location or "\0" in location:
        raise Damage("external", where, f"its data is in {shown}, which is not the name of a file")
    posix, windows = PurePosixPath(location), PureWindowsPath(location)
    if posix.is_absolute() or windows.is_absolute() or windows.drive or windows.root:
        what = f"its data is in {shown}, an absolute path"
        raise Damage("external", where, what, _ADVICE)
    if ".." in posix.parts or ".." in windows.parts:
        what = f"its data is in {shown}, outside the folder of the model"
        raise Damage("external", where, what, _ADVICE)


def number_of(entries: dict[str, str], key: str, where: str) -> int | None:
    """An entry as a count of bytes; None where it is not there."""
    text = entries.get(key)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) < _SMALL):
        what = f"the {key} of its data is {quoted(text)}, not a number of bytes"
        raise Damage("external", where, what)
    return int(text)


@dataclass(frozen=True)
class Files:
    """The files of external data of one model.

    Fields:
        folder: the folder of the model.
        needed: whether a file that is not there is a fault.
        named: whether a tensor that names no file is a fault.
    """

    folder: Path
    needed: bool = True
    named: bool = True

    def check(self, entries: dict[str, str], nbytes: int, where: str) -> None:
        """Refuse a tensor whose file, offset or length is not allowed.

        Args:
            entries: the entries of `external_data`.
            nbytes: how many bytes the tensor's type and shape need.
            where: where the tensor is, for messages.

        Raises:
            Damage: it is not.
        """
        location = entries.get("location", "")
        if not location and not self.named:
            return
        check_location(location, where)
        numbers = [number_of(entries, key, where) for key in ("offset", "length")]
        if not self.needed and not os.path.lexists(self.folder / location):
            return
        path = self.find(location, where)
        check_range(path, numbers[0] or 0, numbers[1], nbytes, where)

    def find(self, location: str, where: str) -> Path:
        """The file of a location: a regular file inside the folder of the model.

        Args:
            location: the entry `location`.
            where: where the tensor is, for messages.

        Returns:
            Its path.

        Raises:
            Damage: the location leads out of the folder, or names something else.

        Source:
            onnx.proto (`external_data`), the page ExternalData of onnx.
        """
        check_location(location, where)
        path, shown = self.folder / location, quoted(location)
        try:
            facts = path.stat()
            real, root = path.resolve(), self.folder.resolve()
        except (OSError, ValueError, RuntimeError) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            what = f"its data is in {shown}, which cannot be read: {reason}"
            advice = _NO_FOLDER if self.folder == Path() else _ADVICE
            raise Damage("external", where, what, advice) from error
        if not real.is_relative_to(root):
            what = f"its data is in {shown}, a link to a file outside the folder of the model"
            raise Damage("external", where, what, _ADVICE)
        if not stat.S_ISREG(facts.st_mode):
            raise Damage("external", where, f"its data is in {shown}, not a regular file", _ADVICE)
        if facts.st_nlink > 1:
            what = f"its data is in {shown}, which has several names (hard links)"
            advice = "copy the data file: one of its other names may be outside the model's folder"
            raise Damage("external", where, what, advice)
        return path


def check_range(path: Path, offset: int, length: int | None, nbytes: int, where: str) -> None:
    """Refuse an offset and length that the file does not hold, or that the tensor does not fill.

    Args:
        offset: where the data begins.
        length: how many bytes the entry gives it; None where it gives no length.
        nbytes: how many bytes the tensor's type and shape need.
        where: where the tensor is, for messages.

    Raises:
        Damage: they do not fit.
    """
    size = path.stat().st_size
    if length is not None and length != nbytes:
        what = f"its shape and type need {nbytes:,} bytes, `length` says {length:,}"
        raise Damage("external", where, what)
    if offset + nbytes > size:
        what = (
            f"its data is {nbytes:,} bytes from {offset:,} on, and {quoted(path.name)} has "
            f"{size:,} bytes"
        )
        raise Damage("external", where, what, "the data file is cut short, or of another model")


def without_links(
    tensor: onnx.TensorProto, folder: Path, where: str
) -> tuple[onnx.TensorProto, str]:
    """A tensor in a file that is named as onnx reads it: links inside the folder are followed.

    Args:
        tensor: the tensor; it stays as it is.
        where: where the tensor is, for messages.

    Returns:
        The tensor, or a copy that names the file behind the link, and the folder of the file.

    Raises:
        Damage: the file is not inside the folder, or not a regular file, or its data take more
            memory than the machine has.
    """
    if tensor.data_location != onnx.TensorProto.EXTERNAL:
        return tensor, str(folder)
    entries = entries_of(tensor, where)
    path = Files(folder).find(entries.get("location", ""), where)
    size = number_of(entries, "length", where) or 0
    if size > (machine_memory() or size):
        raise more_than_memory(size, where)
    real = path.resolve()
    if real == folder.resolve() / entries["location"]:
        return tensor, str(folder)
    renamed = onnx.TensorProto()
    renamed.CopyFrom(tensor)
    for entry in renamed.external_data:
        if entry.key == "location":
            entry.value = real.name
    return renamed, str(real.parent)


def more_than_memory(size: int, where: str) -> Damage:
    """The fault of data that cannot be read because they take too much memory.

    Args:
        size: how many bytes they are.
        where: where the tensor is, for messages.

    Returns:
        The fault; nothing is raised.
    """
    what = f"its data take {size / 1e9:,.1f} GB, and there is not as much memory"
    return Damage(
        "limit", where, what, "use a machine with more memory, or check the shape of the tensor"
    )


def machine_memory() -> int | None:
    """The bytes of memory of the machine.

    Returns:
        The number; None where the system does not say.
    """
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None
