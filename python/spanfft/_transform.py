"""transform() and transform_files(): from file to file, within a memory budget."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ._arguments import check_callable, did_you_mean, file_name
from ._errors import InvalidArgument
from ._file_runs import FileRuns, TransformResult
from ._formats import name_in_folder

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

    from ._blocks import Block

__all__ = ["transform", "transform_files"]


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
    replaces a file that was there. With `comm` each rank reads and writes its own part of the files.

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
        output's folder. One folder on another file system than the output is a disk of its own, which the plan uses
        even if it could do without scratch. With `comm` each rank has intermediate data of its own, which no other
        reads; "{rank}" and "{node}" in a name stand for the numbers of the rank and of its node. Folders say that
        ranks have disks of their own, to which the planner moves part of the work: leave it out where all share one.
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
        Forces a solver, such as "two_sweeps" or "superlevels"; see docs/out-of-core.md.
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
    arguments = {name: value for name, value in locals().items() if name not in ("input", "output", "in_place")}
    check_callable(arguments.pop("progress"), "progress")
    runs = FileRuns(**arguments)
    try:
        return runs.run(runs.prepare(input, output, in_place), progress)
    finally:
        runs.close()


def transform_files(
    inputs: Sequence[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    *,
    suffix: str | None = None,
    progress: Callable[[int, int], object] | None = None,
    on_result: Callable[[TransformResult], object] | None = None,
    **options: Any,
) -> list[TransformResult]:
    """Transforms many files, such as the series of a survey, each into a file of its own in a folder.

    All are checked before the first is transformed. Files of the same shape and type follow one another with one plan.
    What one run keeps on disk and how it goes on is as in `transform`; a call that failed or was killed has left whole
    outputs of the files before, and the same call transforms these again. Collective if `comm` is given.

    Parameters
    ----------
    inputs
        Files as `transform` takes them.
    folder
        Where the outputs go; it exists. Each has its input's name; PRESTO's .dat gives .fft and .fft gives .dat.
    suffix
        The outputs' suffix, and so their format: ".npy", ... Default: as above.
    progress
        Called now and then with (bytes done, bytes in all), as far as the files before let guess those to come;
        returning False stops the run.
    on_result
        Called with the result of each file when it is whole.
    options
        The other arguments of `transform`, but `trace`, for every file: axes, memory, ...

    Returns
    -------
    list of TransformResult
        In the order of the inputs.

    Raises
    ------
    Error
        As `transform`. InvalidArgument also where two outputs would have one name.
    """
    known = inspect.signature(transform).parameters
    arguments = {name: each.default for name, each in known.items() if name not in _NOT_OF_MANY}
    for name, value in options.items():
        if name not in arguments:
            raise InvalidArgument(f"transform_files takes no {name!r}{did_you_mean(name, arguments)}")
        arguments[name] = value
    for name, function in {"progress": progress, "on_result": on_result}.items():
        check_callable(function, name)
    files = _outputs_of(inputs, folder, suffix)
    runs = FileRuns(**arguments, trace=None)
    results: list[TransformResult] = []
    done_bytes = this_bytes = 0

    def tell(done: int, total: int) -> object:
        nonlocal this_bytes
        this_bytes = total
        assert progress is not None
        return progress(done_bytes + done, done_bytes + total * (len(files) - len(results)))

    try:
        for source, target in files:
            runs.prepare(source, target).close()
        for source, target in files:
            this_bytes = 0
            result = runs.run(runs.prepare(source, target), None if progress is None else tell)
            done_bytes += this_bytes
            results.append(result)
            if on_result is not None:
                on_result(result)
    finally:
        runs.close()
    return results


_NOT_OF_MANY = ("input", "output", "in_place", "trace", "progress")


def _outputs_of(
    inputs: Sequence[str | os.PathLike[str]], folder: str | os.PathLike[str], suffix: str | None
) -> list[tuple[str, str]]:
    """Each input with its output."""
    where = file_name(folder, "the folder")
    if isinstance(inputs, (str, bytes, os.PathLike)):
        raise InvalidArgument(f"the inputs are {inputs!r}; give a list of files")
    if not os.path.isdir(where):
        raise InvalidArgument(f"{where} is no folder for the outputs; make it, or name another")
    if suffix is not None and not (isinstance(suffix, str) and suffix[:1] == "." and os.sep not in suffix):
        raise InvalidArgument(f"the suffix is {suffix!r}; it begins with a dot, as .npy")
    made: dict[str, str] = {}
    for each in inputs:
        source = file_name(each, "the input")
        target = name_in_folder(where, source, suffix)
        if target in made:
            raise InvalidArgument(f"{made[target]} and {source} would both become {target}; rename one of them, or "
                                  f"transform them into two folders")  # fmt: skip
        made[target] = source
    if not made:
        raise InvalidArgument("there is no input; name the files to transform")
    return [(source, target) for target, source in made.items()]
