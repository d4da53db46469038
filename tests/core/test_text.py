import pytest

from maskline.core.text import escape, printable, wrapped


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07", "�]0;title�"),
        ("two\r\nlines\u2028more", "two lines more"),
        ("\u202eright", "�right"),
        ("می‌خواهم", "می‌خواهم"),
        ("\x9b31m\ud800", "�31m�"),
        ("a b  c", "a b  c"),
    ],
)
def test_what_has_no_shape_is_replaced(text, shown):
    assert printable(text) == shown


def test_markdown_shows_a_text_as_it_is():
    assert escape("<b> | `$x_1$` [a](b) & \\ *~\x1b") == r"\<b> \| \`\$x_1\$\` \[a\](b) \& \\ \*\~�"
    assert escape("(__a__) snake_case b__c _ _d") == r"(\_\_a\_\_) snake_case b\_\_c \_ \_d"


LINE = "pretrain: step 48/720  validation  mlm_loss 5.553  loss -6.248, of 12 pairs in .runs/425bc198eec68c5c"


@pytest.mark.parametrize("width", [10, 23, 40, 80, 200])
def test_a_line_breaks_between_words_and_no_number_leaves_its_name(width):
    lines = wrapped(LINE, width).split("\n")
    assert " ".join(" ".join(lines).split()) == " ".join(LINE.split())
    assert all(line.startswith("  ") for line in lines[1:])
    assert all(len(line) <= max(width, len("  .runs/425bc198eec68c5c")) for line in lines)
    for pair in ("step 48/720", "mlm_loss 5.553", "loss -6.248", "of 12"):
        assert any(pair in line for line in lines)


def test_a_line_that_fits_is_left_as_it_is():
    assert wrapped("  splits: 48 train,  12 test", 80) == "  splits: 48 train,  12 test"
    assert wrapped("one two", 5, indent=0) == "one\ntwo"
