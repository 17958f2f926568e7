"""Work in the same run as a transform of a file, on ranks: each has the blocks that it reads and writes."""

from __future__ import annotations

import os

import numpy as np
import pytest
import spanfft
from ranks_support import agrees, assert_rule, oracle


@pytest.mark.parametrize("shape", [(30, 16, 9), (7, 50)], ids=str)
def test_power_and_callbacks(shape, comm, rng, folder):
    x = rng.standard_normal(shape)
    if comm.rank == 0:
        np.save(folder / "in.npy", x)
    comm.barrier()
    seen_in, seen_out = np.zeros(x.size, int), np.zeros(np.prod(shape[:-1]) * (shape[-1] // 2 + 1), int)

    def on_input(block, index):
        seen_in[index : index + block.size] += 1
        block *= 1 + (index + np.arange(block.size)) % 3

    def on_output(block, index):
        seen_out[index : index + block.size] += 1

    result = spanfft.transform(
        folder / "in.npy", folder / "out.npy", window="hann", power=True, scale=0.5, output_dtype="float32",
        on_input=on_input, on_output=on_output, memory="32MiB", comm=comm,
    )  # fmt: skip
    for key in ("messages", "sent_bytes", "disk_read_bytes", "disk_written_bytes", "disk_reads", "disk_writes"):
        assert result.report["counted"][key] == result.report["predicted"][key], key
    assert (comm.allreduce(seen_in) == 1).all()
    assert (comm.allreduce(seen_out) == 1).all()
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(shape[-1]) / shape[-1])
    gain = (1 + np.arange(x.size) % 3).reshape(shape)
    exact = np.abs(0.5 * oracle.forward(x * gain * window, "r2c", range(x.ndim))) ** 2
    out = np.load(folder / "out.npy")
    assert out.dtype == np.float32
    # Each element is rounded once to float32; what double loses before that is far below.
    assert_rule(comm, [(out, exact)], 2.0**-24 + 4 * oracle.limit("r2c", range(x.ndim), shape, x.dtype))
    comm.barrier()
    assert sorted(os.listdir(folder)) == ["in.npy", "out.npy"]
    comm.barrier()


@pytest.mark.parametrize("side", ["on_input", "on_output"])
def test_an_exception_on_one_rank_ends_the_run_on_all(side, comm, folder):
    if comm.rank == 0:
        np.save(folder / "in.npy", np.ones((14, 15), "complex128"))
    comm.barrier()

    def fails(block, index):
        if comm.rank == comm.size - 1:
            raise ArithmeticError("no such calibration")

    def run():
        return spanfft.transform(folder / "in.npy", folder / "out.npy", memory="8MiB", comm=comm, **{side: fails})

    agrees(comm, run, spanfft.CallbackFailed, "ArithmeticError: no such calibration")
    comm.barrier()
    assert os.listdir(folder) == ["in.npy"]
    comm.barrier()


def test_all_ranks_or_none_have_callbacks(comm, folder):
    if comm.rank == 0:
        np.save(folder / "in.npy", np.ones((14, 15), "complex128"))
    comm.barrier()
    mine = {"on_input": lambda block, index: None} if comm.rank == 0 else {}

    def run():
        return spanfft.transform(folder / "in.npy", folder / "out.npy", memory="8MiB", comm=comm, **mine)

    if comm.size == 1:  # which agrees with itself
        run()
    else:
        agrees(comm, run, spanfft.MPIError, "block callbacks")
    comm.barrier()
    assert ("out.npy" in os.listdir(folder)) == (comm.size == 1)
    comm.barrier()
