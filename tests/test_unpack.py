"""Facts about packed values, which nothing may run while it reads them."""

import base64
import io
import json
import os
import pickle
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoprobe.benchmarks import unpack as module
from memoprobe.benchmarks.unpack import unpack

CODE = "def f(x):\n    return x + 1  # größer\n" * 5


def wrapped(data):
    return base64.b64encode(zlib.compress(data)).decode("ascii")


def packed(value, protocol=None):
    """Pack a value as the second version of LBPP does."""
    return wrapped(pickle.dumps(json.dumps(value), protocol))


class Harmful:
    """Make a folder when it is unpickled."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_packed_json_text_is_read(protocol):
    """Texts and lists come back, by any protocol of pickle."""
    tests = ["assert f(1) == 2", "assert f(2) == 3"]

    assert unpack(packed(CODE, protocol)) == CODE
    assert unpack(packed(tests, protocol)) == tests


def test_plain_values_need_not_be_json():
    """A list, dictionary or number that was pickled itself is taken as it is."""
    value = [{"a": 1, "b": [2.5, True, None, "x" * 300]}, 2**70, -7]

    assert unpack(wrapped(pickle.dumps(value))) == value


@given(st.text())
def test_what_is_readable_stays(text):
    """No readable text is taken for a packed one."""
    assert unpack(text) == text


@pytest.mark.parametrize("value", [None, 3, ["eJwDAAAAAAE="], CODE, "eJ", "eJwD not one word"])
def test_what_is_not_packed_stays(value):
    """Other types, code and what only begins alike come back unchanged."""
    assert unpack(value) == value


def test_a_pickle_that_would_run_something_does_not(tmp_path):
    """Globals and calls are refused before anything of the pickle is obeyed."""
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        data = pickle.dumps(Harmful(tmp_path / "made"), protocol)
        with pytest.raises(ValueError, match="more than plain values"):
            unpack(wrapped(data))

    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"cos\nsystem\n(S'true'\ntR.", "more than plain values: GLOBAL"),
        (b"\x8c\x02os\x8c\x06system\x93.", "more than plain values: STACK_GLOBAL"),
        (b"\x96\xff\xff\xff\xff\xff\x00\x00\x00.", "bytearray8"),
        (b"Nr\xff\xff\xff\x7f.", "more than plain values: LONG_BINPUT"),
        (b"Np999999999\n.", "more than plain values: PUT"),
        (b"](h\x00e.", "more than plain values: BINGET"),
        (b"](ee.", "damaged"),
        (b"N", "pickle exhausted before seeing STOP"),
        (b"", "pickle exhausted before seeing STOP"),
        (b"\xff", "opcode"),
        (pickle.dumps("{"), "Expecting property name"),
        (pickle.dumps("[" * 200_000), "nested too deeply"),
    ],
)
def test_a_pickle_of_more_or_less_than_a_value_is_refused(data, words):
    """Names, huge indices, repetition and damage are one kind of error, at once."""
    with pytest.raises(ValueError, match=words):
        unpack(wrapped(data))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (packed(CODE)[:-8], "cut off"),
        (packed(CODE)[:-3], "damaged: "),
        (packed(CODE)[:20] + "A" * 20 + packed(CODE)[40:], "damaged: Error -3"),
    ],
    ids=["bytes", "characters", "middle"],
)
def test_damage_is_told(text, words):
    """What begins as a packed value and is none is an error, not a text."""
    with pytest.raises(ValueError, match=words):
        unpack(text)


def test_the_unpickler_itself_refuses_every_global():
    """Without the look at the opcodes nothing would be found either."""
    with pytest.raises(pickle.UnpicklingError, match=r"asks for os\.system"):
        module._PlainUnpickler(io.BytesIO(b"cos\nsystem\n.")).load()


def test_sizes_are_bounded():
    """Neither a bomb of little base64 nor much base64 is unpacked."""
    bomb = wrapped(b"\x00" * (module.MAX_UNPACKED + 1))
    noise = wrapped(os.urandom(module.MAX_PACKED * 3 // 4))

    assert len(bomb) < 100_000
    with pytest.raises(ValueError, match=f"more than {module.MAX_UNPACKED} bytes"):
        unpack(bomb)
    with pytest.raises(ValueError, match=f"more than {module.MAX_PACKED} characters"):
        unpack(noise)
