"""Incompressible turbulence by a pseudo-spectral method: see `flow` and docs/apps/turbulence.md."""
