"""Poisson's equation in a box by sine, cosine and Fourier series: see `solver` and docs/apps/poisson.md."""
