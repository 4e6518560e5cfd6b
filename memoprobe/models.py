"""Hold the eight models of the study by name, and how vLLM serves each."""

from dataclasses import dataclass
from difflib import get_close_matches

from memoprobe.errors import ConfigError
from memoprobe.records import Interface


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Hold one registered model, as its card on the hub describes it."""

    name: str
    hub_id: str
    parameters: float  # in billions, all experts counted
    interface: Interface
    context: int  # tokens
    licence: str
    gated: bool = False  # its licence must be accepted on the hub first, and HF_TOKEN set
    gpus: int = 1  # of 80 GB, at two bytes a parameter
    remote_code: bool = False  # its repository holds code that the server must be allowed to run
    chat_template: str | None = None  # a file of ours, where the repository holds none

    @property
    def longest(self) -> int:
        """Return the tokens of the longest prompt and answer that it is served with."""
        return min(self.context, LONGEST)

    @property
    def flags(self) -> str:
        """Return the options of vLLM that this model needs beside those that all share."""
        parts = ["--trust-remote-code"] if self.remote_code else []
        parts += [f"--tensor-parallel-size {self.gpus}"] if self.gpus > 1 else []
        parts += [f"--chat-template {self.chat_template}"] if self.chat_template else []
        return " ".join(parts)

    @property
    def serve(self) -> str:
        """Return the command that serves the model with vLLM on one machine."""
        shared = f"vllm serve {self.hub_id} --served-model-name {self.name}"
        limits = f"--max-model-len {self.longest} --enable-prefix-caching"
        return f"{shared} {limits} {self.flags}".rstrip()


LONGEST = 16384
"""A longer context only takes memory."""

MODELS = {
    model.name: model
    for model in (
        Model(
            name="deepseek-coder-v2-16b",
            hub_id="deepseek-ai/DeepSeek-Coder-V2-Lite-Instruct",
            parameters=15.7,
            interface="chat",
            context=163840,
            licence="DeepSeek Model License",
            remote_code=True,
        ),
        Model(
            name="qwen2.5-coder-14b",
            hub_id="Qwen/Qwen2.5-Coder-14B-Instruct",
            parameters=14.8,
            interface="chat",
            context=32768,
            licence="Apache-2.0",
        ),
        Model(
            name="starcoder2-15b",
            hub_id="bigcode/starcoder2-15b",
            parameters=16.0,
            interface="completions",
            context=16384,
            licence="BigCode OpenRAIL-M v1",
        ),
        Model(
            name="codellama-13b",
            hub_id="codellama/CodeLlama-13b-Instruct-hf",
            parameters=13.0,
            interface="chat",
            context=16384,
            licence="Llama 2 Community License",
        ),
        Model(
            name="codestral-22b",
            hub_id="mistralai/Codestral-22B-v0.1",
            parameters=22.2,
            interface="chat",
            context=32768,
            licence="Mistral AI Non-Production License",
            gated=True,
        ),
        Model(
            name="opencoder-8b",
            hub_id="infly/OpenCoder-8B-Instruct",
            parameters=7.8,
            interface="chat",
            context=8192,
            licence="INF OpenCoder license",
            remote_code=True,
        ),
        Model(
            name="wizardcoder-33b",
            hub_id="WizardLMTeam/WizardCoder-33B-V1.1",
            parameters=33.3,
            interface="chat",
            context=16384,
            licence="DeepSeek Model License (base model), Microsoft Research terms",
            gpus=2,
            chat_template="docker/alpaca.jinja",
        ),
        Model(
            name="magicoder-7b",
            hub_id="ise-uiuc/Magicoder-S-DS-6.7B",
            parameters=6.7,
            interface="chat",
            context=16384,
            licence="DeepSeek Model License",
        ),
    )
}


def find(name: str) -> Model:
    """Return the registered model of that name.

    Raises:
        ConfigError: There is none; the message gives the nearest.
    """
    if name in MODELS:
        return MODELS[name]
    near = get_close_matches(name, MODELS, n=1, cutoff=0)[0]
    msg = f"unknown model {name!r}; nearest: {near!r}; known: {', '.join(MODELS)}"
    raise ConfigError(msg)


def env(model: Model) -> str:
    """Return the variables of the compose files in ``docker/`` that serve a model."""
    served_by_tgi = "--trust-remote-code" if model.remote_code else ""
    values = {
        "NAME": model.name,
        "MODEL": model.hub_id,
        "INTERFACE": model.interface,
        "MAX_MODEL_LEN": model.longest,
        "GPUS": model.gpus,
        "FLAGS": model.flags,
        "TGI_FLAGS": served_by_tgi,
    }
    return "".join(f"{name}={value}\n" for name, value in values.items())
