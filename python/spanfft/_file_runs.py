"""Runs from file to file: what transform() and transform_files() do, and how far their arguments make sense."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ._arguments import check_callable, count, did_you_mean, file_name, number, text, whole, wholes
from ._elements import Element, element, element_named, precision_of
from ._errors import Error, InvalidArgument, InvalidAxis, InvalidType, OutOfMemory, Unsupported, from_code
from ._files import folder_list, on_another_disk
from ._formats import Options, Source, Target, open_source, open_target
from ._journals import as_unfinished, goes_on, journal_mode
from ._memory import available_bytes, parse_bytes
from ._native import core
from ._problem import KINDS, NORMS, PRECISIONS, one_word, problem_string
from ._report import report_of
from ._trace import check_trace, write_captures

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

    from ._blocks import Block
    from ._core import Plan as CorePlan
    from ._mpi import Ranks
    from ._report import Report

__all__ = ["FileRuns", "Prepared", "TransformResult"]

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
    in_place: bool

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
        in_place,
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


@dataclass(frozen=True)
class Prepared:
    """A run that may begin: everything that can be checked before a file is touched was right."""

    task: _Task
    memory_bytes: int
    problem: str

    def close(self) -> None:
        self.task.source.close()
        self.task.target.discard()


@dataclass
class FileRuns:
    """Runs with the same arguments, those of `transform`. Collective if `comm` is given. Close it in the end.

    Runs of the same problem that follow one another share a plan.
    """

    kind: str | Sequence[str] | None
    backward: bool
    axes: int | Sequence[int] | None
    norm: str | None
    memory: str | int | None
    scratch: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None
    dtype: object
    precision: str | None
    shape: int | Sequence[int] | None
    offset: int | None
    real_length: int | None
    threads: int
    engine: str | None
    exchange: str | None
    method: str | None
    grid: int | Sequence[int] | None
    io: str | None
    order: str
    dataset: str | None
    chunks: int | Sequence[int] | None
    compression: str | None
    window: str | None
    scale: float
    power: bool
    output_dtype: object
    on_input: Block | None
    on_output: Block | None
    callback_name: str | None
    comm: Comm | None
    trace: str | os.PathLike[str] | None
    journal: bool
    resume: bool | None
    checksums: bool
    dry_run: bool

    def __post_init__(self) -> None:
        self._planned: tuple[str, CorePlan] | None = None
        self._free_bytes: int | None = None
        self._check()
        self._ranks: Ranks | None = None
        if self.comm is not None:
            from ._mpi import ranks_of

            self._ranks = ranks_of(self.comm)

    def _words(self) -> dict[str, str | None]:
        return {name: getattr(self, name) for name in ("engine", "exchange", "method", "io", "window")}

    def _check(self) -> None:
        if self.order not in _ORDERS:
            raise InvalidArgument(f'order is {self.order!r}; it can be "natural" or "exchanged"')
        self.scale, self.threads = number(self.scale, "scale"), count(self.threads, "threads")
        for name, word in {**self._words(), "callback_name": self.callback_name}.items():
            text(word, name)
        for name, function in {"on_input": self.on_input, "on_output": self.on_output}.items():
            check_callable(function, name)
        if not math.isfinite(self.scale) or self.scale == 0:
            raise InvalidArgument(f"scale is {self.scale}; it must be finite and not 0")

    def _task(
        self, input: str | os.PathLike[str], output: str | os.PathLike[str] | None, in_place: bool
    ) -> tuple[_Task, int | None]:
        for name, word in self._words().items():
            one_word(name, word or "")
        options = Options(
            self.dtype,
            precision_of(text(self.precision, "precision")),
            None if self.shape is None else wholes(self.shape, "shape"),
            None if self.offset is None else whole(self.offset, "offset"),
            text(self.dataset, "dataset"),
            None if self.chunks is None else wholes(self.chunks, "chunks"),
            text(self.compression, "compression") if self.compression else self.compression,
        )
        task = _prepare(
            input,
            output,
            in_place,
            self.kind,
            self.backward,
            self.axes,
            self.norm,
            options,
            self.real_length,
            self.grid,
            self.output_dtype,
            self.power,
        )
        if self.trace is not None:
            check_trace(self.trace, task.source.path, task.target.path)
        return task, None if self.memory is None else _budget(self.memory, None)

    def _agreed_task(
        self, input: str | os.PathLike[str], output: str | os.PathLike[str] | None, in_place: bool
    ) -> tuple[_Task, int | None]:
        if self._ranks is None:
            return self._task(input, output, in_place)
        mine: list[tuple[_Task, int | None]] = []  # a task may hold functions, which can't be sent

        def in_words() -> tuple[str, int | None]:
            mine.append(self._task(input, output, in_place))
            both = (("on_input", self.on_input), ("on_output", self.on_output))
            callbacks = " and ".join(name for name, block in both if block is not None) or "none"
            return f"{mine[0][0].common()}, block callbacks: {callbacks}", mine[0][1]

        self._ranks.agree(in_words, lambda found: found)
        return mine[0]

    def prepare(
        self, input: str | os.PathLike[str], output: str | os.PathLike[str] | None, in_place: bool = False
    ) -> Prepared:
        """Opens the input's header and checks; writes nothing."""
        task, given = self._agreed_task(input, output, in_place)
        if self.callback_name is not None and self.on_input is None and self.on_output is None:
            raise InvalidArgument(
                f"callback_name is {self.callback_name!r}, but there is no callback; leave it out, or give one"
            )
        folders, threads, mode = folder_list(self.scratch), self.threads, journal_mode(self.journal, self.resume)
        source, target, ranks = task.source, task.target, self._ranks
        if goes_on(mode) and given is None and ranks is None:
            given, threads = as_unfinished(source.path, source.offset_bytes, target.path, folders, threads)
        if given is None:
            if self._free_bytes is None:  # the same for all runs, which follow one another
                self._free_bytes = _budget(None, ranks)
            given = self._free_bytes
        return Prepared(task, given, self._problem(task, given, threads, folders))

    def _problem(self, task: _Task, memory_bytes: int, threads: int, folders: list[str]) -> str:
        shape_in_memory, axes_in_memory, grid_in_memory = task.in_memory()
        ranks = 1 if self._ranks is None else self._ranks.size
        # To one process a folder on the output's disk is like none.
        own_disks = ranks > 1 or len(folders) > 1 or (folders and on_another_disk(folders[0], task.target.path))
        return problem_string(
            shape_in_memory,
            task.kinds,
            axes_in_memory,
            task.direction,
            task.precision,
            norm=task.norm,
            ranks=ranks,
            grid=grid_in_memory,
            output=self.order,
            memory=memory_bytes,
            disks=len(folders) if own_disks else 0,
            threads=threads,
            engine=self.engine,
            exchange=self.exchange,
            io=self.io,
            method=self.method,
            window=self.window,
            scale=self.scale,
            store=task.result.name if self.output_dtype is not None else None,
            load=task.load,
            power=bool(self.power),
            reads_once=self.on_input is not None,
            input_chunk=task.source.chunk,
            output_chunk=task.target.chunk,
            one_writer=task.target.one_writer and self._ranks is not None,
        )

    def _plan(self, problem: str) -> CorePlan:
        if self._planned is None or self._planned[0] != problem:
            self._free_plan()
            self._planned = problem, core.plan(problem, 0 if self._ranks is None else self._ranks.handle)
        return self._planned[1]

    def _free_plan(self) -> None:
        if self._planned is not None:
            self._planned[1].free()
            self._planned = None

    def run(self, prepared: Prepared, progress: Callable[[int, int], object] | None) -> TransformResult:
        """Transforms. Its source and target are closed when it ends, however it ends."""
        start = time.perf_counter()
        task, target, ranks = prepared.task, prepared.task.target, self._ranks
        writes = ranks is None or ranks.rank == 0
        try:
            plan = self._plan(prepared.problem)
            if self.dry_run:
                return _result(task, prepared.memory_bytes, 0.0, plan)
            self._open(target)
            if self.trace is not None:
                plan.trace_start()
            self._transform(plan, task, progress)
            if writes and target.write is None:
                target.publish()
            seconds = time.perf_counter() - start
            if self.trace is not None:
                write_captures(self.trace, [plan], ranks)
            return _result(task, prepared.memory_bytes, seconds, plan)
        finally:
            prepared.close()

    def _open(self, target: Target) -> None:
        """On ranks, rank 0 makes what is written to; with a function to write it, the others write there too."""
        if self._ranks is None:
            target.open()
            return
        first = self._ranks.rank == 0
        place = self._ranks.agree(lambda: _opened(target) if first else "")[0]
        if target.write is not None:
            self._ranks.agree(lambda: None if first else target.join(place))

    def _transform(self, plan: CorePlan, task: _Task, progress: Callable[[int, int], object] | None) -> None:
        source, target, mode = task.source, task.target, journal_mode(self.journal, self.resume)
        on_read, on_write, elem_bytes = _calls(task, self.on_input, self.on_output)
        folders = folder_list(self.scratch)
        if target.write is not None and not folders:
            folders = [os.path.dirname(target.path) or "."]
        run = partial(
            plan.transform_file,
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
            checksums=self.checksums,
            in_place=task.in_place,
            input_identity=source.identity() if mode and source.identity is not None else "",
            output_identity=target.identity,
            finish=target.publish if target.write is not None else None,
            callback_name=self.callback_name or "",
        )
        try:
            run()
        except Error as error:  # a format's, on the rank whose array failed: all raise what the library makes of it
            told = getattr(error, "spanfft_message", None)
            if self._ranks is None or told is None:
                raise
            raise from_code(error.code, told) from error

    def close(self) -> None:
        """Frees the plan."""
        self._free_plan()


def _opened(target: Target) -> str:
    target.open()
    return target.place()


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
