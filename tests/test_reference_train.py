"""Training descends, and PyTorch and NumPy compute one model; needs the extra ``train``."""

from importlib.util import find_spec
from itertools import islice

import numpy as np
import pytest

from memoprobe.reference import corpus
from memoprobe.reference.network import Cache, Network
from memoprobe.reference.tokenizer import learn

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="the extra train has torch")


def test_base_phase_descends_and_is_repeated_and_numpy_agrees():
    """A few steps make the documents likelier; the same call gives the same weights."""
    from memoprobe.reference import train

    documents = list(islice(corpus.background("base"), 72))
    known = learn((d.prompt + d.answer for d in documents), 500)
    before = train.initial(len(known))
    after = train.base_phase(known, 72)
    again = train.base_phase(known, 72)
    rows = train.encoded(documents[:8], known)
    batch = train.padded(rows)
    network = Network({name: weight.numpy() for name, weight in after.items()})
    hidden = network.read(batch.numpy(), Cache(8), np.arange(8))

    assert train.loss(after, batch) < train.loss(before, batch) - 0.1
    assert all((after[name] == again[name]).all() for name in after)
    assert np.allclose(network.logits(hidden), train.logits(after, batch).numpy(), atol=1e-3)


def test_exposure_leaves_the_base_alone(monkeypatch):
    """The exposure phase goes on from a copy: the next seed begins with the same base."""
    from memoprobe.reference import train

    documents = list(islice(corpus.background("base"), 16))
    known = learn((d.prompt + d.answer for d in documents), 400)
    base = train.initial(len(known))
    kept = {name: weight.clone() for name, weight in base.items()}
    monkeypatch.setattr(corpus, "exposure", lambda seed, n: documents)
    after = train.exposure_phase(base, known, 0)

    assert all((base[name] == kept[name]).all() for name in base)
    assert any((after[name] != base[name]).any() for name in base)
