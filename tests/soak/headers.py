"""Damaged .npy headers and PRESTO .inf files: what numpy reads is read alike, all else is an error with a sentence."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
import warnings
from pathlib import Path

import numpy as np
import spanfft
from spanfft._files import describe
from spanfft._formats import Options, open_source

from .case import Case, Failed, chance, one_of

FOLDER = Path(tempfile.mkdtemp(prefix="spanfft-soak-"))
TOKENS = (b"'", b"{", b"}", b"(", b")", b",", b"True", b"False", b"None", b"'descr'", b"'shape'", b"'fortran_order'",
          b"<c8", b">f4", b"|O", b"<f2", b"-1", b"0", b"9999999999999999999999", b"1e3", b"[", b"]*9", b"\\x00", b"\n",
          b"#", b"+", b"1_0", b"0x4", b"\xff", b"L")  # fmt: skip
INF = """ Data file name without suffix          =  series
 Number of bins in the time series      =  {n}
 Width of each time series bin (sec)    =  0.001
"""


def mutated(rng, data: bytes, end: int) -> bytes:
    """Some changes within the first `end` bytes."""
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(min(end, len(data)) + 1))
        how = int(rng.integers(5))
        if how == 0:
            data = data[:at] + bytes([int(rng.integers(256))]) + data[at + 1 :]
        elif how == 1:
            data = data[:at] + one_of(rng, TOKENS) + data[at:]
        elif how == 2:
            token = one_of(rng, TOKENS)
            data = data[:at] + token + data[at + len(token) :]
        elif how == 3:
            data = data[:at] + data[at + int(rng.integers(1, 8)) :]
        else:
            data = data[:at] if chance(rng, 0.3) else data + bytes(int(rng.integers(1, 40)))
    return data


def numpys(path: Path) -> tuple | None:
    """(shape, dtype, where the data begins), or None where numpy does not read it whole."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        return array.shape, array.dtype, array.offset, array.flags.c_contiguous
    except Exception:
        return None


def npy(case: Case, rng) -> None:
    path = FOLDER / "x.npy"
    shape = tuple(int(n) for n in rng.integers(1, 6, int(rng.integers(1, 5))))
    made = io.BytesIO()
    x = np.zeros(shape, one_of(rng, ["<f4", "<f8", "<c8", "<c16", "<f16", "<c32", "<i2", ">u4", "|i1", "|b1", ">c8"]))
    x = np.asfortranarray(x) if chance(rng, 0.3) else x
    np.lib.format.write_array(made, x, version=one_of(rng, [(1, 0), (2, 0), (3, 0)]))
    data = made.getvalue()
    path.write_bytes(mutated(rng, data, len(data) - x.nbytes))
    case.text = repr(path.read_bytes()[:200])
    theirs = numpys(path)
    try:
        found = describe(path)
    except spanfft.InternalError as error:
        raise Failed("wrong", f"{error}") from error
    except spanfft.Error as error:
        case.count("refused")
        if len(str(error)) < 20 or str(path) not in str(error):
            raise Failed("wrong", f"no sentence that names the file: {error}") from error
        return
    if theirs is None:
        raise Failed("wrong", f"numpy does not read it; found {found}")
    shape, dtype, offset, contiguous = theirs
    same = (found.shape, found.offset_bytes, found.element.descr) == (shape, offset, dtype.str)
    if not same or found.fortran == contiguous:
        raise Failed("wrong", f"{found}, but numpy reads {theirs}")


def inf(case: Case, rng) -> None:
    n = 2 * int(rng.integers(1, 30))
    suffix = one_of(rng, [".dat", ".fft"])
    (FOLDER / f"s{suffix}").write_bytes(bytes(4 * n))
    text = INF.format(n=n).encode()
    (FOLDER / "s.inf").write_bytes(mutated(rng, text, len(text)))
    case.text = f"{suffix} of {n}, {(FOLDER / 's.inf').read_bytes()!r}"
    try:
        source = open_source(str(FOLDER / f"s{suffix}"), Options())
    except spanfft.InternalError:
        raise
    except spanfft.Error as error:
        case.count("refused")
        if len(str(error)) < 20:
            raise Failed("wrong", f"an error without a sentence: {error}") from error
        return
    finally:
        os.unlink(FOLDER / f"s{suffix}")
    if source.shape != ((n,) if suffix == ".dat" else (n // 2 + 1,)):
        raise Failed("wrong", f"shape {source.shape}")


def run(case: Case) -> None:
    FOLDER.mkdir(exist_ok=True)
    case.count("problems")
    rng = case.random
    try:
        (npy if case.seed % 4 else inf)(case, rng)
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
