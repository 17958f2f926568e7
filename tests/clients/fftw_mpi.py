"""FFTW's own test of its MPI library, mpi-bench with check.pl --mpi, with libspanfft_fftw3_mpi.so preloaded.

FFTW's source package comes from the system's apt. Its MPI library and mpi-bench are compiled, unedited, with the MPI in
use, against the system's libfftw3 of the same version. mpi-bench verifies each random problem by linearity, impulses
and shifts (Ergün 1995), and check.pl draws the problems: any mixture of sizes, kinds, vectors, transposed orders.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from pathlib import Path

from clients.result import Result

# That check.pl draws, as FFTW's `make check` has it, each in several forms: in place or not, both directions. They are
# few where ranks share cores, because most of the time is spent in mpi-bench's own collectives, whose ranks spin.
PROBLEMS, PROBLEMS_ON_SHARED_CORES = 10, 3
LARGEST = 10000  # elements: check.pl's own
SEED = 18


def call(*command: object, cwd: Path | None = None, timeout: float = 900, **variables: str) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=os.environ | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=timeout,
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]} exited with {done.returncode}:\n{done.stdout[-3000:]}")
    return done.stdout


def apt_source(package: str, folder: Path) -> Path:
    """The unpacked source of a Debian package, by a list of source archives made from the system's own list of binary
    ones, which stays as it is. apt checks what it fetches by the archive's signature."""
    if not (found := [path for path in folder.glob(f"{package}*/") if (path / "configure").exists()]):
        (folder / "lists" / "partial").mkdir(parents=True, exist_ok=True)
        listed = [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]
        texts = {path: path.read_text() for path in listed if path.is_file()}
        ours = [re.sub(r"^Types: deb$", "Types: deb-src", text, flags=re.M) for path, text in texts.items()
                if path.suffix == ".sources"]  # fmt: skip
        lines = [re.sub(r"^deb ", "deb-src ", text, flags=re.M) for path, text in texts.items()
                 if path.suffix == ".list"]  # fmt: skip
        (folder / "ours.sources").write_text("\n\n".join(ours))
        (folder / "ours.list").write_text("\n".join(lines))
        for name in ("ours.sources", "ours.list"):
            if not (folder / name).read_text().strip():
                (folder / name).unlink()
        parts = folder / "parts"
        parts.mkdir(exist_ok=True)
        for path in folder.glob("ours.*"):
            shutil.move(path, parts / path.name)
        options = ["-o", "Dir::Etc::sourcelist=-", "-o", f"Dir::Etc::sourceparts={parts}",
                   "-o", f"Dir::State::lists={folder / 'lists'}"]  # fmt: skip
        call("apt-get", *options, "update")
        call("apt-get", *options, "source", "--download-only", package, cwd=folder)
        call("tar", "xf", *folder.glob(f"{package}_*.orig.tar.*"), cwd=folder)
        found = [path for path in folder.glob("*/") if (path / "configure").exists()]
    return found[0]


def system_version() -> str:
    """Of the system's libfftw3, in whose form FFTW's MPI library must be compiled."""
    text = ctypes.c_char.in_dll(ctypes.CDLL("libfftw3.so.3"), "fftw_version")
    return re.match(rb"fftw-([\d.]+)", ctypes.string_at(ctypes.addressof(text)))[1].decode()


class Fftw:
    """FFTW's MPI library and mpi-bench in one precision, "" or "f", compiled with the MPI in use."""

    def __init__(self, work: Path, precision: str = ""):
        self.source = apt_source("fftw3", work.parent.parent)
        self.version = re.search(r"[\d.]+$", self.source.name)[0]
        if self.version != system_version():
            raise RuntimeError(f"apt has the source of FFTW {self.version}, but the system has {system_version()}")
        self.folder = work / f"build{precision}"
        self.library = self.folder / f"libfftw3{precision}_mpi.so.3"
        self.bench = self.folder / "mpi-bench"
        if not self.bench.exists():
            self.compile(precision)

    def compile(self, precision: str) -> None:
        self.folder.mkdir(exist_ok=True)
        compiler = os.environ["MPICC"]
        form = ["--enable-float"] if precision else []
        call(self.source / "configure", "--enable-mpi", "--disable-fortran", *form, f"MPICC={compiler}",
             cwd=self.folder)  # fmt: skip
        flags = ["-O2", "-fPIC", "-w", "-DHAVE_CONFIG_H", f"-I{self.folder}", f"-I{self.source}",
                 f"-I{self.source / 'api'}"]  # fmt: skip
        serial = f"-l:libfftw3{precision}.so.3"
        library = [path for path in (self.source / "mpi").glob("*.c") if path.stem not in ("mpi-bench", "testsched")]
        call(
            compiler, *flags, "-shared", f"-Wl,-soname,{self.library.name}", *library, "-o", self.library, serial, "-lm"
        )
        call("make", "-C", self.folder / "libbench2")
        program = [self.source / name for name in ("mpi/mpi-bench.c", "tests/fftw-bench.c", "tests/hook.c")]
        program += [self.folder / "libbench2" / "libbench2.a", self.library, f"-Wl,-rpath,{self.folder}"]
        call(compiler, *flags, *program, "-o", self.bench, serial, "-lm")

    def launcher(self, ranks: int, preloaded: Path | None) -> list[object]:
        """mpi-bench on so many ranks; the launcher itself is not preloaded."""
        variables = ["env", f"LD_PRELOAD={preloaded}", "SPANFFT_FFTW_REPORT=1"] if preloaded else []
        return [os.environ["SPANFFT_MPIEXEC"], "-n", ranks, *variables, self.bench]


def our_library() -> Path:
    built = Path(__file__).resolve().parents[2] / "build" / f"release-{os.environ['SPANFFT_DEV_MPI']}"
    return built / "libspanfft_fftw3_mpi.so.0"


def check(fftw: Fftw, ranks: int, problems: int, largest: int) -> Result:
    """check.pl as it is, but that its random numbers are those of a seed."""
    launcher = " ".join(map(str, fftw.launcher(ranks, our_library())))
    options = ["--mpi", "--random", "--verbose", "--keep-going", "--estimate", f"--maxsize={largest}"]
    seeded = ["perl", "-e", "srand(shift); $file = shift; do $file; die $@ if $@;", SEED + ranks]
    output = call(*seeded, fftw.source / "tests" / "check.pl", *options, f"-c={problems}", launcher)
    passed = len(re.findall(r"^\S+ [\d.e+-]+ [\d.e+-]+ [\d.e+-]+$", output, re.M))
    failures = re.findall(r"^(?:FAILED|Found relative error|.*not can_do).*$", output, re.M)
    made, handed = (sum(map(int, re.findall(rf"(\d+) plans {words}", output))) for words in ("by spanfft", "by FFTW"))
    reasons = [f"{made} plans by spanfft, {handed} handed to FFTW", *failures]
    print(f"   {ranks} ranks: {passed} passed, {len(failures)} failed; {reasons[0]}", flush=True)
    return Result(
        f"FFTW mpi-bench, {ranks} ranks", fftw.version, passed + len(failures), passed, len(failures), reasons
    )


def mpi_bench(work: Path) -> list[Result]:
    fftw = Fftw(work)
    cores = len(os.sched_getaffinity(0))
    return [
        check(fftw, ranks, PROBLEMS if ranks <= cores else PROBLEMS_ON_SHARED_CORES, LARGEST) for ranks in (1, 2, 3, 4)
    ]
