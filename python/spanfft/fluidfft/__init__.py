"""fluidfft's plugins: with it installed, its methods ``fft2d.mpi_with_spanfft`` and ``fft3d.mpi_with_spanfft``."""
