# ruff: noqa: E501  # wikitext stands in lines as long as it is
"""What the pages of a wiki's templates say, and what it costs."""

import time

import pytest

from maskline.sources.dump import definitions as module
from maskline.sources.dump.definitions import Definitions
from maskline.sources.dump.siteinfo import Site
from maskline.sources.dump.wikitext import prose
from tests.sources.dump.test_dump_source import body, read
from tests.sources.dump.test_pages import dump, page

SITE = Site.of("dewiki", "", [(0, ""), (6, "Datei"), (10, "Vorlage"), (14, "Kategorie")])
PAGES = {
    "Wort": "<span>{{{1|{{{wort|nichts}}}}}}</span><noinclude>{{Dokumentation}}</noinclude>",
    "Verweis": "''{{Wort|[[{{{1}}}|{{{2|{{{1}}}}}}]]}}''",
    "Zuletzt": "junk<onlyinclude>{{{3}}} {{{1}}}</onlyinclude>junk",
    "Beleg": '<sup class="noprint">[[[Hilfe:Beleg|Beleg?]]]</sup>[[Kategorie:Ohne Beleg]]',
    "Frage": "{{Marke|{{{1|}}}}}",
    "Marke": "<sup>[''wer?'']</sup>",
    "Text mit Frage": "{{{1}}}<sup>&#91;wann?&#93;</sup>",
    "Note": "<ref>{{{1}}}</ref>",
    "Note2": "{{#tag:ref|{{{1}}}|name=x}}",
    "Anker": '<span id="{{{1}}}"></span>',
    "Kasten": '{| class="box"\n| {{{1}}}\n|}',
    "Leiste": "{{Navbox|{{{1}}}}}",
    "Hinweis": ":''Siehe [[{{{1}}}]]''",
    "Rechnung": "{{#invoke:Rechnung|summe|{{{1}}}}}",
    "Halb": "{{{1}}} ({{#invoke:Laut|zeige}})",
    "Fest": "v. Chr.",
    "Wenn": "{{#if:{{{2|}}}|{{{2}}}|{{{1}}}}}{{#ifeq:{{NAMESPACE}}||[[Kategorie:X]]}}",
    "Wahl": "{{#switch:{{lc:{{{1}}}}}|a|b=eins|c=zwei|#default=drei}}",
    "Gleich": "{{#ifexist:{{{1}}}|[[{{{1}}}]]|{{{1}}}}}",
    "Sicher": "{{{{{|safesubst:}}}#if:{{{1|}}}|{{{1}}}|nichts}}",
    "Zitatblock": "<blockquote>{{{1}}}</blockquote>",
    "Tief": "{{#if:x|" * 15 + "{{Tief}}" + "}}" * 15,
    "Alt": "#WEITERLEITUNG [[Vorlage:wort]]",
    "Im Kreis": "#REDIRECT [[Vorlage:Zurück]]",
    "Zurück": "#REDIRECT [[Template:Im_Kreis]]",
    "Selbst": "{{Selbst}}{{Selbst}}",
    "Riese": "x" * 50_000,
    "Offen": "{{{1}} {{wort",
    "Viermal": "{{{1}}}{{{1}}}{{{1}}}{{{1}}}",
    "Mehrdeutig": '<div class="x">Hier</div>__DISAMBIG__',
}


def known(pages=PAGES, site=SITE):
    found = Definitions()
    for name, text in pages.items():
        found.add(site, f"Vorlage:{name}", text, text.startswith("#"))
    return found


def shown(wikitext, language="de"):
    return prose("Titel", wikitext, SITE, language, known()).text


@pytest.mark.parametrize(
    ("wikitext", "expected"),
    [
        ("Ein {{Wort|Baum}} und {{wort|wort=Haus}} und {{Wort}}.", "Ein Baum und Haus und nichts."),
        ("Ein {{Vorlage:Wort|Baum}}, {{template: wort|Haus}}, {{Alt|Ast}}.", "Ein Baum, Haus, Ast."),
        ("Das {{Verweis|Kind|Kinder}} und {{Verweis|Mann}} da.", "Das Kinder und Mann da."),
        ("Nun {{Zuletzt|a|b|c}} da.", "Nun c a da."),
        ("Eins{{Beleg}} und {{Frage|x}} zwei.{{Beleg}} Drei {{Text mit Frage|hier}} steht.", "Eins und zwei. Drei hier steht."),
        ("Ein {{Note|x}} Wort{{Note2|y}} mit {{Anker|z}} Anker.", "Ein Wort mit Anker."),
        ("{{Kasten|x}}kleiner Anfang. {{Leiste|y}} das Ende.", "kleiner Anfang. das Ende."),
        ("{{Hinweis|Paris, der großen Stadt an der Seine in der Mitte des Landes}}\nText.", "Text."),
        ("Es ist {{Rechnung|5}} groß. Ein Satz bleibt.", "Ein Satz bleibt."),
        ("Hier {{Halb|Wort}} steht.", "Hier Wort steht."),
        ("Er lebte 300 {{Fest}} in Rom.", "Er lebte 300 v. Chr. in Rom."),
        ("Ein {{Wenn|Hund}} und {{Wenn|Hund|Tier}}.", "Ein Hund und Tier."),
        ("Nun {{Wahl|A}}, {{Wahl|b}}, {{Wahl|c}}, {{Wahl|q}}.", "Nun eins, eins, zwei, drei."),
        ("In {{Gleich|Paris}} und {{Sicher|Rom}} und {{Sicher}}.", "In Paris und Rom und nichts."),
        ("Er sagte: {{Zitatblock|Nichts ist.}} Ende.", "Er sagte:\nNichts ist.\nEnde."),
        ("Ein [[Baum|{{Wort|Ast}}]] am {{#if:x|Haus|Hof}}.", "Ein Ast am Haus."),
        ("Ein {{Im Kreis}} Ding. Ein Satz bleibt.", "Ein Satz bleibt."),
        ("Ein {{Selbst}} Ding. Ein Satz bleibt.", "Ein Satz bleibt."),
        ("Ein {{Tief}} Ding. Ein Satz bleibt.", "Ein Satz bleibt."),
        ("Ein {{Riese}} Ding. Ein Satz bleibt.", "Ein Satz bleibt."),
        ("Ein {{Offen|x}} Ding. Ein Satz bleibt.", "Ein Satz bleibt."),
        ("Ein " + "{{Viermal|" * 30 + "x" + "}}" * 30 + " Ding. Ein Satz bleibt.", "Ein Satz bleibt."),
        # the wiki's own page comes before the lists, which know `or` as a note; numbers come before the page
        ("{{frac|1|2}} davon.", "1/2 davon."),
    ],
)  # fmt: skip
def test_what_a_template_shows_is_read_from_its_page(wikitext, expected):
    assert shown(wikitext) == expected


def test_a_redirect_to_a_redirect_leads_to_what_its_target_is():
    pages = {"A": "#REDIRECT [[Vorlage:B]]", "B": "#REDIRECT [[Vorlage:Frac]]"}
    assert prose("T", "Es ist {{A|1|2}} davon.", SITE, "de", known(pages)).text == "Es ist 1/2 davon."


def test_in_a_script_without_spaces_what_is_known_closes_and_the_rest_does_not():
    assert shown("青い{{Beleg}}川は{{Wort|長い}}。{{Rechnung}}が長い。次の川。", "ja") == "青い川は長い。次の川。"


def test_a_page_is_a_disambiguation_page_if_its_template_says_so():
    assert prose("Titel", "Titel ist:\n* [[A]]\n{{mehrdeutig}}", SITE, "de", known()).disambiguation


def test_a_template_of_the_wiki_comes_before_the_lists():
    site_page = {"Or": "oder"}
    assert prose("T", "Er {{or}} sie.", SITE, "de", known(site_page)).text == "Er oder sie."
    assert prose("T", "Er {{or}} sie.", SITE, "de").text == "Er sie."


def test_templates_are_read_from_the_dump_wherever_they_stand_in_it(tmp_path):
    pages = [
        page(1, "واحد", body("هذا {{عرض|بيت}} كبير. وهذا {{رمز|x}} آخر. وتلك {{قديم|دار}} صغيرة.")),
        page(2, "قالب:عرض", body("&lt;b&gt;{{{1}}}&lt;/b&gt;"), namespace="<ns>10</ns>"),
        page(3, "قالب:رمز", body("{{#invoke:x|y}}"), namespace="<ns>10</ns>"),
        page(4, "قالب:قديم", body("#تحويل [[قالب:عرض]]"), namespace="<ns>10</ns>", extra='<redirect title="x" />'),
    ]
    (tmp_path / "a.xml").write_text(dump(*pages))
    for workers in (1, 2):
        found = read(tmp_path / "a.xml", workers=workers)
        assert [article.text for article in found.articles] == ["هذا بيت كبير. وتلك دار صغيرة."]
        assert found.report()["templates"] == {"read": 3, "known": 3, "no_room": 0}


def test_templates_of_one_wiki_tell_nothing_of_another(tmp_path):
    other = dump(page(1, "Template:Word", body("seen"), namespace="<ns>10</ns>")).replace("arwiki", "enwiki")
    (tmp_path / "a.xml").write_text(dump(page(2, "واحد", body("كلمة {{Word}} هنا. جملة كاملة."))))
    (tmp_path / "b.xml").write_text(other)
    assert [article.text for article in read(tmp_path / "*.xml").articles] == ["جملة كاملة."]


def test_what_all_templates_may_take_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "MOST_CHARACTERS", 1_000)
    found = known({f"T{i}": "{{{1}}}" for i in range(100)})
    assert (found.read, len(found), found.left_out) == (100, 9, 91)


@pytest.mark.parametrize(
    "unit", ["{{Selbst}} ", "{{Viermal|x}} ", "{{Wahl|x}} ", "{{Wort|", "{{#if:", "{{#switch:a|b="]
)
def test_time_of_a_page_is_bounded(unit):
    began = time.process_time()
    prose("T", unit * 10_000, SITE, "de", known())
    assert time.process_time() - began < 8


def test_time_of_a_long_argument_is_bounded():
    began = time.process_time()
    prose("T", "{{Text mit Frage|" + "<sup>" * 100_000 + "}}", SITE, "de", known())
    assert time.process_time() - began < 5
