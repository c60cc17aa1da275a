"""What a runner says where its packages are missing; needs none itself."""

import contextlib
import os
import sys


@contextlib.contextmanager
def needed(*packages):
    """Ends the process with one line if an import within fails: what is missing, and how to get it."""
    try:
        yield
    except ImportError as missing:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {sys.executable} has no {missing.name or missing} "
                 f"(make -f Makefile.ci engines; or name a Python that has {' and '.join(packages)})")
