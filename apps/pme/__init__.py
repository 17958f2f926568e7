"""Smooth particle-mesh Ewald on any number of MPI ranks: a client of spanfft. docs/apps/pme.md tells how it is used."""

from .choose import Moments, Rates, choose, estimate
from .energy import Energy, Parameters, Pme

__all__ = ["Energy", "Moments", "Parameters", "Pme", "Rates", "choose", "estimate"]
