"""Saving: at every moment there is a whole model under the name, the old one or the new one."""

from __future__ import annotations

import errno
import os
import signal
import stat
import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper, parser

from onnxwright.errors import ScriptValueError
from onnxwright.ir.writing import Save, write_file

TEXT = '<ir_version: 10, opset_import: ["" : 18]> g (float[N] x) => (float[N] y) { y = Mul(x, w) }'
WAYS = ("inside", "file", "folder")


def save(path: Path, value: float, way: str) -> None:
    """Save a model that multiplies by a weight of 300 equal numbers."""
    model = parser.parse_model(TEXT)
    array = np.full(300, value, np.float32)
    tensor = model.graph.initializer.add()
    tensor.CopyFrom(numpy_helper.from_array(array, "w"))
    with Save(path) as files:
        if way != "inside":
            if way == "file":
                file = files.data_file()
                file.write(array.tobytes())
                location = files.location(file)
            else:
                folder = files.data_folder()
                (folder / "w.bin").write_bytes(array.tobytes())
                location = f"{files.location(folder)}/w.bin"
            tensor.ClearField("raw_data")
            tensor.data_location = onnx.TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value=location)
        files.commit(model.SerializeToString())


def value_of(path: Path) -> float:
    """The weight of a saved model, as ONNX Runtime sees it; all numbers are the same."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (result,) = session.run(None, {"x": np.ones(300, np.float32)})
    assert len(set(result.tolist())) == 1
    return float(result[0])


KILLED = """
import os, signal, sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from tests.ir.test_writing import save
count = 0
def counted(name):
    real = getattr(os, name)
    def call(*args, **options):
        global count
        count += 1
        if count == {step}:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **options)
    setattr(os, name, call)
for name in ("replace", "fsync", "open", "unlink", "scandir", "rmdir", "mkdir"):
    counted(name)
save(Path({path!r}), 2.0, {way!r})
print(count)
"""


@pytest.mark.share(2)
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("old", WAYS)
def test_a_killed_save_leaves_a_whole_model(run_loaded, way: str, old: str, tmp_path) -> None:
    """Every step of a save is the last one of some process (one in three, for time)."""
    root = str(Path(__file__).parents[2])
    path = tmp_path / "m.onnx"
    seen = set()
    step = 1 + (WAYS.index(way) + WAYS.index(old)) % 3
    while True:
        save(path, 1.0, old)
        program = KILLED.format(tests=root, step=step, path=str(path), way=way)
        done = run_loaded("-c", program)
        seen.add(value_of(path))
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
        step += 3
    assert seen <= {1.0, 2.0}
    save(path, 3.0, way)
    assert value_of(path) == 3.0
    assert len(list(tmp_path.iterdir())) == 1 + (way != "inside"), "nothing is left behind"


def test_threads_save_to_one_path(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    failed: list[BaseException] = []

    def work(n: int) -> None:
        try:
            for way in WAYS:
                save(path, float(n), way)
        except BaseException as error:  # noqa: BLE001 - reported below
            failed.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert value_of(path) in range(12)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("letter", ["a", "é"])
def test_names_of_the_greatest_length(way: str, letter: str, tmp_path: Path) -> None:
    name = letter * (250 // len(letter.encode())) + ".onnx"
    for n, path in enumerate((tmp_path / name, tmp_path / f"b{name[1:]}")):
        save(path, float(n), way)
    assert [value_of(tmp_path / name), value_of(tmp_path / f"b{name[1:]}")] == [0, 1]


@pytest.mark.parametrize("way", WAYS)
def test_a_link_stays_a_link(way: str, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link, real = tmp_path / "link.onnx", tmp_path / "real" / "m.onnx"
    save(real, 1.0, way)
    real.chmod(0o600)
    link.symlink_to(real)
    save(link, 2.0, way)
    assert link.is_symlink()
    assert value_of(real) == 2.0
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    import onnxwright as ow

    assert ow.run_model(link, [np.ones(300, np.float32)])[0][0] == 2.0


def test_data_of_others_stays(tmp_path: Path) -> None:
    """Only data of the model that is replaced is removed."""
    for name in ("a.onnx", "b.onnx", "a.onnx.onnx"):
        save(tmp_path / name, 1.0, "file")
    (tmp_path / "a.onnx.notes.data").write_text("mine")
    (tmp_path / "a.onnx.data").write_text("mine")
    save(tmp_path / "a.onnx", 2.0, "inside")
    assert value_of(tmp_path / "b.onnx") == value_of(tmp_path / "a.onnx.onnx") == 1.0
    assert (tmp_path / "a.onnx.notes.data").read_text() == "mine"
    assert (tmp_path / "a.onnx.data").read_text() == "mine"
    assert len(list(tmp_path.glob("a.onnx.*.data"))) == 2


def test_data_with_a_fixed_name_is_removed_where_the_old_model_names_it(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    model = parser.parse_model(TEXT)
    model.graph.initializer.append(numpy_helper.from_array(np.ones(300, np.float32), "w"))
    onnx.save(model, path, save_as_external_data=True, location="m.onnx.data", size_threshold=0)
    save(path, 2.0, "file")
    assert not (tmp_path / "m.onnx.data").exists()
    assert value_of(path) == 2.0


def test_errors_name_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.onnx"

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        write_file(path, "text")
    monkeypatch.undo()
    assert caught.value.filename == str(path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(IsADirectoryError) as refused:
        write_file(tmp_path, "text")
    assert refused.value.filename == str(tmp_path)


def test_a_device_is_written_to(tmp_path: Path) -> None:
    write_file("/dev/null", "text")
    assert not Path("/dev/null").is_file()


def test_names_that_no_model_or_file_can_have(tmp_path: Path) -> None:
    with Save(tmp_path / "a\udc80.onnx") as save:
        data = save.data_file()
        with pytest.raises(ScriptValueError, match="OW627"):
            save.location(data)
    with pytest.raises(ValueError, match=r"a\\x00b"):
        Save(tmp_path / "a\0b")
    (tmp_path / "link.onnx").symlink_to(tmp_path / "missing" / "m.onnx")
    with pytest.raises(FileNotFoundError, match="link.onnx"), Save(tmp_path / "link.onnx"):
        pass


def test_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.onnx").symlink_to("b.onnx")
    (tmp_path / "b.onnx").symlink_to("a.onnx")
    with pytest.raises(OSError, match=r"a\.onnx") as caught:
        write_file(tmp_path / "a.onnx", b"new")
    assert caught.value.errno == errno.ELOOP
    assert (tmp_path / "a.onnx").is_symlink()


def too_large(path: Path, size: int) -> None:
    with Save(path) as files:
        files.data_file().write(b"2" * size)
        files.commit(b"3" * 300)


@pytest.mark.skipif(os.name == "nt", reason="no limits of files on this system")
@pytest.mark.parametrize("size", [300, 100_000])
def test_a_full_disk_leaves_the_old_model_and_names_the_path(size: int, tmp_path: Path) -> None:
    import resource

    path = tmp_path / "m.onnx"
    save(path, 1.0, "file")
    before = sorted(p.name for p in tmp_path.iterdir())
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, limits[1]))
    try:
        with pytest.raises(OSError, match=r"m\.onnx"):
            too_large(path, size)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert sorted(p.name for p in tmp_path.iterdir()) == before
    assert value_of(path) == 1.0
