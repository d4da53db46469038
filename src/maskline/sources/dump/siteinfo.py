"""The description of the wiki in a dump: its name, its address, and the names of its namespaces."""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote

from maskline.sources.dump.aliases import CATEGORY, FILE, words

TEMPLATE = 10
"""The number of the namespace of templates."""
_FILE, _CATEGORY, _MEDIA = 6, 14, -2


@dataclass(frozen=True)
class Site:
    """One wiki."""

    name: str
    """The name of its database, such as `arwiki`; "" if the dump has none."""
    address: str
    """The beginning of the address of every page; "" if the dump has none."""
    namespaces: tuple[tuple[str, int], ...]
    """Name, folded by `fold` -> number."""
    hidden: frozenset[str]
    """Folded prefixes of links that show no text: files, media and categories."""

    @classmethod
    def of(cls, name: str, base: str, namespaces: Iterable[tuple[int, str]]) -> "Site":
        """Return the wiki with the name `name`, the main page `base`, and the (number, name) of its namespaces."""
        names = {fold(text): number for number, text in namespaces if text}
        hidden = {text for text, number in names.items() if number in {_FILE, _CATEGORY, _MEDIA}}
        address = base.rpartition("/")[0]
        return cls(name, f"{address}/" if address else "", tuple(sorted(names.items())), frozenset(hidden) | _HIDDEN)

    def namespace(self, title: str) -> int:
        """Return the number of the namespace in a title; 0, that of the articles, if it has none."""
        prefix, colon, _ = title.partition(":")
        return dict(self.namespaces).get(fold(prefix), 0) if colon else 0

    def is_template(self, prefix: str) -> bool:
        """Return whether `prefix` is a name of the namespace of templates, in the wiki's language or in English."""
        folded = fold(prefix)
        return folded == "template" or dict(self.namespaces).get(folded) == TEMPLATE

    def url(self, title: str) -> str:
        """Return the address of a page."""
        return self.address + quote(title.replace(" ", "_")) if self.address else ""


def fold(name: str) -> str:
    """Return a name of a namespace or template in the form in which names are compared."""
    return " ".join(name.replace("_", " ").split()).casefold()


_HIDDEN = frozenset(map(fold, words(FILE) + words(CATEGORY)))
