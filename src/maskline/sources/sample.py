"""The sample: the lead sections of Wikipedia's vital articles, in a wheel of the package index."""

import json
from typing import Any
from urllib.parse import quote

from maskline.core.errors import UserError, one_line
from maskline.corpus.articles import Article, Source
from maskline.records.wheel import provenance, read_member
from maskline.sources.settings import CorpusParams


def read(params: CorpusParams) -> Source:
    """Return the sample in `params.language`.

    Raises:
        UserError: there is no sample in this language, the wheel cannot be read, or its member is not JSON.
    """
    language, sample = params.language, params.sample
    if language not in sample.members:
        raise UserError(
            f"corpus.language is {language}: the sample has {', '.join(sorted(sample.members))}; "
            "choose one of them, or set corpus.source to files or hub"
        )
    member = sample.members[language]
    named, remedy = f"{member} of {sample.package} {sample.version}", f"check corpus.sample.members.{language}"
    try:
        pages = json.loads(read_member(sample, member, "corpus"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{named} is not valid JSON ({one_line(error)}): {remedy}") from None
    if not isinstance(pages, dict) or not all(map(_is_page, pages.values())):
        raise UserError(f"{named} is not a JSON object of pages, each with a title and an extract: {remedy}")
    return Source(
        (_article(page, language) for page in pages.values()),
        provenance={"source": "sample", "language": language, **provenance(sample, member)},
        licence="CC BY-SA 4.0 (text of Wikipedia and its contributors)",
    )


def _is_page(page: Any) -> bool:
    return isinstance(page, dict) and all(isinstance(page.get(key), str) for key in ("title", "extract"))


def _article(page: dict[str, str], language: str) -> Article:
    title = page["title"]
    return Article(title, title, _url(language, title), page["extract"])


def _url(language: str, title: str) -> str:
    return f"https://{language}.wikipedia.org/wiki/{quote(title.replace(' ', '_'), errors='replace')}"
