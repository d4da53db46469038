# ruff: noqa: E501  # wikitext stands in lines as long as it is
import time
from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from maskline.sources.dump.leftovers import broken_punctuation, leftover_markup
from maskline.sources.dump.siteinfo import Site
from maskline.sources.dump.wikitext import is_redirect, prose

AR = Site.of(
    "arwiki", "https://ar.wikipedia.org/wiki/الصفحة_الرئيسية", [(0, ""), (6, "ملف"), (10, "قالب"), (14, "تصنيف")]
)
BG = Site.of("bgwiki", "https://bg.wikipedia.org/wiki/Начална_страница", [(0, ""), (6, "Файл"), (14, "Категория")])
EN = Site.of("", "", ())


def text(wikitext, site=EN, language="en"):
    return prose("Title", wikitext, site, language).text


CASES = {
    # links
    "[[country|The country]] and [[law]]s of [[:Category:Cities|cities]], [[:File:a.ogg|a sound]].": (
        "The country and laws of cities, a sound."
    ),
    "One [[File:x.jpg|thumb|200px|A [[link]] in a caption]]two [[Image:y.png]]three.[[Category:Cities]]": "One two three.",
    "A [[Bild:x.jpg|mini]]picture whose namespace is not known: [[Whatever:x.svg|left]]gone.": (
        "A picture whose namespace is not known: gone."
    ),
    "Known [[de:Wort]]elsewhere as [[wikt:word|word]] or [[s:Source text]].[[zh-min-nan:Ji]]": (
        "Known elsewhere as word or s:Source text."
    ),
    "The [[label|[bracketed]]] label and [http://a.b/c an address], [mailto:a@b.c mail] [http://a.b].": (
        "The [bracketed] label and an address, mail."
    ),
    "Text.\n\n→∀∃∪∩≤≥ℝ→∞∂∇\n\nEnd.": "Text.\nEnd.",
    "See http://example.org/a_(b) for it. It is there.": "It is there.",
    "An [[unclosed link and [[a closed|closed]] one.\n\nNext.": "An unclosed link and closed one.\nNext.",
    "An [[unclosed target|label and [[more]].": "An label and more.",
    "Before. [[File:x.jpg|thumb|never closed, with [[a link]]\nAfter.": "Before. After.",
    "It ]] has a stray end.": "It has a stray end.",
    # what is read beside the text of a bracket stays where the sentence needs it
    "The letters write the sound {{IPA-de|tʃ|}}; a town ({{IPAc-en|lang|æ|ŋ|audio=a.ogg}}) is {{respell|an|GOH}}.": (
        "The letters write the sound [tʃ]; a town is an-GOH."
    ),
    "It fell at {{coord|32|4|N|72|45.5|W|type:event}} and {{coord|-31.8|74}} west of Cape ({{coord|1|2|3|N|4|5|6|E}}).": (
        "It fell at 32°4′N 72°45.5′W and 31.8°S 74°E west of Cape."
    ),
    "{{coord|1|N|2|E|display=inline,title}}\nThe cape is long. {{coord|1|N|2|E}}\n\nIt {{coord|1|N|2|E|display=title}}ends.": (
        "The cape is long.\nIt ends."
    ),
    "Asia ({{IPAc-en|ˈ|eɪ|ʃ|ə|,_|ʒ|ə}}; {{respell|a(w)|sha}}; x) is {{IPAc-en|a|,_|b}} one [or {{respell|b}} ].": (
        "Asia (x) is /a, b/ one [or b]."
    ),
    "He wrote it ({{ISBN|1-2}}) and {{doi|10.1/2}}.": "He wrote it and doi:10.1/2.",
    "Of {{chem|SO|4|2-}}, {{chem|NH|4|+}}, {{chem2|[Fe(CN)6](4-) + 2 H2O -> OH-}} and {{chem|H|2|O}}.": (
        "Of SO4²⁻, NH4⁺, [Fe(CN)6]⁴⁻ + 2 H2O → OH⁻ and H2O."
    ),
    "HA {{eqm}} H, B{{music|flat}} and C{{music|sharp}}, {{pow|10|3}}, {{keypress|Ctrl|C}}.": "HA ⇌ H, B♭ and C♯, 10³, Ctrl+C.",
    "It yields {{convert|2.3|Moilbbl/d|m3/d}} or {{convert|166|Goilbbl}}, {{convert|85.4|Tcuft}}, {{convert|11|MUSgal}}, {{convert|9|oilbbl}}.": (
        "It yields 2.3 million bbl/d or 166 billion bbl, 85.4 trillion cu ft, 11 million US gal, 9 bbl."
    ),
    "There are {{convert|1.2|PD/sqmi|PD/km2}} of {{convert|4|PD/km2}}.": "There are 1.2 inhabitants per sq mi of 4 inhabitants per km².",
    # templates
    "The distance is {{formatnum:2450}} km ({{convert|40|km|mi}}).": "The distance is 2450 km (40 km).",
    "From {{convert|10|-|20|sqmi}} to {{convert|5|ft|11|in|cm}} at {{convert|30|C|F}}.": (
        "From 10–20 sq mi to 5 ft 11 in at 30 °C."
    ),
    "A {{nowrap|[[long|longer]] {{lang|fr|mot}}}} and {{abbr|Dr.|Doctor}} H<sub>2</sub>O, 10<sup>6</sup>, 19<sup>th</sup>.": (
        "A longer mot and Dr. H2O, 10⁶, 19th."
    ),
    "He said: {{quote|Nothing is lost.|Somebody}} And left.": "He said:\nNothing is lost.\nAnd left.",
    "A word{{citation needed|date=May 2010}}, another {{cn}} one.{{sfn|Doe|1990}} End.": "A word, another one. End.",
    "A {{unheard of|x}} word is missing. This sentence is whole.": "This sentence is whole.",
    "{{Infobox\n| name = x {{nested|{{deeper}}}}\n| text = [[a]] }}\n'''Title''' is a ''thing''.": "Title is a thing.",
    "{{never closed|x=1\n| y = 2\nText goes on.\n\nAnd on.": "Text goes on.\nAnd on.",
    "It }} has a stray end.": "It has a stray end.",
    "{{{parameter|default}}} A template page.": "A template page.",
    "{{{{{1}}}}} Braces.": "Braces.",
    "{{PAGENAME}} is the title, as of {{as of|2010|3|lc=y}}.": "Title is the title, as of as of March 2010.",
    "One applies {{nihongo||合気|aiki}} by {{nihongo|sword|剣|ken}}.": "One applies aiki by sword.",
    "{{DEFAULTSORT:Key}}Text.{{DISPLAYTITLE:''Text''}}": "Text.",
    # holes
    "Einstein ({{IPAc-en|a}}; {{IPA-de|b|lang}}; 14 March 1879) was born.": "Einstein (14 March 1879) was born.",
    "Angola {{IPAc-en|a}}, officially ({{lang-pt|República}}; pronounced {{IPA-pt|x}}), is big.": (
        "Angola /a/, officially (República), is big."
    ),
    "Cairo ({{unknown|x}}) is large ( ; ), [ ] and , , old .": "Cairo is large, and, old.",
    "Call f() or g(x) and obj.method().": "Call f() or g(x) and obj.method().",
    "A (b ({{unknown}}) c) d.": "A (b c) d.",
    "It grows. A list follows: {{toc}}": "It grows.",
    # opaque tags, comments, HTML, entities
    'One<!-- {{ [[ --> two<ref name="a>b">[[x]] {{cite}}</ref> three<ref name=b /> four.': "One two three four.",
    "Before. Then <ref>never closed. After.": "Before.",
    "Whole.<ref>never closed. After.\n\nNext.": "Whole.\nNext.",
    "A <ref name=a> without its slash. Next.": "A without its slash. Next.",
    "It stood. The ship {{sank off the coast": "It stood.",
    "An end.<ref>a</ref>. Two,{{sfn|B|1}}, three.<!-- c -->. But... and so on<ref>d</ref>... go.": (
        "An end. Two, three. But... and so on... go."
    ),
    "Copied with its notes.[3] And[4] x[5]. So,[12] too.": "Copied with its notes. And[4] x[5]. So, too.",
    "<ref>a</ref>. A reference is before it: {{cite|x}}. And the form ']pe-ro-[' ({{lang|gmy| ]a-}}).": (
        "A reference is before it. And the form ']pe-ro-[' (]a-)."
    ),
    "One. <!-- never closed": "One.",
    "Where <math>x</math> is, <math>n = 3</math>. But <math>\\frac{a}{b}</math> is not. End.": (
        "Where x is, n = 3. End."
    ),
    "The <nowiki>''plain''</nowiki> signs and the <nowiki>plain</nowiki> word stay.": (
        "The ''plain'' signs and the plain word stay."
    ),
    '<gallery>\nFile:a.jpg|One\n</gallery>\nText <templatestyles src="x" />here.': "Text here.",
    '<div class="x">Some<br />lines</div><span style="display:none">key</span><center>centred</center>': (
        "Some\nlines\ncentred"
    ),
    "AT&amp;T &lt; 3&nbsp;km &amp;amp; &#8212; &euro;5 &unknown; a < b > c.": "AT&T < 3 km & — €5 &unknown; a < b > c.",
    "A &lt;b&gt;bold&lt;/b&gt; word.": "A <b>bold</b> word.",
    "__NOTOC__ Text __لافهرس__ goes.": "Text goes.",
    # tables
    'Before.\n{| class="x"\n|-\n| a || b\n{| nested\n| c\n|}\n| d\n|}\nAfter.': "Before.\nAfter.",
    "Before.\n<table><tr><td>a<table><tr><td>b</td></tr></table></td></tr></table>\nAfter.": "Before.\nAfter.",
    ":{| \n! head !! other\n|}\n|- leftover\n| x || y\nText.": "Text.",
    "{| never closed\n| a\n|-\nText.\n\nMore.": "Text.\nMore.",
    # lines
    "One line\ngoes on.\n\n* An item that says something.\n* [[Link]]\n# Short\n* " + "long " * 11: (
        "One line goes on.\nAn item that says something.\n" + "long " * 10 + "long"
    ),
    "Text.\n== History ==\nMore.\n===Notes===\nOn notes.\n== References ==\n* Doe.\n=== Sub ===\nGone.\n== Life ==\nBack.": (
        "Text.\nMore.\nOn notes.\nBack."
    ),
    ":: Indented text is text.\n; Term\n: Meaning of the term.\n----\nAfter a rule.": (
        "Indented text is text.\nMeaning of the term.\nAfter a rule."
    ),
    # of a list whose items are cut, neither the last one is left nor the sentence that announces it
    "Text. The parts are:\n* A root\n* A stem\n* A leaf, which is green.\nAfter.": "Text.\nAfter.",
    # but a sentence over several items, each with its comma, is one
    "Text. The months are:\n* January,\n* February,\n* March, of 31 days.\nAfter.": (
        "Text. The months are:\nJanuary, February, March, of 31 days.\nAfter."
    ),
    "It is so if:\n# it is even;\n# it is [[prime number|prime]];\n": "",
    "It is so if:\n# it is even;\n# it is [[prime]]\n# it is two.\nAfter.": "After.",
    "It has:\n* a root,\n* a stem, and\n* a leaf.": "It has:\na root, a stem, and a leaf.",
    # a bold line is a heading
    "Text.\n\n'''Traffic'''\n* It has [[road]]s.\n* Road\n'''It ends.'''\n\n'''A''' '''b'''\n": "Text.\nIt has roads.\nIt ends.\nA b",
    # a table and a formula are announced as well
    "One. The rest is as follows:\n{|\n| a || b\n|}\nAfter.": "One.\nAfter.",
    "{|\n| a\n|}\nText.\n{|\n| b\n|}\n* Yes.\n": "Text.\nYes.",
    "One. The mean is\n:<math>\\frac{1}{n}</math>\nAfter.": "One.\nAfter.",
    "One. The sum is\n: <math>\\sum x</math>\nwhere ''x'' is real. The end.\n\nnow small.": "One.\nThe end.\nnow small.",
    "One. The sum is:\n<math>\\sum x</math>,\n\nwhere ''x'' is real.": "One.",
    "One. The mean is:\n{|\n| a\n|}\n* It is a line that is as long as a sentence, and it stays.": (
        "One. The mean is:\nIt is a line that is as long as a sentence, and it stays."
    ),
    "The lines are:\n* [[North]]\n* [[South]]": "",
    "It holds:\n: <math>\\\\int x</math>\nAs shown:\n* Go.\n* Come back.": "As shown:\nGo.\nCome back.",
    "Here:\n* Short\n* " + "long " * 11 + "\n* Last.": "Here:\n" + "long " * 10 + "long\nLast.",
    "Two rules:\n* Stay.\n* [[Link]]\n* Go, or so.": "Two rules:\nStay.",
    "''l''''été'' and '''''both'''''.": "l'été and both.",
}


@pytest.mark.parametrize(("wikitext", "expected"), CASES.items(), ids=[key[:40] for key in CASES])
def test_what_a_reader_reads(wikitext, expected):
    found = text(wikitext)
    assert found == expected
    assert not leftover_markup(found)
    assert not broken_punctuation(found) - Counter({"()": 9})


def test_arabic():
    page = """{{صندوق معلومات|اسم={{PAGENAME}}}}
__لافهرس__
'''القاهرة''' ({{إنج|Cairo}}) هي [[عاصمة|العاصمة]]، و[[مدينة]] كبيرة<ref>{{استشهاد ويب|عنوان=س}}</ref>.
[[ملف:x.jpg|تصغير|شرح]]
المسافة {{formatnum:2450}} كم ({{تحويل|40|كم}}). وقال: {{اقتباس|نص القول.}}
{| class="wikitable"
| خلية || أخرى
|}
العدد ، ، كبير ( ، ) جدا.
== مراجع ==
* [[رابط]]
[[تصنيف:مدن]]"""
    expected = "القاهرة هي العاصمة، ومدينة كبيرة. المسافة 2450 كم (40 كم). وقال:\nنص القول.\nالعدد، كبير جدا."
    found = text(page.replace("\n[[ملف", "\n\n[[ملف").replace("شرح]]\n", "شرح]]"), AR, "ar").replace(
        ".\nالمسافة", ". المسافة"
    )
    assert found == expected


def test_bulgarian_and_urdu():
    page = "[[Файл:x.jpg|мини|Надпис]]'''София''' е [[столица|столицата]] на [[България]].\n[[Категория:Градове]]"
    assert text(page, BG, "bg") == "София е столицата на България."
    urdu = Site.of("urwiki", "", [(6, "فائل"), (14, "زمرہ")])
    page = "[[تصویر:x.jpg|thumb]]'''کراچی''' [[پاکستان]] کا شہر ہے۔ {{نامعلوم}}\n[[زمرہ:شہر]]\n== حوالہ جات ==\nکچھ"
    assert text(page, urdu, "ur") == "کراچی پاکستان کا شہر ہے۔"


def test_namespaces_are_those_of_the_dump():
    site = Site.of("xx", "", [(6, "Bestand_Naam"), (14, "Soort")])
    assert text("A [[bestand naam:x|y]]b.[[soort: z]]", site) == "A b."
    assert text("A [[Soort:x|y]] b.") == "A y b."


@pytest.mark.parametrize(
    "page",
    [
        "#REDIRECT [[a]]", "# redirect : [[a]]", "#تحويل [[القاهرة]]", "#REDIRECT[[س]]", "#виж [[София]]", "#رجوع_مکرر [[a]]".replace("_", " "),
        "\n#unbekannt [[Ziel]]\n",
    ],
)  # fmt: skip
def test_redirects_by_their_words(page):
    assert is_redirect(page)


@pytest.mark.parametrize(
    "page", ["# first [[item]] of a list\n# second", "Text #REDIRECT [[a]]", "#ref [[a]] and more"]
)
def test_what_is_no_redirect(page):
    assert not is_redirect(page)


@pytest.mark.parametrize(
    ("title", "page"),
    [
        ("أمل", "أمل قد تعني:\n* [[أمل (فيلم)]]\n{{توضيح}}"),
        ("Mercury", "'''Mercury''' may be:\n{{Disambiguation|geo}}"),
        ("София (пояснение)", "текст"),
        ("کراچی (ضد ابہام)", "متن"),
        ("Any", "__DISAMBIG__ x"),
    ],
)
def test_disambiguation_pages(title, page):
    assert prose(title, page, EN, "en").disambiguation


def test_a_needed_disambiguation_and_a_note_about_others_are_none():
    assert not prose("Title", "A word{{disambiguation needed}}. {{other uses}} {{dn}}", EN, "en").disambiguation


def test_what_is_left_out_is_counted():
    page = "A {{x}} one. Fine (; a).\n* Short\n* [[Link]]\n== See also ==\nGone."
    counts = prose("Title", page, EN, "en").counts
    assert counts == {"repaired": 1, "kept": 1, "holes": 1, "items": 2, "appendices": 1}


def test_items_that_lack_a_word_are_no_sentences():
    counts = prose("Title", "The [[isles]] are big.\n* {{flag|x}} {{y}} (UK)\n* {{z}} b", EN, "en").counts
    assert +counts == {"repaired": 2, "kept": 1, "items": 2}


def test_sentences_that_go_are_counted_by_their_reason():
    page = "It stood. It was {{x}} by Dr. Watson of B. Street. Others came.\n\nA &amp;amp;lt; beta. It fell. They are:\n* [[One]]\n\nIt went."
    shown, _, counts = prose("Title", page, EN, "en")
    assert shown == "It stood. Others came.\nIt fell.\nIt went."
    assert counts == {"repaired": 1, "kept": 4, "holes": 1, "marked_up": 1, "announcements": 1, "items": 1}


def test_what_may_belong_to_a_sentence_with_a_hole_is_counted():
    shown, _, counts = prose("Title", "It has {{x}} plan B. The town is old. End.", EN, "en")
    assert shown == "End."
    assert counts["rests"] == 1


MARKS = ["{{", "}}", "{{{", "}}}", "[[", "]]", "[", "]", "{|", "|}", "|", "||", "\n", "\n\n", "==", "*", "''", "'''", "<ref>", "</ref>",
         "<ref", "<!--", "-->", "<math>", "</math>", "<nowiki>", "</nowiki>", "<table>", "</table>", "&lt;", "&amp;", "__TOC__", "__", "-{", "}-",
         "(", ")", ",", "; ", ". ", " ", "word ", "File:x.jpg", "http://a.b/c ", "lang|", "quote|", "\ue000", "\ue001", "\ue002", "كلمة ", "؛ ", "، "]  # fmt: skip


@given(st.lists(st.sampled_from(MARKS) | st.text(max_size=5), max_size=60).map("".join))
@example("{{quote|[[File:x.jpg|" * 5 + "]]}}" * 4)
@example("<ref{{<table>{{}}>")  # a tag that the end of a paragraph would hide
@settings(deadline=None, max_examples=600)
def test_any_text_gives_prose_without_markup(wikitext):
    found = text(wikitext)
    assert not leftover_markup(found)
    assert not {"\ue000", "\ue001", "\ue002"} & set(found)
    assert "  " not in found
    assert found == "\n".join(line.strip() for line in found.split("\n") if line.strip())


@given(
    st.lists(
        st.sampled_from(["word ", "Another one. ", "كلمة ", "слово, ", "(in brackets) ", "\n\n", "3.5 km "]),
        max_size=30,
    ).map("".join)
)
@settings(deadline=None, max_examples=100)
def test_plain_text_stays(plain):
    assert text(plain).split() == plain.split()


HOSTILE = [
    "{{", "}}", "[[", "]]", "{{a|", "[[a|", "{{nowrap|", "{{quote|x", "[[File:x.jpg|", "<ref>", "<ref", "<!--", "<ref name=", "{|\n", "\n{|", "|}\n", "<table>",
    "<math>", "[http://a ", "[http:// ", "(", "( ", ")", "(((\ue000", "'''", "-{", "__", "__a", "&", "&a", "<a", "<span display:none", "==\n=", "\n* ", "\n|", ", ,", "«", "“",
    "{{x}}", "({{x}}", "a {{x}} b. ", "{{{", "}}}", "<sup>", "x ", "\n", "a|b\n", "[[a\n", "http://", "! !!", "{{lang|a|",
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_time_is_linear_in_the_length(unit):
    def seconds(size):
        page = unit * (size // len(unit))
        began = time.process_time()
        text(page)
        return time.process_time() - began

    small = min(seconds(25_000) for _ in range(2))
    large = min(seconds(200_000) for _ in range(2))  # a collection of garbage may fall into one
    assert large < 8 * 4 * small + 0.2


def test_deep_nesting_and_a_line_of_two_megabytes():
    deep = "{{nowrap|" * 60 + "x" + "}}" * 60
    assert text(f"A word. A {deep} bee. Another.") == "A word. Another."
    assert text(f"A {'{{nowrap|' * 30}x{'}}' * 30} bee.") == "A x bee."
    line = "A sentence of a long line. " * 80_000
    began = time.process_time()
    assert text(line) == line.strip()
    assert time.process_time() - began < 5
    unclosed = "<small>" * 20 + "[[a link that holds {{a template}} and is not closed. "
    assert text(f"{unclosed}\n\nText.").endswith("Text.")
