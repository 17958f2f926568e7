"""P1's four methods for several processors through spanfft.transform on MPI ranks: results, and what each rank sends,
reads and writes beside the prediction and beside what `spanfft analyse` says of the same records, memory, blocks and
disks."""

from __future__ import annotations

import os
import re

import numpy as np
import pytest
import spanfft
from ranks_support import agrees, assert_rule, numbers, oracle
from spanfft._analyse import METHODS, Instance, analyse

COUNTED = (
    "messages", "sent_bytes", "calls", "disk_read_bytes", "disk_written_bytes", "disk_reads", "disk_writes",
    "memory_bytes", "parallel_ios",
)  # fmt: skip
OF_TWO = "the methods take a power of two of ranks"


def instance_of(note: str) -> Instance:
    """What the plan's note gives as a command."""
    words = re.search(r"`spanfft analyse 2\^(\d+) ([^`]*)`", note)
    assert words, note
    options = dict(re.findall(r"--([a-z-]+) (\d+)", words[2]))
    return Instance(
        1 << int(words[1]), int(options["memory"]), int(options["block-bytes"]), int(options["disks"]),
        int(options["processors"]), record_bytes=int(options.get("record-bytes", 16)),
        synchronous="--sync" in words[2], shorter="--factoring shorter" in words[2],
    )  # fmt: skip


@pytest.mark.parametrize("options", ["", ":sync", ":sync,block=8KiB,disks=8", ":factoring=shorter"])
@pytest.mark.parametrize("method", METHODS)
def test_transforms_and_sends_what_the_analysis_says(method, options, comm, rng, folder, scratch):
    if comm.size & (comm.size - 1):
        pytest.skip(OF_TWO)
    backward = "sync" in options
    dtype = "complex64" if "block" in options else "complex128"
    x = numbers(rng, (1 << 19,), dtype)
    if comm.rank == 0:
        np.save(folder / "in.npy", x)
    comm.barrier()
    done = []
    result = spanfft.transform(
        folder / "in.npy", folder / "out.npy", memory="1MiB", method=method + options, comm=comm, scratch=scratch,
        backward=backward, progress=lambda *bytes_: done.append(bytes_),
    )  # fmt: skip
    report = result.report
    assert report["solver"] == method
    assert report["ranks"] == comm.size
    assert report["peak_memory_bytes"] <= 1 << 20
    assert done[-1][0] == done[-1][1]
    counted, predicted = report["counted"], report["predicted"]
    for key in COUNTED:
        assert counted[key] == predicted[key], key

    (note,) = (note for note in report["notes"] if "spanfft analyse" in note)
    instance = instance_of(note)
    assert instance.processors == comm.size
    (analysed,) = (each for each in analyse(instance) if each.method == method)
    assert counted["parallel_ios"] == analysed.parallel_ios
    assert report["sweeps"] == analysed.sweeps
    assert comm.allreduce(counted["messages"]) == analysed.total_messages
    assert comm.allreduce(counted["sent_bytes"]) == analysed.total_bytes
    in_sweeps = [step for step in report["steps"] if step["type"] == "Sweep"]
    assert sum(step["counted"]["messages"] for step in in_sweeps) == analysed.butterfly_messages
    assert sum(step["counted"]["sent_bytes"] for step in in_sweeps) == analysed.butterfly_bytes

    if comm.rank == 0:
        exact = oracle.backward(x, "c2c", (0,), x.shape) if backward else oracle.forward(x, "c2c", (0,))
    bound = oracle.limit("c2c", (0,), x.shape, dtype)
    assert_rule(comm, [(np.load(folder / "out.npy"), exact)] if comm.rank == 0 else [], bound)
    comm.barrier()
    own = [f"s{rank}" for rank in range(comm.size)]
    assert sorted(os.listdir(folder)) == sorted(["in.npy", "out.npy", *own])
    assert os.listdir(folder / own[comm.rank]) == []
    comm.barrier()


@pytest.mark.parametrize("where", ["chunks", "in place"])
@pytest.mark.parametrize("method", METHODS)
def test_transforms_chunked_arrays_and_in_place(method, where, comm, rng, folder, scratch):
    if comm.size & (comm.size - 1):
        pytest.skip(OF_TWO)
    zarr = pytest.importorskip("zarr")
    x = numbers(rng, (1 << 18,), "complex128")
    there, back = (folder / "in.zarr", folder / "out.zarr") if where == "chunks" else (folder / "in.npy", None)
    if comm.rank == 0:
        zarr.create_array(store=str(there), data=x, chunks=(10000,)) if where == "chunks" else np.save(there, x)
    comm.barrier()
    options = dict(memory="1MiB", method=method, comm=comm, scratch=scratch)
    result = spanfft.transform(there, back, **options) if back else spanfft.transform(there, in_place=True, **options)
    assert result.report["solver"] == method
    pairs = []
    if comm.rank == 0:
        found = zarr.open_array(str(back), mode="r")[...] if back else np.load(there)
        pairs.append((found, oracle.forward(x, "c2c", (0,))))
    assert_rule(comm, pairs, oracle.limit("c2c", (0,), x.shape, x.dtype))


def test_what_they_do_not_do_is_refused_with_a_remedy(comm, rng, folder, scratch):
    lengths = {"in.npy": 1 << 16, "odd.npy": 45045}
    for name, length in lengths.items():
        x = numbers(rng, (length,), "complex128")
        if comm.rank == 0:
            np.save(folder / name, x)
    comm.barrier()

    def run(name="in.npy", **options):
        options = dict(memory="1MiB", method="memoryload_major_nocomm") | options
        return lambda: spanfft.transform(folder / name, folder / "out.npy", comm=comm, scratch=scratch, **options)

    agrees(comm, run("odd.npy"), spanfft.Unsupported, "power" if comm.size & (comm.size - 1) else "45045 is none")
    if comm.size & (comm.size - 1):
        agrees(comm, run(), spanfft.Unsupported, "power of two of ranks.*run it on")
        return
    if comm.size > 1:
        agrees(comm, run(method="stripe_major_comm:disks=1"), spanfft.InvalidArgument, f"disks={comm.size}")
    agrees(comm, run(method="processor_major_nocomm:block=512KiB"), spanfft.Unsupported, "smaller blocks")
    assert "out.npy" not in os.listdir(folder)
    comm.barrier()
