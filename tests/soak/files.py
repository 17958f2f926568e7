"""Random transforms of files in little memory: formats, kinds, solvers, fused work, in place; some on a full disk."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import scipy.signal
import spanfft

from . import child, mounts, oracle
from .case import Case, Failed, chance, numbers, one_of, shape_of
from .memory import REAL_KINDS

MiB = 1 << 20
METHODS = ("two_sweeps", "axis_sweeps", "many_sweeps", "chirp_sweeps", "superlevels", "superlevels:sync",
           "file_in_memory")  # fmt: skip


@dataclass
class FileProblem:
    """One transform of a file: what is asked for, what must come, and where it lies."""

    folder: Path
    input: str = ""
    output: str = ""
    options: dict = field(default_factory=dict)  # of spanfft.transform
    kind: object = "c2c"
    exact: np.ndarray | None = None
    bound: float = 0.0
    input_digest: str = ""
    foreign: bool = False  # the input is converted on its way in
    fortran: bool = False

    @property
    def in_place(self) -> bool:
        return bool(self.options.get("in_place"))

    def transform(self, **more: object) -> None:
        output = None if self.in_place else self.output
        spanfft.transform(self.input, output, **{**self.options, **more})

    def text(self) -> str:
        shown = {k: v for k, v in self.options.items() if k != "scratch"}
        return f"{os.path.basename(self.input)} -> {os.path.basename(self.output)}, {self.exact.shape}, {shown}"


def digest(path: str) -> str:
    sha = hashlib.sha256()
    for file in sorted(Path(path).rglob("*")) if os.path.isdir(path) else [Path(path.split(":/")[0])]:
        if file.is_file():
            sha.update(file.read_bytes())
    return sha.hexdigest()


def big_shape(rng, ndim: int, elems: int) -> tuple[int, ...]:
    """About so many elements: short axes, and one that fills up, of any kind of length."""
    short = list(shape_of(rng, ndim - 1, max(2, int(elems**0.6)))) if ndim > 1 else []
    long = max(2, elems // int(np.prod(short or [1])))
    how = rng.random()
    if how < 0.4:
        long = 1 << (long.bit_length() - 1)
    elif how < 0.7:  # smooth
        while oracle.largest_prime(long) > 13:
            long -= 1
    short.insert(int(rng.integers(len(short) + 1)), long)
    return tuple(short)


def random_kind(rng, ndim: int) -> tuple[object, list[int]]:
    axes = [int(a) for a in rng.permutation(ndim)[: int(rng.integers(1, ndim + 1))]] if chance(rng, 0.4) else None
    naxes = ndim if axes is None else len(axes)
    kind = one_of(rng, ["c2c", "c2c", "c2c", "r2c", "r2c", one_of(rng, REAL_KINDS)])
    if chance(rng, 0.1):
        kind = [one_of(rng, REAL_KINDS) for _ in range(naxes)]
    return kind, list(range(ndim)) if axes is None else axes


def as_other_type(rng, x: np.ndarray) -> np.ndarray:
    """Other numbers, or the same ones, of a type that is converted on the way in."""
    if np.iscomplexobj(x) or chance(rng, 0.3):
        return x.astype(x.dtype.newbyteorder(">"))
    dtype = np.dtype(one_of(rng, ["i1", "u1", "i2", ">i2", "u4", ">i4", "i8", ">u8", "f2", ">f2", "?"]))
    if dtype.kind == "f":
        return x.astype(dtype)
    bits = 1 if dtype.kind == "b" else 8 * dtype.itemsize - 1
    return rng.integers(0, 1 << min(bits, 62), x.shape).astype(dtype)


def write(rng, folder: Path, x: np.ndarray, options: dict, fortran: bool) -> str:
    """The input in one of the formats."""
    wide = x.dtype.itemsize // (2 if x.dtype.kind == "c" else 1) > 8
    how = one_of(rng, ["npy", "npy", "npy", "raw"] + ([] if wide else ["h5", "zarr"]))
    how = "npy" if fortran else how
    path = str(folder / f"in.{how}")
    if how == "npy":
        np.save(path, np.asfortranarray(x) if fortran else x)
    elif how == "raw":
        offset = one_of(rng, [0, 0, 64, 4096, 13 * x.dtype.itemsize])
        with open(path, "wb") as file:
            file.write(bytes(offset))
            file.write(x.tobytes())
        options.update(dtype=str(x.dtype) if not wide else x.dtype, shape=x.shape, offset=offset)
    elif how == "h5":
        import h5py

        with h5py.File(path, "w") as file:
            file.create_dataset("data", data=x, chunks=chunks_of(rng, x.shape) if chance(rng, 0.5) else None)
    else:
        import zarr

        array = zarr.create_array(path, shape=x.shape, dtype=x.dtype, chunks=chunks_of(rng, x.shape))
        array[...] = x
    return path


def chunks_of(rng, shape) -> tuple[int, ...]:
    """Of any form; most so small that four of them fit the budget, as they must."""
    chunks = [int(rng.integers(max(1, n // 5), n + 1)) for n in shape]
    while np.prod(chunks) > 8000 and chance(rng, 0.98):
        longest = chunks.index(max(chunks))
        chunks[longest] = (chunks[longest] + 1) // 2
    return tuple(chunks)


def read(path: str, dtype, shape) -> np.ndarray:
    if path.endswith(".npy"):
        return np.load(path)
    if path.endswith(".h5"):
        import h5py

        with h5py.File(path) as file:
            return file["data"][...]
    if path.endswith(".zarr"):
        import zarr

        return zarr.open_array(path, mode="r")[...]
    return np.fromfile(path, dtype).reshape(shape)


def window_of(text: str, n: int) -> np.ndarray:
    """scipy's are doubles, so Hann's is made here, for long double too."""
    if text == "hann":
        angle = np.arange(n).astype(np.longdouble) / n * (8 * np.arctan(np.longdouble(1)))
        return (1 - np.cos(angle)) / 2
    name, _, beta = text.partition(":")
    return scipy.signal.get_window((name, float(beta)) if beta else name, n).astype(np.longdouble)


def fused(rng, options: dict, problem: FileProblem, x: np.ndarray, axes: list[int]) -> np.ndarray:
    """Window and scale, in long double."""
    v = oracle.wide(x)
    if chance(rng, 0.15):
        options["window"] = one_of(
            rng, ["hann", "blackman", "kaiser:8.6"] if np.finfo(x.dtype).nmant < 63 else ["hann"]
        )
        window = window_of(options["window"], x.shape[axes[-1]])
        v = v * window.reshape([-1 if a == axes[-1] else 1 for a in range(x.ndim)])
        problem.bound += 2 * float(np.finfo(x.dtype).eps)
    if chance(rng, 0.15):
        options["scale"] = float(rng.uniform(0.1, 10))
        v = v * np.longdouble(options["scale"])
        problem.bound += float(np.finfo(x.dtype).eps)
    return v


def draw(rng, folder: Path, most_elems: int = 250_000, least: float = 0.75) -> FileProblem:
    """`least`: the power of `most_elems` from which sizes are drawn."""
    problem = FileProblem(folder)
    options = problem.options
    ndim = int(rng.choice([1, 1, 2, 3, 4]))
    kind, axes = random_kind(rng, ndim)
    shape = big_shape(rng, ndim, int(most_elems ** rng.uniform(least, 1)))
    shape = tuple(max(n, 2) for n in shape)
    is_complex = kind == "c2c"
    types = (np.complex64, np.complex128, np.clongdouble) if is_complex else (np.float32, np.float64, np.longdouble)
    dtype = np.dtype(types[int(rng.choice(3, p=(0.45, 0.45, 0.1)))])
    norm = one_of(rng, ["backward", "ortho", "forward"])
    back = chance(rng, 0.3)
    u = numbers(rng, shape, dtype)
    problem.kind, problem.bound = kind, oracle.limit(kind, axes, shape, dtype, norm)
    spectrum = np.result_type(dtype, 1j) if kind == "r2c" else dtype
    x = np.ascontiguousarray(oracle.forward(u, kind, axes, norm).astype(spectrum) if back else u)
    problem.fortran = ndim > 1 and chance(rng, 0.1)
    problem.foreign = dtype.name in ("float32", "float64", "complex64", "complex128") and chance(rng, 0.2)
    stored = x
    if problem.foreign:
        stored = as_other_type(rng, x)
        x = stored.astype(x.dtype)
        options["precision"] = "single" if np.finfo(dtype).nmant == 23 else "double"
    given = fused(rng, options, problem, x, axes)
    exact = oracle.backward(given, kind, axes, shape, norm) if back else oracle.forward(given, kind, axes, norm)
    options.update(kind=kind if isinstance(kind, str) else list(kind), axes=axes, norm=norm, backward=back)
    if back and kind == "r2c":
        options["real_length"] = shape[axes[-1]]
    if is_complex and chance(rng, 0.1):
        options["power"] = True
        exact, problem.bound = abs(exact) ** 2, 2 * problem.bound + 2 * float(np.finfo(dtype).eps)
    problem.exact = exact
    problem.input = write(rng, folder, stored, options, problem.fortran)
    draw_means(rng, problem, kind, dtype)
    problem.input_digest = digest(problem.input)
    return problem


def draw_means(rng, problem: FileProblem, kind, dtype) -> None:
    options, folder = problem.options, problem.folder
    options["memory"] = int(one_of(rng, [MiB, MiB, MiB + 64 * 1024, 2 * MiB, 3 * MiB]))
    options["threads"] = int(rng.choice([0, 1, 1, 2]))
    options["checksums"] = chance(rng, 0.8)
    if chance(rng, 0.2):
        options["io"] = one_of(rng, ["uring", "threads"])
    if chance(rng, 0.15):
        options["method"] = one_of(rng, METHODS)
    if chance(rng, 0.25):
        options["engine"] = one_of(rng, ["fftw", "mkl", "ducc0"])
    disks = int(rng.choice([0, 0, 1, 3]))
    if disks:
        options["scratch"] = [str(folder / f"disk{i}") for i in range(disks)]
        for path in options["scratch"]:
            os.mkdir(path)
    flat = problem.input.endswith((".npy", ".raw"))
    if flat and kind != "r2c" and not options.get("power") and not problem.foreign and chance(rng, 0.25):
        options["in_place"] = True
        problem.output = problem.input
        return
    wide = dtype.itemsize // (2 if dtype.kind == "c" else 1) > 8
    suffix = one_of(rng, ["npy", "npy", "npy", "bin"] + ([] if wide else ["h5", "zarr"]))
    suffix = "npy" if problem.fortran else suffix
    problem.output = str(folder / f"out.{suffix}")


def result_of(problem: FileProblem) -> np.ndarray:
    exact = problem.exact
    if problem.output.endswith(".raw"):  # in place
        with open(problem.output, "rb") as file:
            file.seek(problem.options["offset"])
            return np.frombuffer(file.read(), problem.options["dtype"]).reshape(exact.shape)
    parts = 2 if np.iscomplexobj(exact) else 1
    real = {4: np.float32, 8: np.float64}.get(os.path.getsize(problem.output) // exact.size // parts, np.longdouble)
    return read(problem.output, np.result_type(real, 1j) if parts == 2 else real, exact.shape)


def left_over(problem: FileProblem) -> list[str]:
    """What lies in the folders that is neither the input nor the output nor one of them."""
    folders = {str(problem.folder), os.path.dirname(problem.output), *problem.options.get("scratch", [])}
    wanted = {problem.input, problem.output, *folders}
    paths = [os.path.join(folder, name) for folder in sorted(folders) for name in os.listdir(folder)]
    return [os.path.relpath(path, problem.folder) for path in paths if path not in wanted]


def check_input(problem: FileProblem) -> None:
    if not problem.in_place and digest(problem.input) != problem.input_digest:
        raise Failed("lost", "the input was changed")


def check_result(problem: FileProblem) -> None:
    check_input(problem)
    result = result_of(problem)
    if result.shape != problem.exact.shape:
        raise Failed("wrong", f"shape {result.shape}, must be {problem.exact.shape}")
    error = oracle.error_of([oracle.squared_error(result, problem.exact)])
    if not error <= problem.bound:
        raise Failed("wrong", f"relative error {error:.3g}, allowed {problem.bound:.3g}")
    if left_over(problem):
        raise Failed("lost", f"left behind: {left_over(problem)}")


def must(problem: FileProblem, case: Case, answer: child.Answer, refusals=("Unsupported", "OutOfMemory")) -> bool:
    """Whether it ended well. A refusal touches nothing; anything else that is no result is a failure."""
    if answer.how == "ok":
        return True
    if answer.how == "error" and answer.kind in refusals:
        check_input(problem)
        if os.path.exists(problem.output) and not problem.in_place:
            raise Failed("wrong", f"an output after: {answer.text}")
        case.count("refused")
        case.text += f"; refused: {answer.text}"
        return False
    raise Failed(answer.how if answer.how in ("hung", "crashed") else "wrong", f"{answer.kind} {answer.text}")


REFUSALS = ("Unsupported", "OutOfMemory", "EngineError")


def check_fault(problem: FileProblem, case: Case, answer: child.Answer) -> None:
    """An error with nothing lost, or a right result where there was room after all."""
    case.count("faults")
    if answer.how == "ok":
        return check_result(problem)
    if answer.kind not in ("NoSpace", "IOFailure", *REFUSALS):
        raise Failed(answer.how if answer.how in ("hung", "crashed") else "wrong",
                     f"full disk: {answer.kind} {answer.text}")  # fmt: skip
    check_input(problem)
    if not problem.in_place and os.path.exists(problem.output):
        raise Failed("wrong", f"an output after: {answer.text}")
    if not problem.options["journal"] and left_over(problem):
        raise Failed("lost", f"left behind: {left_over(problem)} after: {answer.text}")
    return None


def go_on(problem: FileProblem, case: Case) -> None:
    if must(problem, case, child.call(lambda: problem.transform()), REFUSALS):
        check_result(problem)


def limited(rng, problem: FileProblem, case: Case) -> None:
    """A limit on files' sizes, as a disk that fills up, and the same again without."""
    limit = int(problem.exact.nbytes * rng.uniform(0.02, 1.5))
    case.text += f"; files of at most {limit} bytes"
    answer = child.call(lambda: problem.transform(), file_bytes=limit)
    check_fault(problem, case, answer)
    if answer.how != "ok":
        go_on(problem, case)


def on_a_full_disk(rng, problem: FileProblem, case: Case) -> None:
    """Scratch, and the output but in place, on a file system that is too small, and the same again with room."""
    room = int(problem.exact.nbytes * rng.uniform(0.02, 2.5)) // 4096 * 4096 + 4096
    full = problem.folder / "full"
    full.mkdir()
    case.text += f"; {room} bytes of room"
    with mounts.small(full, room):
        if problem.in_place:
            for path in problem.options.get("scratch", []):
                os.rmdir(path)
            problem.options["scratch"] = [str(full)]
        else:
            problem.output = str(full / os.path.basename(problem.output))
        answer = child.call(lambda: problem.transform())
        check_fault(problem, case, answer)
        if answer.how != "ok":
            mounts.resize(full, 64 * MiB + 100 * problem.exact.nbytes)
            go_on(problem, case)


def run(case: Case) -> None:
    may_mount = mounts.allowed()  # asked before zarr starts threads, which would not see what is mounted
    rng = case.random
    folder = Path(tempfile.mkdtemp(prefix="spanfft-soak-"))
    try:
        problem = draw(rng, folder)
        case.text = problem.text()
        case.count("problems")
        problem.options["journal"] = problem.in_place or chance(rng, 0.5)
        how = one_of(rng, [go_on, go_on, go_on, limited, on_a_full_disk])
        if how is go_on:
            go_on(problem, case)
        elif how is limited or may_mount:
            how(rng, problem, case)
        else:
            case.count("skipped")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
