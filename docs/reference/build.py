"""Builds the reference: the Python package with pdoc, the C headers with Doxygen, into build/docs.

    python docs/reference/build.py [--python] [--c] [--output FOLDER]

Every public name must be documented; the exit code is 1 if one is not. pdoc looks at the installed package, so spanfft
must be importable.
"""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def undocumented() -> list[str]:
    """Public names of the package, and public methods and properties of its classes, without a docstring."""
    import spanfft

    missing = []
    for name in spanfft.__all__:
        value = getattr(spanfft, name)
        if name.startswith("__") or not (inspect.isclass(value) or callable(value)):
            continue
        if not inspect.getdoc(value):
            missing.append(f"spanfft.{name}")
        if inspect.isclass(value) and not issubclass(value, BaseException):
            for member, what in vars(value).items():
                documentable = isinstance(what, (property, staticmethod, classmethod)) or inspect.isfunction(what)
                if not member.startswith("_") and documentable and not inspect.getdoc(what):
                    missing.append(f"spanfft.{name}.{member}")
    return missing


def build_python(output: Path) -> list[str]:
    """Problems, one a line."""
    problems = [f"{name} has no docstring" for name in undocumented()]
    if importlib.util.find_spec("pdoc") is None:
        return [*problems, "pdoc is not installed"]
    command = [sys.executable, "-m", "pdoc", "--docformat", "numpy", "-o", str(output), "spanfft"]
    run = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False)
    said = [line for line in (run.stdout + run.stderr).splitlines() if line.strip()]
    # pdoc can't import what only the compiled module's stubs define; such types are then shown as written.
    warned = [line for line in said if "Warn" in line and "doc_types.py" not in line]
    return problems + (said if run.returncode else warned)


def build_c(output: Path) -> list[str]:
    """Problems, one a line."""
    if shutil.which("doxygen") is None:
        return ["doxygen is not installed"]
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", suffix=".doxyfile") as file:
        file.write((ROOT / "docs/reference/Doxyfile").read_text() + f'OUTPUT_DIRECTORY = "{output}"\n')
        file.flush()
        run = subprocess.run(["doxygen", file.name], cwd=ROOT, text=True, capture_output=True, check=False)
    lines = [line.replace(f"{ROOT}/", "") for line in run.stderr.splitlines() if line.strip()]
    return lines if run.returncode == 0 else [*lines, f"doxygen ended with {run.returncode}"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="store_true", help="only the Python package")
    parser.add_argument("--c", action="store_true", help="only the C headers")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "docs")
    options = parser.parse_args()
    failed = False
    for name, wanted, build in (("python", options.python, build_python), ("c", options.c, build_c)):
        if wanted or not (options.python or options.c):
            problems = build(options.output.resolve() / name)
            print(*problems, f"{options.output / name}: {len(problems)} problems", sep="\n")
            failed = failed or bool(problems)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
