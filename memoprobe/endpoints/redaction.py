"""Take what is secret out of a server's words, however the server writes it; pure."""

import base64
import re
from collections.abc import Iterable, Iterator
from html.entities import codepoint2name

DETAIL_LENGTH = 500  # characters of a server's words that are kept
REDACTED = "[redacted]"
_LOOK_LENGTH = 20_000  # characters that are looked at; a page of megabytes takes no time
_ENCODED_LENGTH = 6  # characters of a secret from which on its encodings are looked for
# A line may be broken anywhere, also in a text within a text. Bounded, to be linear.
_BREAK = r"(?:\s|\\+[nrt]){0,40}"
_BLANK = r"(?:\s|\+|%(?:25)*20|\\+[nrt]|&nbsp;){0,40}"
_ENTITIES = codepoint2name | {ord("'"): "apos"}


def pattern(secrets: Iterable[str]) -> re.Pattern[str] | None:
    """Return what matches the secrets in every form that a text may have them in, None for none.

    That is in either case, broken over lines, escaped for JSON, a URL or HTML, as hex and
    within any base64. The longest come first: a secret that holds another goes as a whole.
    """
    forms = {form for secret in secrets if secret.strip() for form in (secret, *_encoded(secret))}
    ordered = sorted(forms, key=lambda form: (-len(form), form))
    return re.compile("|".join(map(_loose, ordered)), re.IGNORECASE) if ordered else None


def redacted(text: str, secret: re.Pattern[str] | None) -> str:
    """Return a text without what is secret in it."""
    return text if secret is None else secret.sub(REDACTED, text)


def words(text: str, secret: re.Pattern[str] | None) -> str:
    """Return a server's words in one line, cut short, without secrets and control characters."""
    looked_at = text[:_LOOK_LENGTH]
    shown = " ".join(redacted(looked_at, secret).split())
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in shown)
    if len(text) > _LOOK_LENGTH and len(shown) <= DETAIL_LENGTH:
        shown = REDACTED  # so much of it was secret that its end may hold half of a key
    return shown if len(shown) <= DETAIL_LENGTH else shown[:DETAIL_LENGTH] + " …"


def _encoded(secret: str) -> Iterator[str]:
    """Yield a secret as hex, and as it stands in base64 wherever in a longer text it begins."""
    raw = secret.encode("utf-8", "surrogatepass")
    if len(raw) < _ENCODED_LENGTH:
        return
    yield raw.hex()
    for before, mixed in enumerate((0, 2, 3)):  # characters that hold bits of what comes before
        padded = b"\0" * before + raw
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(padded).decode("ascii")[mixed : len(padded) * 8 // 6]


def _loose(form: str) -> str:
    """Return a regular expression for one form, its blanks and breaks left open."""
    return _BLANK.join(_BREAK.join(map(_character, part)) for part in form.split())


def _character(character: str) -> str:
    """Return a regular expression for one character, plain or escaped."""
    if character.isascii() and character.isalnum():
        return character
    number = ord(character)
    octets = character.encode("utf-8", "surrogatepass")
    forms = [
        rf"\\*{re.escape(character)}",
        "".join(rf"%(?:25)*{octet:02x}" for octet in octets),
        rf"\\+(?:u{number:04x}|x{number:02x})",
        rf"&#(?:0*{number}|x0*{number:x});",
    ]
    if number in _ENTITIES:
        forms.append(f"&{_ENTITIES[number]};")
    return f"(?:{'|'.join(forms)})"
