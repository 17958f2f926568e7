"""The compiled core, with the folders in which it may find engines."""

from __future__ import annotations

import os
import site
import sys

from spanfft import _core as core

__all__ = ["core"]


def _engine_folders() -> list[str]:
    """Where installers of Python packages put shared libraries: MKL's wheel puts libmkl_rt.so.N in <prefix>/lib."""
    folders = [os.path.join(prefix, "lib") for prefix in (sys.prefix, sys.base_prefix)]
    if site.ENABLE_USER_SITE:
        folders.append(os.path.join(site.getuserbase(), "lib"))
    return [folder for folder in dict.fromkeys(folders) if os.path.isdir(folder)]


for _folder in _engine_folders():
    core.engine_search(_folder)
