"""PRESTO's realfft on disk: one axis of floats, in place in two sweeps, with a scratch file.

PRESTO is no package. `build` compiles realfft from a pinned commit, cloned from GitHub or, where SPANFFT_PRESTO names
one, from a clone at hand, into the git-ignored .spanfft/peers. It needs FFTW and the headers of GSL and ERFA:
    apt-get install libfftw3-dev libgsl-dev liberfa-dev
PRESTO's own build, which makes all its programs, wants GLib too (libglib2.0-dev). As its documents ask, makewisdom has
FFTW measure its lengths here, patiently and once; realfft finds what it wrote through the variable PRESTO.

realfft overwrites its input (option -del; without, it makes a whole copy first), so each run gets a copy of its own
before the clock starts. The spectrum has n/2 numbers, the first of which holds X[0] and X[n/2].
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from peers import Absent

VERSION, COMMIT = "6.0.1", "d59105f375d0992315c647c2c4b4d22c01fcea6c"
_BUILD_SECONDS = 1800  # for each command; makewisdom takes 10 minutes and more
_URL = "https://github.com/scottransom/presto"
_PEERS = Path(__file__).resolve().parents[2] / ".spanfft" / "peers"
_WISDOM = ("makewisdom", "misc_utils", "chkio", "ioinf", "vectors", "median", "datadir")
_SOURCES = ("realfft", "realfft_cmd", "twopass", "twopass_real_fwd", "twopass_real_inv", "fastffts", "transpose",
            "fftcalls", "misc_utils", "chkio", "ioinf", "vectors", "median", "datadir")  # fmt: skip


def _folder() -> Path:
    return _PEERS / f"presto-{COMMIT[:12]}"


def program() -> Path:
    if not (_folder() / "lib" / "fftw_wisdom.txt").exists():
        raise Absent("PRESTO is not built: ./spanfft-dev bench does it, with network or SPANFFT_PRESTO")
    return _folder() / "realfft"


def command(source: Path) -> list[str]:
    """realfft with its wisdom, over the file's own copy."""
    return ["env", f"PRESTO={program().parent}", str(program()), "-disk", "-del", str(source)]


def build() -> Path:
    """realfft and its wisdom; made if they are not there yet, in 10 to 20 minutes, most of them for the wisdom."""
    folder = _folder()
    wisdom = folder / "lib" / "fftw_wisdom.txt"
    if wisdom.exists():
        return folder / "realfft"
    clone = folder / "clone"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    where = os.environ.get("SPANFFT_PRESTO", _URL)
    _must(["git", "clone", "--quiet", "--no-checkout", where, str(clone)], folder, "clone it")
    _must(["git", "-C", str(clone), "checkout", "--quiet", COMMIT, "--", "src", "include"], folder, f"find {COMMIT}")
    # Its build's own options. What realfft does not reach is dropped, so GSL and ERFA need not be linked.
    for program_name, sources in (("realfft", _SOURCES), ("makewisdom", _WISDOM)):
        command = ["gcc", "-O2", "-march=native", "-w", "-ffunction-sections", "-DUSE_FFTW_MALLOC", "-I../include"]
        command += [f"{name}.c" for name in sources]
        command += ["-Wl,--gc-sections", "-lfftw3f", "-lm", "-o", f"../../{program_name}"]
        _must(command, folder, "compile it (libfftw3-dev, libgsl-dev, liberfa-dev)", clone / "src")
    wisdom.parent.mkdir()
    making = wisdom.with_suffix(".part")
    _must([str(folder / "makewisdom"), "-patient", str(making)], folder, "have FFTW measure its lengths")
    making.rename(wisdom)
    return folder / "realfft"


def _must(command: list[str], folder: Path, what: str, where: Path | None = None) -> None:
    try:
        done = subprocess.run(command, cwd=where, capture_output=True, text=True, timeout=_BUILD_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Absent(f"PRESTO: can't {what}: {error}") from None
    (folder / "build.log").write_text(done.stderr)
    if done.returncode:
        raise Absent(f"PRESTO: can't {what}: see {folder.name}/build.log in .spanfft/peers")
