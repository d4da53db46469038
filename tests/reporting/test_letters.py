import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.text import Text

from maskline.reporting.letters import FONT, NOTE, show_letters
from maskline.reporting.style import Label, inches, label_right, save, theme


@pytest.fixture(name="install")
def _install(tmp_path):
    """Return a function that installs a font with some letters, all of them squares, under a name."""
    before = list(fontManager.ttflist)

    def install(name, letters):
        pen = TTGlyphPen(None)
        pen.moveTo((0, 0))
        for point in ((0, 900), (900, 900), (900, 0)):
            pen.lineTo(point)
        pen.closePath()
        glyphs = {".notdef": TTGlyphPen(None).glyph(), "square": pen.glyph()}
        builder = FontBuilder(1000)
        builder.setupGlyphOrder(list(glyphs))
        builder.setupCharacterMap(dict.fromkeys(map(ord, letters), "square"))
        builder.setupGlyf(glyphs)
        builder.setupHorizontalMetrics(dict.fromkeys(glyphs, (1000, 0)))
        builder.setupHorizontalHeader(ascent=900, descent=-100)
        builder.setupNameTable({"familyName": name, "styleName": "Regular"})
        builder.setupOS2()
        builder.setupPost()
        builder.save(tmp_path / f"{name}.ttf")
        fontManager.addfont(tmp_path / f"{name}.ttf")

    yield install
    fontManager.ttflist = before
    fontManager._findfont_cached.cache_clear()


def plotted(label):
    figure = Figure()
    axes = figure.subplots()
    axes.plot([0, 1])
    axes.set_xticks([0, 1], [label, "b"])
    axes.set_title(label)
    return figure


def shown(figure):
    figure.draw_without_rendering()  # a missing glyph is a warning, and warnings are errors here
    return {text.get_text() for text in figure.findobj(Text)}


def test_letters_without_a_font_are_spelled_out_with_a_note(tmp_path):
    with theme():
        figure = plotted("正面 ok")
        save(figure, tmp_path / "figure")
    assert {"\\u6b63\\u9762 ok", "b", NOTE} <= shown(figure)
    assert {path.suffix for path in tmp_path.iterdir()} == {".png", ".svg"}


def test_letters_of_an_installed_font_are_drawn_with_it(install, tmp_path):
    install("Aa", "正")
    install("Bb", "正面")
    install("Cc", "क")
    with theme():
        figure = plotted("正面 ok क")
        save(figure, tmp_path / "figure")
    assert {"正面 ok क", "b"} <= shown(figure)
    assert NOTE not in shown(figure)
    assert figure.axes[0].title.get_fontfamily() == [FONT, "Bb", "Cc"]


def test_a_figure_that_lacks_no_letter_stays_as_it_is(install):
    install("Bb", "正面a")
    with theme():
        figure = plotted("a إيجابي ნა\nб")
        before = shown(figure)
        show_letters(figure)
    assert shown(figure) == before
    assert figure.axes[0].title.get_fontfamily() == [FONT]


def test_the_width_is_that_of_what_is_shown(install):
    with theme():
        spelled = inches(["正面"], 10)
        assert spelled == pytest.approx(inches(["\\u6b63\\u9762"], 10))
        install("Bb", "正面")
        assert inches(["正面"], 10) == pytest.approx(2 * 10 / 72, rel=0.1)


def test_labels_beside_a_plot_have_their_letters_before_they_are_moved_apart():
    with theme():
        figure = plotted("b")
        label_right({figure.axes[0]: [Label("正面", 0.5, "black")]})
    assert "\\u6b63\\u9762" in shown(figure)
