"""Make up new names that look like old ones: nonces that mean nothing, or ordinary words."""

import builtins
import keyword
import random
import re
from collections.abc import Callable, Iterable

_CONSONANTS, _VOWELS = "bdgjkpvwz", "aiou"
# Words that these letters can spell and that would mean something.
_TELLING = frozenset(
    {"bad", "bag", "bid", "big", "bug", "dad", "dig", "do", "dog", "gap", "go", "god", "id"}
    | {"job", "pad", "pig", "pod", "pop", "up"}
)
_PYTHON = frozenset({*keyword.kwlist, *keyword.softkwlist, *dir(builtins)})
_TRIES_PER_LENGTH = 20
# A part of a name: underscores and other marks, a run of capitals, or a word.
_PART = re.compile(r"[\W_]+|[^\W\d_a-z]+(?![a-z])|[^\W_a-z]?[^\W_A-Z]+|\w")
_MARK = re.compile(r"[\W_]+")
# Ordinary identifiers; none is a keyword, builtin or usual library name of our languages.
_LIST = """
account action active address adjusted advance agent amount anchor angle answer approach area
arrival artist aspect asset atom attempt audience author autumn average backup badge balance banner
barrel basket batch battery beacon beam bearing benefit blend bonus border bottle bottom boundary
branch bridge brief broker brush bucket budget buffered builder bundle burden button cabin cabinet
cable calendar camera campaign canal candle canvas capital captain carbon career cargo carrier
cascade castle category caution center century chain chamber chance channel chapter charge chart
charter circle circuit citizen clause client climate cluster coast collar column comfort comment
compass concert contact content contest context contract corner cottage council counter country
county couple course cousin cover credit crest critic crop crowd crystal culture current curtain
curve customer cycle damage danger debate decade decision deck degree delivery demand density
deposit depth desert design desk detail device diagram diary differ dinner direct discount display
distance district division domain donor draft drawer driver duration duty eager edge editor effect
effort element emblem energy engine entity envelope episode equipment estate estimate evidence
excess expert extra fabric factor factory failure family farmer feature fellow fence festival fiber
fiction figure finger flavor fleet flight floor flour folder forest formula fortune forum fossil
fraction fragment frame freight frontier fruit fuel funding furniture gallery garage garden gateway
gauge general gentle glacier glance grain granite grant graph gravity grid ground growth guard
guest guide habit hammer handle harbor harvest hazard header health heart height helmet hero
highway holder hollow honest horizon hospital hotel house humble hunter idea image impact impulse
income increase industry insect insight instant interest island issue jacket journal journey judge
junction kernel kettle kitchen knight label ladder lake lantern large latitude launch layer leader
league leather lecture legend lesson letter level liberty library light limit liquid listing lodge
logic machine magnet mailbox manner margin marker market master material matter meadow measure
member mentor merchant message metal meter middle mineral minimum mirror mission mixture model
moment monitor month motion motor mountain museum narrow nation nature needle neighbor network
notice notion observer obstacle ocean office opinion orbit orchard order origin outcome output
owner painter palace panel parade parcel parking particle partner passage patient pattern payment
peak penalty people percent period permit person phase phrase picture pilot pioneer pipeline planet
plastic platform player plaza pocket poetry point polar policy portion portrait position postage
potential powder practice premium present pressure price primary prize process product profile
profit program project promise proof proposal protein province pulse purpose puzzle quality
quantity quarter question quota radius railway rainfall ratio reason receipt recipe recovery region
relation relief remark reminder repair report request reserve residue resort resource result
revenue reward rhythm ribbon rival river rocket rough route routine sailor salary sample satellite
savings scale scene schedule scholar school science scope screen season secret section sector
segment senior sensor sentence sequel series session setting shadow shape sheet shelf shelter
shield shipment shore sketch slice smooth soldier solution source spare speaker spectrum speech
speed sphere spiral spirit spread spring square stadium staff stage stairs standard station statue
storage storm strategy stream street strength stretch student studio subject suburb success suffix
summary summit sunset supply support surface survey tablet talent teacher team temple tenant
tension terminal territory texture theater theme theory threshold ticket tidy timber timing title
token topic tower traffic trail trainer transit travel treasure treaty trend triangle tribute
trophy tunnel tutor unit update valley vapor variety vehicle vendor venture vessel victory village
vision visitor voltage volume voyage wagon wallet weather wedding weight welcome widget width
window winner winter wisdom witness wonder worker workshop writer zone
"""
_ORDINARY = _LIST.split()


def nonces(
    names: Iterable[str], taken: Iterable[str], rng: random.Random, *, natural: bool = False
) -> dict[str, str]:
    """Return a new name for each name, in its style, all of them different.

    Args:
        names: The old names.
        taken: Words that no new name may be.
        rng: Source of all choices.
        natural: Compose ordinary words, instead of pronounceable nonsense of the same length.
    """
    unusable = {*taken, *_TELLING, *_PYTHON}
    drawn = _ordinary if natural else _nonsense
    found = {}
    for name in names:
        found[name] = _unused(name, drawn, unusable, rng)
        unusable.add(found[name])
    return found


def _unused(
    name: str,
    drawn: Callable[[str, int, random.Random], str],
    unusable: set[str],
    rng: random.Random,
) -> str:
    """Return a new name; where those of the name's size are used up, a longer one."""
    new, tries = drawn(name, 0, rng), 1
    while new in unusable:
        new = drawn(name, tries // _TRIES_PER_LENGTH, rng)
        tries += 1
    return new


def _nonsense(name: str, longer: int, rng: random.Random) -> str:
    parts = [match[0] for match in _PART.finditer(name)]
    least = 1 if len(parts) > 1 and name.strip("_$") not in parts else 2
    new = [
        part if _MARK.fullmatch(part) else _cased(_word(max(least, len(part)) + longer, rng), part)
        for part in parts
    ]
    return "".join(new).upper() if name.isupper() else "".join(new)


def _ordinary(name: str, longer: int, rng: random.Random) -> str:
    parts = [match[0] for match in _PART.finditer(name) if not match[0].isdigit()]
    new = [part if _MARK.fullmatch(part) else _cased(_noun(rng), part) for part in parts]
    more = "".join(
        f"_{_noun(rng)}" if "_" in name else _noun(rng).capitalize() for _ in range(longer)
    )
    return ("".join(new) + more).upper() if name.isupper() else "".join(new) + more


def _noun(rng: random.Random) -> str:
    return rng.choice(_ORDINARY)


def _cased(word: str, like: str) -> str:
    if like.isupper() and len(like) > 1:
        return word.upper()
    return word.capitalize() if like[0].isupper() else word


def _word(length: int, rng: random.Random) -> str:
    return "".join(rng.choice(_VOWELS if i % 2 else _CONSONANTS) for i in range(length))
