"""Recognize files that are not models by how they begin, so that messages can say what they are."""

from __future__ import annotations

import re

_COMPRESSED = "it is compressed with {}: decompress it first"
_WEIGHTS = "it holds weights, not a model: {}"

# (offset, the bytes there, what the file is and what to do)
_SIGNATURES: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x1f\x8b", _COMPRESSED.format("gzip")),
    (0, b"BZh", _COMPRESSED.format("bzip2")),
    (0, b"\xfd7zXZ\x00", _COMPRESSED.format("xz")),
    (0, b"\x28\xb5\x2f\xfd", _COMPRESSED.format("zstd")),
    (0, b"PK\x03\x04", "it is a zip archive, as torch.save and numpy.savez write it, not a model"),
    (0, b"\x93NUMPY", _WEIGHTS.format("it is an array of numpy")),
    (0, b"\x89HDF", _WEIGHTS.format("it is an HDF5 file")),
    (0, b"GGUF", _WEIGHTS.format("it is a GGUF file")),
    (4, b"TFL3", "it is a model of TensorFlow Lite"),
    (4, b"ORTM", "it is in ONNX Runtime's own format (.ort): give the ONNX model it was made from"),
    (
        0,
        b"version https://git-lfs.github.com/",
        "it is a pointer of Git LFS: `git lfs pull` fetches the file itself",
    ),
)

_TEXTS: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (
        re.compile(rb"\s*<(!doctype|html|\?xml|head)", re.IGNORECASE),
        "it is a web page: download the file that the page offers",
    ),
    (
        re.compile(rb"\s*<\s*(ir_version|opset_import)\b"),
        "it is a model as text: let the name of its file end in .onnxtxt",
    ),
    (
        re.compile(rb"\s*(#.*\n\s*)*ir_version\s*:"),
        "it is a model as text: let the name of its file end in .textproto",
    ),
    (
        re.compile(rb"\s*\{\s*\"(irVersion|graph|opsetImport|producerName)\""),
        "it is a model as text: let the name of its file end in .json",
    ),
)


def recognized(data: bytes) -> str | None:
    """What bytes are that protobuf cannot read as a model, and what to do.

    Returns:
        A clause for a message; None if they begin like nothing that is known.

    Example:
        >>> recognized(b"<!DOCTYPE html>")
        'it is a web page: download the file that the page offers'
    """
    for offset, start, words in _SIGNATURES:
        if data.startswith(start, offset):
            return words
    if data[8:10] == b'{"' and int.from_bytes(data[:8], "little") <= len(data):
        return _WEIGHTS.format("it is a safetensors file")
    return next((words for pattern, words in _TEXTS if pattern.match(data[:2000])), None)


_WAYS: dict[tuple[str, str], str] = {
    ("torch", "Module"): "`onnxwright.export(module, example_inputs)` makes a model of it",
    ("torch", "ExportedProgram"): "`onnxwright.export(program)` makes a model of it",
    ("onnxruntime", "InferenceSession"): "give the model that the session was made from",
}


def how_to_get_a_model(source: object) -> str | None:
    """What to do with an object of another library; None where there is nothing to say."""
    names = ((k.__module__.partition(".")[0], k.__name__) for k in type(source).__mro__)
    return next((_WAYS[name] for name in names if name in _WAYS), None)
