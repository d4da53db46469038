import pytest

from maskline.tasks.spans.baselines import first_sentence


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One two. Three.", "One two."),
        ("  One two! Three.", "One two!"),
        ("Pi is 3.14 or so. More.", "Pi is 3.14 or so."),
        ("He said “go!” Then he went.", "He said “go!”"),
        ("Is it? (Yes.) No.", "Is it?"),
        ("Title\nText. More.", "Title"),
        ("no end", "no end"),
        ("One.", "One."),
        ("", ""),
        ("هل هذا؟ نعم.", "هل هذا؟"),
        ("一二。三四。", "一二。"),
        ("Dr. Who came.", "Dr."),  # a rule that knows no abbreviations
    ],
)
def test_the_first_sentence_ends_at_a_mark(text, expected):
    assert first_sentence(text) == expected
