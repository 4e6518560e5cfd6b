"""The reference model computes what its architecture says, and draws what its numbers say."""

import json
import struct
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoprobe.errors import ConfigError
from memoprobe.reference import corpus, decoding, tokenizer, weights
from memoprobe.reference.decoding import Job, Order, draw
from memoprobe.reference.model import FOLDER, export, load
from memoprobe.reference.network import Cache, log_probabilities
from memoprobe.reference.tokenizer import BEGIN, END, Tokenizer, learn

TEXT = '"""\nWrite a function that takes a list of words as input.\n"""\ndef solve('


@pytest.fixture(scope="module")
def model():
    return load(0)


def order(model, text=TEXT, **fields):
    """Return an order of one answer of few tokens, unless told otherwise."""
    prompt = (BEGIN, *model.tokenizer.encode(text))
    usual = {"seeds": (0,), "temperature": 1.0, "top_p": 1.0, "max_tokens": 6}
    return Order(prompt=prompt, **usual | fields)


def logits_after(model, tokens):
    """Return what the network says of the token after ``tokens``, read as a whole."""
    hidden = model.network.read(np.array([tokens]), Cache(1), np.array([0]))
    return model.network.logits(hidden)[0, -1]


def answers(job):
    return [job.drawn[index] for index in range(len(job.order.seeds))]


# The tokenizer


@given(st.text())
def test_any_text_is_encoded_and_decoded(text):
    """Whatever can be written in UTF-8 comes back from its tokens."""
    known = Tokenizer([("a", "b"), ("ab", "c")])
    written = text.encode("utf-8", "replace").decode()

    assert known.decode(known.encode(text)) == written
    assert b"".join(map(known.spelled, known.encode(text))) == written.encode()


def naive(piece, merges):
    """Join pairs by the book: the earliest merge that occurs, everywhere, until none does."""
    parts = list(piece)
    for left, right in merges:
        at = 0
        while at < len(parts) - 1:
            if (parts[at], parts[at + 1]) == (left, right):
                parts[at : at + 2] = [left + right]
            at += 1
    return parts


@given(st.text(alphabet="abc", min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_merges_are_applied_by_rank(word, rng):
    """A word's tokens are those of the merges taken one after the other."""
    sample = ["".join(rng.choice("abc") for _ in range(6)) for _ in range(30)]
    known = learn(sample, len(Tokenizer([])) + 8)

    assert [known.names[n] for n in known.encode(word)] == naive(word, known.merges)


def test_learning_joins_the_commonest_pair_first():
    """The first merge is the pair that occurs most often, and the size is kept."""
    known = learn(["xyxy zz", "xyxy"], 261)
    exhausted = learn(["xyxy zz", "xyxy"], 400)

    assert known.merges == [("x", "y"), ("xy", "xy")]
    assert len(known) == 261
    assert exhausted.encode("xyxy zz") == [260, len(exhausted) - 1]


def test_tokenizer_file_is_read_back(tmp_path):
    """A saved tokenizer cuts as before; its file lists the tokens as the library wants them."""
    known = learn(["def solve(items):\n    return items"], 275)
    tokenizer.save(known, tmp_path / "tokenizer.json")
    again = tokenizer.load(tmp_path / "tokenizer.json")
    model = json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))["model"]

    assert again.encode("def solve(é)") == known.encode("def solve(é)")
    assert list(model["vocab"].values()) == list(range(275))


# The weights


@pytest.mark.parametrize("seed", corpus.SEEDS)
def test_shipped_weights_are_small_and_of_the_stated_shape(seed):
    """Each of the three models is under 8 MB and has about 3.4 million weights."""
    known = tokenizer.load(FOLDER / "tokenizer.json")
    path = FOLDER / f"seed{seed}.safetensors"
    read = weights.read(path)

    assert path.stat().st_size < 8_000_000
    assert {n: w.shape for n, w in read.items()} == weights.shapes(len(known))
    assert 3_200_000 < sum(weight.size for weight in read.values()) < 3_600_000


def test_weights_are_written_as_safetensors(tmp_path):
    """A file is a length, a JSON header padded to eight bytes, and the numbers in float16."""
    path = tmp_path / "w.safetensors"
    weights.write(
        path, {"b": np.array([[1.5, -2.0]], np.float32), "a": np.array([0.1], np.float32)}
    )
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])

    assert length % 8 == 0
    assert header["b"] == {"dtype": "F16", "shape": [1, 2], "data_offsets": [2, 6]}
    assert np.frombuffer(data[8 + length :], "<f2").tolist() == [np.float16(0.1), 1.5, -2.0]
    assert weights.read(path)["b"].tolist() == [[1.5, -2.0]]
    assert weights.read(path)["a"].dtype == np.float32


def test_export_is_what_transformers_loads(tmp_path, model):
    """The exported folder has the weights under Llama's names, and its configuration."""
    export(0, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text("utf-8"))
    written = weights.read(tmp_path / "model.safetensors")

    assert config["architectures"] == ["LlamaForCausalLM"]
    assert config["vocab_size"] == len(model.tokenizer)
    assert written.keys() == weights.shapes(1).keys()
    assert tokenizer.load(tmp_path / "tokenizer.json").merges == model.tokenizer.merges


def test_model_that_is_not_there_is_an_error(tmp_path):
    """The message names the file and how to make it; so of one trained on other items."""
    with pytest.raises(ConfigError, match=r"seed2\.safetensors: no such model; train it.*--seed 2"):
        load(2, tmp_path)
    weights.write(tmp_path / "seed2.safetensors", {}, {"corpus": "of another time"})
    with pytest.raises(ConfigError, match=r"tokenizer\.json: no such model"):
        load(2, tmp_path)
    tokenizer.save(Tokenizer([]), tmp_path / "tokenizer.json")
    with pytest.raises(ConfigError, match=r"seed2\.safetensors: was trained on other items"):
        load(2, tmp_path)


def damaged(whole):
    """Yield how a file of weights may be damaged, with its bytes."""
    size = int.from_bytes(whole[:8], "little")
    yield "empty", b""
    yield "of chance", bytes(range(256)) * 40
    yield "cut in the header", whole[: size // 2]
    yield "cut in the weights", whole[: len(whole) // 2]
    yield "another name", whole.replace(b"model.norm.weight", b"model.norm.waight")
    yield "another header", whole[:8] + b"[]".ljust(size) + whole[8 + size :]
    yield "no numbers", whole[: 8 + size] + b"\xff" * (len(whole) - 8 - size)


def test_damaged_files_are_told(tmp_path):
    """Whatever is wrong with a file of a model, one message names it."""
    seed, names = tmp_path / "seed0.safetensors", tmp_path / "tokenizer.json"
    names.write_bytes((FOLDER / "tokenizer.json").read_bytes())
    for how, content in damaged((FOLDER / "seed0.safetensors").read_bytes()):
        seed.write_bytes(content)
        with pytest.raises(ConfigError, match=r"seed0\.safetensors: (is damaged|was trained on)"):
            pytest.fail(f"{how}: {load(0, tmp_path)}")
    seed.write_bytes((FOLDER / "seed0.safetensors").read_bytes())
    for content in ("{", "{}", "[]"):
        names.write_text(content)
        with pytest.raises(ConfigError, match=r"tokenizer\.json: is damaged"):
            load(0, tmp_path)


# The network


def test_reading_on_is_reading_the_whole(model):
    """Token by token over the cache gives the numbers of the whole text at once."""
    tokens = [BEGIN, *model.tokenizer.encode(TEXT)]
    cache = Cache(2)
    model.network.read(np.array([tokens[:5]]), cache, np.array([1]))
    cache.copy(1, 0, 5)
    for at, token in enumerate(tokens[5:], start=5):
        hidden = model.network.go_on(np.array([token]), np.array([at]), cache)

    assert np.allclose(model.network.logits(hidden)[0], logits_after(model, tokens), atol=1e-4)


# Made by transformers 5.24's LlamaForCausalLM in float32 from the exported folder: position in
# TEXT's tokens -> the four likeliest tokens and their logits.
TRANSFORMERS = {
    3: {668: 6.2671, 350: 6.1621, 885: 5.6964, 85: 5.4481},
    10: {307: 15.3632, 16: 5.0783, 201: 3.4080, 278: 3.3349},
    20: {10: 15.9723, 307: 3.7474, 201: 3.6324, 16: 3.6306},
}


@pytest.mark.parametrize("at", TRANSFORMERS)
def test_numbers_are_those_of_transformers(model, at):
    """The shipped weights give the logits that another implementation gives."""
    tokens = [BEGIN, *model.tokenizer.encode(TEXT)]
    said = logits_after(model, tokens[: at + 1])

    assert np.argsort(-said)[:4].tolist() == list(TRANSFORMERS[at])
    assert said[list(TRANSFORMERS[at])] == pytest.approx(list(TRANSFORMERS[at].values()), abs=1e-3)


def test_padding_changes_nothing(model):
    """A text padded to the length of a longer one has the numbers that it has alone."""
    tokens = [BEGIN, *model.tokenizer.encode("def solve(items):")]
    padded = [*tokens, END, END, END]
    hidden = model.network.read(np.array([padded]), Cache(1), np.array([0]))
    said = model.network.logits(hidden)[0, len(tokens) - 1]

    assert np.allclose(said, logits_after(model, tokens), atol=1e-4)


# Drawing


def test_greedy_answer_is_the_likeliest_token_each_time(model):
    """At temperature 0 every token is the likeliest after all before it."""
    (job,) = draw(model.network, model.tokenizer, [order(model, temperature=0.0, max_tokens=12)])
    (drawn,) = answers(job)
    before = list(job.order.prompt)
    for token in drawn.tokens:
        assert token == logits_after(model, before).argmax()
        before.append(token)
    assert drawn.text == b"".join(map(model.tokenizer.spelled, drawn.tokens))


@pytest.mark.parametrize(("temperature", "top_p"), [(1.0, 1.0), (0.3, 0.5), (1.5, 0.9)])
def test_shared_answers_are_those_drawn_alone(model, temperature, top_p):
    """Answers that share a tree, beside other requests, are what each seed gives alone."""
    fields = {"temperature": temperature, "top_p": top_p, "max_tokens": 10}
    texts = [TEXT, "Code:\ndef solve(", "#"]
    seeds = [tuple(range(start, start + 9)) for start in (0, 4, 90)]
    asked = [order(model, t, seeds=s, **fields) for t, s in zip(texts, seeds, strict=True)]
    together = draw(model.network, model.tokenizer, asked)

    for job in together:
        for index in (0, 4, 8):
            alone = order(model, model.tokenizer.decode(job.order.prompt[1:]), **fields)
            alone = Order(prompt=alone.prompt, seeds=(job.order.seeds[index],), **fields)
            (single,) = draw(model.network, model.tokenizer, [alone])
            assert answers(single)[0] == job.drawn[index]


def test_answers_are_drawn_by_their_probabilities(model):
    """Over many seeds, first tokens come as often as temperature and top_p say."""
    seeds = tuple(range(4_000))
    said = log_probabilities(logits_after(model, order(model).prompt) / 0.7)
    ranked = np.argsort(-said)
    kept = ranked[: int(np.searchsorted(np.exp(said[ranked]).cumsum(), 0.8)) + 1]
    shares = np.exp(said[kept]) / np.exp(said[kept]).sum()
    decoder = decoding.Decoder(model.network, model.tokenizer)
    drawn = []
    for start in range(0, len(seeds), 250):
        some = order(model, seeds=seeds[start : start + 250], temperature=0.7, top_p=0.8)
        job = Job(
            Order(prompt=some.prompt, seeds=some.seeds, temperature=0.7, top_p=0.8, max_tokens=1)
        )
        (done,) = decoder.admit(decoding.deque([job]))
        drawn += [one.tokens[0] for one in answers(done)]
    found = Counter(drawn)

    assert found.keys() <= set(kept.tolist())
    for token, share in zip(kept.tolist(), shares, strict=True):
        assert (
            abs(found[token] / len(seeds) - share) < 5 * (share * (1 - share) / 4_000) ** 0.5 + 1e-3
        )


def test_stop_text_ends_an_answer_before_it(model):
    """The answer ends before the stop text that comes first, even one that crosses tokens."""
    (whole,) = draw(model.network, model.tokenizer, [order(model, temperature=0.0, max_tokens=30)])
    text = answers(whole)[0].text
    stop = text[9:13]
    late, never = text[20:22], b"\x00"
    asked = order(model, temperature=0.0, max_tokens=30, stop=(late, stop, never))
    (job,) = draw(model.network, model.tokenizer, [asked])
    (drawn,) = answers(job)

    assert drawn.text == text[: text.index(stop)]
    assert (drawn.finish_reason, drawn.stop) == ("stop", stop)


def test_answer_ends_with_its_end_token_or_its_length(model):
    """A finished answer's last token is the end token, which has no text; else it was cut."""
    text = "# Buggy function\ndef solve(items):\n    return items\n\n# Fixed function\n"
    asked = [order(model, text, temperature=0.0, max_tokens=n) for n in (3, 200)]
    cut, whole = (answers(job)[0] for job in draw(model.network, model.tokenizer, asked))

    assert (cut.finish_reason, len(cut.tokens)) == ("length", 3)
    assert (whole.finish_reason, whole.tokens[-1], whole.stop) == ("stop", END, None)


def test_told_probabilities_are_the_models(model):
    """What is told of prompt and answer are log-probabilities at temperature 1, with ranks."""
    asked = order(model, temperature=0.3, max_tokens=4, n_top=3, n_prompt_top=2)
    (job,) = draw(model.network, model.tokenizer, [asked])
    tokens = [*asked.prompt, *answers(job)[0].tokens]
    told = [*job.prompt_told, *answers(job)[0].told]

    assert [one.token for one in told] == tokens[1:]
    for at, one in enumerate(told, start=1):
        said = log_probabilities(logits_after(model, tokens[:at]))
        assert one.logprob == pytest.approx(said[one.token], abs=1e-4)
        assert one.rank == np.argsort(-said).tolist().index(one.token) + 1
        assert [logprob for _, logprob in one.top] == pytest.approx(
            sorted(said)[::-1][: len(one.top)], abs=1e-4
        )


def test_more_requests_than_rows_wait_their_turn(model, monkeypatch):
    """With room for few answers at a time every request is still answered, and the same."""
    asked = [order(model, seeds=tuple(range(n, n + 4)), max_tokens=5) for n in range(6)]
    usual = [answers(job) for job in draw(model.network, model.tokenizer, asked)]
    monkeypatch.setattr(decoding, "ROWS", 9)

    assert [answers(job) for job in draw(model.network, model.tokenizer, asked)] == usual
