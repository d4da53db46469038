import pytest

from maskline.corpus.articles import Article
from maskline.corpus.excerpt import sample_lines

ARTICLES = [Article(f"id {n}", "", "", "\n".join(f"line {n}.{k}" for k in range(10))) for n in range(300)]


def test_a_corpus_within_the_bound_is_used_whole():
    assert list(sample_lines(ARTICLES, 1.0)) == [article.text for article in ARTICLES]


@pytest.mark.parametrize("share", [0.01, 0.5, 0.9])
def test_a_share_of_the_lines_is_always_the_same_ones(share):
    lines = list(sample_lines(ARTICLES, share))
    assert len(lines) == pytest.approx(share * 3000, abs=4 * (share * (1 - share) * 3000) ** 0.5)
    assert sorted(sample_lines(ARTICLES[::-1], share)) == sorted(lines)
    assert set(lines) <= set(sample_lines(ARTICLES, min(1, share + 0.05))) | {a.text for a in ARTICLES}
    assert all(line.startswith("line ") and "\n" not in line for line in lines)


def test_copies_of_a_text_are_drawn_apart():
    copies = [Article(f"copy {n}", "", "", "the same line") for n in range(1000)]
    assert 400 < len(list(sample_lines(copies, 0.5))) < 600
