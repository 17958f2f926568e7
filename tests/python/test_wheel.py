"""What a wheel for several MPIs rests on: the choice of the core, libraries that look nowhere outside, the merging.

The wheel itself is built and run by `./spanfft-dev package` (tests/install/wheel.py).
"""

import importlib
import sys
import types
import zipfile
from pathlib import Path

import pytest
import spanfft
from install.wheel import runpaths
from spanfft import _mpi

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def mpi4py(monkeypatch):
    """A stand-in that says that it was compiled for some MPI: only one real one can be in a process."""

    def make(vendor, version, abi=(-1, -1), library="Some MPI 1.0\nof a day\0"):
        names = {
            "get_vendor": lambda: (vendor, version),
            "Get_abi_version": lambda: abi,
            "Get_library_version": lambda: library,
            "Is_initialized": lambda: True,
            "Is_finalized": lambda: False,
        }
        if abi is None:  # mpi4py 4.0
            del names["Get_abi_version"]
        monkeypatch.setitem(sys.modules, "mpi4py", types.SimpleNamespace(MPI=types.SimpleNamespace(**names)))
        monkeypatch.setattr(_mpi, "_extension", None)

    return make


@pytest.fixture
def cores(monkeypatch):
    """A package with these cores; `import_` is what importing one does."""

    def make(names, import_):
        monkeypatch.setattr(_mpi, "mpi_cores", lambda: list(names))
        monkeypatch.setattr(importlib, "import_module", import_)

    return make


def core_of(version):
    """As a core that is linked to an MPI of that name, which runs."""
    return types.SimpleNamespace(library_version=lambda: version, initialized=lambda: True)


@pytest.mark.parametrize(
    ("vendor", "abi", "core"),
    [
        (("MPICH", (5, 0, 2)), (-1, -1), "_mpi_mpich"),
        (("MPICH", (5, 0, 2)), (1, 0), "_mpi_abi"),
        (("MPICH", (4, 0, 2)), None, "_mpi_mpich"),
        (("Intel MPI", (2021, 19, 0)), (-1, -1), "_mpi_mpich"),
        (("Open MPI", (4, 1, 4)), (-1, -1), "_mpi_openmpi"),
        (("Open MPI", (6, 0, 0)), (1, 0), "_mpi_abi"),
    ],
)
def test_what_mpi4py_was_compiled_for_chooses_the_core(vendor, abi, core, mpi4py, cores):
    mpi4py(*vendor, abi)
    asked = []

    def load(name):
        asked.append(name)
        return core_of("Some MPI 1.0\nof a day")

    cores(["mpich", "openmpi", "abi"], load)
    _mpi.library()
    assert asked == [f"spanfft.{core}"]


def test_errors_name_the_mpi_and_the_remedy(mpi4py, cores):
    def absent(name):
        raise ImportError("libmpi.so.12: cannot open shared object file")

    mpi4py("Open MPI", (4, 1, 4))
    cores(["mpich", "abi"], absent)
    have = r"Some MPI 1\.0, with Open MPI's ABI; this spanfft was built for MPICH's ABI and the standard MPI ABI; pip "
    with pytest.raises(spanfft.MPIError, match=have):
        _mpi.library()
    mpi4py("Fujitsu MPI", (1, 0, 0))
    with pytest.raises(spanfft.MPIError, match=r"an ABI that spanfft does not know; .* for MPICH's ABI and .*; pip "):
        _mpi.library()
    cores([], absent)
    with pytest.raises(spanfft.MPIError, match=r"this spanfft was built for no MPI; pip install"):
        _mpi.library()
    mpi4py("MPICH", (4, 0, 2))  # Debian's, whose library has another name
    cores(["mpich"], absent)
    with pytest.raises(spanfft.MPIError, match=r"MPICH's ABI can't be loaded \(libmpi\.so\.12: .*\); pip install"):
        _mpi.library()
    cores(["mpich"], lambda name: core_of("Another MPI 2.0"))
    with pytest.raises(spanfft.MPIError, match=r"Some MPI 1\.0, spanfft uses Another MPI 2\.0: two MPI libraries"):
        _mpi.library()


def test_installed_libraries_look_beside_themselves_only():
    files = [file for file in Path(spanfft.__file__).parent.iterdir() if ".so" in file.suffixes]
    assert {file.name.split(".")[0] for file in files} >= {"_core", "libspanfft"}
    assert {file.name: runpaths(file) for file in files if runpaths(file) != ["$ORIGIN"]} == {}


def wheel(folder, number, files):
    path = folder / str(number) / "spanfft-1.0-cp311-cp311-linux_x86_64.whl"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {"spanfft/__init__.py": "", "spanfft-1.0.dist-info/RECORD": "its own", **files}.items():
            archive.writestr(name, text)
    return path


def test_wheels_are_merged_and_their_common_files_must_be_the_same(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    merge = importlib.import_module("wheel_of_cores").merge
    about = {"spanfft/libspanfft.so.0": "common", "spanfft-1.0.dist-info/METADATA": "Name: spanfft\nVersion: 1.0\n"}
    first = wheel(tmp_path, 1, {**about, "spanfft/_mpi_mpich.so": "one"})
    second = wheel(tmp_path, 2, {**about, "spanfft/_mpi_openmpi.so": "two"})
    merged = merge([first, second], tmp_path / "merged")
    with zipfile.ZipFile(merged) as archive:
        names = archive.namelist()
        cores = ("spanfft/_mpi_mpich.so", "spanfft/_mpi_openmpi.so")
        assert sorted(names) == sorted([*about, *cores, "spanfft/__init__.py", "spanfft-1.0.dist-info/RECORD"])
        record = archive.read("spanfft-1.0.dist-info/RECORD").decode().splitlines()
        # SHA-256 of "two", as the wheel format writes it.
        digest = "sha256=P8TM_nRYcOLA2Z9x8w_wZWyN7dQcwdfT03aw2-aF4vM"
        assert f"spanfft/_mpi_openmpi.so,{digest},3" in record
        assert sorted(line.split(",")[0] for line in record) == sorted(names)
    third = wheel(tmp_path, 3, {**about, "spanfft/libspanfft.so.0": "other"})
    with pytest.raises(RuntimeError, match=r"spanfft/libspanfft\.so\.0 of .* is not that of the wheels before"):
        merge([first, third], tmp_path / "refused")
    assert not (tmp_path / "refused").exists()
