import argparse
import pathlib
import shutil
import sys

import fake


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-i", type=pathlib.Path, required=True)
    parser.add_argument("-o", type=pathlib.Path, required=True)
    for flag in ["--non_verbose", "--not_use_onnxsim", "--copy_onnx_input_output_names_to_tflite"]:
        parser.add_argument(flag, action="store_true", required=True)
    for names in ["--keep_shape_absolutely_input_names", "--overwrite_input_shape"]:
        parser.add_argument(names, nargs="+")
    arguments = parser.parse_args()
    if fake.DOES == "convert":
        sys.exit("These Op Not Support: Wish")
    shutil.copyfile(arguments.i, arguments.o / f"{arguments.i.stem}_float32.tflite")
