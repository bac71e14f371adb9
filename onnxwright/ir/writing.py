"""The one writer: files are there whole or not at all, and a model never with another's data.

A save goes in steps, and a process that is killed at any of them leaves a model that loads:

1. everything is written under unique temporary names in the folder of the target;
2. data files get names made from their content, which no other model's data has;
3. the model's file, which names them, is renamed over the old one;
4. the data of the old model is removed, and what dead processes left behind.

A link is followed: its target is replaced, the link stays.  Saves into one folder do
steps 2 to 4 one after another, in threads and in processes.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import importlib
import io
import os
import re
import secrets
import shutil
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from typing_extensions import Self

from onnxwright.diagnostics.unicode_text import check_text, unicode_checked

fcntl: Any = importlib.import_module("fcntl") if os.name == "posix" else None

_TEMPORARY = re.compile(r"\.onnxwright-[0-9a-f]{16}\.tmp")
_PIECE = 1 << 22  # bytes of a file read at once
_NAME = 255  # bytes of a file's name
_OLD = 86_400  # seconds from which on a temporary file is left over, where files cannot be locked
_threads = threading.RLock()


def write_file(path: str | os.PathLike[str], data: bytes | str) -> None:
    """Write a file, whole or not at all.

    Args:
        path: the file; through a link its target, into a device or a pipe as it is.
        data: its contents; text in UTF-8.

    Raises:
        OSError: it cannot be written; what was there is still there.

    Example:
        >>> write_file("a.txt", "one")
        >>> Path("a.txt").read_text()
        'one'
    """
    raw = data.encode("utf-8") if isinstance(data, str) else data
    with Save(path) as save:
        save.commit(raw)


class Save:
    """One file being written, with the data files that it names.

    Use it as a context manager: what `commit` did not put in place is removed at the end.

    Args:
        path: the file.

    Raises:
        OSError: it cannot be written there; the error names the path.
        ScriptValueError: no file can be called so (OW627).
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if "\0" in os.fsdecode(path):
            raise ValueError(f"no file can have this name, which has a NUL: {os.fsdecode(path)!r}")
        with unicode_checked("the path"):
            self.target = Path(os.path.realpath(path))
        self._folder = self.target.parent
        self._parts: list[_Part] = []
        self._placed: dict[str, _Part] = {}  # final name -> what is renamed to it
        self._named_by_user: set[str] = set()

    def __enter__(self) -> Self:
        with self._named():
            if self.target.is_symlink():
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(self.path))
            if self.target.is_dir():
                raise IsADirectoryError(errno.EISDIR, "it is a folder", str(self.path))
            if not self._folder.is_dir():
                folder = str(self._folder if self.path.is_symlink() else self.path.parent)
                if self._folder.exists():
                    raise NotADirectoryError(errno.ENOTDIR, "it is a file, not a folder", folder)
                raise FileNotFoundError(errno.ENOENT, "the folder does not exist", folder)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for part in self._parts:
            part.discard()
        if isinstance(error, OSError) and error.filename is None and error.errno is not None:
            with self._named():  # a write of data: a full disk
                raise error

    def data_file(self) -> BinaryIO:
        """A new file for data, opened to write and read."""
        with self._named():
            part = self._new(folder=False)
        assert part.file is not None
        return part.file

    def data_folder(self) -> Path:
        """A new folder for data files."""
        with self._named():
            return self._new(folder=True).path

    def location(self, data: BinaryIO | Path, name: str | None = None) -> str:
        """The name that a data file or folder will have: made from what it holds now.

        Args:
            data: what `data_file` or `data_folder` gave, written.
            name: a name to have instead, or a path with slashes below the folder of the target,
                whose folders `commit` makes.  A file of that name is replaced, so that a process
                that is killed just then leaves an old model with the new data.
        """
        (part,) = (p for p in self._parts if data in (p.file, p.path))
        check_text(name or self.target.name, "the path")  # it becomes text in the model
        if name is not None:
            if name == self.target.name:
                raise FileExistsError(errno.EEXIST, "the model itself has this name", name)
            with self._named():
                part.flush()
            self._placed[name] = part
            self._named_by_user.add(name)
            return name
        with self._named():
            digest = part.digest()
            ending = f".{digest}.{'data' if part.file is not None else 'weights'}"
        name = _stem(self.target.name, len(ending)) + ending
        self._placed[name] = part
        return name

    def commit(
        self,
        data: bytes | Callable[[BinaryIO], object],
        *,
        keep: Iterable[str | os.PathLike[str]] = (),
    ) -> None:
        """Put everything in place, the target last, and remove the data of the old one.

        Args:
            data: the contents of the target, or a function that writes them to a file.
            keep: files that are still read, which are not removed though they are old data.
        """
        with self._named():
            if self.target.exists() and not self.target.is_file():
                with self.target.open("wb") as pipe:  # a device or a pipe
                    pipe.write(data if isinstance(data, bytes) else _written(data))
                return
            part = self._new(folder=False)
            assert part.file is not None
            if isinstance(data, bytes):
                part.file.write(data)
            else:
                data(part.file)
            part.flush()
            if self.target.exists():
                part.path.chmod(stat.S_IMODE(self.target.stat().st_mode))
            with _locked(self._folder):
                old = self._old_data({Path(os.path.realpath(k)) for k in keep})
                for name, held in self._placed.items():
                    self._make_folder_of(name)
                    held.place(self._folder / name, replace=name in self._named_by_user)
                part.place(self.target, replace=True)
                _sync_folder(self._folder)
                for path in old:
                    _remove(path)
                _remove_leftovers(self._folder)

    def _make_folder_of(self, name: str) -> None:
        """Make the folders of a data file below that of the target."""
        folder = (self._folder / name).parent
        if not Path(os.path.realpath(folder)).is_relative_to(self._folder):
            words = "it leads out of the folder of the model"
            raise OSError(errno.EXDEV, words, str(folder))
        folder.mkdir(parents=True, exist_ok=True)

    def _new(self, *, folder: bool) -> _Part:
        with _locked(self._folder):
            part = _Part(self._folder / f".onnxwright-{secrets.token_hex(8)}.tmp", folder=folder)
        self._parts.append(part)
        return part

    def _old_data(self, keep: set[Path]) -> list[Path]:
        """Data of the model that is replaced: files named after it, which nothing else names."""
        stems = {_stem(self.target.name, len(f".{'0' * 16}.{end}")) for end in ("data", "weights")}
        stem_choices = "|".join(map(re.escape, stems))
        pattern = re.compile(rf"({stem_choices})\.[0-9a-f]{{16}}\.(data|weights)")
        stem = self.target.name.removesuffix(".onnx")
        fixed = {f"{self.target.name}.data", f"{stem}.onnx.data", f"{stem}.weights"}
        names = [entry.name for entry in os.scandir(self._folder)]
        old_files = [n for n in names if pattern.fullmatch(n) and n not in self._placed]
        if fixed.intersection(names):
            old_files += fixed.intersection(_locations(self.target)).intersection(names)
        paths = [self._folder / name for name in old_files]
        return [p for p in paths if not any(k == p or p in k.parents for k in keep)]

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """Errors name the file that was asked for, not a temporary one."""
        try:
            yield
        except OSError as error:
            if error.filename in (str(self.path), str(self.path.parent)):
                raise
            words = error.strerror or str(error)
            raise type(error)(error.errno or errno.EIO, words, str(self.path)) from error


def _written(write: Callable[[BinaryIO], object]) -> bytes:
    """What a function writes, for files that cannot go back."""
    held = io.BytesIO()
    write(held)
    return held.getvalue()


class _Part:
    """A temporary file or folder, locked while its process lives."""

    def __init__(self, path: Path, *, folder: bool) -> None:
        self.path = path
        self.file: BinaryIO | None = None
        self._lock = -1
        if folder:
            path.mkdir()
            if os.name != "nt":
                self._lock = os.open(path, os.O_RDONLY)
        else:
            self.file = path.open("x+b")
            self._lock = self.file.fileno()
        _try_lock(self._lock)
        self._done = False

    def flush(self) -> None:
        """Let the bytes reach the disk before a name does."""
        for file in [self.file] if self.file is not None else []:
            file.flush()
            os.fsync(file.fileno())
        if self.file is None:
            for entry in sorted(self.path.iterdir()):
                with entry.open("rb") as inner:
                    os.fsync(inner.fileno())

    def digest(self) -> str:
        """Sixteen letters that represent the content."""
        self.flush()
        digest = hashlib.blake2b(digest_size=8)
        for path in [self.path] if self.file is not None else sorted(self.path.iterdir()):
            if self.file is None:
                digest.update(f"{path.name}\0{path.stat().st_size}\0".encode())
            with path.open("rb") as file:
                while piece := file.read(_PIECE):
                    digest.update(piece)
        return digest.hexdigest()

    def place(self, final: Path, *, replace: bool = False) -> None:
        """Rename it; what has the same name made from content is the same already."""
        if not replace and final.exists():
            return
        if os.name == "nt":
            self.close()
        self.path.replace(final)
        self._done = True

    def close(self) -> None:
        """Close the file, which ends the lock."""
        if self.file is not None:
            self.file.close()
        elif self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def discard(self) -> None:
        """Remove it where it was not put in place."""
        with contextlib.suppress(OSError):  # what was not written yet does not fit either
            self.close()
        if not self._done:
            _remove(self.path)


def _stem(name: str, ending: int) -> str:
    """The start of a data file's name: the model's, cut with a mark of its own where too long."""
    raw = name.encode("utf-8", "surrogateescape")
    if len(raw) + ending <= _NAME:
        return name
    mark = "~" + hashlib.blake2b(raw, digest_size=4).hexdigest()
    return raw[: _NAME - ending - len(mark)].decode("utf-8", "ignore") + mark


def _locations(path: Path) -> set[str]:
    """The first folder or file of each location in an old model; empty if it is not a model."""
    from onnx import ModelProto, TensorProto

    locations: set[str] = set()
    try:
        if path.stat().st_size > 1 << 30:
            return locations
        model = ModelProto.FromString(path.read_bytes())
        outside = [t for t in model.graph.initializer if t.data_location == TensorProto.EXTERNAL]
        entries = [e for tensor in outside for e in tensor.external_data]
        locations.update(e.value.split("/")[0] for e in entries if e.key == "location")
    except Exception:  # noqa: BLE001 - whatever was there before is replaced
        return set()
    return locations


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One save at a time in a folder, among the threads and processes of this machine."""
    if fcntl is None:
        with _threads:
            yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _try_lock(handle: int) -> bool:
    """Lock a file; False where a living process has it."""
    if fcntl is None or handle < 0:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_leftovers(folder: Path) -> None:
    """Remove temporary files of processes that have ended: their locks are free."""
    for entry in list(os.scandir(folder)):
        if not _TEMPORARY.fullmatch(entry.name) or entry.is_symlink():
            continue
        with contextlib.suppress(OSError):
            if fcntl is None:
                if time.time() - entry.stat().st_mtime > _OLD:
                    _remove(Path(entry.path))
                continue
            handle = os.open(entry.path, os.O_RDONLY | os.O_NONBLOCK)
            try:
                if _try_lock(handle):
                    _remove(Path(entry.path))
            finally:
                os.close(handle)


def _sync_folder(folder: Path) -> None:
    """Let the renames reach the disk; not every system can."""
    if os.name == "nt":
        return
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def data_of(tensors: Iterable[Any]) -> Iterator[Path]:
    """The files that tensors of `onnx_ir` read their data from.

    Args:
        tensors: the tensors; those in memory have none.
    """
    for tensor in tensors:
        path = getattr(tensor, "path", None)
        if path is not None and hasattr(tensor, "location"):
            yield Path(path)
