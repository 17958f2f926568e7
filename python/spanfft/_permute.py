"""permute(): bit-matrix permutations of an array in a file, within a memory budget."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._arguments import check_callable, count, file_name, text, whole
from ._elements import ELEMENTS
from ._errors import InvalidArgument, InvalidType, IOFailure
from ._files import describe, folder_list, npy_header
from ._formats import is_other_format
from ._formats.flat import check_suffix
from ._journals import as_unfinished, goes_on, journal_mode
from ._memory import available_bytes, parse_bytes
from ._native import core
from ._report import report_of
from ._trace import check_trace, write_captures

if TYPE_CHECKING:
    from ._report import Report

__all__ = ["PermuteResult", "permute"]


@dataclass(frozen=True)
class PermuteResult:
    """What `permute` did, in the terms of the Parallel Disk Model; see docs/out-of-core.md."""

    input: str
    output: str
    shape: tuple[int, ...]
    dtype: str
    seconds: float
    sweeps: int
    """Over all records; each reads and writes every byte once."""
    rank_phi: int
    """Of the lower left lg(N/M) x lg M part of the matrix."""
    memoryload_records: int
    block_records: int
    disks: int
    predicted_parallel_ios: int
    counted_parallel_ios: int
    bound: int
    """Parallel I/Os that the published method needs at most."""
    memory_bytes: int
    """Of buffers and checksums."""
    scratch_bytes: int
    """In all scratch folders together."""
    plan: str
    """In a line."""
    resumed_bytes: int
    """Of reads and writes that an unfinished run had done; 0: this one did all."""
    explain: str
    """The plan in words, with what was predicted beside what was counted."""
    report: Report
    """The same as a dictionary."""

    def __repr__(self) -> str:
        shape = "x".join(str(n) for n in self.shape)
        return f"<PermuteResult {self.output!r}: {shape} {self.dtype} in {self.seconds:.3g} s>"


def read_matrix(path: str) -> list[int]:
    """Columns of the matrix in a text file: a row a line, 0 and 1, row and column 0 (the lowest bits) first."""
    try:
        with open(path) as file:
            lines = [line.split("#")[0].replace(",", " ").split() for line in file]
    except (OSError, UnicodeDecodeError) as error:
        raise IOFailure(f"can't read the matrix {path}: {error}") from None
    rows = ["".join(words) for words in lines if words]
    for number, row in enumerate(rows):
        if len(row) != len(rows) or set(row) - {"0", "1"}:
            raise InvalidArgument(
                f"row {number} of the matrix {path} is {row[:70]!r}; a square matrix of {len(rows)} rows needs "
                f"{len(rows)} digits 0 or 1 in each"
            )
    return [sum(int(row[j]) << i for i, row in enumerate(rows)) for j in range(len(rows))]


def _columns(kind: str, bits: int, shape: tuple[int, ...]) -> tuple[list[int], tuple[int, ...]]:
    """The matrix, and the shape of the result."""
    if kind.startswith("matrix:"):
        columns = read_matrix(kind[len("matrix:") :])
        if len(columns) != bits:
            raise InvalidArgument(
                f"the matrix {kind[len('matrix:') :]} has {len(columns)} rows, but indices of {math.prod(shape)} "
                f"records have {bits} bits"
            )
        return columns, shape
    if kind == "transpose":
        if len(shape) != 2:
            raise InvalidArgument(f"the array has shape {shape}, not two axes; give transpose:ROWSxCOLUMNS")
        kind = f"transpose:{shape[0]}x{shape[1]}"
    columns = core.bit_matrix(kind, bits)
    turned = len(shape) == 2 and kind == f"transpose:{shape[0]}x{shape[1]}"
    return columns, shape[::-1] if turned else shape


def permute(
    input: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    kind: str,
    complement: int = 0,
    memory: str | int | None = None,
    scratch: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    block_bytes: int = 0,
    synchronous: bool = False,
    threads: int = 0,
    dtype: object = None,
    shape: Sequence[int] | None = None,
    offset: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    trace: str | os.PathLike[str] | None = None,
    journal: bool = True,
    resume: bool | None = None,
    checksums: bool = True,
) -> PermuteResult:
    """Moves element x of an array to place z = Hx xor c, for a matrix H over GF(2), from file to file.

    The array need not fit into memory. The input is not changed; the output appears under its name only when it is
    whole, and replaces a file that was there.

    Parameters
    ----------
    input
        A .npy file (C order, native floating-point or complex numbers), or with `dtype` a raw one. The number of
        elements is a power of two.
    output
        Written with a .npy header if it ends in .npy, else raw.
    kind
        "bit-reversal", "bit-reversal:K" (of the low K bits), "rotation:K" (bits of the index to the right),
        "transpose" (of a 2-D array), "transpose:RxC", "band:P,STRIPE,FROM,TO", "random:SEED", "identity", or
        "matrix:FILE" with a row a line, the lowest bits first.
    complement
        The number c.
    memory
        The memory that buffers may take, such as "256MiB" or bytes. Default: that of an unfinished run that this one
        goes on with, else half of the free memory.
    scratch
        Folder for intermediate data, or several (2, 4, ...), on a disk each. Default: the output's folder.
    block_bytes
        Bytes of a block, which must hold a power of two of elements. Default: spanfft chooses.
    synchronous
        Read, permute and write one after the other, with twice the memoryload.
    threads
        In memory; 0: all cores.
    dtype, shape, offset
        Of a raw input: element type, shape (default: one axis), bytes before the array.
    progress
        Called now and then with (bytes done, bytes in all); returning False stops the run.
    trace
        A file for what was done when, as `write_trace` writes it.
    journal
        Keep a journal, so that a run that is killed or stopped can go on (docs/howto/resume.md). A run that fails then
        leaves hidden files beside the output and in `scratch`.
    resume
        None: go on with an unfinished run of this permutation from this input to this output, with the same `scratch`,
        if there is one. True: the same, but it is an error if there is none. False: throw it away and begin anew.
    checksums
        Verify the data that one sweep writes to disk and the next reads.

    Raises
    ------
    InvalidArgument
        A length that is no power of two, a singular matrix, ...
    OutOfMemory, IOFailure, NoSpace, CorruptData, Interrupted
        The sentence says what a journal keeps; without one nothing is left behind.
    """
    start = time.perf_counter()
    source_name, target = file_name(input, "the input"), file_name(output, "the output")
    for name in (source_name, target):
        if is_other_format(name) and (name == target or dtype is None):
            raise InvalidArgument(f"permute reads and writes .npy and raw files, and {name} is none by its name")
    complement, threads = whole(complement, "complement"), count(threads, "threads")
    block_bytes = whole(block_bytes, "block_bytes")
    check_callable(progress, "progress")
    if not text(kind, "kind"):
        raise InvalidType("kind is None; it must be a str, such as 'bit-reversal'")
    source = describe(source_name, dtype, shape, offset)
    if source.element.foreign or source.fortran:
        what = "in Fortran order" if source.fortran else f"of {source.element.name}"
        raise InvalidType(f"{source.path} is {what}, and records are moved as they lie: save it in C order as one of "
                          f"{', '.join(ELEMENTS)}, or give --dtype of the same size, --shape and --offset")  # fmt: skip
    check_suffix(target)
    if os.path.isdir(target):
        raise InvalidArgument(f"{target} is a folder; give the name of a file in it")
    records = math.prod(source.shape)
    bits = records.bit_length() - 1
    if records != 1 << bits or bits < 1:
        raise InvalidArgument(
            f"{source.path} holds {records} elements; bits of an index can be permuted for a power of two only, "
            f"such as {1 << max(1, bits)} or {2 << bits}"
        )
    if complement < 0 or complement >= records:
        raise InvalidArgument(f"complement is {complement}; it can be 0 to {records - 1}")
    columns, result_shape = _columns(kind, bits, source.shape)
    if trace is not None:
        check_trace(trace, source.path, target)
    folders, mode = folder_list(scratch), journal_mode(journal, resume)
    budget = None if memory is None else parse_bytes(memory)
    if budget is None and goes_on(mode):
        budget, threads = as_unfinished(source.path, source.offset_bytes, target, folders, threads)
    permutation: dict[str, Any] = {
        "complement": complement,
        "record_bytes": source.element.size_bytes,
        "memory_bytes": available_bytes() // 2 if budget is None else budget,
        "block_bytes": block_bytes,
        "disks": max(1, len(folders)),
        "synchronous": synchronous,
        "threads": threads,
    }
    planned = core.permute_plan(columns, **permutation)
    plan = core.plan_permutation(columns, **permutation)
    if trace is not None:
        plan.trace_start()
    header = npy_header(source.element, result_shape) if target.endswith(".npy") else b""
    plan.transform_file(
        source.path, source.offset_bytes, target, header, folders, progress, journal=mode, checksums=checksums
    )
    seconds = time.perf_counter() - start
    if trace is not None:
        write_captures(trace, [plan], None)
    report = report_of(plan)
    assert report["counted"] is not None
    return PermuteResult(
        input=source.path,
        output=target,
        shape=result_shape,
        dtype=source.element.name,
        seconds=seconds,
        counted_parallel_ios=report["counted"]["parallel_ios"],
        resumed_bytes=plan.resumed_bytes,
        explain=plan.explain(),
        report=report,
        **planned,
    )
