"""MIT's photonic bands: Debian's mpb-mpi, which is linked to FFTW's MPI library, with ours preloaded, beside the serial
mpb: both must find the same frequencies. It is a build for Open MPI, and runs under that alone."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from clients.fftw_mpi import call, our_library
from clients.result import Result

# One in the last digit that mpb prints; the solver's own tolerance is far below it.
AGREE = 1.01e-6
CRYSTALS = {
    "rods": """(set! geometry-lattice (make lattice (size 1 1 no-size)))
(set! geometry (list (make cylinder (center 0 0 0) (radius 0.2) (height infinity)
                                    (material (make dielectric (epsilon 11.56))))))
(set! k-points (interpolate 1 (list (vector3 0 0 0) (vector3 0.5 0 0) (vector3 0.5 0.5 0))))
(set! num-bands 6) (set! resolution 30) (set! tolerance 1e-9) (set! deterministic? true)
(run-tm) (run-te)
""",
    "diamond": """(set! geometry-lattice (make lattice (basis-size (sqrt 0.5) (sqrt 0.5) (sqrt 0.5))
    (basis1 0 1 1) (basis2 1 0 1) (basis3 1 1 0)))
(set! default-material (make dielectric (epsilon 1)))
(set! geometry (list (make sphere (center 0.125 0.125 0.125) (radius 0.25) (material (make dielectric (epsilon 11.56))))
                     (make sphere (center -0.125 -0.125 -0.125) (radius 0.25)
                                  (material (make dielectric (epsilon 11.56))))))
(set! k-points (list (vector3 0 0.5 0.5) (vector3 0 0.625 0.375)))
(set! num-bands 5) (set! resolution 14) (set! mesh-size 3) (set! tolerance 1e-9) (set! deterministic? true)
(run)
""",
}


def frequencies(output: str) -> list[float]:
    lines = re.findall(r"^t?[em]?freqs:, (\d+.*)$", output, re.M)
    return [float(number) for line in lines for number in line.split(", ")[5:]]


def compare(work: Path, name: str, ranks: int) -> tuple[int, int, str]:
    """How many frequencies there are, how many agree, and what the library says of its plans."""
    control = work / f"{name}.ctl"
    control.write_text(CRYSTALS[name])
    serial = frequencies(call("mpb", control, cwd=work))
    launch = [os.environ["SPANFFT_MPIEXEC"], "-n", ranks, "env", f"LD_PRELOAD={our_library()}", "SPANFFT_FFTW_REPORT=1"]
    output = call(*launch, "mpb-mpi", control, cwd=work)
    parallel = frequencies(output)
    report = re.search(r"^spanfft: (\d+ plans by spanfft, \d+ plans by FFTW)", output, re.M)
    agree = sum(abs(a - b) <= AGREE for a, b in zip(serial, parallel, strict=False))
    return max(len(serial), len(parallel)), agree, report[1] if report else "no plan by spanfft"


def mpb(work: Path) -> list[Result]:
    if os.environ["SPANFFT_DEV_MPI"] != "openmpi":
        return [Result("mpb-mpi", "", 0, 0, 0, ["Debian's is for Open MPI: ./spanfft-dev --mpi openmpi clients mpb"])]
    if not (shutil.which("mpb") and shutil.which("mpb-mpi")):
        call("apt-get", "install", "-y", "--no-install-recommends", "mpb", "mpb-mpi")
    version = re.search(r"[\d.]+", call("mpb", "--version"))[0]
    results = []
    for ranks in (1, 2, 3):
        counts = {name: compare(work, name, ranks) for name in CRYSTALS}
        run, passed = (sum(count[i] for count in counts.values()) for i in (0, 1))
        reasons = [f"{name}: {report}" for name, (_, _, report) in counts.items()]
        results.append(Result(f"mpb-mpi, {ranks} ranks, frequencies", version, run, passed, run - passed, reasons))
    return results
