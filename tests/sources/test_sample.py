import json

import pytest

from maskline.core.errors import UserError
from maskline.settings.params import load
from maskline.sources import sample
from maskline.sources.settings import SampleCorpus

PAGES = {"Key": {"title": "Été (saison)", "extract": "L'été est une saison.", "topic": "Nature"}}


@pytest.fixture(name="corpus")
def _corpus(publish):
    reference = load().corpus
    pinned = {
        "package": "some-texts",
        "version": "1.0",
        "sha256": publish("some-texts", {"fr.json": json.dumps(PAGES)}),
    }
    return reference.model_copy(
        update={"language": "fr", "sample": SampleCorpus(**pinned, members={"fr": "fr.json", "en": "en.json"})}
    )


def test_sample(corpus):
    source = sample.read(corpus)
    (article,) = source.articles
    assert article.id == article.title == "Été (saison)"
    assert article.text == "L'été est une saison."
    assert article.url == "https://fr.wikipedia.org/wiki/%C3%89t%C3%A9_%28saison%29"
    assert "CC BY-SA 4.0" in source.licence
    assert source.provenance["member"] == "fr.json"
    assert source.provenance["sha256"] == corpus.sample.sha256


def test_a_member_that_is_no_json_is_named(corpus):
    sample_ = corpus.sample.model_copy(update={"members": {"fr": "some_texts-1.0.dist-info/METADATA"}})
    with pytest.raises(UserError, match=r"METADATA of some-texts 1.0 is not valid JSON .*corpus.sample.members.fr"):
        sample.read(corpus.model_copy(update={"sample": sample_}))


@pytest.mark.parametrize(
    "content",
    ["[]", "7", '{"a": 1}', '{"a": {"title": "A"}}', '{"a": {"title": 1, "extract": "x"}}', '{"a": {"extract": ""}}'],
)
def test_a_member_of_another_shape_is_named(corpus, publish, content):
    pinned = corpus.sample.model_copy(
        update={"version": "2.0", "sha256": publish("some-texts", {"fr.json": content}, "2.0")}
    )
    with pytest.raises(
        UserError, match=r"fr.json of some-texts 2.0 is not a JSON object of pages.*corpus.sample.members.fr"
    ):
        sample.read(corpus.model_copy(update={"sample": pinned}))


def test_a_deep_member_and_a_title_that_utf_8_has_not(corpus, publish):
    pinned = corpus.sample.model_copy(
        update={"version": "2.0", "sha256": publish("some-texts", {"fr.json": "[" * 10**5}, "2.0")}
    )
    with pytest.raises(UserError, match=r"is not valid JSON .*recursion"):
        sample.read(corpus.model_copy(update={"sample": pinned}))
    odd = json.dumps({"a": {"title": "\ud800", "extract": "x"}})
    pinned = corpus.sample.model_copy(
        update={"version": "3.0", "sha256": publish("some-texts", {"fr.json": odd}, "3.0")}
    )
    (article,) = sample.read(corpus.model_copy(update={"sample": pinned})).articles
    assert article.url == "https://fr.wikipedia.org/wiki/%3F"


def test_an_unknown_language_lists_the_known_ones(corpus):
    with pytest.raises(UserError, match=r"corpus.language is ar: the sample has en, fr;.*files or hub"):
        sample.read(corpus.model_copy(update={"language": "ar"}))
