"""transform(): from file to file, within a memory budget."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ._errors import InvalidArgument, InvalidAxis, IOFailure, OutOfMemory, Unsupported
from ._files import ArrayFile, Element, describe, element, npy_header
from ._memory import available_bytes, parse_bytes
from ._native import core
from ._report import report_of
from ._trace import check_target, write_captures

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

    from ._core import Plan as CorePlan
    from ._mpi import Ranks
    from ._report import Report

__all__ = ["TransformResult", "transform"]

_KINDS = ("c2c", "r2c", "dct1", "dct2", "dct3", "dct4", "dst1", "dst2", "dst3", "dst4")
_NORMS = ("backward", "ortho", "forward")
_ORDERS = ("natural", "exchanged")
_MIN_MEMORY_BYTES = 1 << 20


@dataclass(frozen=True)
class TransformResult:
    """What `transform` did."""

    input: str
    output: str
    input_shape: tuple[int, ...]
    input_dtype: str
    output_shape: tuple[int, ...]
    output_dtype: str
    memory_bytes: int
    """The budget of each process."""
    seconds: float
    explain: str
    """The plan in words, with what was predicted beside what was counted."""
    report: Report
    """The same as a dictionary."""


@dataclass(frozen=True)
class _Task:
    """Everything that is checked before any file is written; the same on all ranks."""

    source: ArrayFile
    result: Element
    real_shape: tuple[int, ...]
    output_shape: tuple[int, ...]
    axes: tuple[int, ...]
    kinds: tuple[int, ...]
    direction: int
    precision: int
    norm: int
    grid: tuple[int, ...]

    def common(self) -> str:
        return (
            f"{self.source.path} ({self.source.element.name} {self.source.shape}), axes {self.axes}, "
            f"kinds {self.kinds}, direction {self.direction}, norm {self.norm}, result {self.output_shape}"
        )


def _prepare(
    input: str | os.PathLike[str],
    output: str | os.PathLike[str],
    kind: str | Sequence[str] | None,
    backward: bool,
    axes: Sequence[int] | None,
    norm: str | None,
    dtype: object,
    shape: Sequence[int] | None,
    offset: int | None,
    real_length: int | None,
    grid: Sequence[int] | None,
) -> _Task:
    source = describe(input, dtype, shape, offset)
    target = os.fspath(output)
    if os.path.exists(target) and os.path.samefile(source.path, target):
        raise InvalidArgument(f"{target} is the input too; the input is never overwritten, so give another output")
    if os.path.isdir(target):
        raise InvalidArgument(f"{target} is a folder; give the name of a file in it")
    folder = os.path.dirname(target) or "."
    if not os.path.isdir(folder):
        raise IOFailure(f"{target} can't be written: there is no folder {folder}")
    ndim = len(source.shape)
    if ndim > core.max_ndim:
        raise Unsupported(f"{source.path} has {ndim} axes; at most {core.max_ndim} are possible")
    picked = tuple(range(ndim)) if axes is None else tuple(axes)
    for axis in picked:
        if not -ndim <= axis < ndim:
            raise InvalidAxis(f"axis {axis} is out of bounds for {source.path} of dimension {ndim}")
    picked = tuple(axis % ndim for axis in picked)
    if not picked or len(set(picked)) != len(picked):
        raise InvalidArgument(f"axes are {picked}; name at least one, and none twice")
    kinds, backward = _kinds(source, kind, backward, len(picked))
    norm = "backward" if norm is None else norm
    if norm not in _NORMS:
        raise InvalidArgument(f'norm is {norm!r}; it can be "backward", "ortho" or "forward"')
    real_shape, output_shape = list(source.shape), list(source.shape)
    halves, is_complex = "r2c" in kinds, "c2c" in kinds or "r2c" in kinds
    last = picked[-1]
    if halves and backward:
        n = source.shape[last]
        length = 2 * (n - 1) if real_length is None else real_length
        if length < 1 or length // 2 + 1 != n:
            raise InvalidArgument(
                f"real length is {length}, but axis {last} of {source.path} holds {n} frequencies: "
                f"it can be {max(1, 2 * (n - 1))} or {2 * (n - 1) + 1}"
            )
        real_shape[last] = output_shape[last] = length
    elif real_length is not None:
        raise InvalidArgument("a real length is for c2r only, where n // 2 + 1 frequencies don't tell n")
    elif halves:
        output_shape[last] = source.shape[last] // 2 + 1
    precision = source.element.precision
    result = element(precision, is_complex and not (halves and backward))
    return _Task(
        source,
        result,
        tuple(real_shape),
        tuple(output_shape),
        picked,
        tuple(_KINDS.index(name) for name in kinds),
        1 if backward else 0,
        precision,
        _NORMS.index(norm),
        () if grid is None else tuple(int(p) for p in grid),
    )


def _kinds(source: ArrayFile, kind: str | Sequence[str] | None, backward: bool, naxes: int) -> tuple[list[str], bool]:
    """One name an axis, and the direction: c2r is r2c backward."""
    is_complex = source.element.is_complex
    if kind is None:
        kind = "c2c" if is_complex else "r2c"
        if kind == "r2c" and backward:
            raise InvalidArgument(
                f"{source.path} holds {source.element.name}; backward needs the complex spectrum "
                f"(or name a real kind, such as dct2)"
            )
    names = kind.split(",") if isinstance(kind, str) else list(kind)
    if names == ["c2r"]:
        names, backward = ["r2c"], True
    for name in names:
        if name not in _KINDS:
            raise InvalidArgument(f"kind is {name!r}; it can be {', '.join(_KINDS[:2])}, c2r, {', '.join(_KINDS[2:])}")
    if len(names) == 1:
        names = ["c2c"] * (naxes - 1) + names if names == ["r2c"] else names * naxes
    if len(names) != naxes:
        raise InvalidArgument(f"kind names {len(names)} transforms for {naxes} axes; give one, or one an axis")
    if "r2c" in names[:-1]:
        raise InvalidArgument("only the last of the transformed axes can be r2c")
    needs_complex = backward if "r2c" in names else "c2c" in names
    if needs_complex != is_complex:
        shown = "c2r" if "r2c" in names and backward else ",".join(dict.fromkeys(names))
        remedy = "use c2c, or c2r for the spectrum of real numbers" if is_complex else "use r2c, or save it as complex"
        raise InvalidArgument(f"{source.path} holds {source.element.name}, which {shown} can't transform; {remedy}")
    return names, backward


def _budget(memory: str | int | None, ranks: Ranks | None) -> int:
    """Bytes for each process: what was asked for, or half of what is free, shared by the ranks of this machine."""
    if memory is not None:
        count = parse_bytes(memory)
        if count < _MIN_MEMORY_BYTES:
            raise OutOfMemory(f"memory is {memory}; at least 1 MiB is needed")
        return count
    count = available_bytes() // 2
    if ranks is not None:
        from mpi4py import MPI

        node = ranks.comm.Split_type(MPI.COMM_TYPE_SHARED)
        count = ranks.comm.allreduce(count // node.Get_size(), MPI.MIN)
        node.Free()
    return max(count, _MIN_MEMORY_BYTES)


def transform(
    input: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    kind: str | Sequence[str] | None = None,
    backward: bool = False,
    axes: Sequence[int] | None = None,
    norm: str | None = "backward",
    memory: str | int | None = None,
    scratch: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    dtype: object = None,
    shape: Sequence[int] | None = None,
    offset: int | None = None,
    real_length: int | None = None,
    threads: int = 0,
    engine: str | None = None,
    exchange: str | None = None,
    method: str | None = None,
    grid: Sequence[int] | None = None,
    io: str | None = None,
    order: str = "natural",
    comm: Comm | None = None,
    progress: Callable[[int, int], object] | None = None,
    trace: str | os.PathLike[str] | None = None,
) -> TransformResult:
    """Transforms an array in a file that need not fit into memory. Collective if `comm` is given.

    The input is left as it was; the output appears under its name only when it is whole, and replaces what was
    there. With `comm` each rank reads and writes its own box of the files.

    Parameters
    ----------
    input
        A .npy file (C order, native floating-point or complex numbers), or with `dtype` a raw one.
    output
        Written with a .npy header if it ends in .npy, else raw.
    kind
        "c2c", "r2c", "c2r", "dct1" to "dct4", "dst1" to "dst4", or one a transformed axis. Default: r2c for real
        input, c2c for complex.
    backward
        The inverse transform.
    axes
        The axes to transform; by default all.
    norm
        "backward", "ortho" or "forward", as in numpy.
    memory
        What each process may use, such as "256MiB" or bytes; the program and its libraries come on top, up to
        64 MiB. Default: half of what is free.
    scratch
        Folder for intermediate data, or several, a disk each ideally: the data is striped over them. Default: the
        output's.
    dtype, shape, offset
        Of a raw input: element type, shape (default: one axis), bytes before the array.
    real_length
        For c2r: length of the last transformed axis of the result. Default: the even one.
    threads, engine, exchange, grid
        As for `Plan`.
    io
        Who reads and writes: "uring", "threads" or "auto". Default: the environment's SPANFFT_IO, else "auto".
    method
        Forces a way to do it, such as "two_pass" or "superlevels"; see docs/out-of-core.md.
    order
        "natural", or "exchanged": a long c2c may leave its spectrum as its last sweep finds it, which saves requests
        and memory; a note of the report then says in which order.
    comm
        mpi4py communicator whose ranks share the work. All must call with the same arguments.
    progress
        Called now and then with (bytes done, bytes in all); returning False stops the run.
    trace
        A file for what each rank did when, as `write_trace` writes it. Recording takes 3 MiB beyond `memory`, and
        writing the file what its text takes.

    Returns
    -------
    TransformResult

    Raises
    ------
    IOFailure, NoSpace, CorruptData, InvalidArgument, OutOfMemory
        With `comm`, on all ranks.
    Interrupted, KeyboardInterrupt
        When stopped; nothing is left behind.
    """
    start = time.perf_counter()
    if order not in _ORDERS:
        raise InvalidArgument(f'order is {order!r}; it can be "natural" or "exchanged"')
    ranks: Ranks | None = None
    if comm is not None:
        from ._mpi import ranks_of

        ranks = ranks_of(comm)

    def prepare() -> tuple[_Task, int | None]:
        task = _prepare(input, output, kind, backward, axes, norm, dtype, shape, offset, real_length, grid)
        if trace is not None:
            _check_trace(trace, task.source.path, output)
        return task, None if memory is None else _budget(memory, None)

    if ranks is None:
        task, given = prepare()
    else:
        task, given = ranks.agree(prepare, lambda found: (found[0].common(), found[1]))[ranks.rank]
    memory_bytes = _budget(None, ranks) if given is None else given
    target = os.fspath(output)
    header = npy_header(task.result, task.output_shape) if target.endswith(".npy") else b""
    plan = core.plan(
        task.real_shape,
        task.axes,
        task.kinds,
        direction=task.direction,
        precision=task.precision,
        norm=task.norm,
        grid=task.grid,
        output=_ORDERS.index(order),
        threads=threads,
        engine=engine,
        exchange=exchange,
        method=method,
        memory_bytes=memory_bytes,
        io=io,
        comm=0 if ranks is None else ranks.handle,
    )
    folders = _folders(scratch)
    try:
        if trace is not None:
            plan.trace_start()
        plan.transform_file(task.source.path, task.source.offset_bytes, target, header, folders, progress)
        seconds = time.perf_counter() - start
        if trace is not None:
            write_captures(trace, [plan], ranks)
        return _result(task, target, memory_bytes, seconds, plan)
    finally:
        plan.free()


def _folders(scratch: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None) -> list[str]:
    if scratch is None:
        return []
    if isinstance(scratch, str | os.PathLike):
        return [os.fspath(scratch)]
    return [os.fspath(folder) for folder in scratch]


def _check_trace(trace: str | os.PathLike[str], source: str, output: str | os.PathLike[str]) -> None:
    target = check_target(trace)
    if os.path.abspath(target) == os.path.abspath(output) or (
        os.path.exists(target) and os.path.samefile(target, source)
    ):
        raise InvalidArgument(f"{target} is the trace and an array too; give the trace another name")


def _result(task: _Task, target: str, memory_bytes: int, seconds: float, plan: CorePlan) -> TransformResult:
    return TransformResult(
        input=task.source.path,
        output=target,
        input_shape=task.source.shape,
        input_dtype=task.source.element.name,
        output_shape=task.output_shape,
        output_dtype=task.result.name,
        memory_bytes=memory_bytes,
        seconds=seconds,
        explain=plan.explain(),
        report=report_of(plan),
    )
