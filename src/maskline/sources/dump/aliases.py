"""Words of wikitext that a dump does not list: aliases of namespaces, redirects, templates and headings of large wikis.

Little is lost where a language is missing here: the dump names the namespaces and marks the redirects, every wiki knows
the English words, and files are also known by their suffix. Add the words of further wikis here.
"""


def words(table: str) -> tuple[str, ...]:
    """Return the entries of a table, which ` / ` separates: names may contain spaces and slashes."""
    return tuple(" ".join(entry.split()) for entry in table.replace("/\n", "/ ").split("/ "))


FILE = """
    file / image / media / ملف / صورة / وسائط / ميديا / پرونده / تصویر / فائل / وسیط / файл / картинка / изображение /
    медия / датотека / слика / зображення / выява / datei / bild / fichier / archivo / imagen / ficheiro / imagem /
    immagine / bestand / afbeelding / fil / plik / grafika / soubor / obrázek / dosya / resim / αρχείο / εικόνα /
    קובץ / תמונה / ファイル / 画像 / 文件 / 图像 / 檔案 / 圖像 / 파일 / 그림 / चित्र / ছবি / fișier / imagine / fájl /
    kép / tiedosto / kuva / fitxer / imatge / dosiero / fitxategi / berkas / gambar / tập tin / hình / وێنە / دوتنه /
    انځور / عڪس
"""
"""Namespaces of files."""

CATEGORY = """
    category / تصنيف / رده / زمرہ / категория / категорија / категорія / катэгорыя / kategorie / catégorie /
    categoría / categoria / categorie / kategori / kategoria / kategória / kategorija / kategorio / luokka /
    κατηγορία / קטגוריה / カテゴリ / 分类 / 分類 / 분류 / श्रेणी / বিষয়শ্রেণী / thể loại / پۆل / وېشنيزه / زمرو
"""
"""The namespace of categories."""

REDIRECT = """
    redirect / تحويل / تغییر مسیر / تغییرمسیر / رجوع مکرر / چوريو / виж / пренасочване / перенаправление / перенапр /
    перенаправлення / преусмери / weiterleitung / redirection / redirección / redireccionamento / rinvia / rinvio /
    doorverwijzing / omdirigering / patrz / przekieruj / presmeruj / yönlendirme / yönlendir / ανακατευθυνση / הפניה /
    転送 / リダイレクト / 重定向 / 넘겨주기 / अनुप्रेषित / पुनर्प्रेषित / redirecteaza / átirányítás / ohjaus /
    uudelleenohjaus / redirecció / alih / đổi / ڕەوانەکردن / مخ گرځونه
"""
"""The word after the `#` at the beginning of a redirect."""

DISAMBIGUATION = """
    disambiguation / disambig / dab / disamb / dis / hndis / geodis / human name disambiguation /
    place name disambiguation / mil-unit-dis / numberdis / letter-number combination disambiguation /
    school disambiguation / hospital disambiguation / airport disambiguation / road disambiguation / callsigndis /
    توضيح / صفحة توضيح / توضیح / ابهام‌زدایی / ابهام زدایی / ضد ابہام / ضدابہام / سلجھاؤ / سلجهائپ / пояснение /
    пояснителна страница / неоднозначность / многозначность / багатозначність / вишезначна одредница / појаснување /
    begriffsklärung / homonymie / desambiguación / desambiguação / disambigua / desambiguació / doorverwijspagina /
    dp / förgrening / gren / flertydig / peker / pekerside / täsmennyssivu / ujednoznacznienie / rozcestník /
    rozlišovacia stránka / anlam ayrımı / αποσαφήνιση / פירושונים / 曖昧さ回避 / aimai / 消歧义 / 消歧義 / 동음이의 /
    동음이의어 문서 / बहुविकल्पी / বহুবিকল্প / định hướng / trang định hướng / dezambiguizare / egyért / apartigilo /
    argipen / ڕوونکردنەوە / څرګندونه
"""
"""Templates of disambiguation pages, and the words in brackets after their titles."""

APPENDICES = """
    references / notes / notes and references / references and notes / footnotes / sources / citations /
    bibliography / further reading / external links / see also / works cited / general references / literature /
    notes and citations / مراجع / المراجع / مصادر / المصادر / المصادر والمراجع / المراجع والمصادر / مراجع ومصادر /
    هوامش / الهوامش / ملاحظات / حواشي / وصلات خارجية / روابط خارجية / انظر أيضا / انظر أيضًا / انظر أيضاً /
    اقرأ أيضا / اقرأ أيضًا / طالع أيضا / طالع أيضًا / إقرأ أيضا / قراءات أخرى / معرض صور / حوالہ جات / حوالے /
    مزید دیکھیے / مزید دیکھیں / بیرونی روابط / بیرونی ربط / منابع / پانویس / جستارهای وابسته / پیوند به بیرون /
    یادداشت‌ها / източници / бележки / външни препратки / вижте също / литература / библиография / вижте още /
    бележки и източници / примечания / ссылки / см. также / источники / примітки / посилання / див. також / джерела /
    література / einzelnachweise / literatur / weblinks / siehe auch / quellen / belege / fußnoten / anmerkungen /
    notes et références / références / voir aussi / liens externes / bibliographie / articles connexes /
    lien externe / referencias / véase también / enlaces externos / bibliografía / notas / fuentes /
    notas y referencias / referências / ver também / ligações externas / bibliografia / note / voci correlate /
    collegamenti esterni / bronnen, noten en/of referenties / zie ook / externe links / przypisy / zobacz też /
    linki zewnętrzne / kaynakça / ayrıca bakınız / dış bağlantılar / 脚注 / 出典 / 関連項目 / 外部リンク / 参考文献 /
    参考资料 / 外部链接 / 参见
"""
"""Headings of sections without prose."""

CITATIONS = """
    citation needed / fact / cn / who / when / where / which / whom / by whom / clarify / clarification needed /
    dubious / verify source / vague / or / original research? / pov / peacock / weasel inline / update inline /
    dead link / failed verification / better source / page needed / specify / rp / r / ref / refn / efn / notetag /
    note / ref label / cref / anchor / clear / - / disambiguation needed / dn / full / fix / weasel-inline /
    by whom? / verification needed / unreferenced section / hatnote / main / see also / coord / toc / reflist /
    portal / visible anchor / wbr / citation needed span / year needed / date missing / what / flagicon / flagdeco /
    flag icon / رمز علم / أيقونة علم / флагче / icon / increase / decrease / steady / quantify / contradict-inline /
    synthesis-inline / lopsided / nbh / shy / zwnj / zwj / مصدر / بحاجة لمصدر / بحاجة إلى مصدر / وصلة مكسورة / من؟ /
    متى؟ / أين؟ / توضيح مطلوب / إحداثيات / مصادر / مراجع / رئيسية / مفصلة / شريط بوابات / استشهاد / هامش / مرجع /
    حقیقت / حوالہ درکار / مدرک / источник / бел / цитат / няма източник / нет аи / что / кто? / quand / qui ? /
    pas clair / référence nécessaire / refnec / réf. nécessaire / belege fehlen / cita requerida / carece de fontes
"""
"""Templates in a sentence that add nothing to its text; so do those whose names begin with `CITATION_PREFIXES`."""

CITATION_PREFIXES = ("cite ", "citation", "sfn", "harv", "refimprove", "استشهاد", "ouvrage", "citar", "цитат", "cytuj")

SHOWN = """
    nowrap / nobr / nowraplinks / small / smaller / big / larger / large / abbr / tooltip / sic / strong / em / bold /
    italic / ipa / math / mvar / var / mono / code / tt / kbd / samp / key / unicode / polytonic / angbr /
    angle bracket / script / rtl-lang / rtl / ltr / flag / flagcountry / flagu / country / ill / illm /
    interlanguage link / interlanguage link multi / zh / sup / sub / smallcaps / smallcaps all /
    sc / lc / uc / ucfirst / lcfirst / overline / underline / noitalic / nobold / vanchor / not a typo / as written /
    proper name / typo / bibleverse / nastaliq / aut / nom / trad / comment / strikethrough / ruby / visible anchor /
    citation needed span / مائل / صغير / كبير / غامق / خط عريض / علم / بلد / اختصار / وصلة إنترويكي / اسم عربي /
    نستعلیق / знаме / флаг / нп
"""
"""Templates that show their first argument: they format it, explain it, or link it."""

LANGUAGE = """
    lang / transl / transliteration / langue / lg / wikt-lang / font color / color / لغة / لغ / لون / language text
"""
"""Templates that show their second argument; the first is its language or colour."""

QUOTE = """
    quote / cquote / blockquote / quotation / rquote / bq / bquote / centered pull quote / اقتباس / قول /
    اقتباس مضمن / اقتباس خاص / اقتباس2 / نقل قول / اقتباس قول / цитат / цитата / citation bloc / zitat / cita /
    اقتباس نص
"""
"""Templates of quotations."""

CONVERT = """
    convert / cvt / تحويل / конвертиране / преобразуване / تبدیل / unité / unidade / umrechnen
"""
"""Templates that show a measure in several units."""

FORMATNUM = """
    formatnum / صيغة رقم / عدد منسق / число / форматиране на число / nombre / num / nb / عدد
"""
"""The parser function that groups the digits of a number, and templates that do the same."""
