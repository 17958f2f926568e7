"""On PYTHONPATH, this answers `import mpi4py_fft`, and its submodules, with spanfft.mpi4py_fft."""

import importlib
import importlib.abc
import importlib.machinery
import sys

OURS = "spanfft.mpi4py_fft"


class Answer(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """A module of ours under their name: it is imported once, and both names lead to it."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] != "mpi4py_fft":
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = importlib.import_module(OURS + spec.name.removeprefix("mpi4py_fft"))
        self.spec = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = self.spec


sys.meta_path.insert(0, Answer())
