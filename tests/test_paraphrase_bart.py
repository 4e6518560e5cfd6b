"""The bart source runs its real code path: on a small BART made and trained on the spot."""

import builtins
import json
import random
import shutil
import sys
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest

from memoprobe.errors import ConfigError
from memoprobe.perturbations import sources, sources_bart
from memoprobe.perturbations.distances import by_meaning, usual_order
from memoprobe.perturbations.paraphrase import Rejected, Way
from memoprobe.pipeline import paraphrasing
from memoprobe.records import Sample
from memoprobe.study import BenchmarkSpec, ModelSpec, Study, check
from tests import fakes
from tests.test_cli import memoprobe, rows

needs_bart = pytest.mark.skipif(
    not (find_spec("transformers") and find_spec("torch")), reason="the extra bart is not installed"
)
needs_embeddings = pytest.mark.skipif(
    not find_spec("sentence_transformers"), reason="the extra embeddings is not installed"
)

ORIGINALS = ["Find the sum of all numbers in the list.", "Return the given list of the words."]
PARAPHRASES = [
    [
        "Compute the sum of all numbers in the list.",
        "Work out the sum of all numbers of the list.",
        "Determine the total of all numbers that the list holds.",
        "Find the sum of all the numbers that are in the list.",
    ],
    [
        "Give back the given list of the words.",
        "Return the supplied list of words.",
        "Hand back the list of the words that is given.",
    ],
]
TEXT = f"{ORIGINALS[0]}\n\n    {ORIGINALS[1]}\n    >>> solve([1])\n    1\n"


def sample(text):
    return Sample(
        benchmark="own",
        sample_id="1",
        task="code_generation",
        language="python",
        input_kind="prose",
        text=text,
        entry_point="solve",
    )


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Make a BART of two small layers that has learned a few paraphrases, and its tokenizer."""
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import BartConfig, BartForConditionalGeneration, BartTokenizerFast

    folder = tmp_path_factory.mktemp("bart")
    pairs = [
        (old, new)
        for old, several in zip(ORIGINALS, PARAPHRASES, strict=True)
        for new in [old, *several]
    ]
    trained = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    texts = [text for pair in pairs for text in pair]
    trained.train_from_iterator(texts, vocab_size=400, min_frequency=1, special_tokens=special)
    trained.save(str(folder / "tokenizer.json"))
    tokenizer = BartTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), model_max_length=64
    )
    tokenizer.save_pretrained(folder)
    torch.set_num_threads(1)  # more of them only wait for each other
    torch.manual_seed(0)
    model = BartForConditionalGeneration(
        BartConfig(
            vocab_size=len(tokenizer), d_model=48, encoder_layers=1, decoder_layers=1,
            encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=96,
            decoder_ffn_dim=96, max_position_embeddings=64, dropout=0.0, forced_eos_token_id=None,
        )
    )  # fmt: skip
    old, new = zip(*pairs, strict=True)
    batch = tokenizer(list(old), return_tensors="pt", padding=True)
    labels = tokenizer(list(new), return_tensors="pt", padding=True)["input_ids"]
    labels[labels == tokenizer.pad_token_id] = -100
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(150):
        optimizer.zero_grad()
        model(
            input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels
        ).loss.backward()
        optimizer.step()
    model.save_pretrained(folder)
    return str(folder)


def levels(model, text=TEXT, n=5):
    rewordings = sources_bart.bart(model, device="cpu", beams=6)
    perturb = sources.reworded(lambda _: rewordings, Way("bart"))
    return perturb(sample(text), n, random.Random(0))


@needs_bart
def test_beams_of_a_small_bart_make_levels(tiny):
    """Five distinct levels rise, the example stays, and a beam that changes nothing is counted."""
    found = levels(tiny)

    assert len(found.variants) == 6
    for weaker, stronger in pairwise(found.variants):
        assert weaker.distance < stronger.distance
        assert stronger.text.endswith("\n    >>> solve([1])\n    1\n")
    learned = {text for several in PARAPHRASES for text in several}
    last = found.variants[-1].text.partition("\n    >>>")[0].split("\n\n    ")
    assert set(last) <= learned
    assert found.rejected["equal"] > 0


@needs_bart
def test_beam_search_is_deterministic_and_widens(tiny):
    """Two searches agree, a second draw has twice the beams, and a fourth is none."""
    rewordings = sources_bart.bart(tiny, device="cpu", beams=3)

    assert rewordings(ORIGINALS, 0) == rewordings(ORIGINALS, 0)
    assert [len(each) for each in rewordings(ORIGINALS, 1)] == [6, 6]
    assert rewordings(ORIGINALS, sources_bart.DRAWS) == [[], []]
    assert levels(tiny) == levels(tiny)


@needs_bart
def test_a_sentence_beyond_the_models_length_is_left_alone(tiny):
    """It is counted, and the others are reworded."""
    long = "the list of all numbers " * 40
    found = sources_bart.bart(tiny, device="cpu", beams=3)([long, ORIGINALS[0]], 0)

    assert found[0] == [Rejected("too long")]
    assert len(found[1]) == 3
    assert sources_bart.bart(tiny, device="cpu")([long], 0) == [[Rejected("too long")]]


@needs_bart
def test_a_model_is_told_from_another_by_its_files(tiny, tmp_path):
    """Another weight makes another identity, another folder does not."""
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        (copy / name).write_bytes((Path(tiny) / name).read_bytes())
    first = sources_bart.identity(str(copy))
    moved = copy.rename(tmp_path / "moved")
    assert sources_bart.identity(str(moved)) == first

    with (moved / "model.safetensors").open("ab") as file:
        file.write(b"x")
    assert sources_bart.identity(str(moved)) != first


@needs_bart
def test_the_command_shows_what_bart_makes(tiny, tmp_path):
    """The table of a study names the model; differences are marked."""
    (tmp_path / "own.jsonl").write_text('{"id": "a", "input": "%s"}' % ORIGINALS[0])  # noqa: UP031
    (tmp_path / "s.toml").write_text(
        f'levels = 2\n[paraphrase]\nsource = "bart"\nmodel = "{tiny}"\norder = "words"\n'
        '[[models]]\nname = "m"\nbase_urls = ["http://localhost/v1"]\n'
        '[[benchmarks]]\npath = "own.jsonl"\ntask = "code_generation"\n'
    )
    text = memoprobe("perturb", "own", "--sample", "a", "--study", "s.toml")

    assert "own a, bart level 2: edit share" in text
    assert "[-Find -]{+" in text


@needs_bart
def test_a_run_remembers_which_model_paraphrased(tiny, tmp_path):
    """The same files elsewhere may go on with it, others may not; no path is kept."""
    (tmp_path / "own.jsonl").write_text(
        json.dumps({"id": "a", "input": ORIGINALS[0], "reference": "def solve(): pass"})
    )
    moved = Path(shutil.copytree(tiny, tmp_path / "moved"))
    with fakes.serve() as fake:
        for model in (tiny, moved):
            (tmp_path / "s.toml").write_text(
                f'repeats = 1\nanswers = 1\n[paraphrase]\nsource = "bart"\nmodel = "{model}"\n'
                f'order = "words"\n[[models]]\nname = "fake"\nbase_urls = ["{fake.url}"]\n'
                '[[benchmarks]]\npath = "own.jsonl"\ntask = "code_generation"\n'
            )
            memoprobe("run", "s.toml", "--db", "run.db")
        n = len(fake.requests)
        with (moved / "model.safetensors").open("ab") as file:
            file.write(b"x")
        text = memoprobe("run", "s.toml", "--db", "run.db", code=2)

    assert "paraphrase.bart.version: was" in text
    made = rows("run.db", "SELECT DISTINCT perturbation FROM variants")
    assert made == [{"perturbation": "bart"}]
    assert n == rows("run.db", "SELECT count(*) AS n FROM variants")[0]["n"] > 1
    assert (
        tiny not in rows("run.db", "SELECT value FROM run_info WHERE key = 'settings'")[0]["value"]
    )


@needs_bart
def test_a_model_that_is_not_there_is_told(tmp_path):
    """The message names the model and what to give instead."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match=r"paraphrase model '.*empty' cannot be loaded on cpu: "):
        levels(str(tmp_path / "empty"))


@needs_embeddings
def test_an_order_by_embeddings_of_a_small_model(tiny, tmp_path):
    """Distances are those of the model, 0 to the text itself, and the same one by one."""
    measure = by_meaning(tiny)
    texts = [*PARAPHRASES[0], ORIGINALS[1], ORIGINALS[0]]
    found = measure(ORIGINALS[0], texts)

    assert found[-1] == 0
    assert all(0 < each <= 1 for each in found[:-1])
    assert found == [measure(ORIGINALS[0], [text])[0] for text in texts]
    assert measure(ORIGINALS[0], []) == []
    assert usual_order() == "embeddings"
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match=r"embedding model '.*empty' cannot be loaded"):
        by_meaning(str(tmp_path / "empty"))("a", ["b"])


@pytest.fixture
def without(monkeypatch):
    """Let the packages of the extras be missing."""
    missing = ("torch", "transformers", "sentence_transformers")
    for name in [name for name in sys.modules if name.partition(".")[0] in missing]:
        monkeypatch.delitem(sys.modules, name)
    real = builtins.__import__

    def fail(name, *arguments, **more):
        if name.partition(".")[0] in missing:
            raise ImportError(name)
        return real(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", fail)


def test_missing_packages_are_named_with_their_extra(without, tmp_path):
    """One clear error each, from the library and from the command line."""
    with pytest.raises(ConfigError, match=r"pip install 'memoprobe\[bart\]'"):
        levels("any/model")
    with pytest.raises(ConfigError, match=r"pip install 'memoprobe\[embeddings\]'"):
        by_meaning()("a", ["b"])
    (tmp_path / "own.jsonl").write_text('{"id": "a", "input": "Sort it all."}')
    text = memoprobe(
        "run", "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--perturbation", "bart",
        "--benchmark", "own.jsonl", "--task", "code_generation", code=2,
    )  # fmt: skip
    assert "perturbation bart needs the packages torch and transformers" in text


def test_orders_are_part_of_what_a_run_remembers(tmp_path):
    """The order that holds is there by name, whatever is installed."""
    (tmp_path / "para.jsonl").write_text("")
    study = Study(
        models=(ModelSpec(name="m", base_urls=("http://localhost/v1",)),),
        benchmarks=(BenchmarkSpec(name="mbpp"),),
        perturbation="paraphrase-file",
        paraphrase=paraphrasing.Paraphrasing(path=str(tmp_path / "para.jsonl")),
    )
    check(study, "the test")
    found = paraphrasing.identity(study, {"own": [sample(TEXT)]})

    assert found["paraphrase-file"]["order"] == usual_order()
