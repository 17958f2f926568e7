"""The C interface. Private: use the package."""

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

max_ndim: int
small_call_plans: int
small_call_elems: int

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

class Limit(TypedDict):
    name: str
    seconds: float
    predicted_share: float | None
    measured_share: float | None

class Step(TypedDict):
    depth: int
    type: str
    description: str
    predicted: Counts
    counted: Counts | None
    limit: Limit | None

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
        elem_bytes: tuple[int, int, int] = ...,
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
    def input_address(self) -> int: ...
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
    problem: str,
    comm: int = 0,
    real_box: Box | None = None,
    spectrum_box: Box | None = None,
    undone: Plan | None = None,
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
def analyse(
    method: str,
    *,
    records: int,
    record_bytes: int,
    memory_records: int,
    block_records: int,
    disks: int,
    processors: int,
    synchronous: bool,
    shorter: bool,
) -> dict[str, Any]: ...
def small_call(form: int, a: object, n: object, axis: object, norm: object) -> Any: ...
def small_call_nd(form: int, a: object, axes: object, norm: object) -> Any: ...
def small_call_count() -> int: ...
def forget_small_calls() -> None: ...
def imagine(problem: str, machine: str | None = None, ranks_per_node: int = 0) -> Plan: ...
def probe(*, comm: int = 0, seconds: float = 0.0, quick: bool = False, store: bool = True, disk: str = "") -> str: ...
def machine_read(text: str) -> dict[str, Any]: ...
def foresee(problem: str, machine: str, ranks_per_node: int = 0) -> list[dict[str, Any]]: ...
def tuning_path() -> str: ...
def tuning_export() -> str: ...
def tuning_import(text: str) -> int: ...
def tuning_forget(problem: str | None) -> int: ...
def canonical(problem: str) -> str: ...
def problem_keys() -> list[tuple[str, str, str, str]]: ...
def unfinished_run(input_path: str, input_offset_bytes: int, output_path: str, scratch: Sequence[str]) -> str: ...
def disk_io(io: str | None = None) -> str: ...
def windows() -> str: ...
def engines() -> list[Engine]: ...
def engine_search(folder: str) -> None: ...
def version() -> str: ...
def comm_free(comm: int) -> None: ...
