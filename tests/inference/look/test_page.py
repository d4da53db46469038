import base64
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from maskline.core.errors import UserError
from maskline.inference.look import page as look_page
from maskline.inference.look.model import look_at, open_model, random_weights
from maskline.inference.look.page import page

TEXT, SECOND = "w5 w6 w7 w6", "w8 w9"


@pytest.fixture(name="looks", scope="module")
def _looks(models):
    opened = open_model(models / "pretraining")
    return look_at([opened, random_weights(opened)], TEXT, SECOND, 5)


def data(html):
    """Return what the script reads."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)[1])


class Elements(HTMLParser):
    """The elements of a page, with their attributes."""

    def __init__(self, html):
        super().__init__()
        self.found = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def test_the_weights_in_the_page_are_those_of_eager_attention(looks, eager):
    html = page(looks, TEXT, SECOND)
    model = data(html)["models"][0]
    steps = np.frombuffer(base64.b64decode(model["attention"]), "<u2")
    weights, _ = eager("pretraining", looks[0].input_ids, looks[0].token_type_ids)
    assert np.abs(steps.reshape(weights.shape) / 65535 - weights).max() < 1e-5
    assert model["tokens"] == looks[0].tokens
    assert (model["layers"], model["heads"]) == weights.shape[:2]


def test_a_page_needs_nothing_from_elsewhere_and_is_the_same_for_the_same(models, looks):
    html = page(looks, TEXT, SECOND)
    opened = open_model(models / "pretraining")
    assert page(look_at([opened, random_weights(opened)], TEXT, SECOND, 5), TEXT, SECOND) == html
    assert "://" not in html
    for tag, attributes in Elements(html).found:
        assert not attributes.keys() & {"src", "srcset", "data", "action", "integrity"}
        assert attributes.get("href", "#").startswith("#"), tag
    assert "url(" not in html
    assert "@import" not in html


def test_text_is_text_whatever_it_holds(looks):
    odd = ["</script><script>alert(1)</script>", "$data ${style} $$", "كتاب", "中文", "<b>&amp;", "a\u202eb"]
    tokens = [*odd, *looks[0].tokens[len(odd) :]]
    html = page([replace(look, tokens=tokens, name="<i>$name") for look in looks], odd[0], odd[1])
    plain = page(looks, TEXT, SECOND)
    count = [sum(tag == "script" for tag, _ in Elements(each).found) for each in (html, plain)]
    assert count == [2, 2]
    assert not any(tag in {"b", "i"} for tag, _ in Elements(html).found)
    shown = [*odd[:5], "a\N{REPLACEMENT CHARACTER}b"]
    assert data(html)["models"][0]["tokens"][: len(odd)] == shown
    assert "$data ${style} $$" in html
    assert "<bdi>كتاب</bdi>" in html
    assert "\u202e" not in html


@pytest.mark.parametrize(
    ("text", "direction"),
    [("a كتاب", "ltr"), ("[MASK] crane", "ltr"), ("كتاب a", "rtl"), ("«ספר»", "rtl"), ("12 !", "ltr"), ("中文", "ltr")],
)
def test_tokens_run_in_the_direction_of_their_text(looks, text, direction):
    html = page(looks, text, "w")
    directions = [
        attributes.get("dir") for tag, attributes in Elements(html).found if attributes.get("class") == "tokens"
    ]
    assert directions == [direction, "ltr"] * (len(directions) // 2)
    (first, _) = (attributes["dir"] for tag, attributes in Elements(html).found if attributes.get("class") == "map")
    assert first == direction


def test_what_a_model_lacks_is_said(models):
    looks = look_at([open_model(models / "encoder")], TEXT, SECOND, 5)
    html = page(looks, TEXT, SECOND)
    assert html.count("This model has no head for masked tokens") == 1
    assert html.count("This model has no head for sentence pairs") == 1
    assert "Next sentence" not in page(look_at([open_model(models / "encoder")], TEXT, None, 5), TEXT)


def test_numbers_stand_beside_their_tokens(looks):
    html = page(looks, TEXT, SECOND)
    assert f'<p class="big">{looks[0].is_next:.3f}</p>' in html
    filled = looks[0].filled[0]
    row = re.search(r'<tr><th scope="row"><bdi>w5</bdi></th><td class="number">(.*?)</td><td>(.*?)</td></tr>', html)
    assert row[1] == f"{filled.probability:.3f} <small>#{filled.rank}</small>"
    assert re.findall(r"<bdi>(.*?)</bdi>", row[2]) == [guess.token for guess in filled.guesses]


def test_two_tokenizers_have_their_tokens_each(models, tiny_project):
    both = [open_model(models / "pretraining"), open_model(tiny_project / "data" / "models" / "pretrained")]
    first, second = look_at(both, "w5 river", None, 5)
    assert first.tokens != second.tokens
    html = page([first, second], "w5 river")
    assert html.count("tokens, the special ones included") == 2
    assert [model["tokens"] for model in data(html)["models"]] == [first.tokens, second.tokens]


def test_a_page_that_is_too_large_is_refused(looks, monkeypatch):
    monkeypatch.setattr(look_page, "PAGE_BYTES", 9_999)
    with pytest.raises(UserError, match="bytes, and 9,999 is the most: give a shorter text"):
        page(looks, TEXT, SECOND)
