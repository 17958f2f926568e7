"""transform(): from file to file, within a memory budget."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ._arguments import check_callable, count, did_you_mean, file_name, number, text, whole, wholes
from ._elements import Element, element, element_named, precision_of
from ._errors import InvalidArgument, InvalidAxis, InvalidType, OutOfMemory, Unsupported
from ._files import folder_list
from ._formats import Options, Source, Target, open_source, open_target
from ._memory import available_bytes, parse_bytes
from ._native import core
from ._problem import KINDS, NORMS, PRECISIONS, one_word, problem_string
from ._report import report_of
from ._trace import check_target, write_captures

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

    from ._blocks import Block
    from ._core import Plan as CorePlan
    from ._mpi import Ranks
    from ._report import Report

__all__ = ["TransformResult", "transform"]

_ORDERS = ("natural", "exchanged")
_MIN_MEMORY_BYTES = 1 << 20
_JOURNAL_AUTO, _JOURNAL_RESUME, _JOURNAL_RESTART = 1, 2, 3  # of the C interface; 0 is none


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
    resumed_bytes: int
    """Of reads and writes that an unfinished run had done; 0: this one did all."""
    explain: str
    """The plan in words, with what was predicted beside what was counted."""
    report: Report
    """The same as a dictionary."""

    def __repr__(self) -> str:
        shape = "x".join(str(n) for n in self.output_shape)
        return f"<TransformResult {self.output!r}: {shape} {self.output_dtype} in {self.seconds:.3g} s>"


@dataclass(frozen=True)
class _Task:
    """Everything that is checked before any file is written; the same on all ranks."""

    source: Source
    target: Target
    read: Element  # what the input's elements are in memory
    load: str | None  # how they lie in its file, if otherwise
    computed: Element
    result: Element  # what the output holds of it
    real_shape: tuple[int, ...]
    output_shape: tuple[int, ...]
    axes: tuple[int, ...]
    kinds: tuple[str, ...]
    direction: str
    precision: str
    norm: str
    grid: tuple[int, ...]

    def common(self) -> str:
        return (
            f"{self.source.name} ({self.source.element.name} {self.source.shape}), axes {self.axes}, "
            f"kinds {self.kinds}, direction {self.direction}, precision {self.precision}, norm {self.norm}, "
            f"result {self.output_shape}"
        )

    def in_memory(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Shape, axes and grid as the array lies: of one in Fortran order the other way round."""
        if not self.source.fortran:
            return self.real_shape, self.axes, self.grid
        ndim = len(self.real_shape)
        grid = self.grid + (1,) * (ndim - len(self.grid)) if self.grid else ()
        return self.real_shape[::-1], tuple(ndim - 1 - axis for axis in self.axes), grid[::-1]


def _prepare(
    input: str | os.PathLike[str],
    output: str | os.PathLike[str] | None,
    in_place: bool,
    kind: str | Sequence[str] | None,
    backward: bool,
    axes: int | Sequence[int] | None,
    norm: str | None,
    options: Options,
    real_length: int | None,
    grid: int | Sequence[int] | None,
    output_dtype: object,
    power: bool,
) -> _Task:
    source = open_source(input, replace(options, chunks=None, compression=None))
    ndim = len(source.shape)
    if ndim > core.max_ndim:
        raise Unsupported(f"{source.name} has {ndim} axes; at most {core.max_ndim} are possible")
    picked = tuple(range(ndim)) if axes is None else wholes(axes, "axes")
    for axis in picked:
        if not -ndim <= axis < ndim:
            raise InvalidAxis(f"axis {axis} is out of bounds for {source.name} of dimension {ndim}")
    picked = tuple(axis % ndim for axis in picked)
    if not picked or len(set(picked)) != len(picked):
        raise InvalidArgument(f"axes are {picked}; name at least one, and none twice")
    kinds, backward = _kinds(source, kind, backward, len(picked))
    norm = "backward" if norm is None else norm
    if norm not in NORMS:
        raise InvalidArgument(f'norm is {norm!r}; it can be "backward", "ortho" or "forward"')
    real_shape, output_shape = list(source.shape), list(source.shape)
    halves, is_complex = "r2c" in kinds, "c2c" in kinds or "r2c" in kinds
    last = picked[-1]
    if halves and backward:
        n = source.shape[last]
        length = 2 * (n - 1) if real_length is None else whole(real_length, "real_length")
        if length < 1 or length // 2 + 1 != n:
            raise InvalidArgument(
                f"real length is {length}, but axis {last} of {source.name} holds {n} frequencies: "
                f"it can be {max(1, 2 * (n - 1))} or {2 * (n - 1) + 1}"
            )
        real_shape[last] = output_shape[last] = length
    elif real_length is not None:
        raise InvalidArgument("a real length is for c2r only, where n // 2 + 1 frequencies don't tell n")
    elif halves:
        output_shape[last] = source.shape[last] // 2 + 1
    read = source.element.computed(options.precision)
    load = None if source.read is not None else source.element.load(options.precision)
    if source.packed and load is not None:
        raise InvalidArgument(
            f"{source.name} holds the packed half spectrum of float32 numbers, which is computed in single precision; "
            f"leave the precision out"
        )
    if in_place and load is not None:
        raise InvalidArgument(
            f"{source.name} holds {source.element.name}, which is converted to {read.name} on the way in; in place the "
            f"output must be of the input's own type, so give another output"
        )
    precision = read.precision
    computed = element(precision, is_complex and not (halves and backward))
    result = element(precision, computed.is_complex and not power)
    if output_dtype is not None:
        result = element_named(output_dtype)
    target = _target(source, output, in_place, result, output_shape, options)
    return _Task(
        source,
        target,
        read,
        load,
        computed,
        result,
        tuple(real_shape),
        tuple(output_shape),
        picked,
        tuple(kinds),
        "backward" if backward else "forward",
        PRECISIONS[precision],
        norm,
        () if grid is None else wholes(grid, "grid"),
    )


def _target(
    source: Source,
    output: str | os.PathLike[str] | None,
    in_place: bool,
    result: Element,
    shape: Sequence[int],
    options: Options,
) -> Target:
    if in_place:
        if output is not None:
            raise InvalidArgument(
                f"the output is {file_name(output, 'the output')}, but in place {source.name} is; leave one of both out"
            )
        if source.read is not None or source.packed:
            what = "a packed spectrum" if source.packed else "in chunks"
            raise Unsupported(
                f"{source.name} is {what}; in place is for arrays in one piece of a file, so give another output"
            )
        if options.chunks is not None or options.compression is not None:
            raise InvalidArgument(f"{source.name} has no chunks; leave out chunks and compression in place")
        return Target(source.name, source.path)
    if output is None:
        raise InvalidArgument(f"where shall the transform of {source.name} go? Name an OUTPUT, or ask for --in-place")
    target = open_target(output, result, shape, source, replace(options, dtype=None, shape=None, offset=None))
    if os.path.exists(target.path) and os.path.samefile(source.path, target.path):
        raise InvalidArgument(
            f"{target.path} is the input too, which is never overwritten unasked; name another output, or none and "
            f"--in-place (in_place=True)"
        )
    return target


def _kinds(source: Source, kind: str | Sequence[str] | None, backward: bool, naxes: int) -> tuple[list[str], bool]:
    """One name an axis, and the direction: c2r is r2c backward."""
    is_complex = source.element.is_complex
    if source.packed and kind not in (None, "c2r"):
        raise InvalidArgument(f"{source.name} holds the packed half spectrum of real numbers; it can only go back: c2r")
    if source.packed:
        kind = "c2r"
    if kind is None:
        kind = "c2c" if is_complex else "r2c"
        if kind == "r2c" and backward:
            raise InvalidArgument(
                f"{source.name} holds {source.element.name}; backward needs the complex spectrum "
                f"(or name a real kind, such as dct2)"
            )
    if isinstance(kind, str):
        names = kind.split(",")
    elif isinstance(kind, Sequence) and all(isinstance(name, str) for name in kind):
        names = list(kind)
    else:
        raise InvalidType(f"kind is {kind!r}; it must be a str, or one a transformed axis")
    if names == ["c2r"]:
        names, backward = ["r2c"], True
    for name in names:
        if name not in KINDS:
            known = (*KINDS[:2], "c2r", *KINDS[2:])
            raise InvalidArgument(f"kind is {name!r}; it can be {', '.join(known)}{did_you_mean(name, known)}")
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
        raise InvalidArgument(f"{source.name} holds {source.element.name}, which {shown} can't transform; {remedy}")
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
    output: str | os.PathLike[str] | None = None,
    *,
    in_place: bool = False,
    kind: str | Sequence[str] | None = None,
    backward: bool = False,
    axes: int | Sequence[int] | None = None,
    norm: str | None = "backward",
    memory: str | int | None = None,
    scratch: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    dtype: object = None,
    precision: str | None = None,
    shape: int | Sequence[int] | None = None,
    offset: int | None = None,
    real_length: int | None = None,
    threads: int = 0,
    engine: str | None = None,
    exchange: str | None = None,
    method: str | None = None,
    grid: int | Sequence[int] | None = None,
    io: str | None = None,
    order: str = "natural",
    dataset: str | None = None,
    chunks: int | Sequence[int] | None = None,
    compression: str | None = None,
    window: str | None = None,
    scale: float = 1.0,
    power: bool = False,
    output_dtype: object = None,
    on_input: Block | None = None,
    on_output: Block | None = None,
    callback_name: str | None = None,
    comm: Comm | None = None,
    progress: Callable[[int, int], object] | None = None,
    trace: str | os.PathLike[str] | None = None,
    journal: bool = True,
    resume: bool | None = None,
    checksums: bool = True,
    dry_run: bool = False,
) -> TransformResult:
    """Transforms an array on disk that need not fit into memory. Collective if `comm` is given.

    The input is not changed, unless `in_place`; the output appears under its name only when it is whole, and
    replaces a file that was there. With `comm` each rank reads and writes its own box of the files.

    Parameters
    ----------
    input
        A .npy file, or with `dtype` a raw one; "file.h5:/dataset" (HDF5); a folder with a Zarr array; PRESTO's .dat
        (with its .inf) or .fft. It holds floating-point or complex numbers, integers or booleans, of any byte order,
        which are converted as they are read; a .npy file may be in Fortran order. See docs/howto/formats.md.
    output
        The output, in the format that its name says: .npy, .h5, .zarr, PRESTO's .fft or .dat; else raw. None with
        `in_place`. Of an input in Fortran order: .npy, which is in Fortran order too.
    in_place
        The output takes the input's place in its file, whose other bytes stay: for kinds whose output is as large as
        their input (c2c, DCT, DST). Needs `journal`, scratch as large as the array, and one process. A run that ends
        early may leave a file that holds neither input nor output; `resume` completes it (docs/howto/in-place.md).
    kind
        "c2c", "r2c", "c2r", "dct1" to "dct4", "dst1" to "dst4", or one a transformed axis. Default: r2c for real
        input, c2c for complex.
    backward
        True: the inverse transform.
    axes
        The axes to transform, or one; by default all.
    norm
        "backward", "ortho" or "forward", as in numpy; "ortho" makes DCT and DST orthogonal, as in scipy.
    memory
        The budget of each process, such as "256MiB" or a number of bytes; the program and its libraries take memory
        beyond it, up to 64 MiB. Default: half of the free memory.
    scratch
        Folder for intermediate data, or several, ideally on a disk each: the data is striped over them. Default: the
        output's folder.
    dtype, shape, offset
        Of a raw input: element type ("float32", "int16", ">f4", ...), shape (default: one axis), bytes before the
        array.
    precision
        "single", "double" or "longdouble": in which the transform is computed. Default: that of the input's numbers;
        as in SciPy, of integers double, of float16 single. Integers that it can't hold (in double those beyond 2**53)
        are rounded.
    dataset
        The dataset of HDF5 files whose name gives none. Default: the only one of the input; "/data" of the output.
    chunks
        Elements of a chunk along each axis, for a Zarr or HDF5 output. Default: for Zarr the input's, or else 16 MiB;
        for HDF5 no chunks, or with `compression` 16 MiB.
    compression
        How the format's library compresses chunks of a Zarr or HDF5 output: "gzip", or with a level "gzip:4"; Zarr also
        has "zstd" and "blosc", HDF5 "lzf". Default: none.
    real_length
        For c2r: length of the last transformed axis of the result. Default: the even one.
    threads, engine, exchange, grid
        As for `Plan`.
    io
        Who reads and writes: "uring", "threads" or "auto". Default: the environment's SPANFFT_IO, else "auto".
    method
        Forces a solver, such as "two_pass" or "superlevels"; see docs/out-of-core.md.
    order
        "natural", or "exchanged": a long c2c may leave its spectrum transposed, as its last sweep computes it, which
        saves requests and memory; a note of the report then gives the order.
    window
        What the input is multiplied by along the last of `axes`: "hann", "hamming", "blackman", "nuttall",
        "blackmanharris", "flattop" or "kaiser:BETA"; periodic, as scipy.signal.get_window gives it.
    scale
        The output is multiplied by it, in addition to `norm`.
    power
        Stores abs(x)**2 of each element of the output, as real numbers.
    output_dtype
        The type of the output's elements, if it is not the computed type: "complex64" instead of complex128, "float32"
        for `power`, ...
    on_input
        `on_input(block, index)` changes a block of the input, converted to what is computed with, before the window.
        `block` is a 1-D array, a contiguous run of the input in C order (of a file in Fortran order: in that), and
        `index` the flat index of its first element; `np.unravel_index(index, shape)`, or with order="F", gives the
        indices where there are several axes. Each element is passed once, in no order, in blocks of any
        length (a MiB or so), by one thread of the library at a time, which is not the caller's. The block must not be
        kept.
    on_output
        The same for the output, before `power` and the conversion to `output_dtype`. It changes the block in place and
        returns None, or returns an array of the block's shape, which is stored unchanged as `output_dtype`.
    callback_name
        What the callbacks do, such as "whiten 2": with a name there is a journal for runs that have callbacks. A run
        that goes on gives them only the blocks that are not done, and must have the same name; so their results must
        depend on the block and its index alone, and they need another name when they change.
    comm
        mpi4py communicator whose ranks share the work. All must call with the same arguments.
    progress
        Called now and then with (bytes done, bytes in all); returning False stops the run.
    trace
        A file for what each rank did when, as `write_trace` writes it. Recording takes 3 MiB beyond `memory`, and
        writing takes as much memory as the file's text.
    journal
        Keep a journal, so that a run that is killed or stopped can go on (docs/howto/resume.md). A run that fails then
        leaves hidden files beside the output and in `scratch`. A note of the report says for which plans there is none.
    resume
        None: go on with an unfinished run from this input to this output, with the same `scratch`, if there is one; it
        keeps its budget if `memory` is not given. True: the same, but it is an error if there is none. False: throw
        it away and begin anew.
    checksums
        Verify the data that one sweep writes to disk and the next reads.
    dry_run
        Plan only: `explain` and `report` of the result say what would be done. Nothing is written.

    Returns
    -------
    TransformResult

    Raises
    ------
    IOFailure, NoSpace, CorruptData, InvalidArgument, OutOfMemory
        With `comm`, on all ranks.
    CallbackFailed
        A callback raised an exception, which is the cause of this one; on all ranks.
    Interrupted, KeyboardInterrupt
        When stopped; the sentence says what a journal keeps.
    """
    start = time.perf_counter()
    if order not in _ORDERS:
        raise InvalidArgument(f'order is {order!r}; it can be "natural" or "exchanged"')
    scale, threads = number(scale, "scale"), count(threads, "threads")
    words = {"engine": engine, "exchange": exchange, "method": method, "io": io, "window": window}
    for name, word in {**words, "callback_name": callback_name}.items():
        text(word, name)
    for name, function in {"progress": progress, "on_input": on_input, "on_output": on_output}.items():
        check_callable(function, name)
    if not math.isfinite(scale) or scale == 0:
        raise InvalidArgument(f"scale is {scale}; it must be finite and not 0")
    ranks: Ranks | None = None
    if comm is not None:
        from ._mpi import ranks_of

        ranks = ranks_of(comm)

    def prepare() -> tuple[_Task, int | None]:
        for name, word in words.items():
            one_word(name, word or "")
        options = Options(
            dtype,
            precision_of(text(precision, "precision")),
            None if shape is None else wholes(shape, "shape"),
            None if offset is None else whole(offset, "offset"),
            text(dataset, "dataset"),
            None if chunks is None else wholes(chunks, "chunks"),
            text(compression, "compression") if compression else compression,
        )
        task = _prepare(
            input, output, in_place, kind, backward, axes, norm, options, real_length, grid, output_dtype, power
        )
        if trace is not None:
            _check_trace(trace, task.source.path, task.target.path)
        return task, None if memory is None else _budget(memory, None)

    if ranks is None:
        task, given = prepare()
    else:
        mine: list[tuple[_Task, int | None]] = []  # a task may hold functions, which can't be sent

        def in_words() -> tuple[str, int | None]:
            mine.append(prepare())
            given = [name for name, block in (("on_input", on_input), ("on_output", on_output)) if block is not None]
            callbacks = " and ".join(given) or "none"
            return f"{mine[0][0].common()}, block callbacks: {callbacks}", mine[0][1]

        ranks.agree(in_words, lambda found: found)
        task, given = mine[0]
    source, target = task.source, task.target
    folders = folder_list(scratch)
    if callback_name is not None and on_input is None and on_output is None:
        raise InvalidArgument(
            f"callback_name is {callback_name!r}, but there is no callback; leave it out, or give one"
        )
    if resume and not journal:
        raise InvalidArgument("resume=True goes on where a journal ends, so it needs journal=True")
    mode = (_JOURNAL_AUTO if resume is None else _JOURNAL_RESUME if resume else _JOURNAL_RESTART) if journal else 0
    if mode in (_JOURNAL_AUTO, _JOURNAL_RESUME) and given is None and ranks is None:
        given, threads = _as_unfinished(source.path, source.offset_bytes, target.path, folders, threads)
    memory_bytes = _budget(None, ranks) if given is None else given
    shape_in_memory, axes_in_memory, grid_in_memory = task.in_memory()
    problem = problem_string(
        shape_in_memory,
        task.kinds,
        axes_in_memory,
        task.direction,
        task.precision,
        norm=task.norm,
        ranks=1 if ranks is None else ranks.size,
        grid=grid_in_memory,
        output=order,
        memory=memory_bytes,
        disks=len(folders) or 1,
        threads=threads,
        engine=engine,
        exchange=exchange,
        io=io,
        method=method,
        window=window,
        scale=scale,
        store=task.result.name if output_dtype is not None else None,
        load=task.load,
        power=bool(power),
        reads_once=on_input is not None,
        input_chunk=source.chunk,
        output_chunk=target.chunk,
    )
    plan = core.plan(problem, 0 if ranks is None else ranks.handle)
    if target.write is not None and not folders:
        folders = [os.path.dirname(target.path) or "."]
    writes = ranks is None or ranks.rank == 0
    try:
        if dry_run:
            return _result(task, memory_bytes, 0.0, plan)
        if ranks is None:
            target.open()
        else:
            ranks.agree(target.open if writes else lambda: None)
        if trace is not None:
            plan.trace_start()
        on_read, on_write, elem_bytes = _calls(task, on_input, on_output)
        behind = target.write is not None
        plan.transform_file(
            source.path,
            source.offset_bytes,
            target.path,
            target.header,
            folders,
            progress,
            read=source.read,
            write=target.write,
            packed_input=source.packed,
            packed_output=target.packed,
            on_input=on_read,
            on_output=on_write,
            elem_bytes=elem_bytes,
            journal=mode,
            checksums=checksums,
            in_place=in_place,
            input_identity=source.identity() if mode and source.identity is not None else "",
            output_identity=target.identity,
            finish=target.publish if behind else None,
            callback_name=callback_name or "",
        )
        if writes and not behind:
            target.publish()
        seconds = time.perf_counter() - start
        if trace is not None:
            write_captures(trace, [plan], ranks)
        return _result(task, memory_bytes, seconds, plan)
    finally:
        source.close()
        target.discard()
        plan.free()


def _as_unfinished(
    source: str, offset_bytes: int, target: str, folders: list[str], threads: int
) -> tuple[int | None, int]:
    """Memory and threads of an unfinished run between these files, whose plan is the only one to go on with."""
    problem = core.unfinished_run(source, offset_bytes, target, folders)
    words = dict(word.split("=", 1) for word in problem.split() if "=" in word)
    memory = int(words["memory"]) if "memory" in words else None
    return memory, threads or int(words.get("threads", 0))


def _calls(task: _Task, on_input: Block | None, on_output: Block | None) -> tuple[Any, Any, tuple[int, int, int]]:
    elem_bytes = (task.read.size_bytes, task.computed.size_bytes, task.result.size_bytes)
    if on_input is None and on_output is None:
        return None, None, elem_bytes
    from ._blocks import input_call, output_call  # numpy, which others do without

    return (
        None if on_input is None else input_call(on_input, task.read),
        None if on_output is None else output_call(on_output, task.computed, task.result),
        elem_bytes,
    )


def _check_trace(trace: str | os.PathLike[str], source: str, output: str | os.PathLike[str]) -> None:
    target = check_target(trace)
    if os.path.abspath(target) == os.path.abspath(output) or (
        os.path.exists(target) and os.path.samefile(target, source)
    ):
        raise InvalidArgument(f"{target} is the trace and an array too; give the trace another name")


def _result(task: _Task, memory_bytes: int, seconds: float, plan: CorePlan) -> TransformResult:
    return TransformResult(
        input=task.source.name,
        output=task.target.name,
        input_shape=task.source.shape,
        input_dtype=task.source.element.name,
        output_shape=task.output_shape,
        output_dtype=task.result.name,
        memory_bytes=memory_bytes,
        seconds=seconds,
        resumed_bytes=plan.resumed_bytes,
        explain=plan.explain(),
        report=report_of(plan),
    )
