"""Fortran: spanfft.f03 is what its generator makes of the headers, types lie in memory as the C compiler lays them out,
and the modules, the checks in tests/fortran and the examples are compiled by gfortran and run, on 1 to 4 ranks too."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import spanfft
from spanfft._native import core

ROOT = Path(__file__).resolve().parents[2]
FORTRAN, EXAMPLES, CHECKS = ROOT / "fortran", ROOT / "examples" / "fortran", ROOT / "tests" / "fortran"
PACKAGE = Path(core.__file__).parent
FLAGS = ["-std=f2018", "-Wall", "-Wextra", "-Wno-integer-division", "-Wno-compare-reals", "-Werror"]
WITHOUT_MPI = {k: v for k, v in os.environ.items() if not k.startswith(("PMI", "PMIX_", "OMPI_COMM", "OMPI_UNIVERSE"))}

needs_gfortran = pytest.mark.skipif(shutil.which("gfortran") is None, reason="there is no gfortran here")
pytestmark = pytest.mark.xdist_group("fortran")  # the modules are compiled once


def generator():
    spec = importlib.util.spec_from_file_location("make_interfaces", FORTRAN / "make_interfaces.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def call(*command: object, cwd: Path, code: int = 0) -> str:
    done = subprocess.run(
        [str(each) for each in command], cwd=cwd, env=WITHOUT_MPI, text=True, capture_output=True, timeout=100
    )
    assert done.returncode == code, f"{command} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def objects(tmp_path_factory) -> Path:
    """A folder with the two modules, compiled."""
    folder = tmp_path_factory.mktemp("fortran")
    for name in ("spanfft", "spanfft_mpi"):
        call("gfortran", *FLAGS, "-O1", f"-I{ROOT / 'include'}", "-c", FORTRAN / f"{name}.F90", cwd=folder)
    return folder


def test_the_interfaces_are_those_of_the_headers() -> None:
    made = generator()
    assert made.OUTPUT.read_text() == made.interfaces(made.read()), "run python fortran/make_interfaces.py"
    functions = re.findall(r'bind\(C, name="(\w+)"\)', made.OUTPUT.read_text())
    headers = "".join((ROOT / "include/spanfft" / name).read_text() for name in ("spanfft.h", "spanfft_mpi.h"))
    declared = re.findall(r"^SPANFFT_API [^(]*\b(\w+)\(", headers, re.M)
    assert sorted([*functions, "spanfft_comm_from_mpi"]) == sorted(declared)
    assert max(map(len, made.OUTPUT.read_text().splitlines())) <= 132  # of the standard's free form


def test_a_declaration_that_no_rule_knows_is_refused() -> None:
    made = generator()
    with pytest.raises(SystemExit, match="no rule"):
        made.Header("typedef union odd { int a; } odd;")
    with pytest.raises(SystemExit, match="does not tell apart"):
        made.Header("enum { SPANFFT_THING = 1 };\nSPANFFT_API int spanfft_thing(void);\n")


@needs_gfortran
def test_types_and_numbers_are_as_in_c(tmp_path: Path) -> None:
    """Sizes, offsets of all components and values of all enums, as both compilers print them."""
    header = generator().read()
    c = ["#include <spanfft/spanfft.h>", "#include <stddef.h>", "#include <stdio.h>", "int main(void) {"]
    f = ["use, intrinsic :: iso_c_binding", "implicit none", 'include "spanfft/spanfft.f03"']
    told = []
    for number, (name, body) in enumerate(header.structs):
        f.append(f"type({name}), target :: v{number}")
        c.append(f'printf("{name} %zu\\n", sizeof({name}));')
        told.append(f'print "(a, 1x, i0)", "{name}", c_sizeof(v{number})')
        fields = [re.sub(r" =.*|\(SPANFFT.*|\(\d+\)", "", line.split(":: ")[1]) for field in body.split(";")
                  if field.strip() for line in generator().component(header, " ".join(field.split()))]  # fmt: skip
        for field in fields:
            c.append(f'printf("{name}.{field} %zu\\n", offsetof({name}, {field}));')
            told.append(
                f'print "(a, 1x, i0)", "{name}.{field}", &\n    '
                f"transfer(c_loc(v{number}%{field}), 1_c_intptr_t) - transfer(c_loc(v{number}), 1_c_intptr_t)"
            )
    for name, _ in header.values():
        c.append(f'printf("{name} %d\\n", {name});')
        told.append(f'print "(a, 1x, i0)", "{name}", {name}')
    (tmp_path / "c.c").write_text("\n".join([*c, "return 0; }\n"]))
    (tmp_path / "f.f90").write_text("\n".join([*f, *told, "end\n"]))
    call("gcc", f"-I{ROOT / 'include'}", "c.c", "-o", "c", cwd=tmp_path)
    call("gfortran", f"-I{ROOT / 'include'}", "f.f90", "-o", "f", cwd=tmp_path)
    expected = call("./c", cwd=tmp_path)
    assert call("./f", cwd=tmp_path) == expected
    assert len(expected.splitlines()) > 200


def build(objects: Path, folder: Path, *sources: Path, wrap: str = "") -> Path:
    """A program of one process."""
    program = folder / sources[-1].stem
    options = [f"-Wl,--wrap={wrap}"] if wrap else []
    call("gfortran", *FLAGS, "-fcheck=bounds", f"-I{objects}", *sources, objects / "spanfft.o",
         PACKAGE / "libspanfft.so.0", f"-Wl,-rpath,{PACKAGE}", *options, "-o", program, cwd=folder)  # fmt: skip
    return program


@needs_gfortran
def test_transforms_lives_of_plans_and_refusals(objects: Path, tmp_path: Path) -> None:
    sources = (CHECKS / "counted_frees.f90", CHECKS / "checks.f90")
    output = call(build(objects, tmp_path, *sources, wrap="spanfft_plan_free"), cwd=tmp_path)
    assert output.count("holds: ") == len(re.findall(r"call require\(", sources[-1].read_text()))


@needs_gfortran
@pytest.mark.parametrize("name", ["one_process", "larger_than_memory"])
def test_examples_of_one_process(name: str, objects: Path, tmp_path: Path) -> None:
    output = call(build(objects, tmp_path, EXAMPLES / f"{name}.f90"), cwd=tmp_path)
    assert ("frequencies  5  3" if name == "one_process" else "a wave of frequency 300000") in output


@needs_gfortran
@pytest.mark.skipif(shutil.which("fpm", path=Path(sys.executable).parent) is None, reason="there is no fpm here")
def test_a_package_of_fpm_depends_on_it(tmp_path: Path, monkeypatch) -> None:
    """fpm reads the manifest of the checkout, and the program finds the library as an installed one is found."""
    (tmp_path / "app").mkdir()
    shutil.copy(EXAMPLES / "one_process.f90", tmp_path / "app" / "main.f90")
    manifest = f'name = "user"\n[dependencies]\nspanfft = {{ path = "{os.path.relpath(ROOT, tmp_path)}" }}\n'
    (tmp_path / "fpm.toml").write_text(manifest)
    (tmp_path / "libspanfft.so").symlink_to(PACKAGE / "libspanfft.so.0")
    for name, folder in {"LIBRARY_PATH": tmp_path, "LD_LIBRARY_PATH": PACKAGE}.items():
        monkeypatch.setitem(WITHOUT_MPI, name, str(folder))
    assert "frequencies  5  3" in call(Path(sys.executable).with_name("fpm"), "run", cwd=tmp_path)
    assert f'version = "{spanfft.__version__}"' in (ROOT / "fpm.toml").read_text()


@needs_gfortran
def test_an_error_without_stat_stops_the_program_with_its_sentence(objects: Path, tmp_path: Path) -> None:
    (tmp_path / "stops.f90").write_text(
        "use spanfft\ntype(fft_plan) :: plan\ncall plan%create(fft_problem([4, 0]))\nprint *, 'went on'\nend\n"
    )
    output = call(build(objects, tmp_path, tmp_path / "stops.f90"), cwd=tmp_path, code=1)
    assert "spanfft: " in output
    assert "went on" not in output


@needs_gfortran
@pytest.mark.parametrize("name", ["slabs", "pencils"])
def test_examples_on_ranks(name: str, objects: Path, tmp_path: Path) -> None:
    """With the MPI's own module mpi where it has one; the wheel's MPICH has none."""
    mpicc, libraries = os.environ.get("MPICC"), list(PACKAGE.glob("libspanfft_mpi_*.so.0"))
    if not mpicc or not shutil.which(mpicc) or not libraries:
        pytest.skip("there is no MPI here")
    compiler = shutil.which(f"mpif90.{os.environ.get('SPANFFT_DEV_MPI')}") or "gfortran"
    if compiler == "gfortran":
        call("gfortran", *FLAGS, "-c", CHECKS / "mpi.f90", cwd=tmp_path)
    call(compiler, *FLAGS, f"-I{objects}", "-I.", "-c", EXAMPLES / f"{name}.f90", cwd=tmp_path)
    call(mpicc, *tmp_path.glob("*.o"), objects / "spanfft.o", objects / "spanfft_mpi.o", PACKAGE / "libspanfft.so.0",
         *libraries, f"-Wl,-rpath,{PACKAGE}", *(linked(compiler) if compiler != "gfortran" else []),
         "-lgfortran", "-lm", "-o", name, cwd=tmp_path)  # fmt: skip
    for ranks in (1, 2, 3, 4):
        output = call(os.environ.get("SPANFFT_MPIEXEC", "mpiexec"), "-n", ranks, f"./{name}", cwd=tmp_path)
        assert f"{name}: {ranks} ranks; rank 0 has" in output


def linked(compiler: str) -> list[str]:
    """What an MPI's Fortran compiler adds when it links."""
    shown = call(compiler, "-show", cwd=Path.cwd())
    return [word for word in shown.split() if word.startswith(("-L", "-l", "-Wl"))]
