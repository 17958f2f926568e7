"""The C interface. Private: use the package."""

from collections.abc import Callable, Sequence
from typing import TypedDict

max_ndim: int

Box = tuple[Sequence[int], Sequence[int]]  # start, count
Part = tuple[list[int], list[int], list[int]]  # start, count, step

class Counts(TypedDict):
    flops: float
    memory_bytes: int
    messages: int
    sent_bytes: int
    disk_read_bytes: int
    disk_written_bytes: int
    disk_reads: int
    disk_writes: int
    seconds: float
    calls: int
    parallel_ios: int

class Step(TypedDict):
    depth: int
    type: str
    description: str
    predicted: Counts
    counted: Counts | None

class Engine(TypedDict):
    name: str
    version: str
    path: str
    precisions: list[str]

class TraceInfo(TypedDict):
    events: int
    dropped: int
    clock_offset_ns: int
    clock_accuracy_ns: int

class Plan:
    def execute(self, input: object, output: object, code: int = 0, message: str = "") -> None: ...
    def transform_file(
        self,
        input_path: str,
        input_offset_bytes: int,
        output_path: str,
        header: bytes,
        scratch: Sequence[str],
        progress: Callable[[int, int], object] | None,
        *,
        read: Callable[[tuple[int, ...], tuple[int, ...], memoryview], object] | None = None,
        write: Callable[[tuple[int, ...], tuple[int, ...], memoryview], object] | None = None,
        packed_input: bool = False,
        packed_output: bool = False,
        on_input: Callable[[memoryview, int], object] | None = None,
        on_output: Callable[[memoryview, memoryview | None, int], bool] | None = None,
        block_elem_bytes: tuple[int, int, int] = ...,
        journal: int = 0,
        checksums: bool = True,
        in_place: bool = False,
        input_identity: str = "",
        output_identity: str = "",
        finish: Callable[[], object] | None = None,
        callback_name: str = "",
    ) -> None: ...
    @property
    def resumed_bytes(self) -> int: ...
    def free(self) -> None: ...
    @property
    def freed(self) -> bool: ...
    @property
    def output_address(self) -> int: ...
    @property
    def input_part(self) -> Part: ...
    @property
    def output_part(self) -> Part: ...
    @property
    def input_shape(self) -> list[int]: ...
    @property
    def output_shape(self) -> list[int]: ...
    @property
    def input_bytes(self) -> int: ...
    @property
    def output_bytes(self) -> int: ...
    @property
    def problem(self) -> str: ...
    @property
    def solver(self) -> str: ...
    @property
    def engines(self) -> str: ...
    @property
    def io(self) -> str: ...
    @property
    def rank(self) -> int: ...
    @property
    def ranks(self) -> int: ...
    @property
    def sweeps(self) -> int: ...
    @property
    def scratch_bytes(self) -> int: ...
    @property
    def notes(self) -> list[str]: ...
    def peak_memory_bytes(self, rank: int = -1) -> int: ...
    def trace_start(self, max_events: int = 0) -> None: ...
    def trace_stop(self) -> None: ...
    def trace_info(self) -> TraceInfo: ...
    def trace_events(self) -> list[tuple[str, int, int, int, int, int, int, int]]: ...
    def explain(self) -> str: ...
    def steps(self, rank: int = -1) -> list[Step]: ...
    def predicted(self, index: int = -1, rank: int = -1) -> Counts: ...
    def counted(self, index: int = -1) -> Counts | None: ...

def plan(
    shape: Sequence[int],
    axes: Sequence[int],
    kinds: Sequence[int],
    *,
    direction: int,
    precision: int,
    norm: int,
    batch: int = 1,
    grid: Sequence[int] = ...,
    output: int = 0,
    real_box: Box | None = None,
    spectrum_box: Box | None = None,
    threads: int = 0,
    engine: str | None = None,
    exchange: str | None = None,
    effort: int = 0,
    in_place: bool = False,
    own_output: bool = False,
    memory_bytes: int = 0,
    layout: int = 0,
    measure_seconds: float = 0.0,
    io: str | None = None,
    method: str | None = None,
    disks: int = 0,
    input_chunk: Sequence[int] = ...,
    output_chunk: Sequence[int] = ...,
    scale: float = 1.0,
    window: str | None = None,
    store: str | None = None,
    power: bool = False,
    comm: int = 0,
) -> Plan: ...
def bit_matrix(kind: str, bits: int) -> list[int]: ...
def permute_plan(
    columns: Sequence[int],
    *,
    complement: int,
    record_bytes: int,
    memory_bytes: int,
    block_bytes: int,
    disks: int,
    synchronous: bool,
    threads: int,
) -> dict[str, int | str]: ...
def permute_file(
    columns: Sequence[int],
    *,
    complement: int,
    record_bytes: int,
    memory_bytes: int,
    block_bytes: int,
    synchronous: bool,
    threads: int,
    input_path: str,
    input_offset_bytes: int,
    output_path: str,
    header: bytes,
    scratch: Sequence[str],
    progress: Callable[[int, int], object] | None,
) -> dict[str, int]: ...
def parse(problem: str, comm: int = 0) -> Plan: ...
def imagine(problem: str, machine: str | None = None, ranks_per_node: int = 0) -> Plan: ...
def probe(*, comm: int = 0, seconds: float = 0.0, quick: bool = False, store: bool = True, disk: str = "") -> str: ...
def tuning_path() -> str: ...
def tuning_export() -> str: ...
def tuning_import(text: str) -> int: ...
def tuning_forget(problem: str | None) -> int: ...
def canonical(problem: str) -> str: ...
def unfinished_run(input_path: str, input_offset_bytes: int, output_path: str, scratch: Sequence[str]) -> str: ...
def disk_io(io: str | None = None) -> str: ...
def windows() -> str: ...
def engines() -> list[Engine]: ...
def engine_search(folder: str) -> None: ...
def version() -> str: ...
def comm_free(comm: int) -> None: ...
