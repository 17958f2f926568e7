"""What the package keeps for each communicator, and the choice of the extension that fits mpi4py's MPI library.

Freeing a plan on ranks is collective, but Python's garbage collector runs when it likes on each rank. So a plan
that is collected without ``free()`` waits in a list of its communicator until the next plan is made there, when
all ranks agree (in the exchange that making a plan needs anyway) which of the waiting ones are free on all of
them, and free those in one order.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from ._errors import Error, InternalError, InvalidArgument, MPIError, code_for_ranks
from ._native import core

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

    from ._core import Halo as CoreHalo
    from ._core import Plan as CorePlan

__all__ = ["Ranks", "launched_ranks", "library", "mpi_cores", "ranks_of", "world"]

_T = TypeVar("_T")
# The binary interfaces of MPI, each with a core of its own: `_mpi_mpich` and so on. A wheel may hold them all.
_ABIS = {"mpich": "MPICH's ABI", "openmpi": "Open MPI's ABI", "abi": "the standard MPI ABI"}
_MPICH_ABI = ("MPICH", "Intel MPI", "MVAPICH", "MVAPICH2", "Cray MPICH", "Microsoft MPI")
_CACHED_PLANS = 16

_extension: Any = None


def launched_ranks() -> int:
    """How many ranks mpiexec (or srun) started with this process; 1 if none, 0 if some that it doesn't tell."""
    for name in ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "PALS_SIZE"):
        value = os.environ.get(name, "")
        if value.isdecimal():
            return int(value)
    return 0 if any(name in os.environ for name in ("PMIX_RANK", "PMI_RANK", "PMI_FD")) else 1


def world() -> Comm | None:
    """COMM_WORLD if mpiexec started several ranks, else None. Imports mpi4py only then."""
    launched = launched_ranks()
    if launched == 1:
        return None
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        if launched == 0:
            return None
        raise MPIError(f"mpiexec started {launched} ranks, but mpi4py can't be imported ({error}); "
                       f"pip install mpi4py") from None  # fmt: skip
    world = MPI.COMM_WORLD
    if launched > 1 and world.Get_size() != launched:
        raise MPIError(
            f"mpiexec started {launched} ranks, but mpi4py sees {world.Get_size()}: it uses another MPI "
            f"({MPI.Get_library_version().splitlines()[0]}) than mpiexec; install mpi4py for mpiexec's MPI"
        )
    return world if world.Get_size() > 1 else None


def _loaded_mpi_files() -> str:
    """The MPI libraries in this process, for messages."""
    try:
        with open("/proc/self/maps") as maps:
            paths = {line.split(None, 5)[5].strip() for line in maps if line.count("/") > 0}
    except OSError:
        return "unknown"
    return ", ".join(sorted(p for p in paths if os.path.basename(p).startswith(("libmpi", "libmpich")))) or "none"


def check_running() -> None:
    """MPI runs, as mpi4py sees it: hardly any call is allowed before and after."""
    from mpi4py import MPI

    if not MPI.Is_initialized():
        raise MPIError("MPI is not initialised; call mpi4py.MPI.Init() (or leave mpi4py.rc.initialize on) first")
    if MPI.Is_finalized():
        raise MPIError("MPI is finalised: communicators, and plans on them, can't be used any more")


def mpi_cores() -> list[str]:
    """The binary interfaces of MPI for which this package has a core."""
    return [abi for abi in _ABIS if importlib.util.find_spec(f"spanfft._mpi_{abi}") is not None]


def _abi_of_mpi4py() -> str | None:
    """Which of them mpi4py was compiled for; None for one that is not known here."""
    from mpi4py import MPI

    # MPICH 5 has libraries of two ABIs, which call themselves alike. Older versions of mpi4py know no standard ABI.
    version = getattr(MPI, "Get_abi_version", None)
    if version is not None and version()[0] > 0:
        return "abi"
    vendor = MPI.get_vendor()[0]
    return "openmpi" if vendor == "Open MPI" else "mpich" if vendor in _MPICH_ABI else None


def library() -> Any:
    """The extension module for mpi4py's MPI library.

    Raises
    ------
    MPIError
        If mpi4py is missing, spanfft has no core for its MPI, or the two loaded different libraries.
    """
    global _extension
    if _extension is not None:
        return _extension
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise MPIError(f"comm= needs mpi4py, which can't be imported ({error}); pip install mpi4py") from error
    check_running()
    theirs = MPI.Get_library_version().strip("\0 \n").splitlines()[0]
    abi, present = _abi_of_mpi4py(), mpi_cores()
    build = "pip install --no-binary spanfft spanfft, with that MPI's mpicc in PATH"
    if abi not in present:
        have = " and ".join(_ABIS[each] for each in present) or "no MPI"
        raise MPIError(
            f"mpi4py uses {theirs}, with {_ABIS.get(abi or '', 'an ABI that spanfft does not know')}; "
            f"this spanfft was built for {have}; {build}"
        )
    try:
        module = importlib.import_module(f"spanfft._mpi_{abi}")
    except ImportError as error:
        raise MPIError(
            f"mpi4py uses {theirs}, from {_loaded_mpi_files()}, but spanfft's core for {_ABIS[str(abi)]} "
            f"can't be loaded ({error}); {build}"
        ) from error
    ours = module.library_version().strip("\0 \n").splitlines()[0]
    if ours != theirs or not module.initialized():
        raise MPIError(
            f"mpi4py uses {theirs}, spanfft uses {ours}: two MPI libraries in one process ({_loaded_mpi_files()}); "
            f"install mpi4py and spanfft for the same MPI"
        )
    _extension = module
    return module


class Ranks:
    """A communicator as spanfft sees it. Made by `ranks_of`; lives as long as the communicator."""

    def __init__(self, comm: Comm) -> None:
        self.comm = comm
        self.rank: int = comm.Get_rank()
        self.size: int = comm.Get_size()
        self._library = library()
        self._comm_handle: int = comm.handle  # MPI's; what follows is spanfft's
        self.handle: int = self._library.comm(self._comm_handle)
        self._plans: OrderedDict[Any, CorePlan] = OrderedDict()
        self._serial = 0
        self._dropped: list[tuple[int, CorePlan | CoreHalo]] = []
        self.closed = False

    def agree(self, work: Callable[[], _T], compare: Callable[[_T], object] | None = None) -> list[_T]:
        """Does the same checks on all ranks and gathers what they found. Collective.

        Parameters
        ----------
        work
            Called on each rank; may raise `Error`.
        compare
            What of the result must be the same on all ranks.

        Returns
        -------
        list
            The results of all ranks.

        Raises
        ------
        Error
            On all ranks the same: the error of the lowest rank that has one, or `MPIError` if the ranks differ.
        """
        self.check_open()
        found: _T | None = None
        failure: tuple[type[Error], str] | None = None
        error: Exception | None = None
        try:
            found = work()
        except Error as e:
            error, failure = e, (type(e), str(e))
        except Exception as e:
            error, failure = e, (InternalError, f"{type(e).__name__}: {e}")
        dropped = tuple(serial for serial, _ in self._dropped)
        everyone = self.comm.allgather((found, failure, dropped))
        self._sweep([entry[2] for entry in everyone])
        self._raise_first([entry[1] for entry in everyone], error)
        results = [entry[0] for entry in everyone]
        if compare is not None:
            for rank, result in enumerate(results):
                if compare(result) != compare(results[0]):
                    raise MPIError(
                        f"rank 0 asked for {compare(results[0])}, rank {rank} for {compare(result)}; "
                        f"all ranks must ask for the same"
                    )
        return results

    def execute(self, plan: CorePlan, source: object, result: object, error: Error | None) -> None:
        """Runs a plan unless any rank has an error, which all then raise: the library asks for it where all ranks
        agree to run anyway, so that it costs no collective of its own. Collective."""
        if error is None:
            plan.execute(source, result)
        else:
            try:
                plan.execute(None, None, code_for_ranks(error), str(error))
            except Error as told:
                raise told from error

    def any(self, flag: bool) -> bool:
        """Whether the flag is set on any rank. Collective."""
        self.check_open()
        return bool(self._library.worst(self._comm_handle, int(flag)))

    def check_open(self) -> None:
        # All ranks alike: freeing a communicator is collective, and so is MPI's end.
        check_running()
        if self.closed:
            raise InvalidArgument("the communicator of this plan was freed; keep it as long as its plans")

    def _raise_first(self, failures: list[tuple[type[Error], str] | None], own: Exception | None) -> None:
        for rank, failure in enumerate(failures):
            if failure is not None:
                kind, sentence = failure
                # What all ranks did wrong alike needs no rank in the message.
                alike = all(f == failure for f in failures)
                raise kind(sentence if alike else f"rank {rank}: {sentence}") from own

    def cached(self, key: Any, make: Callable[[], CorePlan]) -> CorePlan:
        """The plan for `key`, which is the same on all ranks. Collective, as plans are made and freed."""
        plan = self._plans.get(key)
        if plan is None:
            while len(self._plans) >= _CACHED_PLANS:
                self._plans.popitem(last=False)[1].free()
            plan = self._plans[key] = make()
        self._plans.move_to_end(key)
        return plan

    def next_serial(self) -> int:
        """Numbers plans alike on all ranks, as they are made collectively."""
        self._serial += 1
        return self._serial

    def drop(self, serial: int, plan: CorePlan | CoreHalo) -> None:
        """Leaves a plan, or a halo, that was collected to be freed later. Not collective."""
        if not self.closed:
            self._dropped.append((serial, plan))

    def _sweep(self, dropped: list[tuple[int, ...]]) -> None:
        everywhere = set(dropped[0]).intersection(*dropped[1:])
        if everywhere:
            ready = sorted((entry for entry in self._dropped if entry[0] in everywhere), key=lambda entry: entry[0])
            self._dropped = [entry for entry in self._dropped if entry[0] not in everywhere]
            for _, plan in ready:
                plan.free()

    def clear_cache(self) -> None:
        """Frees the cached plans. Collective."""
        while self._plans:
            self._plans.popitem(last=False)[1].free()

    def close(self) -> None:
        """Frees what is kept. Collective; called when the communicator is freed."""
        if not self.closed:
            self.closed = True
            self.clear_cache()
            core.comm_free(self.handle)

    def __deepcopy__(self, memo: object) -> NoReturn:
        raise TypeError("belongs to one communicator")


def ranks_of(comm: Comm) -> Ranks:
    """The `Ranks` of a communicator. Collective at its first use."""
    extension = library()
    check_running()
    from mpi4py import MPI

    if not isinstance(comm, MPI.Comm) or comm == MPI.COMM_NULL:
        raise MPIError(f"comm must be an mpi4py communicator of which this process is a member, not {comm!r}")
    if comm.Is_inter():
        raise MPIError("comm is an intercommunicator; merge it into an intracommunicator first (comm.Merge())")
    kept = extension.kept(comm.handle)
    if isinstance(kept, Ranks):
        return kept
    ranks = Ranks(comm)
    extension.keep(comm.handle, ranks)
    return ranks
