from maskline.core.errors import LONGEST_QUOTE, one_line, quoted


def test_what_is_short_is_quoted_as_it_is():
    for value in ("it's", 1.5, -7, None, [1, "a"], {"a": [1]}, True):
        assert quoted(value) == repr(value)
    assert one_line("a\n  b ") == "a b"


def test_what_is_long_or_deep_is_cut():
    bomb = ["lol"] * 9
    for _ in range(9):
        bomb = [bomb] * 9
    deep = []
    for _ in range(10_000):
        deep = [deep]
    circle = {}
    circle["circle"] = circle
    for value in (bomb, deep, circle, "x" * 10**6, {"x" * 999: 1}, 10**5_000, [10**5_000], ValueError("x" * 10**6)):
        text = quoted(value)
        assert 0 < len(text) <= LONGEST_QUOTE
        assert "\n" not in text
    assert quoted(10**5_000) == "a number of 16,610 bits"
    assert one_line("word " * 999).endswith(" ...")
