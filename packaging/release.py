"""Makes what is released, in dist/, and checks it: the wheel for several MPIs, and the sdist.

`./spanfft-dev package` calls it with the compilers of the MPIs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from wheel_of_cores import ROOT, make


def make_sdist(folder: Path) -> Path:
    """The sdist, by the build back end that pyproject.toml names."""
    from scikit_build_core.build import build_sdist

    os.chdir(ROOT)
    return folder / build_sdist(str(folder))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mpicc", nargs="+", type=Path, help="an MPI's compiler; one for each ABI")
    parser.add_argument("--only", action="append", default=[], metavar="CHECK", help="this check; may be repeated")
    options = parser.parse_args()
    wheel = make(options.mpicc)
    sdist = make_sdist(ROOT / "dist")
    print(f"{sdist.relative_to(ROOT)}: {sdist.stat().st_size} bytes\n-- checks", flush=True)
    checks = [word for name in options.only for word in ("--only", name)]
    return subprocess.run([sys.executable, ROOT / "tests" / "install" / "wheel.py", wheel, *checks]).returncode


if __name__ == "__main__":
    sys.exit(main())
