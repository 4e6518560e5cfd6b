"""Facts about code generation from the hub: the files there make the same samples as a copy."""

import json
import os

import pytest

from memoprobe import benchmarks
from memoprobe.benchmarks import sources
from tests import fakehub
from tests.benchmark_data import copied
from tests.fakehub import EXPORT, MAIN, Repository, table
from tests.test_benchmarks import FULL, HUMANEVAL, SANITIZED
from tests.test_code_generation_benchmarks import APPS_CALL, APPS_STDIN, CONTEST, LBPP
from tests.test_xlcost_benchmark import CPP, ROW

SCRIPT = b"raise SystemExit('a loading script was run')\n"
SHARD = "00000-of-00001"
OTHER = {"text": "Do another | Code", "code": CPP}
LINES = json.dumps(ROW).encode()


@pytest.fixture(autouse=True)
def _only_the_fake_hub(tmp_path, monkeypatch):
    from huggingface_hub import constants

    for name in [name for name in os.environ if name.startswith(("HF_", "HUGGINGFACE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no token"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)


def fetched(name, source, home, options):
    benchmark = benchmarks.find(name)
    benchmarks.fetch(benchmark, source, home)
    return benchmarks.load(benchmark, home, sources.Selection(options=options)).samples


USES = {
    "humaneval": (
        "openai/openai_humaneval",
        {MAIN: {f"openai_humaneval/test-{SHARD}.parquet": table([HUMANEVAL])}},
        {"HumanEval.jsonl": [HUMANEVAL]},
        {},
    ),
    "mbpp": (
        "google-research-datasets/mbpp",
        {
            MAIN: {
                f"full/train-{SHARD}.parquet": table([FULL]),
                f"full/test-{SHARD}.parquet": table([FULL | {"task_id": 100}]),
                f"sanitized/train-{SHARD}.parquet": table([SANITIZED]),
            }
        },
        {
            "mbpp.jsonl": [FULL | {"task_id": 100}, FULL],
            "sanitized-mbpp.json": [SANITIZED],
        },
        {},
    ),
    "apps": (
        "codeparrot/apps",
        {
            MAIN: {
                "apps.py": SCRIPT,
                "train.jsonl": json.dumps(APPS_STDIN).encode(),
                "test.jsonl": json.dumps(APPS_CALL).encode(),
            }
        },
        {"train.jsonl": [APPS_STDIN], "test.jsonl": [APPS_CALL]},
        {"split": "all"},
    ),
    "apps export": (
        "codeparrot/apps",
        {
            MAIN: {"apps.py": SCRIPT},
            EXPORT: {
                "default/train/0000.parquet": table([APPS_STDIN]),
                "default/test/0000.parquet": table([APPS_CALL]),
            },
        },
        {"train.jsonl": [APPS_STDIN], "test.jsonl": [APPS_CALL]},
        {"split": "all"},
    ),
    "lbpp": (
        "CohereLabs/lbpp",
        {
            MAIN: {
                "python/test.parquet": table([LBPP]),
                "go/test.parquet": table([LBPP | {"language": "go", "task_id": "made/go/1"}]),
            }
        },
        {"lbpp.jsonl": [LBPP, LBPP | {"language": "go", "task_id": "made/go/1"}]},
        {},
    ),
    "lbpp by its former name": (
        "CohereForAI/lbpp",
        {MAIN: {"python/test.parquet": table([LBPP])}},
        {"lbpp.jsonl": [LBPP]},
        {},
    ),
    "codecontests": (
        "deepmind/code_contests",
        {
            MAIN: {
                f"data/train-{SHARD}-0123abcd.parquet": table([CONTEST]),
                f"data/valid-{SHARD}-0123abcd.parquet": table([CONTEST | {"name": "valid"}]),
                f"data/test-{SHARD}-0123abcd.parquet": table([CONTEST | {"name": "test"}]),
            },
            EXPORT: {"default/partial-train/0000.parquet": table([CONTEST | {"name": "cut"}])},
        },
        {"data/train-0.jsonl": [CONTEST]},
        {},
    ),
    "xlcost": (
        "codeparrot/xlcost-text-to-code",
        {
            MAIN: {
                "xlcost-text-to-code.py": SCRIPT,
                "data/Python-program-level/train.json": LINES,
                "data/C++-program-level/train.json": json.dumps([OTHER]).encode(),
                "data/Python-snippet-level/train.json": LINES.replace(b"Do a", b"Do no"),
            }
        },
        {"data/Python-program-level/train.json": [ROW]},
        {},
    ),
    "xlcost export": (
        "codeparrot/xlcost-text-to-code",
        {
            MAIN: {"xlcost-text-to-code.py": SCRIPT},
            EXPORT: {
                "Python-program-level/train/0000.parquet": table([ROW]),
                "C++-program-level/validation/0000.parquet": table([OTHER]),
            },
        },
        {"data/Python-program-level/train.json": [ROW]},
        {},
    ),
}


@pytest.mark.parametrize("case", USES)
def test_the_hub_gives_what_a_copy_gives(case, tmp_path, monkeypatch):
    """Through the hub's own client: no script is run, other configs stay, samples are equal."""
    repository, branches, copy, options = USES[case]
    name = case.split()[0]
    for path, rows in copy.items():
        copied(tmp_path / "copy", path, rows)
    local = fetched(name, tmp_path / "copy", tmp_path / "home", options)

    with fakehub.serve({repository: Repository(branches)}) as fake:
        monkeypatch.setenv("HF_ENDPOINT", fake.url)
        hub = fetched(name, None, tmp_path / "home", options)

    assert len(local) == (2 if options else 1)
    assert hub == local
