"""run_on_onnxruntime.py MODEL: rewrites a model and runs it on ONNX Runtime."""

import sys

import numpy
import onnxruntime
import pet

path, report = pet.apply(sys.argv[1])
session = onnxruntime.InferenceSession(path)
inputs = {i.name: numpy.zeros(i.shape, numpy.float32) for i in session.get_inputs()}
outputs = session.run(None, inputs)
print(f"{path}: {len(report['fired'])} sites rewritten, {len(outputs)} outputs")
