"""python -m spanfft"""

import sys

from .cli import main

sys.exit(main())
