"""On PYTHONPATH, this makes every Python process take spanfft for scipy.fft, children of SciPy's own tests too."""

import scipy.fft
import spanfft.scipy

scipy.fft.set_global_backend(spanfft.scipy, only=True)
