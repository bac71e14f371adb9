"""A folder that is written as a whole: a failure leaves it as it was."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# What tokenizers, processors and a generation configuration are in a folder of transformers.
_COPIED = (
    "generation_config.json",
    "tokenizer*",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template*",
    "preprocessor_config.json",
    "processor_config.json",
    "normalizer.json",
    "vocab*",
    "*.spm",
    "merges.txt",
    "*.model",
    "*.tiktoken",
)


@contextmanager
def written_whole(folder: Path) -> Iterator[Path]:
    """A folder for new files, which replace those of the same names at the end.

    Yields:
        An empty folder beside it. Where the block raises, it is removed and `folder` stays as it
        was; where a file cannot be moved, those that were moved are put back.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        files = new / "new"
        files.mkdir()
        yield files
        _move(files, folder, new / "old")
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _move(files: Path, folder: Path, old: Path) -> None:
    if not folder.exists():
        files.replace(folder)
        return
    old.mkdir()
    moved: list[str] = []
    try:
        for file in sorted(files.iterdir()):
            there = folder / file.name
            if there.exists():
                there.replace(old / file.name)
            moved.append(file.name)
            file.replace(there)
    except OSError:
        for name in moved:
            (folder / name).unlink(missing_ok=True)
            if (old / name).exists():
                (old / name).replace(folder / name)
        raise


def copy_files(source: Path, folder: Path) -> None:
    """Copy the files of a tokenizer and a generation configuration.

    Raises:
        OSError: a file cannot be read or written.
    """
    for pattern in _COPIED:
        for file in sorted(source.glob(pattern)):
            if file.is_file():
                shutil.copyfile(file, folder / file.name)
