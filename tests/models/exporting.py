"""What libraries.py and its like have in common: their command line."""

import argparse
import pathlib
import warnings


def export_whole(path, export):
    """None, or why not. What is interrupted leaves no `path`."""
    part = path.with_suffix(".part")
    try:
        export(part)
        part.rename(path)
        return None
    except Exception as error:  # of a library or an exporter, which have no base of their own
        part.unlink(missing_ok=True)
        return str(error).strip().split("\n")[-1] or type(error).__name__


def main(description, models, export):
    """Writes those that are named, or all, where they are not there yet. export(name, path) raises where no exporter takes the model.
    Returns whether one failed."""
    arguments = argparse.ArgumentParser(description=description)
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("names", nargs="*", metavar="NAME", help="by default all")
    options = arguments.parse_args()
    unknown = [name for name in options.names if name not in models]
    if unknown:
        arguments.error(f"no model named {', '.join(unknown)}; there are {', '.join(models)}")
    warnings.filterwarnings("ignore")
    options.folder.mkdir(parents=True, exist_ok=True)
    failed = False
    for name in options.names or models:
        path = options.folder / f"{name}.onnx"
        why = None if path.is_file() else export_whole(path, lambda part: export(name, part))
        print(f"{name}: {why or f'{path.stat().st_size / 1e6:.1f} MB'}", flush=True)
        failed |= why is not None
    return failed
