"""spanfft doctor on ranks: a fault of MPI is told from one of spanfft, and ranks that differ are named."""

from __future__ import annotations

import pytest
import spanfft
from mpi4py import MPI
from spanfft._doctor import Job, datatypes, machine, transforms


class WrongAlltoallw(MPI.Intracomm):
    """An MPI whose MPI_Alltoallw gets one number wrong on the last rank."""

    def Alltoallw(self, sendbuf, recvbuf):
        super().Alltoallw(sendbuf, recvbuf)
        if self.Get_rank() == self.Get_size() - 1:
            recvbuf[0].flat[0] += 1


def test_mpi_alone_is_right(comm: MPI.Comm):
    found = list(datatypes.check_datatypes(Job(comm)))
    assert [finding.state for finding in found] == ["ok", "ok"]


def test_a_fault_of_mpi_is_told_as_mpis_on_all_ranks(comm: MPI.Comm):
    found = list(datatypes.check_datatypes(Job(WrongAlltoallw(comm))))
    bad = [finding for finding in found if finding.state == "bad"]
    assert [(finding.check, finding.fault) for finding in bad] == [("MPI datatypes", spanfft.MPIError)]


def test_every_way_is_exact(comm: MPI.Comm):
    found = list(transforms.check_transforms(Job(comm)))
    assert comm.allgather([finding for finding in found if finding.state == "bad"]) == [[]] * comm.size
    # What this MPI can't do at all: persistent collectives came with MPI 4.
    skipped = [finding.text for finding in found if finding.state == "skipped"]
    assert all(text.startswith("exchange persistent: ") for text in skipped)
    assert len(skipped) <= (MPI.Get_version() < (4, 0))


def test_ranks_with_other_versions_are_named(comm: MPI.Comm, monkeypatch: pytest.MonkeyPatch):
    if comm.size == 1:
        pytest.skip("one rank agrees with itself")
    last = comm.size - 1
    if comm.rank == last:
        monkeypatch.setattr(machine.core, "version", lambda: "0.0.1")
    (found,) = machine.check_versions(Job(comm))
    assert found.state == "bad"
    assert f"rank {last} has spanfft 0.0.1" in found.text


def test_a_refusal_that_is_missing_is_seen(comm: MPI.Comm, monkeypatch: pytest.MonkeyPatch):
    if comm.size == 1:
        pytest.skip("one rank agrees with itself")
    monkeypatch.setattr(transforms, "sentence", lambda call: "" if comm.rank == 0 else "refused")
    (found,) = transforms.check_refusals(Job(comm))
    assert (found.state, found.fault) == ("bad", spanfft.InternalError)
