#!/usr/bin/env python3
"""Trained models that Python packages ship: reading of text, voices, pitches and types of files, spikes in an EEG, reactions. What their
users run, whichever exporter wrote it, in the opset that it chose.

    python tests/models/deployed.py FOLDER [NAME...]      needs pip and onnx

Writes FOLDER/NAME.onnx, where that is not there yet, of the extents that its package runs it at, with which `bench/models.py --onnx FOLDER`
measures it; and FOLDER/open/NAME.onnx as it is shipped, with sizes left open. Rules have been timed at these extents since 2026-11-29.
"""

import functools
import io
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import onnx

import exporting

OCR, VAD = "rapidocr_onnxruntime==1.4.4", "silero_vad==6.2.3"
#: name: (package, file in it, extents of inputs that leave some open)
MODELS = {
    "ppocr_det": (OCR, "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", {"x": [1, 3, 640, 640]}),
    "ppocr_det_page": (OCR, "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", {"x": [1, 3, 736, 1280]}),
    "ppocr_rec": (OCR, "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", {"x": [1, 3, 48, 320]}),
    "ppocr_rec_b6": (OCR, "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", {"x": [6, 3, 48, 320]}),
    "ppocr_cls": (OCR, "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x": [1, 3, 48, 192]}),
    "silero": (VAD, "silero_vad/data/silero_vad_16k_op15.onnx", {"input": [1, 576], "state": [2, 1, 128]}),
    "silero_ifless": (VAD, "silero_vad/data/silero_vad_op18_ifless.onnx", {"input": [1, 576], "state": [2, 1, 128]}),
    "silero_sequence": (VAD, "silero_vad/data/silero_vad_16k_sequence.onnx", {"input": [1000, 576]}),
    "magika": ("magika==1.0.3", "magika/models/standard_v3_3/model.onnx", {"bytes": [1, 2048]}),
    "basic_pitch": ("basic_pitch==0.4.0", "basic_pitch/saved_models/icassp_2022/nmp.onnx", {"serving_default_input_2:0": [1, 43844, 1]}),
    "seizures": ("brainmaze_eeg_models==0.1.0", "brainmaze_eeg_models/seizure/_models/modelA_paper.onnx", {"x": [1, 100, 3000]}),
    "spindles": ("brainmaze_eeg_models==0.1.0", "brainmaze_eeg_models/spindles/_models/spindle-detector-eeg.onnx",
                 {"raw_signal": [1, 1, 7500], "spectrogram": [1, 15, 7500]}),
    "rxnmap": ("chython_rxnmap==2.0", "chython_rxnmap/rxnmap.onnx",
               {"atoms": [1, 100], "neighbors": [1, 100], "distances": [1, 100, 100], "roles": [1, 100]}),
}


@functools.cache
def wheel(package):
    """Its files, from pip."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, package], check=True)
        return zipfile.ZipFile(io.BytesIO(next(pathlib.Path(folder).glob("*.whl")).read_bytes()))


def of_fixed_extents(model, extents):
    """The model with these extents of its inputs; those of its other values are inferred anew."""
    for value in model.graph.input:
        if value.name not in extents:
            continue
        dims = value.type.tensor_type.shape.dim
        del dims[:]
        for extent in extents[value.name]:
            dims.add().dim_value = extent
    for value in model.graph.output:
        for dim in value.type.tensor_type.shape.dim:
            dim.Clear()
    del model.graph.value_info[:]
    return onnx.shape_inference.infer_shapes(model, data_prop=True)


def export(name, path):
    package, file, extents = MODELS[name]
    shipped = path.parent / "open" / f"{name}.onnx"
    shipped.parent.mkdir(exist_ok=True)
    shipped.write_bytes(wheel(package).read(file))
    onnx.save(of_fixed_extents(onnx.load(shipped), extents), path)


if __name__ == "__main__":
    sys.exit(exporting.main(__doc__.split("\n\n")[0], MODELS, export))
