import pytest

from maskline.core.text import escape, printable


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
