"""Facts about the registered models, the files that serve them and the ready studies."""

import json
import re
import shlex

import pytest
import yaml

from memoprobe import models, study
from memoprobe.errors import ConfigError
from tests.docs import ROOT
from tests.test_cli import memoprobe

COMPOSE = sorted((ROOT / "docker").glob("compose.*.yaml"))
STUDIES = sorted((ROOT / "studies").glob("*.toml"))
VARIABLE = re.compile(r"\$\{(\w+)(:[?-][^}]*)?\}")


def environment(name):
    lines = (ROOT / "docker" / "models" / f"{name}.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def test_the_eight_models_are_registered():
    """Their names are those of the study's table, and --json has every field."""
    listed = json.loads(memoprobe("models", "--json"))

    assert [row["name"] for row in listed] == [
        "deepseek-coder-v2-16b", "qwen2.5-coder-14b", "starcoder2-15b", "codellama-13b",
        "codestral-22b", "opencoder-8b", "wizardcoder-33b", "magicoder-7b",
    ]  # fmt: skip
    fields = {"name", "hub_id", "parameters", "interface", "context", "licence", "serve"}
    assert all(fields <= row.keys() for row in listed)


def test_one_model_is_shown_with_its_command():
    """A name shows how to serve it; an unknown one names the nearest."""
    assert "vllm serve bigcode/starcoder2-15b" in memoprobe("models", "starcoder2-15b")
    with pytest.raises(ConfigError, match="nearest: 'starcoder2-15b'"):
        models.find("starcoder-15b")


@pytest.mark.parametrize("model", models.MODELS.values(), ids=models.MODELS)
def test_the_command_is_what_the_compose_file_runs(model):
    """A model's vLLM command and its .env file give the same options."""
    words = shlex.split(model.serve)
    known = environment(model.name)

    assert words[:3] == ["vllm", "serve", known["MODEL"]]
    assert words[words.index("--served-model-name") + 1] == known["NAME"]
    assert words[words.index("--max-model-len") + 1] == known["MAX_MODEL_LEN"]
    assert model.serve.endswith(known["FLAGS"])
    assert ("--tensor-parallel-size" in words) == (known["GPUS"] != "1")


@pytest.mark.parametrize("path", COMPOSE, ids=lambda path: path.name)
@pytest.mark.parametrize("name", models.MODELS)
def test_a_compose_file_is_complete_for_every_model(path, name):
    """What has no default is in the model's .env file; the probe waits for a healthy server."""
    text = path.read_text()
    services = yaml.safe_load(text)["services"]
    required = {variable for variable, default in VARIABLE.findall(text) if default[:2] != ":-"}

    assert required <= environment(name).keys()
    assert services["probe"]["depends_on"] == {"model": {"condition": "service_healthy"}}
    devices = services["model"]["deploy"]["resources"]["reservations"]["devices"]
    assert devices == [{"driver": "nvidia", "count": "${GPUS:-1}", "capabilities": ["gpu"]}]
    assert "healthcheck" in services["model"]


def test_the_template_is_valid():
    """The instruct format of a model without one renders a conversation."""
    import jinja2

    template = jinja2.Template((ROOT / "docker" / "alpaca.jinja").read_text())
    text = template.render(messages=[{"role": "user", "content": "Add."}], add_generation_prompt=1)

    assert text.endswith("\n### Instruction:\nAdd.\n\n### Response:\n")
    assert text.startswith("Below is an instruction")


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.name)
def test_ready_studies_load(path):
    """Each can be run once its names and URLs are the user's."""
    loaded = study.load(path)

    assert loaded.name == ("local-vllm" if path.stem == "add-a-model" else path.stem)


def test_the_paper_study_is_the_whole_study():
    """8 models, 20 benchmark uses, and the settings that the study states."""
    paper = study.load(ROOT / "studies" / "paper.toml")

    assert {model.name: model.interface for model in paper.models} == {
        model.name: model.interface for model in models.MODELS.values()
    }
    assert len(paper.benchmarks) == 20
    assert (paper.levels, paper.answers, paper.repeats) == (5, 3, 3)
    assert (paper.sampling.temperature, paper.sampling.top_p) == (0.3, 0.5)
