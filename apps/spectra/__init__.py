"""Spectra and convolutions of arrays that memory does not hold: see `welch`, `convolve` and docs/apps/spectra.md."""
