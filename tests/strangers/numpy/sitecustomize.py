"""On PYTHONPATH, this makes every Python process take spanfft's functions for numpy.fft's."""

import numpy.fft
import spanfft

for name in numpy.fft.__all__:
    setattr(numpy.fft, name, getattr(spanfft, name))
