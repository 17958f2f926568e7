"""Files of unfinished runs: whose they are, who may read them, and that none of them makes a wrong result."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import spanfft
from conftest import assert_transform, cli_environment

MEMORY = 1 << 20
SHAPE = (96, 70, 50)
HEADER_BYTES = 4096


@pytest.fixture
def source(rng, tmp_path):
    x = rng.standard_normal(SHAPE) + 1j * rng.standard_normal(SHAPE)
    np.save(tmp_path / "in.npy", x)
    return x


def stop_after(share: float):
    return lambda done, total: done < share * total


def leave_unfinished(folder: Path, share: float = 0.8, **options: object) -> None:
    with pytest.raises(spanfft.Interrupted, match="goes on from there"):
        spanfft.transform(folder / "in.npy", folder / "out.npy", memory=MEMORY, progress=stop_after(share), **options)


def leave_half_overwritten(folder: Path) -> bytes:
    with pytest.raises(spanfft.Interrupted, match="is half overwritten"):
        spanfft.transform(folder / "in.npy", in_place=True, memory=MEMORY, progress=stop_after(0.9))
    return (folder / "in.npy").read_bytes()


def hidden(folder: Path) -> list[Path]:
    return [each for each in folder.iterdir() if each.name.startswith(".")]


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# --- inputs that change ----------------------------------------------------------------------------------------------


def change_unseen(path: Path) -> None:
    """A few numbers between two samples of the identity, with size, inode and time of modification as they were."""
    before = path.stat()
    data_bytes = before.st_size - 128
    with path.open("r+b") as file:
        file.seek(128 + data_bytes // 63 // 2 + 6000)
        file.write(np.full(4, 3.0).tobytes())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (before.st_size, before.st_mtime_ns, before.st_ino) == (after.st_size, after.st_mtime_ns, after.st_ino)


def test_an_input_changed_between_two_runs_is_noticed_though_its_time_was_set_back(source, tmp_path):
    leave_unfinished(tmp_path)
    change_unseen(tmp_path / "in.npy")
    with pytest.raises(spanfft.CorruptData, match=r"in\.npy has changed since.*restart"):
        spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory=MEMORY)
    assert not (tmp_path / "out.npy").exists()


def looks_changed(path: Path, how: str) -> None:
    """Another inode or other times, and the same bytes."""
    if how == "chmod":
        path.chmod(0o640)
    elif how == "touch":
        path.touch()
    elif how == "link":
        path.with_name("another name").hardlink_to(path)
        path.with_name("another name").unlink()
    else:
        shutil.copy2(path, path.with_name("backup"))
        path.unlink()
        path.with_name("backup").rename(path)


@pytest.mark.parametrize("how", ["chmod", "touch", "link", "copy put back"])
def test_an_input_that_only_looks_changed_is_read_again_and_the_run_goes_on(source, tmp_path, how):
    leave_unfinished(tmp_path)
    looks_changed(tmp_path / "in.npy", how)
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory=MEMORY)
    assert result.resumed_bytes > 0
    assert "was read again, and is the same" in str(result.report)
    assert_transform(np.load(tmp_path / "out.npy"), source)


def test_without_checksums_an_input_that_looks_changed_is_refused_and_what_was_done_is_kept(source, tmp_path):
    leave_unfinished(tmp_path, checksums=False)
    kept = sorted(hidden(tmp_path))
    looks_changed(tmp_path / "in.npy", "touch")
    with pytest.raises(spanfft.CorruptData, match=r"in\.npy has changed since.*restart"):
        spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory=MEMORY, checksums=False)
    assert sorted(hidden(tmp_path)) == kept


@pytest.mark.parametrize(
    ("shape", "kind", "method"),
    [
        (SHAPE, "c2c", "axis_sweeps"),
        ((1 << 19,), "c2c", "two_sweeps"),
        ((1 << 20,), "r2c", "two_sweeps"),
        ((1 << 20,), "c2r", "two_sweeps"),
        ((1 << 19,), "c2c", "many_sweeps"),
        ((1 << 20,), "c2r", "many_sweeps"),
        ((1 << 19,), "c2c", "superlevels"),
        ((1 << 19,), "dct2", "two_sweeps"),
    ],
    ids=str,
)
def test_of_a_changed_input_what_was_read_is_noticed_and_the_rest_is_read_as_it_is_now(
    rng, tmp_path, shape, kind, method
):
    """64 samples of some megabytes leave most of it to the sum. A change is either refused, or in what is yet to be
    read: then the output is that of the file as it is."""
    source, target = tmp_path / "in.npy", tmp_path / "out.npy"
    if kind == "c2r":
        np.save(source, np.fft.rfft(rng.standard_normal(shape)))
    elif kind == "c2c":
        np.save(source, rng.standard_normal(shape) + 1j * rng.standard_normal(shape))
    else:
        np.save(source, rng.standard_normal(shape))
    options = {"kind": kind, "memory": MEMORY, "method": method}
    data_bytes = source.stat().st_size - 128
    sample = data_bytes // 63
    refused = went_on = 0
    share = 0.04 if method == "superlevels" else 0.2  # within the first of its sweeps
    for place in range(3, 60, 7):
        with pytest.raises(spanfft.Interrupted, match="goes on from there"):
            spanfft.transform(source, target, progress=stop_after(share), **options)
        with source.open("r+b") as file:
            # Beyond the sample's 4 KiB, in columns all over the rows, however long these are.
            file.seek(128 + (place * sample + 4096 + int(rng.integers(sample - 8192))) // 16 * 16)
            file.write(np.full(4, 3.0 + place).tobytes())
        try:
            result = spanfft.transform(source, target, **options)
        except spanfft.CorruptData as error:
            assert "has changed since" in str(error)  # noqa: PT017
            refused += 1
            result = spanfft.transform(source, target, resume=False, **options)
            assert result.resumed_bytes == 0
        else:
            assert result.resumed_bytes > 0
            went_on += 1
        anew = tmp_path / "anew.npy"
        spanfft.transform(source, anew, **options)
        assert target.read_bytes() == anew.read_bytes()
        target.unlink()
    assert refused > 0
    assert went_on > 0


@pytest.mark.parametrize("journal", [True, False])
def test_an_input_that_changes_while_it_is_read_gives_no_output(source, tmp_path, journal):
    touched = []

    def change(done: int, total: int) -> bool:
        if not touched and done > 0.3 * total:
            touched.append(done)
            with (tmp_path / "in.npy").open("r+b") as file:
                file.seek(5000)
                file.write(bytes(8))
        return True

    with pytest.raises(spanfft.CorruptData, match=r"in\.npy has changed while it was read"):
        spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory=MEMORY, progress=change, journal=journal)
    assert os.listdir(tmp_path) == ["in.npy"]


# --- half overwritten ------------------------------------------------------------------------------------------------


def refused_everywhere(array: Path, content: bytes) -> None:
    """Read, transformed in place or begun anew: a sentence, and not a byte of the file changes."""
    out = array.parent / "elsewhere.npy"
    for options in (
        {"output": out},
        {"output": out, "journal": False},
        {"in_place": True},
        {"in_place": True, "resume": True},
        {"in_place": True, "resume": False},
    ):
        with pytest.raises((spanfft.CorruptData, spanfft.InvalidArgument)) as told:
            spanfft.transform(array, memory=MEMORY, **options)
        if options.get("resume") is not True:
            assert "half overwritten" in str(told.value)
        assert "restart throws" not in str(told.value)
        assert "restart begins anew" not in str(told.value)
        assert array.read_bytes() == content
        assert not out.exists()


def goes_on(folder: Path, source: np.ndarray) -> None:
    spanfft.transform(folder / "in.npy", in_place=True, memory=MEMORY)
    assert_transform(np.load(folder / "in.npy"), source)
    assert not hidden(folder)


def test_a_half_overwritten_array_is_refused_by_a_hard_link(source, tmp_path):
    content = leave_half_overwritten(tmp_path)
    (tmp_path / "other").mkdir()
    for link in (tmp_path / "link.npy", tmp_path / "other" / "link.npy"):
        os.link(tmp_path / "in.npy", link)
        refused_everywhere(link, content)
        link.unlink()
    (tmp_path / "other").rmdir()
    goes_on(tmp_path, source)
    assert not os.listxattr(tmp_path / "in.npy")


def test_a_half_overwritten_array_is_refused_under_a_new_name(source, tmp_path):
    content = leave_half_overwritten(tmp_path)
    os.rename(tmp_path / "in.npy", tmp_path / "renamed.npy")
    refused_everywhere(tmp_path / "renamed.npy", content)
    os.rename(tmp_path / "renamed.npy", tmp_path / "in.npy")
    goes_on(tmp_path, source)


@pytest.mark.parametrize("attributes", [True, False])
def test_a_copy_of_a_half_overwritten_arrays_folder_is_refused(source, tmp_path, attributes):
    work = tmp_path / "work"
    work.mkdir()
    shutil.move(tmp_path / "in.npy", work / "in.npy")
    content = leave_half_overwritten(work)
    copy = shutil.copytree(work, tmp_path / "copy", copy_function=shutil.copy2 if attributes else shutil.copyfile)
    refused_everywhere(copy / "in.npy", content)
    moved = tmp_path / "moved"
    work.rename(moved)
    refused_everywhere(moved / "in.npy", content)
    moved.rename(work)
    goes_on(work, source)


def test_without_attributes_a_hard_link_is_known_by_the_journal_beside_it(source, tmp_path):
    content = leave_half_overwritten(tmp_path)
    for name in os.listxattr(tmp_path / "in.npy"):
        os.removexattr(tmp_path / "in.npy", name)
    os.link(tmp_path / "in.npy", tmp_path / "link.npy")
    refused_everywhere(tmp_path / "link.npy", content)


def test_a_whole_array_beside_the_journal_of_a_half_overwritten_one_is_read(source, tmp_path):
    whole = (tmp_path / "in.npy").read_bytes()
    leave_half_overwritten(tmp_path)
    (tmp_path / "in.npy").unlink()
    (tmp_path / "in.npy").write_bytes(whole)
    spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory=MEMORY)
    assert_transform(np.load(tmp_path / "out.npy"), source)


# --- whose files they are --------------------------------------------------------------------------------------------


def spanfft_cli(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """With a limit: what hangs is killed."""
    return subprocess.run([sys.executable, "-m", "spanfft", *map(str, words)], cwd=cwd, capture_output=True, text=True,
                          env=cli_environment(), timeout=60)  # fmt: skip


def journal_name(tmp_path: Path) -> Path:
    leave_unfinished(tmp_path)
    (found,) = tmp_path.glob(".*spanfft-journal")
    return found


@pytest.mark.skipif(os.geteuid() != 0, reason="needs the right to give files away")
def test_another_users_journal_is_refused(source, tmp_path):
    journal = journal_name(tmp_path)
    before = sorted(os.listdir(tmp_path))
    os.chown(journal, 12345, -1)
    for resume in (None, True, False):
        with pytest.raises(spanfft.IOFailure, match=r"belongs to another user \(number 12345\).*scratch folder"):
            spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory=MEMORY, resume=resume)
    assert sorted(os.listdir(tmp_path)) == before
    os.chown(journal, 0, -1)
    assert spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory=MEMORY).resumed_bytes > 0


@pytest.mark.parametrize("kind", ["fifo", "link", "folder", "hard link"])
def test_what_is_no_file_of_ones_own_in_the_journals_place_is_refused_at_once(kind, source, tmp_path):
    journal = journal_name(tmp_path)
    journal.unlink()
    victim = tmp_path / "victim"
    victim.write_text("precious")
    if kind == "fifo":
        os.mkfifo(journal)
    elif kind == "link":
        journal.symlink_to(victim)
    elif kind == "folder":
        journal.mkdir()
    else:
        os.link(victim, journal)
    done = spanfft_cli("transform", "in.npy", "out.npy", "--memory", MEMORY, cwd=tmp_path)
    assert done.returncode != 0
    assert journal.name in done.stderr
    assert "take" in done.stderr, done.stderr
    assert victim.read_text() == "precious"
    assert not (tmp_path / "out.npy").exists()


@pytest.mark.parametrize("words", [[], ["--dtype", "complex64"], ["--in-place"]])
@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_an_input_that_is_no_file_is_refused_at_once(kind, words, tmp_path):
    name = "in.npy" if kind == "fifo" else "/dev/zero"
    if kind == "fifo":
        os.mkfifo(tmp_path / "in.npy")
    output = [] if "--in-place" in words else ["out.npy"]
    done = spanfft_cli("transform", name, *output, *words, cwd=tmp_path)
    assert done.returncode != 0
    assert "regular file" in done.stderr, done.stderr


@pytest.mark.parametrize("kind", ["fifo", "folder"])
def test_an_output_that_is_no_file_is_refused_at_once(kind, source, tmp_path):
    if kind == "fifo":
        os.mkfifo(tmp_path / "out.npy")
    else:
        (tmp_path / "out.npy").mkdir()
    done = spanfft_cli("transform", "in.npy", "out.npy", "--memory", MEMORY, cwd=tmp_path)
    assert done.returncode != 0
    assert "out.npy" in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "out.npy"]


# --- who may read them -----------------------------------------------------------------------------------------------


def test_what_is_kept_is_its_users_alone_and_the_output_like_the_input(source, tmp_path):
    os.umask(0o022)
    (tmp_path / "in.npy").chmod(0o640)
    leave_unfinished(tmp_path)
    assert len(hidden(tmp_path)) >= 2
    assert {mode_of(each) for each in hidden(tmp_path)} == {0o600}
    spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory=MEMORY)
    assert mode_of(tmp_path / "out.npy") == 0o640


@pytest.mark.parametrize("journal", [True, False])
@pytest.mark.parametrize(
    ("of_input", "umask", "of_existing", "expected"),
    [(0o600, 0o022, None, 0o600), (0o644, 0o022, None, 0o644), (0o644, 0o077, None, 0o600),
     (0o604, 0o002, None, 0o604), (0o644, 0o022, 0o640, 0o640), (0o600, 0o022, 0o664, 0o664)],
)  # fmt: skip
def test_an_output_is_no_more_readable_than_what_it_replaces_or_is_made_of(
    source, tmp_path, of_input, umask, of_existing, expected, journal
):
    (tmp_path / "in.npy").chmod(of_input)
    if of_existing is not None:
        (tmp_path / "out.npy").write_bytes(b"old")
        (tmp_path / "out.npy").chmod(of_existing)
    before = os.umask(umask)
    try:
        spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", memory=MEMORY, journal=journal)
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "out.npy") == expected


@pytest.mark.parametrize("name", ["out.h5", "out.zarr"])
def test_chunked_outputs_are_no_more_readable_either(source, tmp_path, name):
    pytest.importorskip("h5py" if name == "out.h5" else "zarr")
    (tmp_path / "in.npy").chmod(0o600)
    before = os.umask(0o022)
    try:
        spanfft.transform(tmp_path / "in.npy", tmp_path / name, memory=4 * MEMORY, chunks=(96, 10, 50))
    finally:
        os.umask(before)
    assert mode_of(tmp_path / name) == (0o600 if name == "out.h5" else 0o700)


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("name", ["out.npy", "out.h5", "out.zarr"])
def test_a_link_as_output_stays_and_its_target_is_replaced(source, tmp_path, name, there):
    chunks = {} if name == "out.npy" else {"chunks": (96, 10, 50), "memory": 4 * MEMORY}
    if name != "out.npy":
        pytest.importorskip("h5py" if name == "out.h5" else "zarr")
    (tmp_path / "far").mkdir()
    target = tmp_path / "far" / name
    if there and name == "out.npy":
        target.write_bytes(b"old")
    elif there:
        spanfft.transform(tmp_path / "in.npy", target, **chunks)
    (tmp_path / name).symlink_to(os.path.join("far", name))
    spanfft.transform(tmp_path / "in.npy", tmp_path / name, **({"memory": MEMORY} | chunks))
    assert os.readlink(tmp_path / name) == os.path.join("far", name)
    assert os.listdir(tmp_path / "far") == [name]
    assert sorted(os.listdir(tmp_path)) == sorted(["far", "in.npy", name])
    if name == "out.npy":
        assert_transform(np.load(target), source)


def test_a_run_into_a_link_goes_on(source, tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "out.npy").symlink_to(tmp_path / "far" / "out.npy")
    leave_unfinished(tmp_path)
    result = spanfft.transform(tmp_path / "in.npy", tmp_path / "out.npy", resume=True)
    assert result.resumed_bytes > 0
    assert result.memory_bytes == MEMORY
    assert_transform(np.load(tmp_path / "far" / "out.npy"), source)
    assert os.listdir(tmp_path / "far") == ["out.npy"]


def test_an_output_folder_that_was_deleted_is_said_to_be_gone(source, tmp_path):
    folder = tmp_path / "target"
    folder.mkdir()
    (tmp_path / "scratch").mkdir()

    def delete(done: int, total: int) -> bool:
        if done > 0.8 * total:
            shutil.rmtree(folder, ignore_errors=True)
        return True

    with pytest.raises(spanfft.IOFailure, match=r"is gone from its place") as told:
        spanfft.transform(tmp_path / "in.npy", folder / "out.npy", memory=MEMORY, scratch=tmp_path / "scratch",
                          progress=delete)  # fmt: skip
    assert "are kept" not in str(told.value)
    folder.mkdir()
    result = spanfft.transform(tmp_path / "in.npy", folder / "out.npy", memory=MEMORY, scratch=tmp_path / "scratch",
                               resume=False)  # fmt: skip
    assert result.resumed_bytes == 0
    assert os.listdir(tmp_path / "scratch") == []


def test_what_a_stopped_run_left_in_a_folder_that_was_moved_is_said(source, tmp_path):
    work, moved = tmp_path / "work", tmp_path / "moved"
    work.mkdir()
    shutil.move(tmp_path / "in.npy", work / "in.npy")
    leave_unfinished(work)
    work.rename(moved)
    result = spanfft.transform(moved / "in.npy", moved / "out.npy", memory=MEMORY)
    (note,) = [each for each in result.report["notes"] if each.startswith("left behind: ")]
    assert str(work) in note
    assert "MiB" in note
    assert "move them back" in note
    done = spanfft_cli("transform", "in.npy", "out.npy", "--memory", MEMORY, cwd=moved)
    assert done.returncode == 0
    assert "left behind: " in done.stderr
