"""How a runner imports its packages; needs none itself."""

import contextlib
import importlib.util
import os
import sys


@contextlib.contextmanager
def needed(*packages):
    """What imports within print goes to stderr: stdout is for answers. One that fails ends the process with one line: what is
    missing, and how to get it."""
    answers = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    except ImportError as missing:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {sys.executable} has no {missing.name or missing} "
                 f"(make -f Makefile.ci engines; or name a Python that has {' and '.join(packages)})")
    finally:
        os.dup2(answers, 1)
        os.close(answers)


def folder(package):
    """Where a package lies that is not imported."""
    found = importlib.util.find_spec(package)
    if not found:
        raise ModuleNotFoundError(name=package)
    return os.path.dirname(found.origin)
