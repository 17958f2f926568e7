"""Proves that spanfft can be installed and used from outside: by CMake, by pkg-config and by pip.

Each check prints one line, "ok NAME", "skipped NAME" or "FAILED NAME"; the exit code is 1 if one failed. Everything
happens in a temporary folder. The pip check is what a stranger does: the sdist in a fresh environment, build isolation,
ducc0 fetched and compiled again.

    python tests/install/run.py --build build/release-venv --mpiexec .spanfft/venv/bin/mpiexec [--only cmake]
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent

PYTHON_CHECK = """
import numpy, spanfft
assert "site-packages" in spanfft.__file__, spanfft.__file__
pi = 4 * numpy.arctan(numpy.longdouble(1))
matrix = lambda n: numpy.exp(-2j * pi * (numpy.outer(range(n), range(n)) % n) / n)
x = numpy.random.default_rng(1).standard_normal((12, 35)) + 1j
exact = matrix(12) @ x @ matrix(35)
error = numpy.linalg.norm(spanfft.fftn(x) - exact) / numpy.linalg.norm(exact)
assert error <= 0.6 * 2.0**-52 * numpy.log2(x.size) ** 0.5, error  # docs/accuracy.md
print("fftn differs from the sums by", error)
"""


class Skipped(Exception):
    pass


def call(*command, env=None, timeout=1200, cwd=None) -> str:
    command = [str(part) for part in command]
    print("$", *command, flush=True)
    run = subprocess.run(
        command, env=env, cwd=cwd, timeout=timeout, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if run.returncode:
        print(run.stdout)
        raise RuntimeError(f"{Path(command[0]).name} exited with {run.returncode}")
    return run.stdout


def check_cmake(options: argparse.Namespace, work: Path) -> None:
    """cmake --install, then a project that says find_package(spanfft), alone and on ranks."""
    build = work / "consumer"
    call("cmake", "-G", "Ninja", "-S", HERE / "consumer", "-B", build, f"-DCMAKE_PREFIX_PATH={options.prefix}",
         f"-DMPI_C_COMPILER={os.environ.get('MPICC', 'mpicc')}")  # fmt: skip
    call("cmake", "--build", build)
    print(call(build / "local", timeout=60))
    print(call(build / "views", timeout=60))
    if shutil.which("gfortran"):
        print(call(build / "local_fortran", timeout=60))
        if not (build / "ranks_fortran").exists():
            raise RuntimeError("spanfft was installed without spanfft::fortran_mpi")
    if not (build / "ranks").exists():
        raise RuntimeError("spanfft was installed without spanfft::mpi")
    for ranks in (1, 2, 3):
        call(options.mpiexec, "-n", ranks, build / "ranks", ranks, timeout=60)


def check_pkg_config(options: argparse.Namespace, work: Path) -> None:
    """The commands of the document, on its programs, with the library where it says that it is."""
    if not shutil.which("pkg-config"):
        raise Skipped("there is no pkg-config here")
    document = (ROOT / "docs" / "howto" / "link-from-c.md").read_text()
    for name, text in re.findall(r"^```c test file=(\S+)[^\n]*\n(.*?)^```", document, re.M | re.S):
        (work / name).write_text(text)
    lines = "".join(re.findall(r"^```console install\n(.*?)^```", document, re.M | re.S)).splitlines()
    (work / "spanfft").symlink_to(options.prefix)
    unwanted = ("LD_LIBRARY_PATH", "LD_RUN_PATH", "PKG_CONFIG_PATH")
    env = {name: value for name, value in os.environ.items() if name not in unwanted}
    tools = [
        Path(options.mpiexec).resolve().parent,
        *([Path(env["MPICC"]).parent] if "/" in env.get("MPICC", "") else []),
    ]
    env.update(HOME=str(work), PATH=os.pathsep.join([*map(str, tools), env["PATH"]]))
    script = "\n".join(line.removeprefix("$ ") for line in lines if line.startswith("$ "))
    if "one_process" not in script or "mpicc" not in script:
        raise RuntimeError("the document has no commands for pkg-config any more")
    print(call("sh", "-euxc", script, env=env, timeout=300, cwd=work))


def check_pip(_: argparse.Namespace, work: Path) -> None:
    """pip install of the sdist in a fresh environment, then a transform and the command line, away from the sources."""
    call(sys.executable, "-m", "venv", work / "venv")
    folder = work / "venv" / "bin"
    env = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    own = os.environ.get("VIRTUAL_ENV", "")
    path = [p for p in os.environ["PATH"].split(os.pathsep) if not own or not p.startswith(own)]
    constraints = str(ROOT / "requirements" / "constraints.txt")
    env.update(PATH=os.pathsep.join([str(folder), *path]), PIP_CONSTRAINT=constraints, PIP_BUILD_CONSTRAINT=constraints)
    # A stranger's build, whose objects differ from the tests' own by warnings alone: a compiler cache, if there is one,
    # has them. For that the build folder is as deep below the sources as theirs is below the checkout, and CMake is the
    # same, because each version has its own order of options.
    unpacked = ROOT / "build" / "sdist"
    shutil.rmtree(unpacked, ignore_errors=True)
    unpacked.mkdir(parents=True)
    make = f"from scikit_build_core.build import build_sdist; build_sdist({str(unpacked)!r})"
    call(sys.executable, "-c", make, cwd=ROOT)
    (archive,) = unpacked.iterdir()
    shutil.unpack_archive(archive, unpacked, filter="data")
    sources = unpacked / archive.name.removesuffix(".tar.gz")
    build = sources / "build" / "install-pip"
    if ccache := shutil.which("ccache"):
        env.update(CMAKE_C_COMPILER_LAUNCHER=ccache, CMAKE_CXX_COMPILER_LAUNCHER=ccache, CCACHE_IGNOREOPTIONS="-Werror")
        (work / "bin").mkdir()
        (work / "bin" / "cmake").symlink_to(shutil.which("cmake"))
        env["PATH"] = os.pathsep.join([str(work / "bin"), env["PATH"]])
    call(folder / "pip", "install", f"--config-settings=build-dir={build}", sources, env=env)
    shutil.rmtree(unpacked)
    print(call(folder / "python", "-c", PYTHON_CHECK, env=env, timeout=60, cwd=work))
    call(folder / "spanfft", "--help", env=env, timeout=60, cwd=work)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help="a configured and built tree")
    parser.add_argument("--mpiexec", required=True)
    checks = {"cmake": check_cmake, "pkg-config": check_pkg_config, "pip": check_pip}
    parser.add_argument("--only", choices=checks, action="append")
    options = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory(prefix="spanfft-install-") as work:
        options.prefix = Path(work) / "prefix"
        call("cmake", "--install", options.build, "--component", "library", "--prefix", options.prefix)
        for name in options.only or checks:
            folder = Path(work) / name
            folder.mkdir()
            try:
                checks[name](options, folder)
                print(f"ok {name}", flush=True)
            except Skipped as reason:
                print(f"skipped {name}: {reason}", flush=True)
            except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                print(f"FAILED {name}: {error}", flush=True)
                failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
