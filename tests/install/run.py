"""Proves that spanfft can be installed and used from outside: by CMake, by pkg-config and by pip.

Each check prints one line, "ok NAME", "skipped NAME" or "FAILED NAME"; the exit code is 1 if one failed. Everything
happens in a temporary folder. The pip check is what a stranger does: a fresh environment, build isolation, ducc0
fetched and compiled again.

    python tests/install/run.py --build build/release-venv --mpiexec .spanfft/venv/bin/mpiexec [--only cmake]
"""

import argparse
import os
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
matrix = lambda n: numpy.exp(-2j * numpy.pi * (numpy.outer(range(n), range(n)) % n) / n)
x = numpy.random.default_rng(1).standard_normal((12, 35)) + 1j
error = abs(spanfft.fftn(x) - matrix(12) @ x @ matrix(35)).max()
assert error < 1e-12, error
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
    if not (build / "ranks").exists():
        raise RuntimeError("spanfft was installed without spanfft::mpi")
    for ranks in (1, 2, 3):
        call(options.mpiexec, "-n", ranks, build / "ranks", ranks, timeout=60)


def check_pkg_config(options: argparse.Namespace, work: Path) -> None:
    if not shutil.which("pkg-config"):
        raise Skipped("there is no pkg-config here")
    folders = os.pathsep.join(str(path) for path in options.prefix.glob("lib*/pkgconfig"))
    env = {**os.environ, "PKG_CONFIG_PATH": folders}
    flags = call("pkg-config", "--cflags", "--libs", "spanfft", env=env).split()
    rpath = call("pkg-config", "--variable=libdir", "spanfft", env=env).strip()
    call("g++", HERE / "consumer" / "local.cpp", "-o", work / "local", *flags, f"-Wl,-rpath,{rpath}")
    call(work / "local", timeout=60)


def check_pip(_: argparse.Namespace, work: Path) -> None:
    """pip install . in a fresh environment, then a transform and the command line, away from the source tree."""
    call(sys.executable, "-m", "venv", work / "venv")
    folder = work / "venv" / "bin"
    env = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    own = os.environ.get("VIRTUAL_ENV", "")
    path = [p for p in os.environ["PATH"].split(os.pathsep) if not own or not p.startswith(own)]
    constraints = str(ROOT / "requirements" / "constraints.txt")
    env.update(PATH=os.pathsep.join([str(folder), *path]), PIP_CONSTRAINT=constraints, PIP_BUILD_CONSTRAINT=constraints)
    # A stranger's build, whose objects differ from the tests' own by warnings alone: a compiler cache, if there is one,
    # has them. For that the build folder is as deep below the checkout as theirs.
    build = ROOT / "build" / "install-pip"
    shutil.rmtree(build, ignore_errors=True)
    if ccache := shutil.which("ccache"):
        env.update(CMAKE_C_COMPILER_LAUNCHER=ccache, CMAKE_CXX_COMPILER_LAUNCHER=ccache, CCACHE_IGNOREOPTIONS="-Werror")
    call(folder / "pip", "install", f"--config-settings=build-dir={build}", ROOT, env=env)
    shutil.rmtree(build)
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
