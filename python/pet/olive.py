"""A pass of Microsoft Olive that rewrites an ONNX model with pet.

    import olive.workflows
    import pet.olive
    olive.workflows.run({..., "passes": {"pet": {"type": "PetRewrite", "min_gain": 1.1}}}, package_config=pet.olive.package_config())
"""

import json
from pathlib import Path

from olive.hardware.accelerator import AcceleratorSpec
from olive.model import ONNXModelHandler
from olive.model.utils import resolve_onnx_path
from olive.package_config import OlivePackageConfig
from olive.passes import Pass
from olive.passes.pass_config import BasePassConfig, PassConfigParam

import pet


class PetRewrite(Pass):
    """Rewrites the model with the rules that are known to pay, and checks the result."""

    @classmethod
    def _default_config(cls, accelerator_spec: AcceleratorSpec) -> dict[str, PassConfigParam]:
        return {
            "pack": PassConfigParam(type_=str, default_value=None, description="A pack of rules instead of pet's own."),
            "min_gain": PassConfigParam(type_=float, default_value=1.05, description="The least expected ratio, original / rewritten."),
            "measure": PassConfigParam(type_=bool, default_value=False, description="Times the rewrites on this machine, and keeps what pays."),
            "options": PassConfigParam(type_=dict, default_value=None, description="More options of pet.apply()."),
        }

    def _run_for_config(self, model: ONNXModelHandler, config: type[BasePassConfig], output_model_path: str) -> ONNXModelHandler:
        output = resolve_onnx_path(output_model_path, Path(model.model_path).name)
        pet.apply(model.model_path, config.pack, output=output, min_gain=config.min_gain, measure=config.measure, **(config.options or {}))
        return ONNXModelHandler(model_path=output)


def package_config() -> dict:
    """Olive's own list of passes, and PetRewrite."""
    config = json.loads(Path(OlivePackageConfig.get_default_config_path()).read_text())
    anything = {f"supported_{what}": ["*"] for what in ["providers", "accelerators", "precisions"]}
    config["passes"]["PetRewrite"] = {"module_path": "pet.olive.PetRewrite", **anything}
    return config
