"""What a file of Python belongs to: PyTorch, Python, this package, another distribution, the user.

Paths are compared part by part, as they are written and as they are without symbolic links.  What
is installed is known by the folders that Python installs into, and by the metadata of distributions
beside a file.  Only words of messages and the line that they name may depend on it.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import os
import site
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

_HERE = Path(__file__).parent.parent
_METADATA = (".dist-info", ".egg-info")
# Folders of packages of another Python, or of an archive, have one of these names.
_NAMED_SO = ("site-packages", "dist-packages")
# Files of cells and of the console have no path, and are the user's.
_TYPED = ("<stdin>", "<ipython", "<doctest", "<console>")


class Owner(enum.Enum):
    """What a file belongs to; `INSTALLED` is any other distribution, `GENERATED` has no file."""

    TORCH = 1
    ONNXWRIGHT = 2
    PYTHON = 3
    INSTALLED = 4
    GENERATED = 5
    USER = 6


@functools.lru_cache(maxsize=1 << 14)
def owner_of(file: str) -> Owner:
    """What a file belongs to.

    Args:
        file: the `co_filename` of a code object, or a path.

    Returns:
        Its owner.  `<stdin>` and cells of notebooks are the user's; other names in angle brackets
        have none.

    Example:
        >>> owner_of(os.__file__), owner_of("model.py"), owner_of("<string>")
        (<Owner.PYTHON: 3>, <Owner.USER: 6>, <Owner.GENERATED: 5>)
    """
    if not file or file.startswith("<"):
        return Owner.USER if file.startswith(_TYPED) else Owner.GENERATED
    if path_in_torch(file) is not None:
        return Owner.TORCH
    if _inside(Path(file), _HERE) is not None:
        return Owner.ONNXWRIGHT
    if _is_installed(file):
        return Owner.INSTALLED
    if any(_inside(Path(file), folder) is not None for folder in _standard_library()):
        return Owner.PYTHON
    return Owner.USER


def path_in_project(file: str) -> str:
    """The path of a file as it may be written into a model: without the folders of the machine.

    Args:
        file: the `co_filename` of a code object.

    Returns:
        The path below the innermost folder that Python imports from, or below the current one,
        with slashes: `torch/nn/modules/linear.py`.  The name alone where the file is in none of
        them; names in angle brackets stay.

    Example:
        >>> path_in_project("/somewhere/else/model.py"), path_in_project("<stdin>")
        ('model.py', '<stdin>')
    """
    path = Path(file)
    if not path.is_absolute():
        return file
    parts = [
        path.relative_to(folder)
        for folder in {Path.cwd(), *map(Path, sys.path)}
        if folder.is_absolute() and folder != folder.parent and path.is_relative_to(folder)
    ]
    inside = [part for part in parts if ".." not in part.parts]
    return min(inside, key=lambda p: len(p.parts)).as_posix() if inside else path.name


@functools.lru_cache(maxsize=1 << 14)
def path_in_torch(file: str) -> str | None:
    """The path of a file of PyTorch below its package.

    Args:
        file: the `co_filename` of a code object; PyTorch writes some as `torch/nn/functional.py`.

    Returns:
        `nn/functional.py`, with slashes; None for other files.
    """
    package = getattr(sys.modules.get("torch"), "__file__", None)
    if package is None or not file or file.startswith("<"):
        return None
    folder, path = Path(package).parent, Path(file)
    inside = _inside(path, folder)
    if inside is None and not path.is_absolute() and not path.exists():
        beside = folder.parent / path
        inside = _inside(beside, folder) if beside.exists() else None
    return inside


def _inside(file: Path, folder: Path) -> str | None:
    """The path of a file below a folder; None if it lies elsewhere."""
    for form in (Path.absolute, Path.resolve):
        with contextlib.suppress(ValueError):
            return form(file).relative_to(form(folder)).as_posix()
    return None


@functools.cache
def _standard_library() -> tuple[Path, ...]:
    paths = sysconfig.get_paths()
    folders = (paths["stdlib"], paths["platstdlib"], str(Path(os.__file__).parent))
    return tuple(map(Path, dict.fromkeys(folders)))


@functools.cache
def _places_of_packages() -> frozenset[Path]:
    """The folders that this Python installs into."""
    paths = sysconfig.get_paths()
    folders = [paths["purelib"], paths["platlib"], *site.getsitepackages()]
    every = map(Path, (*folders, site.getusersitepackages()))
    return frozenset(form(p) for p in every for form in (Path.absolute, Path.resolve))


def _is_installed(file: str) -> bool:
    for path in dict.fromkeys((Path(file).absolute(), Path(file).resolve())):
        for part in (path, *path.parents):
            folder = part.parent
            if folder in _places_of_packages() or folder.name in _NAMED_SO:
                return True
            if part.name in _top_levels(folder):
                return True
    return False


@functools.lru_cache(maxsize=1 << 12)
def _top_levels(folder: Path) -> frozenset[str]:
    """The files and folders right in a folder that distributions have installed there."""
    try:
        installed = [p for p in folder.iterdir() if p.suffix in _METADATA]
    except OSError:
        return frozenset()
    return frozenset(top for metadata in installed for top in _installed_by(metadata))


def _installed_by(metadata: Path) -> Iterator[str]:
    """The first parts of the paths that a distribution has installed.

    Beside the sources of a package there may be an `.egg-info` that lists sources, not what is
    installed: it counts where it has a list of installed files, as those of system packages do.
    """
    for name, end in (("RECORD", ","), ("installed-files.txt", "\n")):
        with (
            contextlib.suppress(OSError),
            (metadata / name).open(encoding="utf-8", errors="replace") as lines,
        ):
            for line in lines:
                path = line.partition(end)[0].strip('" \n').removeprefix("../")
                yield path.partition("/")[0]
