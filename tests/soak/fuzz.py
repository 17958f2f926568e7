"""./spanfft-dev soak --fuzz [MINUTES]: libFuzzer over the C++ parsers, in turn, from examples that are right.

What a fuzzer finds it writes into --artifacts; PROGRAM FILE repeats it. The corpus is kept there too, so that the next
run begins where this one ended.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PARSERS = {
    "problem": [
        "r2c 256x256x256 forward double ranks=4 grid=2x2 output=exchanged engine=ducc0",
        "c2c 8x6 ranks=2 real_boxes=0:5x0:6;5:8x0:6", "r2c 1073741824 float memory=256MiB window=kaiser:8.6 power",
        "dct2,dst1,c2c 32x31x30 axes=0,1,2 scale=0.5 batch=3", "c2c 1024x1024 memory=1GB input_chunk=128x128 disks=3",
    ],
    "machine": ["spanfft-machine 1\ncores 4\nexchange alltoallv near latency_seconds 1e-6\n"
                "exchange alltoallv near point 1024 1e-10\ndisk_queue_depth 32\n"],
    "tuning": ["spanfft-tuning 1\namd\tmpich\t4\t1\tc2c 8x8 ranks=4\tgrid=2x2 exchange=alltoallv threads=1\t0.001\t"
               "2026-01-02\n"],
    "wisdom": ["spanfft-wisdom 1\nfftw\t3\tamd\tdouble\t(fftw-3.3.10 fftw_wisdom #x1 #x2 #x3 #x4\t"
               "(fftw_codelet_n1fv_10_avx 0 #x11bdd #x11bdd #x0 #xa #xb #xc #xd) #0123456789abcdef\n",
               "(fftw-3.3.10 fftw_wisdom #x1 #x2 #x3 #x4\n"
               "  (fftw_codelet_n1fv_10_avx 0 #x11bdd #x11bdd #x0 #xa #xb #xc #xd)\n)\n"],
    "journal": ["run 12 34567\nproblem c2c 64 memory=1048576\n"
                "panels 0 3 0123456789abcdef 0 2 00112233445566778899aabbccddeeff\n"],
}  # fmt: skip


def fuzz(folder: Path, parser: str, seconds: int, artifacts: Path) -> tuple[int, int]:
    """Executions, and the exit code: not 0 after a finding."""
    corpus = artifacts / f"corpus-{parser}"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(PARSERS[parser]):
        (corpus / f"example-{number}").write_text(text)
    found = artifacts / f"{parser}-"
    command = [folder / f"fuzz_{parser}", corpus, f"-max_total_time={seconds}", "-timeout=5", "-rss_limit_mb=2048",
               "-max_len=4096", "-print_final_stats=1", f"-artifact_prefix={found}"]  # fmt: skip
    environment = {**os.environ, "SPANFFT_HOME": str(artifacts / "home"), "ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment,
                          timeout=2 * seconds + 120)  # fmt: skip
    executed = re.search(r"stat::number_of_executed_units: *(\d+)", done.stderr)
    if done.returncode:
        print(done.stderr[-3000:])
    return int(executed[1]) if executed else 0, done.returncode


def main() -> int:
    folder, artifacts, minutes = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
    bad = 0
    for parser in PARSERS:
        executed, code = fuzz(folder, parser, max(1, int(60 * minutes / len(PARSERS))), artifacts)
        bad += code != 0
        print(f"fuzz_{parser}: {executed} executions, {'a finding' if code else 'nothing found'}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
