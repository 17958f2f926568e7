"""P1's methods on ranks that are killed: each has a journal of its own; the same command goes on to the same bits."""

from __future__ import annotations

import os

import numpy as np
import pytest
from conftest import assert_transform
from test_ranks_resume import Ranks


@pytest.mark.parametrize(
    ("method", "ranks"), [("memoryload_major_comm:sync", 2), ("stripe_major_comm", 4), ("processor_major_nocomm", 2)]
)
def test_a_killed_run_goes_on_to_the_same_bits(method, ranks, rng, tmp_path):
    pytest.importorskip("mpi4py")
    x = rng.standard_normal(1 << 19) + 1j * rng.standard_normal(1 << 19)
    np.save(tmp_path / "in.npy", x)
    job = Ranks(tmp_path, ranks, method=method)
    assert [each["resumed"] for each in job.run()] == [[0] * ranks] * ranks
    assert_transform(np.load(tmp_path / "out.npy"), x)
    whole = job.digest()
    assert job.left() == []
    went_on = 0
    for i, share in enumerate([0.06, 0.3, 0.55, 0.8, 0.97]):
        os.unlink(tmp_path / "out.npy")
        assert job.run(dies=i % ranks, share=share) is None
        assert not (tmp_path / "out.npy").exists()
        said = job.run(dies=(i + 1) % ranks, share=min(0.98, share + 0.15)) or job.run()
        went_on += max(said[0]["resumed"]) > 0
        assert job.digest() == whole, share
        assert job.left() == []
    assert went_on >= 3


def test_flipped_bits_of_scratch_are_found(rng, tmp_path):
    pytest.importorskip("mpi4py")
    np.save(tmp_path / "in.npy", rng.standard_normal(1 << 19) + 0j)
    job = Ranks(tmp_path, 2, method="memoryload_major_nocomm")
    job.run(dies=0, share=0.5)
    job.flip_kept(1)
    said = job.run()
    assert {each["error"] for each in said} == {"CorruptData"}
    for word in ("rank 1", "checksum", "byte"):
        assert word in said[0]["text"]
    assert job.left() == []
