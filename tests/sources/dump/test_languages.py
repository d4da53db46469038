# ruff: noqa: E501  # wikitext stands in lines as long as it is
"""Pages as they are written in the wikis of other languages, without the pages of their templates."""

import json
import time

import pytest

from maskline.settings.params import load
from maskline.sources import files
from maskline.sources.dump.bibliography import is_reference
from maskline.sources.dump.headings import is_appendix
from maskline.sources.dump.leftovers import broken_punctuation, leftover_markup
from maskline.sources.dump.repair import repair
from maskline.sources.dump.siteinfo import Site
from maskline.sources.dump.variants import converted, variants_of
from maskline.sources.dump.wikitext import prose

SITE = Site.of("", "", ())

SENTENCES = {
    # numbers
    ("en", "Cut {{frac|3|4}} of it, {{frac|5|1|2}} in all, or {{sfrac|2|3}}; {{frac|8}} stays."): "Cut 3/4 of it, 5 1/2 in all, or 2/3; 1/8 stays.",
    ("en", "It weighs 7.3{{e|22}} kg, or 2×10{{sup|5}} t, H{{sub|2}}O."): "It weighs 7.3×10²² kg, or 2×10⁵ t, H2O.",
    ("en", "It has {{convert|2.5|e3sqmi}}, {{convert|4+3/4|in}}, {{convert|4|+3/4|in|mm}}, {{convert|1|to|2|e6m3}}, {{convert|3|e6acre}}."): (
        "It has 2.5 thousand sq mi, 4 3/4 in, 4 3/4 in, 1 to 2 million m³, 3 million acres."
    ),
    ("de", "Es sind {{convert|2.5|e6km2}} und {{convert|1|to|2|km}}."): "Es sind 2.5×10⁶ km² und 1–2 km.",
    ("en", "At {{val|9.81|0.02|u=m/s2}}, {{val|1.6|(2)|e=-19|u=C}}, {{val|20|u=degC}}, {{val|5|%}}."): (
        "At 9.81 ± 0.02 m/s², 1.6(2)×10⁻¹⁹ C, 20 °C, 5%."
    ),
    ("fr", "Il y a {{unité|64|km}} et 10{{exp|9}} grains au {{s|XIX}}."): "Il y a 64 km et 10⁹ grains au XIXe siècle.",
    ("ru", "Вес {{val|80|кг}}, масса 6,1{{e|24}} кг, {{дробь|1|3}} воды."): "Вес 80 кг, масса 6,1×10²⁴ кг, 1/3 воды.",
    # transliterations and links to other wikis
    ("en", "Cairo is {{transl|ar|DIN|al-Qāhira}}, {{transl|ar|Miṣr}}, {{transliteration|he|Mitsrayim}}."): "Cairo is al-Qāhira, Miṣr, Mitsrayim.",
    ("en", "{{ill|Anna Berg (painter)|de|Anna Berg|lt=Anna}} and {{ill|fr|Lac Bleu}} are here."): "Anna and Lac Bleu are here.",
    ("ja", "{{読み仮名|'''赤山'''|あかやま}}は、{{仮リンク|アン|en|Ann}}が登った。"): "赤山は、アンが登った。",
    ("zh", "由{{link-fr|雨果|Hugo}}和{{tsl|fr|Lac|蓝湖}}、{{le|鸟岛|Isle|小鸟岛}}组成。"): "由雨果和蓝湖、小鸟岛组成。",
    ("ru", "Его видел {{нп5|Смит, Анна|Анной Смит|en|Ann}} и {{iw|Общество||en|Club}}."): "Его видел Анной Смит и Общество.",
    ("tr", "Adı {{dil|en|Red Hill}} ve {{özel ad|Hill}}, boyu {{dönüştür|9|km|mi}}'dir.{{kaynak belirt}}"): "Adı Red Hill ve Hill, boyu 9 km'dir.",
    # ruby and nowiki
    ("ja", "<ruby>山<rp>（</rp><rt>やま</rt><rp>）</rp></ruby>は<ruby>高<rt>たか</rt></ruby>い。"): "山は高い。",
    ("fr", "C<nowiki>'</nowiki>''est'' l<nowiki>'</nowiki>''eau''<nowiki/>."): "C'est l'eau.",
    # what is glued in scripts without spaces, and to prefixes
    ("ja", "山は{{未知|5}}の北にある。川は<math>\\frac{a}{b}</math>で割る。谷は広い。"): "谷は広い。",
    ("ja", "{{未知|海}}は青い。谷は広い。{{未知}}が高い。"): "谷は広い。",
    ("zh", "《山志》（{{Harvnb|王|1990}}）说山很高。他来自{{未知|省}}。"): "《山志》说山很高。",
    ("ar", "طوله 9 كم و{{مجهول|5}} مترا. يسمى ال{{مجهول|جبل}} القديم. وهو كبير{{مجهول}} جدا."): "وهو كبير جدا.",
    ("he", "הוא ה{{לא ידוע|הר}} הגדול. הוא גבוה{{לא ידוע}} מאוד."): "הוא גבוה מאוד.",
    ("th", "ภูเขา{{ลึกลับ|5}}สูงมาก"): "",
    ("ko", "산은 {{모름|5}} 높다. 강은 길다.{{출처 필요}} {{임시링크|바다|en|Sea}}는 넓다."): "강은 길다. 바다는 넓다.",
    ("hi", "नदी{{अज्ञात}} बड़ी है। नदी {{अज्ञात|5}} है।"): "नदी बड़ी है।",
    ("ar", "{{مجهول}}'''النهر''' كبير. {{مجهول}} صغير. وهو بعيد."): "النهر كبير. وهو بعيد.",
    ("ja", "{{未知の箱\n| 名 = 山\n}}山は高い。"): "山は高い。",
    ("en", "It rose 5{{unheard}} m. It fell{{unheard}} again."): "It fell again.",
    ("en", "{{unheard}} is big. {{unheard}} The hill is big."): "The hill is big.",
    # a sentence goes whole
    ("ru", "Жил {{неведомо|1799}} в доме им. Иванова у проф. Петрова. Дом был велик."): "Дом был велик.",
    ("ru", "Он учился у проф. {{неведомо|П}} два года. Дом был велик."): "Дом был велик.",
    ("zh", "山高。他见{{未知}}了。水长。"): "山高。水长。",
    ("en", "The acid 2-{[4-oxo]yl}-amine and -{x}- stay."): "The acid 2-{[4-oxo]yl}-amine and -{x}- stay.",
    # apostrophes beside italics and bold
    ("fr", "Dans l'''Iliade'' et '''l'eau''', ceci est."): "Dans l'Iliade et l'eau, ceci est.",
    ("fr", "Le '''pain'' ou l'''eau''' est là."): "Le pain ou l'eau est là.",
    ("it", "Versi dell'''Odissea'' sono belli."): "Versi dell'Odissea sono belli.",
    ("en", "''Eagle''{{'}}s side and ''GQ''{{'s}} critic are '''bold''' and '''''both'''''."): "Eagle's side and GQ's critic are bold and both.",
    # numbers beside each other
    ("en", "A 2{{frac|1|2}}-inch bolt is {{convert|5{{frac|3|4}}|in}} long, {{frac|1|2}} in all."): "A 2 1/2-inch bolt is 5 3/4 in long, 1/2 in all.",
    ("fr", "Il a {{unité|105|km|2}}, {{unité|12|m|3|s|-1}}, {{unité|5|à|10|km}}, {{nombre|40|places}}."): (
        "Il a 105 km², 12 m³⋅s⁻¹, 5 à 10 km, 40 places."
    ),
    ("en", "It is {{val|5|-|10|u=m}} or {{val|5|to|10|u=m}} or {{val|5|-3|+4}} long. It is {{val|5|kg|12}}."): (
        "It is 5–10 m or 5 to 10 m or 5 (-3, +4) long."
    ),
    ("fr", "Le {{date|3|mars|1950|en sport}}, le {{date|3 mars 1950|au cinéma}}, le {{date|1|1|1900}}, le {{date|lundi|3|mars|1950}}."): (
        "Le 3 mars 1950, le 3 mars 1950, le 1er janvier 1900, le lundi 3 mars 1950."
    ),
    ("en", "It was built {{circa|1850|1860}} and {{fl.|1900}}, says {{bibleverse|1|Corinthians|13:4}}."): (
        "It was built c. 1850 – c. 1860 and fl. 1900, says 1 Corinthians 13:4."
    ),
    # what the next word needs
    ("fr", "L'{{Équipe de France}} de football gagne. Jusqu’{{x}} la fin. Il pleut."): "Il pleut.",
    ("en", 'He wrote "{{x}}" in 1990. He said \'yes\'{{x}} and left. He said "no"{{x}}.'): 'He said \'yes\' and left. He said "no".',
    ("de", "Es regnet. {{EWZ|DE}} Einwohner leben hier. Er kam.{{Beleg}} Das Haus steht."): "Es regnet. Er kam. Das Haus steht.",
    ("he", 'אורכו 64 ק"מ. הוא {{לא ידוע|הר}} גדול.'): 'אורכו 64 ק"מ.',
    # citations, sounds and texts that are words of the sentence
    ("en", "As {{harvtxt|Serre|Weil|1979}} showed (see {{harvnb|Weil|1949}}), it holds. {{harvs|txt|last=Tits}} did."): (
        "As Serre & Weil (1979) showed, it holds."
    ),
    ("ja", "{{Harvtxt|山田|2000}}によると高い。"): "山田 (2000)によると高い。",
    ("fr", "Il dit {{citation étrangère|langue=en|Hello}} à tous. {{citation nécessaire|Il est mort}}."): "Il dit « Hello » à tous. Il est mort.",
    ("en", "Paris {{IPA|fr|paʁi}} is old (said {{IPA|fr|paʁi}}); {{langx|el|Αθήνα}} is {{audio|x.ogg|Athens}}, and Bonn ({{audio|x.ogg|listen}}) is not."): (
        "Paris [paʁi] is old; Αθήνα is Athens, and Bonn is not."
    ),
    ("fr", "Le mot est {{langue|en|texte=Hello}} ici. Le {{langue|en}} ici."): "Le mot est Hello ici.",
    ("it", "La {{Bandiera|ITA|nome}} vinse. {{Bandiera|ITA}} Italia vinse. Secondo {{cita|Rossi|p. 5}} è vero."): "Italia vinse.",
    ("zh", "他见{{tsl|en|Mary||玛丽}}了。"): "他见玛丽了。",
    ("ko", "강은 {{임시링크|바다|en|Sea|표시=큰 바다}}로 간다."): "강은 큰 바다로 간다.",
    # what looks like a tag, and addresses
    ("en", "The &lt;title&gt; element is short, x<y and y>z, <small>and</small><div style='display:none'>not</div> so."): (
        "The <title> element is short, x<y and y>z, and so."
    ),
    ("ja", "公式はhttp://example.jp/である。谷は広い。"): "谷は広い。",
    ("en", "See http://x.y. Next one is fine."): "Next one is fine.",
    # what a bracket, an address or a drawing leaves behind
    ("en", "It is old (Ivan described it at great length, and asked for {{x|the number}}). It is large (Greek: {{x}}, born 14 March 1879)."): (
        "It is old. It is large (born 14 March 1879)."
    ),
    ("zh", "山高（他写了一封很长很长的信给他的朋友，问{{未知}}）。水长（1990年，{{未知}}）。"): "山高。水长（1990年）。",
    ("bg", "Според [http://a.b] градът е стар. Той е голям [http://a.b]. Тук (виж [http://a.b] или [http://c.d]) вали, от [http://a.b], да."): (
        "Той е голям."
    ),
    ("bg", "Дървото расте.[[Файл:A.png|мини|Дърво]]Днес е топло.<ref>A.</ref>Вали.{{x}}Грее<gallery>A.png</gallery>Вчера валя."): (
        "Дървото расте. Днес е топло. Вали. Грее\nВчера валя."
    ),
    ("bg", "Златко<sup>(беседа)</sup> има 5<sup>-ти</sup> ред и 10<sup>6</sup>."): "Златко(беседа) има 5-ти ред и 10⁶.",
    ("en", "The U.<nowiki/>S. and A.<!-- c -->B. of it.<ref name=a />Next {{IPA|en|/ˈpærɪs/}} is old."): "The U.S. and A.B. of it. Next /ˈpærɪs/ is old.",
    # announcements of what is gone, and of what stays
    ("en", "It is small. A program is this:\n<syntaxhighlight lang='c'>f();</syntaxhighlight>\nIt ends with <code>f</code>."): "It is small.\nIt ends with f.",
    ("en", "It is small. It reads:\n== Life ==\nHe wrote:\n\nIt lacks {{x|y}} here.\n\nIt is old."): "It is small.\nIt is old.",
    ("en", "Rules:\n* There are two:\n** The first of them is that it has to be long enough to stay.\n* Short"): (
        "Rules:\nThere are two: The first of them is that it has to be long enough to stay."
    ),
}  # fmt: skip


@pytest.mark.parametrize(("given", "expected"), SENTENCES.items(), ids=[given[1][:30] for given in SENTENCES])
def test_sentences(given, expected):
    language, wikitext = given
    found = prose("Title", wikitext, SITE, language).text
    assert found == expected
    assert not leftover_markup(found)
    assert not broken_punctuation(found)


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("zh", "-{zh-hans:网络;zh-hant:網路}-和-{zh-tw:程式; zh-cn:程序; zh-hk:程式;}-", "网络和程序"),
        ("zh-tw", "-{zh-hans:网络;zh-hant:網路}-和-{zh-cn:程序;zh-tw:程式}-", "網路和程式"),
        (
            "zh",
            "-{于}--{A|zh-cn:甲;zh-tw:乙}--{H|zh-cn:丙}--{T|zh-cn:丁}--{-|zh-cn:戊}--{R|己}--{zh-hans|庚}-",
            "于甲己庚",
        ),
        ("zh", "-{zh-hans:甲-{zh-cn:乙;zh-tw:丙}-;zh-hant:丁}-", "甲乙"),
        ("zh", "-{[[山|高山]]}-与-{A|zh-hans:[[水|河]];zh-hant:水}-", "[[山|高山]]与[[水|河]]"),
        ("zh", "-{zh-tw:只有台湾}-", "只有台湾"),
        ("sr", "-{sr-ec:Плава; sr-el:Plava}- -{km}-", "Плава km"),
        ("kk", "-{kk-latn:Qazaq;kk-cyrl:Қазақ}-", "Қазақ"),
        ("en", "-{zh-hans:网络}-", "-{zh-hans:网络}-"),
    ],
)
def test_one_variant_is_chosen_where_a_wiki_has_variants(language, text, expected):
    assert converted(text, variants_of(language)) == expected


def test_deep_and_unclosed_conversions_end():
    deep = "-{" * 2_000 + "山" + "}-" * 2_000
    assert len(converted(deep, variants_of("zh"))) <= len(deep)
    assert converted("-{zh-cn:山", variants_of("zh")) == "-{zh-cn:山"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("山（）很高。", "山很高。"),
        ("山（，1900年）很高。", "山（1900年）很高。"),
        ("山（；拼音：shān）很高。", "山（拼音：shān）很高。"),
        ("山（拼音：shān，）很高，，很远。", "山（拼音：shān）很高，很远。"),
        ("他写《》和「」，。", "他写和。"),
        ("山 ，很高 。", "山，很高。"),
        ("山()很高。", "山很高。"),
        ("山（高）、水《长》：「好」；对。", "山（高）、水《长》：「好」；对。"),
        ("f() und (x) bleiben.", "f() und (x) bleiben."),
    ],
)
def test_full_width_punctuation_is_mended_as_other_is(text, expected):
    assert repair(text)[0] == expected


def test_text_of_another_extractor_is_mended_in_the_same_way(tmp_path):
    texts = ["水（）是一种物质。", "山（，1900年—1980年）很高。", "-{zh-hans:电脑;zh-hant:電腦}-很快。"]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    params = load().corpus
    chosen = params.files.model_copy(update={"paths": [str(tmp_path / "a.jsonl")], "markup": "clean"})
    source = files.read(params.model_copy(update={"language": "zh", "layout": "articles", "files": chosen}))
    assert [article.text for article in source.articles] == [
        "水是一种物质。",
        "山（1900年—1980年）很高。",
        "电脑很快。",
    ]


@pytest.mark.parametrize(
    "heading",
    ["각주", "참고 문헌", "Tham khảo", "Liên kết ngoài", "อ้างอิง", "ดูเพิ่ม", "לקריאה נוספת", "הערות שוליים", "सन्दर्भ", "बाहरी कड़ियाँ",
     "Externa länkar", "Externí odkazy", "Pranala luar", "Viitteet", "Jegyzetek", "Παραπομπές", "Спољашње везе", "Enllaços externs",
     "Eksterne henvisninger", "Legături externe", "سەرچاوەکان", "სქოლიო", "Ծանոթագրություններ", "তথ্যসূত্র", "參考文獻", "外部連結", "註釋",
     "Литература", "Konuyla ilgili yayınlar", "関連文献", "Примечания и ссылки", "المراجع والمصادر", "注釈と出典", "Notes and references:",
     "''Références''", "[[Notes]]", "Бележки и източници", "Παραπομπές-Σημειώσεις", "ឯកសារ\u200bយោង", "مصادر ومراجع"],
)  # fmt: skip
def test_headings_of_appendices(heading):
    assert is_appendix(heading)


@pytest.mark.parametrize(
    "heading", ["History", "Notes on the river", "История", "Geschichte und Literatur der Stadt", "", "と"]
)
def test_headings_of_text(heading):
    assert not is_appendix(heading)


REFERENCES = [
    "Doe, Jane (1999). ''On Rivers''. London: Some Press. pp. 12–45.",
    "Işık, Can (2001). ''Irmak Üzerine''. Ankara: Yayın.",
    "Петров А. ''О реках''. — М.: Наука, 1999. — С. 12.",
    "鈴木一郎『川の本』本屋、1999年、12–45頁",
    "李某，《河志》，北京：某出版社，2001年，第3—7页",
    "A book with ISBN 978-0-00-000000-0",
    "[http://a.b A page]",
    "শর্মা, রাম (১৯৯০). ''ইতিহাস''. ঢাকা: প্রকাশ। পৃ. ১২–৪৫।",
    "Иванов И. И. История города. — М.: Наука, 1990. — 245 с.",
    "Müller: ''Titel.'' Springer, Berlin 1990.",
    "Rossi, ''Il libro'', Milano, Mondadori, 1990.",
    "'''ספר''', הוצאה, 1990, עמ' 12",
    "{{cite book|title=x|year=1999}}",
]


@pytest.mark.parametrize("item", REFERENCES[:-1])
def test_references_have_a_shape(item):
    assert is_reference(item)


@pytest.mark.parametrize(
    "item",
    ["In 1999 he wrote ''On Rivers'', and was praised.", "[[London]]", "From 1939–1945 he led the ''Times''.", "A short item.",
     "He wrote ''On Rivers'' in Russia and lived in London 1990.", "Anna, ''die Frau'', lebte in Berlin 1990."],
)  # fmt: skip
def test_other_items_have_another(item):
    assert not is_reference(item)


def test_a_list_of_references_is_left_out_whatever_its_heading():
    listed = "\n".join(f"* {item}" for item in REFERENCES)
    page = f"Text one.\n== Leben ==\nText two.\n== Anything ==\n{listed}\n[[Category:X]]"
    found = prose("T", page, SITE, "en")
    assert found.text == "Text one.\nText two."
    assert found.counts["appendices"] == 1
    mixed = f"== Any ==\n* This item is a sentence, and it says what happened then.\n* {REFERENCES[0]}"
    assert "This item" in prose("T", mixed, SITE, "en").text
    one = f"Text.\n== Any ==\n* {REFERENCES[0]}\n== Life ==\nMore text."
    assert "Doe" in prose("T", one, SITE, "en").text
    assert "Doe" not in prose("T", one.replace("Life", "See also").replace("More text", "* [[X]]"), SITE, "en").text


@pytest.mark.parametrize(
    "unit",
    [
        "-{",
        "-{zh-cn:",
        "-{a",
        "}-",
        "-{{",
        ";zh-cn:a",
        "=>",
        "\n== A ==\n* x\n__a__",
        "\n* {{",
        "\n* ''a 1999 ",
        "<rt>",
    ],
)
def test_time_is_linear_in_these_too(unit):
    began = time.process_time()
    prose("T", "-{zh-cn:山" + unit * 30_000 + "\n== B ==\n* " + unit * 10_000, SITE, "zh")
    assert time.process_time() - began < 6
