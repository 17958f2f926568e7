"""fluidfft's complete tests of a method, for our two: what its own plugins have as their test files."""

import unittest

from fluidfft.fft2d.testing import complete_test_class_2d
from fluidfft.fft3d.testing import complete_test_class_3d


class Tests2D(unittest.TestCase):
    pass


class Tests3D(unittest.TestCase):
    pass


complete_test_class_2d("fft2d.mpi_with_spanfft", Tests2D)
complete_test_class_3d("fft3d.mpi_with_spanfft", Tests3D)
