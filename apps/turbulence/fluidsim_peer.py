"""Times the same steps of the same vortex by fluidsim, in one process, and adds a row: for a Python that has fluidsim.

    python apps/turbulence/fluidsim_peer.py 128 apps/turbulence/rows/steps.json

fluidsim's ns3d solves the same equations in the same form with the same scheme (RK4, 2/3 rule), with kernels compiled
by Pythran and transforms by pyfftw in one thread. It needs pip install fluidsim fluidfft pyfftw.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

STEPS = 10


def main() -> None:
    size, rows = int(sys.argv[1]), Path(sys.argv[2])
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FLUIDSIM_PATH"] = folder
        import fluidsim
        import numpy as np
        from fluidsim.solvers.ns3d.solver import Simul

        params = Simul.create_default_params()
        params.oper.nx = params.oper.ny = params.oper.nz = size
        params.oper.Lx = params.oper.Ly = params.oper.Lz = 2 * np.pi
        params.oper.coef_dealiasing, params.oper.type_fft = 2 / 3, "fft3d.with_pyfftw"
        params.nu_2 = 1 / 1600
        params.time_stepping.type_time_scheme = "RK4"
        params.time_stepping.USE_CFL, params.time_stepping.deltat0 = False, 1e-3
        params.init_fields.type, params.output.HAS_TO_SAVE = "in_script", False
        flow = Simul(params)
        x, y, z = flow.oper.get_XYZ_loc()
        flow.state.init_statephys_from(
            vx=np.sin(x) * np.cos(y) * np.cos(z), vy=-np.cos(x) * np.sin(y) * np.cos(z), vz=0 * x
        )
        flow.state.statespect_from_statephys()
        wall, cpu = [], []
        for _ in range(STEPS + 1):
            start = time.perf_counter(), time.process_time()
            flow.time_stepping.one_time_step_computation()
            wall.append(time.perf_counter() - start[0])
            cpu.append(time.process_time() - start[1])
        row = {
            "size": size, "ranks": 1, "library": f"fluidsim {fluidsim.__version__}, pyfftw", "steps": STEPS,
            "median_s": round(statistics.median(wall[1:]), 5), "fastest_s": round(min(wall[1:]), 5),
            "cpu_s": round(statistics.median(cpu[1:]), 5), "energy": float(flow.output.compute_energy()),
        }  # fmt: skip
    old = json.loads(rows.read_text()) if rows.exists() else []
    rows.write_text("[\n" + ",\n".join(json.dumps(each) for each in [*old, row]) + "\n]\n")
    print(row)


if __name__ == "__main__":
    main()
