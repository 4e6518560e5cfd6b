"""Facts about benchmarks from the hub: the files there make the same samples as a copy."""

import gzip
import json
import os
from dataclasses import fields

import pytest

from memoprobe import benchmarks
from memoprobe.benchmarks import sources
from tests import fakehub
from tests.benchmark_data import quixbugs_mirror, write_quixbugs
from tests.fakehub import EXPORT, MAIN, Repository, table
from tests.test_benchmarks import FULL, HUMANEVAL, SANITIZED
from tests.test_code_generation_benchmarks import APPS_CALL, APPS_STDIN, CONTEST, LBPP
from tests.test_summarization_benchmarks import HUB_NAMES, made
from tests.test_test_generation_benchmarks import BIGCODEBENCH
from tests.test_vulnerability_benchmarks import (
    COPY,
    MESSAGE,
    SAFE,
    TRAILERS,
    cvefixes_database,
    cvefixes_hub,
    devign_row,
)
from tests.test_xlcost_benchmark import CPP, ROW

SCRIPT = b"raise SystemExit('a loading script was run')\n"
SHARD = "00000-of-00001"
OTHER = {"text": "Do another | Code", "code": CPP}
DEVIGN = [devign_row(COPY, 1, id=3), devign_row(SAFE, 0, id=4)]
REVEAL = {"hash": 2**62, "project": "debian", "size": 2}
DIVERSEVUL = [
    {"func": code, "target": target, "cwe": ["CWE-120"], "project": "made", "commit_id": "c"}
    | {"hash": 2.5e38, "size": 3, "message": MESSAGE + TRAILERS}
    for code, target in ((COPY, 1), (SAFE, 0))
]
FUNCTION = {new: made()[old] for old, new in HUB_NAMES.items()}
FUNCTIONS = {
    name: table(
        [FUNCTION | {"language": name, "split_name": "test" if name == "python" else "train"}]
    )
    for name in ("go", "java", "javascript", "php", "python", "ruby")
}


def lines(*rows):
    return "\n".join(map(json.dumps, rows)).encode()


def array(*rows):
    return json.dumps(rows).encode()


CLONE = {"python/final/jsonl/test/python_test_0.jsonl.gz": gzip.compress(lines(made()))}


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
        {"HumanEval.jsonl": lines(HUMANEVAL)},
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
            "mbpp.jsonl": lines(FULL | {"task_id": 100}, FULL),
            "sanitized-mbpp.json": lines(SANITIZED),
        },
        {},
    ),
    "apps": (
        "codeparrot/apps",
        {
            MAIN: {
                "apps.py": SCRIPT,
                "train.jsonl": lines(APPS_STDIN),
                "test.jsonl": lines(APPS_CALL),
            }
        },
        {"train.jsonl": lines(APPS_STDIN), "test.jsonl": lines(APPS_CALL)},
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
        {"train.jsonl": lines(APPS_STDIN), "test.jsonl": lines(APPS_CALL)},
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
        {"lbpp.jsonl": lines(LBPP, LBPP | {"language": "go", "task_id": "made/go/1"})},
        {},
    ),
    "lbpp by its former name": (
        "CohereForAI/lbpp",
        {MAIN: {"python/test.parquet": table([LBPP])}},
        {"lbpp.jsonl": lines(LBPP)},
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
        {"data/train-0.jsonl": lines(CONTEST)},
        {},
    ),
    "xlcost": (
        "codeparrot/xlcost-text-to-code",
        {
            MAIN: {
                "xlcost-text-to-code.py": SCRIPT,
                "data/Python-program-level/train.json": lines(ROW),
                "data/C++-program-level/train.json": array(OTHER),
                "data/Python-snippet-level/train.json": lines(ROW).replace(b"Do a", b"Do no"),
            }
        },
        {"data/Python-program-level/train.json": lines(ROW)},
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
        {"data/Python-program-level/train.json": lines(ROW)},
        {},
    ),
    "bigcodebench": (
        "bigcode/bigcodebench",
        {
            MAIN: {
                f"data/v0.1.0_hf-{SHARD}.parquet": table([BIGCODEBENCH]),
                f"data/v0.1.4-{SHARD}.parquet": table([BIGCODEBENCH | {"task_id": "Made/2"}]),
            }
        },
        {"BigCodeBench.jsonl": lines(BIGCODEBENCH)},
        {},
    ),
    "devign": (
        "DetectVul/devign",
        {MAIN: {f"data/train-{SHARD}.parquet": table(DEVIGN)}},
        {"function.json": array(*DEVIGN)},
        {},
    ),
    "devign by its mirror": (
        "google/code_x_glue_cc_defect_detection",
        {MAIN: {f"data/test-{SHARD}.parquet": table(DEVIGN)}},
        {"dataset/test.jsonl": lines(*DEVIGN)},
        {},
    ),
    "reveal": (
        "claudios/ReVeal",
        {
            MAIN: {
                f"data/test-{SHARD}.parquet": table(
                    [
                        {"functionSource": COPY, "label": 1, **REVEAL},
                        {"functionSource": SAFE, "label": 0, **REVEAL},
                    ]
                )
            }
        },
        {
            "vulnerables.json": array({"code": COPY, **REVEAL}),
            "non-vulnerables.json": array({"code": SAFE, **REVEAL}),
        },
        {},
    ),
    "diversevul": (
        "claudios/DiverseVul",
        {MAIN: {f"data/test-{SHARD}.parquet": table(DIVERSEVUL)}},
        {"diversevul_20230702.json": lines(*DIVERSEVUL)},
        {},
    ),
    "diversevul by its mirror": (
        "bstee615/diversevul",
        {MAIN: {f"data/train-{SHARD}-0123abcd.parquet": table(DIVERSEVUL)}},
        {"diversevul_20230702.json": lines(*DIVERSEVUL)},
        {},
    ),
    "codesearchnet": (
        "code-search-net/code_search_net",
        {
            MAIN: {
                "code_search_net.py": SCRIPT,
                f"python/train-{SHARD}.parquet": table([FUNCTION | {"split_name": "train"}]),
                **{f"{name}/test-{SHARD}.parquet": rows for name, rows in FUNCTIONS.items()},
            }
        },
        CLONE,
        {},
    ),
    "codesearchnet export": (
        "code-search-net/code_search_net",
        {
            MAIN: {"code_search_net.py": SCRIPT},
            EXPORT: {
                "all/test/0000.parquet": table([FUNCTION | {"func_code_url": "twice"}]),
                "python/partial-train/0000.parquet": table([FUNCTION]),
                **{f"{name}/test/0000.parquet": rows for name, rows in FUNCTIONS.items()},
            },
        },
        CLONE,
        {},
    ),
    "codesearchnet by CodeXGLUE": (
        "google/code_x_glue_ct_code_to_text",
        {
            MAIN: {
                f"{name}/test-{SHARD}.parquet": table([made(language=name)]) for name in FUNCTIONS
            }
        },
        {"python/test.jsonl": lines(made())},
        {"language": "python"},
    ),
}


def written(folder, texts):
    """Write a copy."""
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text)
    return folder


def compared(name, repository, branches, copy, options, home, monkeypatch):
    """Return the samples of a copy, and those of the hub."""
    local = fetched(name, copy, home, options)
    with fakehub.serve({repository: Repository(branches)}) as fake:
        monkeypatch.setenv("HF_ENDPOINT", fake.url)
        return local, fetched(name, None, home, options)


@pytest.mark.parametrize("case", USES)
def test_the_hub_gives_what_a_copy_gives(case, tmp_path, monkeypatch):
    """Through the hub's own client: no script is run, other configs stay, samples are equal."""
    repository, branches, texts, options = USES[case]
    copy = written(tmp_path / "copy", texts)

    local, hub = compared(
        case.split()[0], repository, branches, copy, options, tmp_path / "home", monkeypatch
    )

    assert len(local) == (2 if case.startswith("apps") else 1)
    assert hub == local


@pytest.mark.parametrize("name", ["quixbugs-repair", "quixbugs-tests"])
@pytest.mark.parametrize("branch", ["main", "export"])
def test_quixbugs_from_the_hub(name, branch, tmp_path, monkeypatch):
    """The hub has asserts where a clone has cases; all but these and what follows is equal."""
    row = quixbugs_mirror()
    branches = (
        {MAIN: {"quixbugs_python.jsonl": lines(row)}}
        if branch == "main"
        else {MAIN: {"quixbugs.py": SCRIPT}, EXPORT: {"default/train/0000.parquet": table([row])}}
    )

    (local,), (hub,) = compared(
        name,
        "Muennighoff/quixbugs",
        branches,
        write_quixbugs(tmp_path / "copy"),
        {},
        tmp_path / "home",
        monkeypatch,
    )

    differing = {"tests"} if name == "quixbugs-repair" else {"reference"}
    unequal = {f.name for f in fields(hub) if getattr(hub, f.name) != getattr(local, f.name)}
    assert unequal - {"content_hash"} <= differing


def test_cvefixes_from_the_hub(tmp_path, monkeypatch):
    """The hub knows neither description nor date of a CVE; function, id and language are equal."""
    cvefixes_hub(tmp_path / "hub")
    files = {
        path.relative_to(tmp_path / "hub").as_posix(): path.read_bytes()
        for path in (tmp_path / "hub").rglob("*.parquet")
    }
    ruby = files[f"data/ruby-{SHARD}.parquet"]
    files |= {f"data/{name}-{SHARD}.parquet": ruby for name in ("go", "java")}
    (tmp_path / "copy").mkdir()
    cvefixes_database(tmp_path / "copy/CVEfixes.db")

    (local,), hub = compared(
        "cvefixes",
        "euisuh15/cveFixes1",
        {MAIN: files},
        tmp_path / "copy",
        {},
        tmp_path / "home",
        monkeypatch,
    )

    same = {each.sample_id: each for each in hub}[local.sample_id]
    assert same.text == local.text
    assert {each.language for each in hub} == {"c", "java", "python"}
