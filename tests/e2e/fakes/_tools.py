import argparse
import shutil
import sys

import fake


def mnnconvert(words):
    parser = argparse.ArgumentParser()
    for option in ["-f", "--modelFile", "--MNNModel"]:
        parser.add_argument(option, required=True)
    arguments = parser.parse_args(words[1:])
    if fake.DOES == "convert":
        sys.exit("These Op Not Support: Wish")
    shutil.copyfile(arguments.modelFile, arguments.MNNModel)
