"""Random and mutated problem strings, with and without a mutated machine: a plan that says again what was asked for,
or an error with a sentence, within seconds of processor time and a bounded memory."""

from __future__ import annotations

import re

from spanfft import _native

from . import child
from .case import Case, Failed, chance, one_of

WORDS = """
    forward backward float double longdouble in_place own_output own_input power reads_once one_writer axes=0 axes=1,0
    norm=ortho norm=forward batch=3 ranks=4 ranks=64 grid=2x2 grid=1x8 layout=cyclic output=exchanged memory=16MiB
    memory=1GB memory=1 memory=123456789 disks=3 threads=2 engine=ducc0 engine=fftw engine=mkl exchange=shared
    exchange=overlap:4 exchange=phased:2x2 io=uring io=threads method=two_sweeps method=superlevels:sync
    method=many_sweeps method=axis_sweeps method=chirp_sweeps effort=measure measure_seconds=1 window=hann
    window=kaiser:8.6 scale=2.5 store=complex64 store=float32 real_boxes=0:5x0:6;5:8x0:6 input_chunk=128x128
    output_chunk=7x5 load=>i2 load=c8 load=f4
""".split()  # noqa: SIM905
KINDS = ("c2c", "r2c", "c2r", *(f"{name}{i}" for name in ("dct", "dst") for i in (1, 2, 3, 4)), "c2c,r2c", "dct2,dst1")
NUMBERS = ("0", "1", "2", "3", "7", "13", "64", "97", "360", "1024", "4000037", "999983", "16777216", "1073741824",
           "274877906944", "1099511627776", "9223372036854775807", "9223372036854775808", "-1", "1e9",
           "18446744073709551616", "nan", "inf", "0x10", "1.5", "")  # fmt: skip
ADDRESS_BYTES = 6 << 30  # of programs, libraries and what planning may take
CPU_SECONDS = 5


def sensible(rng) -> str:
    shape = "x".join(one_of(rng, NUMBERS[1:13]) for _ in range(int(rng.integers(1, 5))))
    words = [one_of(rng, WORDS) for _ in range(int(rng.integers(0, 5)))]
    return " ".join([one_of(rng, KINDS), shape, *dict.fromkeys(words)])


def mutated(rng, text: str) -> str:
    """Some bytes, numbers or words of it other, absent or doubled."""
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(len(text) + 1))
        how = int(rng.integers(7))
        if how == 0:
            text = text[:at] + chr(int(rng.integers(1, 256))) + text[at + 1 :]
        elif how == 1:
            text = text[:at] + text[at + int(rng.integers(1, 5)) :]
        elif how == 2:
            text = text[:at] + one_of(rng, ["x", "=", ",", ":", ";", " ", "\t", "\n", "-", "\0"]) + text[at:]
        elif how == 3:
            numbers = list(re.finditer(r"\d+", text))
            if numbers:
                found = one_of(rng, numbers)
                text = text[: found.start()] + one_of(rng, NUMBERS) + text[found.end() :]
        elif how == 4:
            text += " " + one_of(rng, WORDS)
        elif how == 5:
            words = text.split(" ")
            rng.shuffle(words)
            text = " ".join(words)
        else:
            text = text[:at] + text[: max(1, at)] * int(rng.integers(1, 4)) + text[at:]
    return text


def machine_text(rng) -> str:
    lines = ["spanfft-machine 1"]
    for name in ("measured_ranks", "cores", "ranks_per_node", "memory_bytes_per_second", "disk_read_bytes_per_second",
                 "disk_write_bytes_per_second", "disk_request_seconds", "disk_queue_depth"):  # fmt: skip
        if chance(rng, 0.5):
            lines.append(f"{name} {one_of(rng, ['1', '4', '1e9', '2.5e10', '1e-5', '32', '0', '-1', 'nan', '1e400'])}")
    for way in ("near", "far"):
        lines.append(f"exchange {one_of(rng, ['shared', 'alltoallv', 'dove'])} {way} latency_seconds 1e-6")
        lines.append(f"exchange alltoallw {way} point {int(rng.integers(1, 1 << 20))} {rng.random() * 1e-9}")
    text = "\n".join(lines) + "\n"
    return mutated(rng, text) if chance(rng, 0.7) else text


def planned(text: str, machine: str | None) -> dict:
    core = _native.core
    plan = core.imagine(text, machine)
    counts = [plan.predicted(-1, rank) for rank in range(min(plan.ranks, 4))]
    again = core.imagine(plan.problem, machine)
    return {"problem": plan.problem, "again": again.problem, "peak": plan.peak_memory_bytes(-1), "counts": counts,
            "explained": len(plan.explain())}  # fmt: skip


def run(case: Case) -> None:
    rng = case.random
    text = sensible(rng)
    if chance(rng, 0.4):
        text = mutated(rng, text)
    machine = machine_text(rng) if chance(rng, 0.2) else None
    case.text = repr(text) + (f" on {machine!r}" if machine else "")
    case.count("problems")
    answer = child.call(lambda: planned(text, machine), seconds=60, cpu_seconds=CPU_SECONDS,
                        address_bytes=ADDRESS_BYTES)  # fmt: skip
    if answer.how == "error":
        if len(answer.text) < 8:
            raise Failed("wrong", f"an error without a sentence: {answer.text!r}")
        case.count("refused")
        return
    if answer.how == "bug" and answer.kind in ("UnicodeDecodeError", "ValueError", "TypeError"):
        raise Failed("wrong", f"{answer.kind}: {answer.text}")
    if answer.how != "ok":
        raise Failed(answer.how if answer.how in ("hung", "crashed") else "wrong", f"{answer.kind} {answer.text}")
    got = answer.value
    if got["problem"] != got["again"]:
        raise Failed("wrong", f"printed {got['problem']!r}, parsed again {got['again']!r}")
    for counts in got["counts"]:
        bad = {k: v for k, v in counts.items() if not 0 <= v < float("inf")}
        if bad:
            raise Failed("wrong", f"predicted {bad}")
