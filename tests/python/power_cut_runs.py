"""What writes files from Python and from the command line, each with power cuts after every operation.

    LD_PRELOAD=build/.../tests/libpower_cut.so python tests/python/power_cut_runs.py NAME FOLDER

The recorder (tests/support/power_cut) keeps what the command does to the files in FOLDER; then FOLDER is brought into
states that a power cut may have left, as tests/fault/power_cuts.cpp has them, and in each the same command runs again,
all in this process. Prints counts as JSON; the first state that is wrong is an exception that tells of it.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import spanfft
import spanfft._file_runs
from spanfft import cli

sys.path.append(str(Path(__file__).resolve().parents[1]))
from soak import oracle

EVERYTHING, SAMPLED, NAMES_IN_ORDER = 1, 4, 6  # as recorded_disk.hpp counts fates
EVERY_STATE = os.environ.get("SPANFFT_POWER_CUTS") == "all"


class Cut(ctypes.Structure):
    _fields_ = (("operation", ctypes.c_int64), ("fate", ctypes.c_int), ("seed", ctypes.c_uint))


def library() -> ctypes.CDLL:
    loaded = ctypes.CDLL(os.environ["LD_PRELOAD"])
    loaded.power_cut_stop.restype = loaded.power_cut_choose.restype = ctypes.c_int64
    loaded.power_cut_state.restype = ctypes.c_uint64
    loaded.power_cut_state.argtypes = (ctypes.c_int, Cut, ctypes.c_int)
    loaded.power_cut_chosen.restype = Cut
    loaded.power_cut_describe.restype = loaded.power_cut_fate.restype = ctypes.c_char_p
    loaded.power_cut_chosen.argtypes = (ctypes.c_int64,)
    loaded.power_cut_describe.argtypes = (ctypes.c_int, ctypes.c_int64)
    return loaded


@dataclass(frozen=True)
class Run:
    """A command on files of a folder."""

    prepare: Callable[[Path], None]
    """Makes the input, and what has the output's name before."""
    command: Callable[[Path], Any]
    outputs: tuple[str, ...]
    right: Callable[[Path], bool]
    """Whether the outputs are what they should be, after a run that nothing disturbed."""
    journal: bool = False


def numbers(shape: tuple[int, ...], dtype: str = "complex128", seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)


def save(path: Path, x: np.ndarray, chunks: tuple[int, ...] | None = None) -> None:
    if path.suffix == ".npy":
        np.save(path, x)
    elif path.suffix == ".h5":
        import h5py

        with h5py.File(path, "w") as file:
            file.create_dataset("data", data=x, chunks=chunks)
    else:
        import zarr

        zarr.create_array(store=str(path), shape=x.shape, dtype=x.dtype, chunks=chunks or x.shape)[...] = x


def load(path: Path) -> np.ndarray:
    """As the format's own library reads it."""
    if path.suffix == ".npy":
        return np.load(path)
    if path.suffix == ".h5":
        import h5py

        with h5py.File(path, "r") as file:
            return file["data"][...]
    import zarr

    return zarr.open_array(str(path), mode="r")[...]


def content(path: Path) -> object:
    """What a name leads to, to be compared; None: nothing. Raises for what the format's library can't read."""
    if not os.path.lexists(path):
        return None
    if path.suffix in (".h5", ".zarr"):
        x = load(path)
        return x.shape, x.dtype.str, x.tobytes()
    text = path.read_bytes()
    if text != OLD_TEXT and path.suffix == ".json":  # the times are of each run its own
        return "a trace" if json.loads(text)["traceEvents"] else "an empty trace"
    if text != OLD_TEXT and path.suffix == ".svg":
        return "a picture" if text.rstrip().endswith(b"</svg>") else "a torn picture"
    return text


def tree(path: Path) -> dict[str, bytes]:
    """All files of a folder, or the one."""
    return {str(each): each.read_bytes() for each in [path, *path.rglob("*")] if each.is_file()}


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder) + [f"home/{each.name}" for each in folder.glob("home/*")])


def transformed(output: str, shape: tuple[int, ...]) -> Callable[[Path], bool]:
    exact = oracle.forward(numbers(shape), "c2c", range(len(shape)))
    return lambda folder: oracle.keeps_rule(load(folder / output), exact)


OLD_TEXT = b"what was there before"
SHAPE = (32, 24)


def transform(source: str, output: str, **options: Any) -> Callable[[Path], Any]:
    def run(folder: Path) -> Any:
        paths = {key: folder / options[key] for key in ("trace",) if key in options}
        return spanfft.transform(folder / source, folder / output, threads=1, io="threads", **{**options, **paths})

    return run


def command(*words: str) -> Callable[[Path], Any]:
    """The command line; words that begin with @ are files of the folder."""

    def run(folder: Path) -> None:
        code = cli.main([str(folder / word[1:]) if word.startswith("@") else word for word in words])
        if code != 0:
            raise SystemExit(f"{' '.join(words)} ended with {code}")

    return run


def array_run(source: str, output: str, in_chunks: tuple[int, ...] | None, old: bool, **options: Any) -> Run:
    """A transform from one format to another, with or without an old output."""

    def prepare(folder: Path) -> None:
        save(folder / source, numbers(SHAPE), in_chunks)
        if old:
            save(folder / output, numbers(SHAPE, seed=2))

    return Run(prepare, transform(source, output, **options), (output,), transformed(output, SHAPE),
               journal="memory" in options)  # fmt: skip


INF = " Data file name without suffix          =  {name}\n Number of bins in the time series      =  {samples}\n"


SAMPLES = 512


def presto_there(folder: Path) -> None:
    numbers((SAMPLES,), "complex64").real.astype("float32").tofile(folder / "in.dat")
    (folder / "in.inf").write_text(INF.format(name="in", samples=SAMPLES))
    (folder / "out.fft").write_bytes(OLD_TEXT)
    (folder / "out.inf").write_bytes(OLD_TEXT)


def same_inf(folder: Path) -> bool:
    return (folder / "out.inf").read_bytes() == (folder / "in.inf").read_bytes()


def presto_keeps_rule(found: np.ndarray, exact: np.ndarray) -> bool:
    error = oracle.error_of([oracle.squared_error(found, exact)])
    return found.shape == exact.shape and error <= oracle.rule((SAMPLES,), "float32")


def presto_is_right(folder: Path) -> bool:
    exact = oracle.forward(np.fromfile(folder / "in.dat", "f4"), "r2c", (0,))
    exact[0] += 1j * exact[-1].real
    return presto_keeps_rule(np.fromfile(folder / "out.fft", "c8"), exact[:-1]) and same_inf(folder)


def presto_back(folder: Path) -> None:
    spectrum = np.fft.rfft(numbers((SAMPLES,)).real)
    spectrum[0] += 1j * spectrum[-1].real
    spectrum[:-1].astype("complex64").tofile(folder / "in.fft")
    (folder / "in.inf").write_text(INF.format(name="in", samples=SAMPLES))


def presto_back_is_right(folder: Path) -> bool:
    packed = np.fromfile(folder / "in.fft", "c8")
    spectrum = np.append(packed, packed[0].imag)
    spectrum[0] = packed[0].real
    exact = oracle.backward(spectrum, "r2c", (0,), (SAMPLES,))
    return presto_keeps_rule(np.fromfile(folder / "out.dat", "f4"), exact) and same_inf(folder)


def one_array(folder: Path) -> None:
    np.save(folder / "in.npy", numbers(SHAPE))


def old_text(name: str, and_then: Callable[[Path], None] = one_array) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        and_then(folder)
        (folder / name).write_bytes(OLD_TEXT)

    return prepare


def records(folder: Path) -> None:
    np.save(folder / "in.npy", numbers((256,)))


def reversed_bits(folder: Path) -> bool:
    places = [int(f"{x:08b}"[::-1], 2) for x in range(256)]
    return bool(np.array_equal(load(folder / "out.npy")[places], numbers((256,))))


def rows(folder: Path) -> None:
    (folder / "rows.csv").write_text("np,time\n" + "".join(f"{p},{1 + 10 / p}\n" for p in (1, 2, 4, 8, 16)))


STORE = "spanfft-tuning 1\ntuned\tA\tB\t1\t1\tc2c {n} forward double\texchange=alltoallv\t1e-3\t2026-11-01\n"


def stores(folder: Path) -> None:
    (folder / "home").mkdir()
    (folder / "home" / "tuning.txt").write_text(STORE.format(n=8))
    (folder / "home" / "tuning.txt.lock").touch()
    (folder / "more.txt").write_text(STORE.format(n=9))


def import_store(folder: Path) -> None:
    os.environ["SPANFFT_HOME"] = str(folder / "home")
    command("tune", "--import", "@more.txt")(folder)


def both_are_there(folder: Path) -> bool:
    text = (folder / "home" / "tuning.txt").read_text()
    return "c2c 8 " in text and "c2c 9 " in text


RUNS = {
    "hdf5": array_run("in.npy", "out.h5", None, old=False),
    "chunked hdf5": array_run("in.npy", "out.h5", None, old=True, chunks=(8, 24), compression="gzip"),
    "zarr": array_run("in.npy", "out.zarr", None, old=True, chunks=(32, 12)),
    "presto": Run(presto_there, transform("in.dat", "out.fft"), ("out.fft", "out.inf"), presto_is_right),
    "presto, backward": Run(presto_back, transform("in.fft", "out.dat"), ("out.dat", "out.inf"), presto_back_is_right),
    "trace": Run(
        old_text("trace.json"),
        transform("in.npy", "out.npy", trace="trace.json"),
        ("trace.json", "out.npy"),
        transformed("out.npy", SHAPE),
    ),
    "spanfft transform": Run(
        old_text("out.npy"),
        command(
            "transform",
            "@in.npy",
            "@out.npy",
            "--memory",
            "24KiB",
            "--method",
            "axis_sweeps",
            "--threads",
            "1",
            "--quiet",
        ),
        ("out.npy",),
        transformed("out.npy", SHAPE),
    ),
    "spanfft permute": Run(
        old_text("out.npy", records),
        command(
            "permute",
            "@in.npy",
            "@out.npy",
            "--kind",
            "bit-reversal",
            "--memory",
            "2KiB",
            "--threads",
            "1",
            "--block-bytes",
            "128",
            "--quiet",
        ),
        ("out.npy",),
        reversed_bits,
    ),
    "spanfft fit": Run(
        old_text("fit.svg", rows),
        command("fit", "@rows.csv", "--plot", "@fit.svg"),
        ("fit.svg",),
        lambda folder: content(folder / "fit.svg") == "a picture",
    ),
    "spanfft tune --export": Run(
        old_text("store.txt", rows),
        command("tune", "--export", "@store.txt"),
        ("store.txt",),
        lambda folder: (folder / "store.txt").read_bytes().startswith(b"spanfft-tuning 1\n"),
    ),
    "spanfft tune --import": Run(stores, import_store, ("home/tuning.txt",), both_are_there),
    "hdf5 with a journal": array_run("in.h5", "out.h5", None, old=True, memory=24 << 10, method="axis_sweeps"),
    "chunked hdf5 with a journal": array_run(
        "in.h5", "out.h5", (8, 7), old=False, memory=26 << 10, chunks=(24, 5), method="axis_sweeps"
    ),
    "zarr with a journal": array_run(
        "in.zarr", "out.zarr", (8, 24), old=False, memory=44 << 10, chunks=(8, 24), method="axis_sweeps"
    ),
}


class Wrong(Exception):
    """A state that should not be."""


class Replay:
    """A run that was recorded, and what is held of it after power cuts."""

    def __init__(self, run: Run, folder: Path) -> None:
        self.run, self.folder, self.recorder = run, folder, library()
        self.counts = {"operations": 0, "states": 0, "old": 0, "new": 0, "continued": 0}
        run.prepare(folder)
        self.inputs = [
            folder / name for name in names(folder) if name not in run.outputs and not name.startswith("home")
        ]
        self.input_trees = [tree(path) for path in self.inputs]
        self.old = self.outputs()
        number = self.recorder.power_cut_record(os.fsencode(folder))
        run.command(folder)
        operations = self.recorder.power_cut_stop()
        self.number = number
        self.check(operations > 0, self.recorder.power_cut_describe(number, 0).decode())
        self.counts["operations"] = operations
        self.new, self.names = self.outputs(), names(folder)
        self.check(self.new != self.old and run.right(folder), "a wrong result")
        self.check(not any(name.startswith(".") for name in self.names), f"left behind: {self.names}")

    def outputs(self) -> list[object]:
        return [content(self.folder / name) for name in self.run.outputs]

    @staticmethod
    def check(good: bool, sentence: str) -> None:
        if not good:
            raise Wrong(sentence)

    def check_state(self, cut: Cut) -> None:
        """Before anything runs again."""
        self.check([tree(path) for path in self.inputs] == self.input_trees, "the input has changed")
        found = self.outputs()
        for name, now, old, new in zip(self.run.outputs, found, self.old, self.new, strict=True):
            self.check(now in (old, new), f"{name} is neither what was there before nor the whole result")
        self.counts["old"] += found == self.old
        self.counts["new"] += found == self.new
        if cut.operation == self.counts["operations"]:
            self.check(found == self.new, "done, and then lost")
        if cut.fate in (EVERYTHING, NAMES_IN_ORDER):
            there = names(self.folder)
            kept = [name for name in there if ".spanfft-kept-" in name]
            self.check(not kept or any(name.endswith("-journal") for name in there), f"no journal speaks of {kept}")

    def check_run_again(self) -> None:
        result = self.run.command(self.folder)
        with suppress(AttributeError):
            self.counts["continued"] += result.resumed_bytes > 0
        self.check([tree(path) for path in self.inputs] == self.input_trees, "the second run changed the input")
        self.check(self.outputs() == self.new, "the second run's result is wrong")
        self.check(names(self.folder) == self.names, f"left behind: {names(self.folder)}")

    def check_all(self) -> None:
        for i in range(self.recorder.power_cut_choose(self.number, int(EVERY_STATE))):
            cut = self.recorder.power_cut_chosen(i)
            # Coins have been thrown for sweeps in tests/fault/power_cuts.cpp: a quarter of them will do.
            if cut.fate >= SAMPLED and self.counts["operations"] > 100 and i % 4 and not EVERY_STATE:
                continue
            self.recorder.power_cut_state(self.number, cut, 1)
            self.counts["states"] += 1
            try:
                self.check_state(cut)
                self.check_run_again()
            except Exception as error:
                what = self.recorder.power_cut_describe(self.number, cut.operation).decode()
                fate = self.recorder.power_cut_fate(cut.fate).decode()
                raise Wrong(f"power cut after operation {cut.operation} of {self.counts['operations']} ({what}), "
                            f"{fate}, seed {cut.seed}") from error  # fmt: skip


def main() -> None:
    # So that geometries are as small as those of C++, in which every operation can be the last one.
    spanfft._file_runs._MIN_MEMORY_BYTES = 1
    replay = Replay(RUNS[sys.argv[1]], Path(sys.argv[2]))
    replay.check_all()
    print(json.dumps(replay.counts))


if __name__ == "__main__":
    main()
