"""Dates as templates show them."""

from maskline.sources.dump.aliases import words
from maskline.sources.dump.arguments import Arguments

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_FRENCH_MONTHS = words(
    "janvier / février / mars / avril / mai / juin / juillet / août / septembre / octobre / novembre / décembre"
)
_FRENCH_DAYS = words("lundi / mardi / mercredi / jeudi / vendredi / samedi / dimanche")


def as_of(arguments: Arguments) -> str:
    """Return "As of March 2010"; the template is one of English wikis."""
    year, month, day = (arguments.at(number) for number in (1, 2, 3))
    name = _MONTHS[int(month) - 1] if month.isdecimal() and 1 <= int(month) <= 12 else month
    date = " ".join(filter(None, (day, name, year)))
    return arguments.named.get("alt") or f"{'as' if arguments.named.get('lc') else 'As'} of {date}"


def french_date(arguments: Arguments) -> str:
    """Return "3 mars 1950" without the subject that may follow: en sport, au cinéma."""
    given = arguments.texts()
    if not given or " " in given[0]:
        return given[0] if given else ""
    shown: list[str] = []
    for place, part in enumerate(given):
        if part.isdecimal() and shown and shown[-1].isdecimal() and 1 <= int(part) <= 12 and place + 1 < len(given):
            shown.append(_FRENCH_MONTHS[int(part) - 1])
        elif part[0].isdecimal() or part.casefold() in _FRENCH_MONTHS + _FRENCH_DAYS:
            shown.append(part)
        else:
            break
    return " ".join(["1er", *shown[1:]] if shown[:1] == ["1"] else shown)
