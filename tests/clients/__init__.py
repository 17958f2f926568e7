"""Strangers' programs and test suites, which judge spanfft: ./spanfft-dev clients."""
