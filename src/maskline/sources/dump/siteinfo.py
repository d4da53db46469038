"""What a dump says of its wiki: its name, its address, and what it calls its namespaces."""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote

from maskline.sources.dump.aliases import CATEGORY, FILE, words

_FILE, _CATEGORY, _MEDIA = 6, 14, -2


@dataclass(frozen=True)
class Site:
    """One wiki."""

    name: str
    """As its database: `arwiki`; "" where the dump does not say."""
    address: str
    """What the address of each page starts with; "" where the dump does not say."""
    namespaces: tuple[tuple[str, int], ...]
    """Name, folded by `fold` -> number."""
    unseen: frozenset[str]
    """Folded prefixes of links that show nothing in the text: files, media and categories."""

    @classmethod
    def of(cls, name: str, base: str, namespaces: Iterable[tuple[int, str]]) -> "Site":
        """Return the wiki with this main page and these (number, name) of namespaces."""
        names = {fold(text): number for number, text in namespaces if text}
        unseen = {text for text, number in names.items() if number in {_FILE, _CATEGORY, _MEDIA}}
        address = base.rpartition("/")[0]
        return cls(name, f"{address}/" if address else "", tuple(sorted(names.items())), frozenset(unseen) | _UNSEEN)

    def namespace(self, title: str) -> int:
        """Return the namespace that a title says, 0 for the articles."""
        prefix, colon, _ = title.partition(":")
        return dict(self.namespaces).get(fold(prefix), 0) if colon else 0

    def url(self, title: str) -> str:
        """Return the address of a page."""
        return self.address + quote(title.replace(" ", "_")) if self.address else ""


def fold(name: str) -> str:
    """Return the form in which names of namespaces and templates are compared."""
    return " ".join(name.replace("_", " ").split()).casefold()


_UNSEEN = frozenset(map(fold, words(FILE) + words(CATEGORY)))
