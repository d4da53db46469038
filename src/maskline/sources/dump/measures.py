"""Numbers and measures as templates show them: fractions, powers of ten, values with units."""

import re

from maskline.sources.dump.arguments import Arguments

_RAISED = str.maketrans("0123456789+-−()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁽⁾ⁿ")
_POWER = re.compile(r"(?<=[A-Za-zµμΩ])([-−]?[1-9])(?!\w)")
_PRODUCT = re.compile(r"(?<=[A-Za-z²³⁰-⁹])\.(?=[A-Za-zµμΩ])")
_NEGATIVE = re.compile(r"([-−]?\d+)[-−](\d+)//?(\d+)")
_TIMES_POWER = re.compile(r"e(3|6|9|12|15|18|21|24)(?=[A-Za-z])")
_LARGE = {3: "thousand", 6: "million", 9: "billion", 12: "trillion"}
_NUMBER = re.compile(r"[-+−–±]?\d.*|[-+−±]?[¼½¾⅓⅔⅛⅜⅝⅞].*", re.DOTALL)
_FRACTION = re.compile(r"([-−+]?)(?:(\d[\d.,]*)\s*\+\s*)?(\d+)(?://?|⁄)(\d+)")
_MORE = re.compile(r"\+\s*(\d+)(?://?|⁄)(\d+)")
_BETWEEN = {
    "-": "–",
    "–": "–",
    "to": " to ",
    "to(-)": "–",
    "and": " and ",
    "and(-)": " and ",
    "or": " or ",
    "by": " × ",
    "x": " × ",
    "×": " × ",
    "*": " × ",
    "xx": " × ",
    "+/-": " ± ",
    "±": " ± ",
    "إلى": " إلى ",
    "و": " و ",
    "до": "–",
    "à": " à ",
    "et": " et ",
    "ou": " ou ",
    "y": " y ",
}
_ENGLISH = {"to", "and", "or", "and(-)"}
_UNITS = {"degc": "°C", "degf": "°F", "deg": "°", "kph": "km/h"}
"""Units that are written otherwise than they are shown."""
_CONVERTED = _UNITS | {
    "c": "°C",
    "f": "°F",
    "sqmi": "sq mi",
    "sqft": "sq ft",
    "sqin": "sq in",
    "sqyd": "sq yd",
    "sqkm": "km²",
    "cuft": "cu ft",
    "cuin": "cu in",
    "cuyd": "cu yd",
    "cumi": "cu mi",
    "usgal": "US gal",
    "impgal": "imp gal",
    "/sqmi": "per sq mi",
    "/km2": "per km²",
}
"""Those of `convert`."""
_PEOPLE = {"pd/sqmi": "inhabitants per sq mi", "pd/km2": "inhabitants per km²", "pd/acre": "inhabitants per acre"}
_COUNTED = re.compile(r"([kMGT]?)(?:(oil|US|us|U\.S\.|imp)?(bbl|gal|cuft|cuyd|cumi))((?:/[a-z]+)?)")
"""A prefix before a unit of volume, which `convert` writes as a number: Moilbbl/d is a million barrels a day."""
_PREFIXES = {"k": 3, "M": 6, "G": 9, "T": 12}
_PLURAL = ("acre", "carat", "hand")
"""Units that `convert` writes out."""
_MIXED = {"ft", "lb", "st", "mi", "yd", "foot"}
"""Units that a smaller one may follow: 5 ft 11 in."""
_EXPONENT = re.compile(r"[-−]?[1-9]")
_GLUED = ("%", "°", "′", "″", "‰")
"""Units without a space before them; °C is none of them."""


def raised(text: str) -> str:
    """Return digits and signs as superscript characters."""
    return text.translate(_RAISED)


def convert(arguments: Arguments, *, english: bool) -> str:
    """Return a measure in its original unit: "40 km", "10 to 20 km", "5 ft 11 in", "1.5 million km²"."""
    given = arguments.texts()
    if not given or not _NUMBER.fullmatch(given[0]):
        return ""
    number, rest = _range(given, english=english)
    written = rest[0] if rest else ""
    if written in _MIXED and len(rest) > 2 and rest[1][:1].isdigit():
        return " ".join((number, written, _mixed([rest[1]])[0], rest[2]))
    exponent = 0
    if power := _TIMES_POWER.match(written):
        exponent, written = int(power[1]), written[power.end() :]
    elif counted := _COUNTED.fullmatch(written):
        prefix, kind, volume, time = counted.groups("")
        exponent, written = _PREFIXES.get(prefix, 0), f"{'' if kind == 'oil' else kind}{volume}"
        written = f"{_CONVERTED.get(written.casefold(), written)}{time}"
    elif people := _PEOPLE.get(written.casefold()):
        written = people if english else f"/{people.partition(' per ')[2]}"
    if exponent:
        number += f" {_LARGE[exponent]}" if english and exponent in _LARGE else f"×10{raised(str(exponent))}"
    if english and written in _PLURAL and number != "1":
        written += "s"
    return f"{number}{_behind(unit(written, _CONVERTED))}"


def _range(given: list[str], *, english: bool) -> tuple[str, list[str]]:
    """Return the numbers at the beginning of `given`, with what stands between them, and what stands after them."""
    number, rest = _mixed(given)
    while len(rest) > 1 and rest[0].casefold() in _BETWEEN:
        word = rest[0].casefold()
        upper, rest = _mixed(rest[1:])
        number = f"{number}{_BETWEEN[word] if english or word not in _ENGLISH else '–'}{upper}"
    return number, rest


def _mixed(given: list[str]) -> tuple[str, list[str]]:
    """Return the first number of `given`, in which a fraction may follow the whole, and what stands after it."""
    number, rest = given[0], given[1:]
    if rest and (more := _MORE.fullmatch(rest[0])):
        return f"{number} {more[1]}/{more[2]}", rest[1:]
    if found := _FRACTION.fullmatch(number):
        sign, whole, above, below = found.groups()
        return f"{sign.replace('+', '')}{f'{whole} ' if whole else ''}{above}/{below}", rest
    if found := _NEGATIVE.fullmatch(number):  # -1-1/2 is minus one and a half
        return f"{found[1]} {found[2]}/{found[3]}", rest
    return number, rest


def unit(written: str, known: dict[str, str] = _UNITS) -> str:
    """Return a unit as it is shown: `m2` is m², `m.s-1` is m⋅s⁻¹, `degC` is °C."""
    if written.casefold() in known:
        return known[written.casefold()]
    if "[[" in written or "&" in written or "<" in written:
        return written
    return _PRODUCT.sub("⋅", _POWER.sub(lambda power: raised(power[1]), written))


def _behind(shown: str) -> str:
    """Return a unit with the space before it, if it has one."""
    return shown if not shown or shown in _GLUED else f" {shown}"


def _units(given: list[str]) -> str:
    """Return units of which each may have its exponent behind it: m, 3, s, -1 is "m³⋅s⁻¹"; "" if it is no unit."""
    shown: list[str] = []
    for part in given:
        if _EXPONENT.fullmatch(part) and shown:
            shown[-1] += raised(part)
        elif part[0].isdigit() or part[0] in "+-−±(":
            return ""
        else:
            shown.append(unit(part))
    return "⋅".join(shown)


def value(arguments: Arguments) -> str:
    """Return a number with its uncertainty, its power of ten and its unit; or several with their unit."""
    number, others = _range(arguments.texts() or [""], english=True)
    if not number and not arguments.named.get("e"):
        return ""
    written = ""
    if others and not _NUMBER.fullmatch(others[0]) and not others[0].startswith("("):
        written, others = _units(others), []  # {{val|80|kg}}
        if not written:
            return ""
    if len(others) > 1 and others[0][0] in "+-−" and others[1][0] in "+-−":
        number = f"{number} ({others[0]}, {others[1]})"
    elif others:
        number += others[0] if others[0].startswith("(") else f" ± {others[0]}"
    if power := arguments.named.get("e", "").replace("−", "-"):
        number = f"{number}×10{raised(power)}" if number else f"10{raised(power)}"
    written = arguments.first_of(("u", "ul", "unit", "unité")) or written
    below = arguments.first_of(("up", "upl"))
    shown = f"{_behind(unit(written))}{f'/{unit(below)}' if below else ''}"
    return f"{arguments.named.get('p', '')}{number}{arguments.named.get('s', '')}{shown}"


def fraction(arguments: Arguments) -> str:
    """Return "1/2", "2 1/2" or, of one argument, its inverse."""
    given = arguments.texts()
    if not 1 <= len(given) <= 3:
        return ""
    *whole, above, below = given if len(given) > 1 else ["1", *given]
    return " ".join([*whole, f"{above}/{below}"])


def times_power(arguments: Arguments) -> str:
    """Return a power of ten, as a factor: "times 10²⁴", with the sign."""
    return arguments.at(1) and f"×10{raised(arguments.at(1))}"


def raised_argument(arguments: Arguments) -> str:
    """Return the first argument as a superscript, in wikitext."""
    return arguments.at(1) and f"<sup>{arguments.at(1)}</sup>"


def raised_number(arguments: Arguments) -> str:
    """Return a number raised to a power, in wikitext."""
    return arguments.at(1) and f"{arguments.at(1)}<sup>{arguments.at(2)}</sup>"
