"""Words of wikitext that a dump does not list: aliases of namespaces, redirects, templates and headings of large wikis.

Little is lost where a language is missing here: the dump names the namespaces and marks the redirects, every wiki knows
the English words, and files are also known by their suffix. Add the words of further wikis here.
"""


def words(table: str) -> tuple[str, ...]:
    """Return the entries of a table, which ` / ` separates: names may contain spaces and slashes."""
    return tuple(" ".join(entry.split()) for entry in table.replace("/\n", "/ ").split("/ "))


TAGS = """
    abbr / b / bdi / bdo / big / blockquote / br / caption / center / cite / code / col / colgroup / data / dd /
    del / dfn / div / dl / dt / em / font / h1 / h2 / h3 / h4 / h5 / h6 / hr / i / ins / kbd / li / link / mark /
    meta / ol / p / pre / q / rb / rbc / rp / rt / rtc / ruby / s / samp / small / span / strike / strong / sub /
    sup / table / tbody / td / tfoot / th / thead / time / tr / tt / u / ul / var / wbr / a / img / nobr /
    noinclude / includeonly / onlyinclude / nowiki / ref / references / gallery / poem / math / chem / ce /
    score / hiero / syntaxhighlight / source / timeline / graph / chart / section / indicator / inputbox /
    imagemap / mapframe / maplink / categorytree / charinsert / templatestyles / templatedata / translate /
    languages / tvar / phonos
"""
"""Elements of HTML and of MediaWiki: anything else between `<` and `>` is text."""

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
    転送 / リダイレクト / 重定向 / 重新導向 / 넘겨주기 / अनुप्रेषित / पुनर्प्रेषित / redirecteaza / átirányítás /
    ohjaus / uudelleenohjaus / redirecció / alih / đổi / ڕەوانەکردن / مخ گرځونه
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
    references / reference / notes / footnotes / sources / citations / bibliography / further reading /
    external links / external link / see also / works cited / general references / literature / endnotes /
    publications cited / selected bibliography / gallery / references and notes / notes and references /
    notes and citations / مراجع / المراجع / مصادر / المصادر / هوامش / الهوامش / ملاحظات / الملاحظات / حواشي / حواش /
    وصلات خارجية / روابط خارجية / انظر أيضا / انظر أيضًا / انظر أيضاً / اقرأ أيضا / اقرأ أيضًا / طالع أيضا /
    طالع أيضًا / إقرأ أيضا / قراءات أخرى / معرض صور / المصادر والمراجع / المراجع والمصادر / مراجع ومصادر /
    ببليوغرافيا / للمزيد / حوالہ جات / حوالے / مزید دیکھیے / مزید دیکھیں / بیرونی روابط / بیرونی ربط / کتابیات /
    حواشی / مآخذ / مزید پڑھیے / ہور دیکھو / باہرلے جوڑ / حوالہ جات و حواشی / منابع / پانویس / جستارهای وابسته /
    پیوند به بیرون / یادداشت‌ها / پانوشت / پی‌نوشت / کتاب‌شناسی / برای مطالعهٔ بیشتر / برای مطالعه بیشتر /
    پیوندهای بیرونی / منبع / نگارخانه / فهرست منابع / ارجاعات / مطالعه بیشتر / یادداشت / سەرچاوەکان / سەرچاوە /
    پەراوێزەکان / بەستەری دەرەکی / بەستەرە دەرەکییەکان / ھەروەھا ببینە / تێبینییەکان / پەراوێز / ئەمانەش ببینە /
    تێبینی / بابەتە پەیوەندیدارەکان / گەلەری / سەرچاوە و پەراوێز / източници / бележки / външни препратки /
    вижте също / литература / библиография / вижте още / бележки и източници / използвана литература /
    допълнителна литература / цитирана литература / цитирани източници / външни връзки / за допълнително четене /
    препоръчителна литература / галерия / препратки / примечания / ссылки / см. также / источники / комментарии /
    сноски / список литературы / внешние ссылки / дополнительная литература / смотрите также / смотри также /
    рекомендуемая литература / научная литература / избранная библиография / использованная литература / примітки /
    посилання / див. також / джерела / література / виноски / зноски / додаткова література / зовнішні посилання /
    бібліографія / дивіться також / коментарі / джерела та література / заўвагі / крыніцы / спасылкі / літаратура /
    гл. таксама / зноскі / глядзіце таксама / бібліяграфія / вонкавыя спасылкі / референце / спољашње везе /
    види још / извори / напомене / белешке / фусноте / библиографија / галерија / додатна литература / спољне везе /
    повезано / vidi još / izvori / literatura / spoljašnje veze / vanjske poveznice / napomene / bilješke /
    vanjski linkovi / povezano / poveznice / bibliografija / fusnote / veze / dodatna literatura / spoljne veze /
    također pogledajte / također pogledati / vidjeti također / galerija / наводи / поврзано / надворешни врски /
    белешки / поврзани теми / користена литература / sklici / viri / opombe / zunanje povezave / glej tudi /
    opombe in sklici / nadaljnje branje / einzelnachweise / literatur / weblinks / siehe auch / quellen / belege /
    fußnoten / anmerkungen / einzelbelege / nachweise / weiterführende literatur / literatur (auswahl) /
    literaturverzeichnis / quellenangaben / literatur und quellen / externe links / notes et références / références /
    voir aussi / liens externes / bibliographie / articles connexes / lien externe / annexes / référence /
    pour approfondir / source / bibliographie sélective / liens internes / referencias / véase también /
    enlaces externos / bibliografía / notas / fuentes / notas y referencias / referencia / véase además /
    bibliografía adicional / enlaces / lecturas adicionales / otras lecturas / enlace externo / obras citadas /
    referências / ver também / ligações externas / bibliografia / fontes / ligação externa / leitura adicional /
    notas e referências / leituras adicionais / leitura complementar / bibliografia complementar / veja também /
    galeria / note / voci correlate / collegamenti esterni / altri progetti / riferimenti / fonti / approfondimenti /
    annotazioni / bibliografie / zie ook / externe link / bronnen / noten / literatuur / referenties / voetnoten /
    bron / bronnen, noten en/of referenties / bronvermelding / verder lezen / noten en referenties / przypisy /
    zobacz też / linki zewnętrzne / uwagi / źródła / literatura przedmiotu / wybrana bibliografia / linki /
    literatura dodatkowa / externí odkazy / související články / poznámky / odkazy / zdroje / použitá literatura /
    galerie / související články a odkazy / externí odkaz / citace / další literatura / prameny /
    podívejte se také na / referencie / literatúra / externé odkazy / pozri aj / iné projekty /
    referencie a bibliografia / poznámky a referencie / pozri tiež / ďalšia literatúra / súvisiace články / zdroj /
    galéria / kaynakça / ayrıca bakınız / dış bağlantılar / notlar / kaynaklar / dipnotlar / konuyla ilgili yayınlar /
    bibliyografya / galeri / bakınız / okuma listesi / daha fazla okuma / ek okuma / dış bağlantı / istinadlar /
    xarici keçidlər / həmçinin bax / mənbə / mənbələr / ədəbiyyat / qeydlər / i̇stinadlar / manbalar / havolalar /
    yana qarang / adabiyotlar / izohlar / adabiyot / manba / eslatmalar / дереккөздер / сілтемелер / тағы қараңыз /
    әдебиет / пайдаланылған әдебиет / сыртқы сілтемелер / ескертпелер / колдонулган адабияттар / шилтемелер /
    булактар / адабияттар / искәрмәләр / әдәбият / сылтамалар / чыганаклар / эзоҳ / пайвандҳо / адабиёт / сарчашма /
    нигаред низ / сарчашмаҳо / тэмдэглэл / эх сурвалж / гадаад холбоос / ишлэл / viitteet / lähteet /
    aiheesta muualla / katso myös / kirjallisuutta / huomautukset / viite / kirjallisuus / lähde / lisätietoja /
    lähteitä / muualla verkossa / viitteet ja lähteet / galleria / referenser / externa länkar / se även / källor /
    litteratur / noter / fotnoter / vidare läsning / källförteckning / anmärkningar / tryckta källor / webbkällor /
    källa / extern länk / övriga källor / se också / bibliografi / länkar / galleri / referanser / eksterne lenker /
    se også / kilder / videre lesning / ekstern lenke / lenker / kjelder / bakgrunnsstoff / sjå òg / referansar /
    notar / kjelde / eksterne henvisninger / referencer / kilde / ekstern henvisning / fodnoter /
    kilder og eksterne henvisninger / eksterne kilder og henvisninger / eksterne links / yderligere læsning /
    henvisninger / tilvísanir / heimildir / tengt efni / tenglar / neðanmálsgreinar / sjá einnig / ítarefni /
    források / jegyzetek / további információk / irodalom / kapcsolódó szócikkek / lásd még / hivatkozások /
    felhasznált irodalom / külső hivatkozások / további irodalom / megjegyzések / ajánlott irodalom / bibliográfia /
    kapcsolódó lapok / forrás / legături externe / vezi și / surse / referințe / lectură suplimentară /
    literatură suplimentară / vezi şi / note de subsol / referinţe / legătură externă / note și referințe /
    legături interne / bibliografie suplimentară / referències / vegeu també / enllaços externs / fonts /
    notes i referències / enllaç extern / bibliografia complementària / referència / bibliografia addicional /
    per a més informació / lectures addicionals / erreferentziak / kanpo estekak / ikus, gainera / oharrak /
    oharrak eta erreferentziak / véxase tamén / outros artigos / ligazóns externas / outras ligazóns /
    notas e referencias / referencies / enllaces esternos / ver tamién / referéncias / ligams extèrnes /
    vejatz tanben / referencoj / eksteraj ligiloj / vidu ankaŭ / notoj / fontoj / bibliografio /
    notoj kaj referencoj / literaturo / šaltiniai / nuorodos / taip pat skaitykite / literatūra / išnašos /
    taip pat žiūrėkite / pastabos / atsauces / ārējās saites / skatīt arī / piezīmes / viited / välislingid /
    vaata ka / kirjandus / märkused / allikad / välislink / atsauces un piezīmes / burime / lidhje të jashtme /
    shih edhe / referime / referimet / lidhjet e jashtme / shiko edhe / shënime / tagairtí / naisc sheachtracha /
    féach freisin / foinsí / cyfeiriadau / dolenni allanol / gweler hefyd / llyfryddiaeth / ffynonellau / verwysings /
    eksterne skakels / sien ook / bronne / παραπομπές / πηγές / εξωτερικοί σύνδεσμοι / δείτε επίσης / βιβλιογραφία /
    σημειώσεις / υποσημειώσεις / βλέπε επίσης / παραπομπές σημειώσεις / δείτε ακόμη / δείτε ακόμα / πηγή /
    περαιτέρω ανάγνωση / αναφορές / περισσότερη ανάγνωση / εξωτερικές συνδέσεις / επιπλέον βιβλιογραφία /
    προτεινόμενη βιβλιογραφία / πηγές - παραπομπές / εξωτερικός σύνδεσμος / παραπομπές και σημειώσεις / הערות שוליים /
    קישורים חיצוניים / ראו גם / לקריאה נוספת / ביאורים / מקורות / הערות / ביבליוגרפיה / קישור חיצוני / ראה גם /
    ביאורים והערות שוליים / לעיון נוסף / גלריה / מקורות והערות / רשימת מקורות / դרבי-שורה / סעם / רעפערענצן /
    דרויסנדיקע לינקען / זעט אויך / ծանոթագրություններ / արտաքին հղումներ / տես նաև / գրականություն / աղբյուրներ /
    նշումներ / մատենագրություն / հղումներ / տե՛ս նաև / տե'ս նաև / օգտագործված գրականություն / պատկերասրահ / տես նաեւ /
    ծանօթագրութիւններ / արտաքին յղումներ / სქოლიო / ლიტერატურა / რესურსები ინტერნეტში / იხილეთ აგრეთვე / შენიშვნები /
    წყაროები / გარე ბმულები / იხილე აგრეთვე / ბიბლიოგრაფია / დამატებითი ლიტერატურა / იხ. აგრეთვე / კომენტარები /
    გამოყენებული ლიტერატურა / წყარო / გალერეა / ბმულები / სქოლიო და შენიშვნები / იხილეთ ასევე / ინტერნეტ-რესურსები /
    ინტერნეტ რესურსები / सन्दर्भ / संदर्भ / बाहरी कड़ियाँ / इन्हें भी देखें / यह भी देखें / टिप्पणियाँ /
    सन्दर्भ सूची / संदर्भ सूची / टिप्पणी / सन्दर्भ ग्रन्थ / सन्दर्भ ग्रंथ / संदर्भ ग्रंथ / आगे पढ़ें / ग्रन्थसूची /
    ग्रंथसूची / बाहरी कड़ी / बाहरी सूत्र / स्रोत / टीका / पादटिप्पणी / पाद टिप्पणी / पठनीय / अग्रिम पठन /
    ये भी देखें / इन्हें भी देखे / इसे भी देखें / टीका-टिप्पणी / टिप्पणी सूची / बाहरी लिंक / चित्र दीर्घा /
    बाह्य दुवे / हे सुद्धा पहा / हेही पहा / संदर्भ आणि नोंदी / संदर्भ यादी / सन्दर्भहरू / सन्दर्भ सामग्री /
    बाह्य लिङ्कहरू / यो पनि हेर्नुहोस् / बाहिरी लिङ्कहरू / बाह्य कडीहरू / टिप्पणीहरू / बाह्यसम्पर्कतन्तुः /
    सम्बद्धाः लेखाः / उद्धरणम् / তথ্যসূত্র / বহিঃসংযোগ / আরও দেখুন / গ্রন্থপঞ্জি / টীকা / আরো দেখুন / পাদটীকা / উৎস /
    আরও পড়ুন / আরো পড়ুন / উদ্ধৃতি / বহি:সংযোগ / বহিঃ সংযোগ / গ্রন্থপঞ্জী / তথ্য সূত্র / সূত্র / পাদটীকাসমূহ /
    তথ্যউৎস / গ্যালারি / চিত্রশালা / টীকা ও তথ্যসূত্র / সূত্র নিৰ্দেশ / তথ্য সংগ্ৰহ / তথ্যসূত্ৰ / লগতে চাওক /
    বাহ্যিক সংযোগ / বহিঃসংযোগসমূহ / ਹਵਾਲੇ / ਬਾਹਰੀ ਲਿੰਕ / ਬਾਹਰਲੇ ਲਿੰਕ / ਇਹ ਵੀ ਦੇਖੋ / ਇਹ ਵੀ ਵੇਖੋ / ਨੋਟ / ਬਾਹਰੀ ਕੜੀਆਂ /
    ਹੋਰ ਦੇਖੋ / સંદર્ભ / બાહ્ય કડીઓ / આ પણ જુઓ / સંદર્ભો / નોંધ / વધુ વાંચન / ଆଧାର / ବାହାର ଲିଙ୍କ / ଅଧିକ ତଥ୍ୟ /
    ବାହାର ଆଧାର / மேற்கோள்கள் / வெளி இணைப்புகள் / இவற்றையும் பார்க்கவும் / குறிப்புகள் / உசாத்துணை / வெளியிணைப்புகள் /
    மேற்கோள் / சான்றுகள் / உசாத்துணைகள் / ஆதாரங்கள் / இவற்றையும் பார்க்க / அடிக்குறிப்புகள் / மேலும் படிக்க /
    நூற்பட்டியல் / மேலும் பார்க்க / మూలాలు / బయటి లింకులు / ఇవి కూడా చూడండి / బయటి లంకెలు / వనరులు / గమనికలు /
    మూలాలు, వనరులు / ఇవీ చూడండి / ಉಲ್ಲೇಖಗಳು / ಬಾಹ್ಯ ಕೊಂಡಿಗಳು / ಇವನ್ನೂ ನೋಡಿ / ಆಧಾರಗಳು / ಟಿಪ್ಪಣಿಗಳು / ಹೊರಗಿನ ಕೊಂಡಿಗಳು /
    അവലംബം / പുറം കണ്ണികൾ / പുറത്തേക്കുള്ള കണ്ണികൾ / ഇതും കാണുക / കുറിപ്പുകൾ / അവലംബങ്ങൾ / ഗ്രന്ഥസൂചി / ഇവകൂടി കാണുക /
    ആധാരസൂചിക / ആശ്രയം / කියවීම් / මූලාශ්‍ර / මූලාශ්ර / බාහිර සබැඳි / සටහන් / මේවාත් බලන්න / ආශ්‍රිත / යොමුව /
    อ้างอิง / แหล่งข้อมูลอื่น / ดูเพิ่ม / เชิงอรรถ / หมายเหตุ / บรรณานุกรม / แหล่งอ้างอิง / รายการอ้างอิง /
    หนังสืออ่านเพิ่มเติม / อ่านเพิ่ม / อ่านเพิ่มเติม / ลิงก์ภายนอก / แหล่งข้อมูล / ดูเพิ่มเติม / เชิงอรรถและอ้างอิง /
    ข้อมูลเพิ่มเติม / หนังสืออ้างอิง / ระเบียงภาพ / ອ້າງອີງ / ແຫຼ່ງຂໍ້ມູນອື່ນ / ເບິ່ງຕື່ມ / ឯកសារយោង / មើលផងដែរ /
    តំណភ្ជាប់ខាងក្រៅ / ឯកសារពិគ្រោះ / កំណត់សម្គាល់ / យោង / ကိုးကား / ပြင်ပလင့်ခ်များ / ကိုးကားချက်များ /
    ပြင်ပလင့်များ / မှတ်စု / ဆက်စပ်ကြည့်ရှုရန် / ရည်ညွှန်း / མཆན་འགྲེལ / ཟུར་ལྟའི་དཔེ་ཐོ / tham khảo /
    liên kết ngoài / xem thêm / chú thích / ghi chú / nguồn / thư mục / đọc thêm / tài liệu tham khảo /
    nguồn tham khảo / chú giải / sách tham khảo / liên kết / nguồn dẫn / thư viện ảnh / thư mục tham khảo /
    dẫn nguồn / nguồn trích dẫn / hình ảnh / referensi / pranala luar / lihat pula / lihat juga / catatan /
    catatan kaki / daftar pustaka / rujukan / pustaka / bacaan lanjutan / bacaan lebih lanjut / sumber /
    bacaan tambahan / pautan luar / nota / nota kaki / bacaan lanjut / kepustakaan / rujukan dan pautan / pranala /
    deleng uga / cathetan / sanggahan / tingali ogé / cutatan / tumbu kaluar / rujukan umum / mga sanggunian /
    mga kawing panlabas / tingnan din / sanggunian / talababaan / mga talababa / mga panlabas na link / marejeo /
    viungo vya nje / tazama pia / tanbihi / manazarta / àwọn ìtọ́kasí / 脚注 / 注釈 / 出典 / 関連項目 / 外部リンク /
    参考文献 / 注 / 注記 / 関連文献 / 参照 / 関連書籍 / 関連人物 / 参考書籍 / 参考資料 / 脚註 / 註釈 / 文献 /
    関連図書 / 引用文献 / 主要参考文献 / 典拠 / 関連記事 / 参考 / 参考図書 / 出典・脚注 / 出典・参考文献 /
    備考・出典 / 文献情報 / 伝記資料 / 註 / 参考资料 / 外部链接 / 参见 / 注释 / 註釋 / 參考文獻 / 外部連結 /
    相关条目 / 相關條目 / 參見 / 參考資料 / 参考来源 / 參考來源 / 腳註 / 腳注 / 延伸阅读 / 延伸閱讀 / 扩展阅读 /
    擴展閱讀 / 参考书目 / 參考書目 / 注解 / 註解 / 备注 / 備註 / 来源 / 來源 / 资料来源 / 資料來源 / 外部連接 /
    外部链結 / 另见 / 另見 / 参看 / 參看 / 注脚 / 註腳 / 參考 / 引用 / 出处 / 出處 / 参考与注释 / 参考资料与注释 /
    相關連結 / 相关链接 / 关联条目 / 關聯條目 / 参阅 / 參閱 / 文獻 / 進階閱讀 / 圖集 / 图集 / 圖片集 / 睇埋 / 參考書 /
    出面網頁 / 書目 / 书目 / 參考資料與註釋 / 각주 / 외부 링크 / 같이 보기 / 참고 문헌 / 참고문헌 / 출처 / 주석 /
    참고 자료 / 참고자료 / 같이보기 / 외부링크 / 내용주 / 참조주 / 함께 보기 / 관련 문헌 / 바깥 고리 / 바깥고리 /
    더 읽어보기 / 더 읽을거리 / 관련 항목 / 각주 및 참고 문헌 / 참고 / 참조 / 주해 / 인용 / 인용주 / 설명주 /
    각주와 참고 문헌 / 갤러리 / 더 보기 / 미주 / 관련 서적 / 추가 자료 / links externos / referências bibliográficas /
    källhänvisningar / और पढ़ें / קישורים / note bibliografice / szakirodalom / источник / ዋቢ ምንጮች / ምንጮች / ማጣቀሻ /
    ማጣቀሻዎች / የውጭ መያያዣዎች / çavkanî / girêdanên derve / binêre / her wiha binêre / têbinî / têbînî / سرچينې /
    سرچینې / باندنۍ تړنې / دا هم وګورئ / پايدىلانمىلار / مەنبەلەر / سىرتقى ئۇلانمىلار / иҫкәрмәләр / әҙәбиәт /
    һылтанмалар / шулай уҡ ҡарағыҙ / сығанаҡтар / notennoù ha daveennoù / notennoù / liammoù diavaez / daveoù /
    gwelet ivez / levrlennadur
"""
"""Headings of sections without prose."""

CITATIONS = """
    нет аи / флаг / прапор / прапорець / vlajka / zászló / bandera / bandiera / drapeau / icône / დროშა / դրոշ /
    پرچم / cờ / ध्वजचिह्न / 국기그림 / флаг россии / citation needed / fact / cn / who / when / where / which / whom /
    by whom / clarify / clarification needed / dubious / verify source / vague / or / original research? / pov /
    peacock / weasel inline / update inline / dead link / failed verification / better source / page needed /
    specify / rp / r / ref / refn / efn / notetag / note / ref label / cref / anchor / anchors / clear / - /
    disambiguation needed / dn / full / fix / weasel-inline / by whom? / verification needed / unreferenced section /
    hatnote / main / see also / toc / reflist / notelist / portal / wbr / year needed / date missing / what /
    flagicon / flagdeco / notefoot / noteta / 0 / efn-ua / efn-lr / flag icon / رمز علم / أيقونة علم / флагче / icon /
    increase / decrease / steady / quantify / contradict-inline / synthesis-inline / lopsided / nbh / shy / zwnj /
    zwj / zwsp / refnest / main article / authority control / citeref / better source needed / nonspecific /
    according to whom / why / how / attribution needed / full citation needed / مصدر / بحاجة لمصدر / بحاجة إلى مصدر /
    وصلة مكسورة / من؟ / متى؟ / أين؟ / توضيح مطلوب / مصادر / مراجع / رئيسية / مفصلة / شريط بوابات / استشهاد / هامش /
    مرجع / حقيقة / من / متى / أين / ملاحظة / بوابة / مقالة مفصلة / وضح / غير دقيق / حقیقت / حوالہ درکار / حوالہ /
    مدرک / نیازمند منبع / چه کسی / کدام / کی / یاد / پانویس / پیوند مرده / ابهام / روشن‌سازی / رف / سخن / چه کسی؟ /
    کجا؟ / درگاه / اصلی / سەرچاوە / سەرچاوەی دەوێ / پێویستی بە سەرچاوەیە / источник / бел / цитат / няма източник /
    что / когда / где / какой / какие / чей / нет ссылки / нет источника / источник? / почему / как / уточнить /
    проверить / не аи / неавторитетный источник / значимость факта / мнение / книга / статья / публикация /
    битая ссылка / недоступная ссылка / нет в источнике / прояснить / стиль / так в тексте / примечания / вс / вм /
    переход / основная статья / cite / прим / ref-en / ref-ru / ref-de / ref-fr / якорь / сноска / сн / откуда /
    сколько / куда / джерело / факт / нд / немає джерела / хто / коли / де / який / яка / які / примітки /
    не вказано джерело / ким / уточнити / значущість факту / чињеница / извор / тражи извор / ко / када / чинјеница /
    činjenica / izvor / потребен извор / fali izvor / nedostaje izvor / navesti izvor / navedi vir / brez vira /
    quelle / belege fehlen / belege / anker / fn / fnz / hauptartikel / siehe auch / sortkey / wer / wann / wo /
    referenz / quand / note de bas de page / source à préciser / où / lequel / comment ? / qui / préciser /
    sources secondaires / ancre / clr / précision / article détaillé / cita requerida / quién / cuándo / dónde /
    cuál / demostrar / enlace roto / ap / véase también / clarificar / ancla / sin referencias / añadir referencias /
    carece de fontes / quem / onde / quando / qual / por quem / ligação inativa / artigo principal /
    carece de fonte melhor / âncora / senza fonte / chi / dove / quanto / collegamento interrotto / chiarire /
    vedi anche / non chiaro / sf / bron? / wie / wanneer / waar / feit / bron / zie ook / fakt / kto / kiedy / gdzie /
    odn / jaki / potrzebne źródło / dopracować / kotwica / osobny artykuł / martwy link / zdroj? / kdo? / kdy? /
    kde? / fakt/dne / doplňte zdroj / nedostupný zdroj / hlavní článek / bez citácie / chýba citácia / kto? / kedy? /
    hlavný článok / forr / refhely / forrás? / forráskérés / ki? / mikor? / hol? / fő / halott link /
    necesită citare / fapt / fără sursă / cine / când / unde / clarificare / articol principal / lähde / lähde? /
    kuka / kuka? / milloin / milloin? / missä / selvennä / pääartikkeli / tarkennettava / källa behövs / faktamall /
    vem / när / var / vilka / ifrågasatt uppgift / förtydliga / källa / huvudartikel / dödlänk / trenger referanse /
    tr / hvem / når / hvor / hvilke / kilde mangler / manglende kilde / hovedartikkel / død lenke / kilde /
    hovedartikel / hvem? / kildeløs / citation mangler / cal citació / quan / on / cita necessària / falta citació /
    article principal / ancora / erreferentzia behar / zein / noiz / cómpre referencia / quen / referencia /
    cita necesaria / mankas fonto / fonto? / kiu / faktas / reikia šaltinio / šaltinis / atsauce / fakts / viide? /
    lisa viide / allikas? / burim / kaynak belirt / kim / ne zaman / nerede / hangi / kime göre / açıklama gerekli /
    kaynak / ölü bağlantı / ana madde / mənbə göstər / kim? / nə vaxt? / fakt az / manba kerak / дерек керек /
    дереккөз керек / εκκρεμεί παραπομπή / πηγή / παραπομπή / ποιος / πότε / πού / ασαφές / κύριο / κύριο άρθρο /
    αποσαφήνιση / ποιοι / νεκρός σύνδεσμος / χρειάζεται παραπομπή / τεκμηρίωση / σημ / הערה / מקור / דרוש מקור /
    מקור? / הבהרה / מי / מתי / היכן / הערות שוליים / ערך מורחב / אנ / בעבודה / לא מדויק / דרושה הבהרה /
    הפניה לערך מורחב / מפנה / קישור שבור / הערות / עוגן / ביאור / փաստ / աղբյուր / աղբյուր? / ով / երբ / որտեղ /
    ծանցանկ / հիմնական / հիմնական հոդված / չկա աղբյուր / պարզաբանել / წყარო? / წყარო / ფაქტი / ვინ / ვინ? / როდის /
    როდის? / სად / მთავარი / სქოლიო / დაზუსტება / მითითება / რომელი / उद्धरण आवश्यक / संदर्भ आवश्यक / सन्दर्भ आवश्यक /
    तथ्य / कौन / कब / कहाँ / किसके अनुसार / स्पष्ट करें / मुख्य / टिप्पणीसूची / संदर्भ हवा / दुजोरा हवा /
    उद्धरण वांछित / मृत कड़ी / प्रमाण चाहिए / উদ্ধৃতি প্রয়োজন / তথ্যসূত্র প্রয়োজন / উৎস প্রয়োজন / কে / কখন /
    কোথায় / স্পষ্টকরণ / মূল নিবন্ধ / মূল / তথ্যছক / টীকা / সত্যতা / ব্যাখ্যা প্রয়োজন / অকার্যকর সংযোগ / কার মতে /
    সূত্র / ਹਵਾਲਾ ਲੋੜੀਂਦਾ / સંદર્ભ જરૂરી / சான்று தேவை / ஆதாரம் தேவை / யார் / எப்போது / మూలాలు కావాలి / ఆధారం చూపాలి /
    ಉಲ್ಲೇಖದ ಅಗತ್ಯವಿದೆ / അവലംബം ആവശ്യമാണ് / മൂලාශ්‍ර අවශ්‍යයි / ต้องการอ้างอิง / ต้องการแหล่งอ้างอิง / อ้างอิง / ใคร /
    เมื่อไร / เมื่อไหร่ / ที่ไหน / ไหน / ต้องการคำอธิบาย / บทความหลัก / รายการอ้างอิง / โดยใคร / ไม่ชัดเจน /
    ต้องการหน้า / ต้องการเลขหน้า / ลิงก์เสีย / ต้องการการอ้างอิง / ខ្វះប្រភព / ត្រូវការអំណះអំណាង / cần chú thích /
    cần dẫn nguồn / cần nguồn / khi nào / ở đâu / cần giải thích / không rõ / liên kết hỏng / theo ai / cần số trang /
    làm rõ / tham khảo / cần nguồn tốt hơn / mơ hồ / butuh rujukan / rujukan? / siapa / kapan / di mana / yang mana /
    menurut siapa / perlu rujukan / pranala mati / utama / klarifikasi / perlu klarifikasi / butuh klarifikasi /
    fakta / petikan diperlukan / siapakah / bila / rujukan diperlukan / 要出典 / 誰 / 誰2 / いつ / どこ / どれ /
    要検証 / 要説明 / 要ページ番号 / 信頼性要検証 / 脚注ヘルプ / リンク切れ / 要高次出典 / 出典無効 /
    要文献特定詳細情報 / 要曖昧さ回避 / なぜ / 要検証範囲の始まり / 要追加記述 / 独自研究? / 要非一次資料 / 注釈 /
    誰? / どの / 要出典明記 / main2 / see / 全角 / 更新 / 複数の問題 / 言葉を濁さない / 来源请求 / 來源請求 /
    需要解释 / 需要解釋 / 谁 / 誰人 / 何时 / 何時 / 何地 / 哪个 / 哪個 / 可疑 / 查证请求 / 查證請求 / 需要页码 /
    需要頁碼 / 失效链接 / 失效連結 / 模糊 / 原创研究 / 需要更好来源 / 来源请求2 / 事实 / 何人 / 需要消歧义 /
    需要第三方来源 / 據誰 / 据谁 / 錨點 / 锚点 / 主条目 / 主條目 / 參考 / 參看 / 查证来源 / 語義模糊 / 语义模糊 /
    按照誰 / 何者 / 多少 / 邊個 / 幾時 / 출처 필요 / 출처필요 / 누가 / 언제 / 어디 / 어느 / 누구 / 확실하지 않음 /
    인용 필요 / 각주 / 웹 인용 / 서적 인용 / 뉴스 인용 / 저널 인용 / 죽은 링크 / 모호 / 설명 필요 / 본문 / 주해 /
    출처 / 내용주 / 불확실 / 사실 / 더 나은 출처 필요 / 쪽 번호 필요 / 링크 깨짐 / 주석 / 깨진 링크 / 명확화
"""
"""Templates in a sentence that add nothing to its text; so do those whose names begin with `CITATION_PREFIXES`."""

CITATION_PREFIXES = (
    *("cite ", "citation", "sfn", "refimprove", "استشهاد", "ouvrage", "citar ", "cytuj", "citeer", "citace "),
    *("citácia ", "cita web", "cita libro", "cita publicación", "cita noticia", "cita news", "cita pubblicazione"),
    *("internetquelle", "literatur", "lien web", "lien brisé", "verkkoviite", "kirjaviite", "lehtiviite", "webbref"),
    *("bokref", "tidningsref", "kilde www", "kilde bok", "kilde artikkel", "ref-web", "ref-llibre", "ref-publicació"),
    *(
        "web kaynağı",
        "kitap kaynağı",
        "haber kaynağı",
        "dergi kaynağı",
        "akademik dergi kaynağı",
        "chú thích ",
        "یادکرد",
    ),
    *("citlib", "citweb", "citper", "citim ", "ওয়েব উদ্ধৃতি", "বই উদ্ধৃতি", "সংবাদ উদ্ধৃতি", "সাময়িকী উদ্ধৃতি", "צ-", "हवाला "),
    *("อ้างอิงเว็บ", "อ้างอิงหนังสือ", "อ้างอิงข่าว", "อ้างอิงวารสาร", "cytat web", "navedi "),
)
"""Beginnings of the names of templates for citations, which are never prose."""

HARVARD = "harv"
"""Beginning of the names of those that a sentence shows in brackets, or that stand in a bracket: (Weil 1949)."""

ICON_PREFIXES = (
    "flagicon",
    "флаг ",
    "прапор ",
    "bayraksimge",
    "icono bandera",
    "国旗アイコン",
    "국기그림",
    "flaggbild",
    "флагче",
)
"""Beginnings of the names of templates that show a picture alone."""

SILENT_FUNCTIONS = """
    defaultsort / defaultsortkey / defaultcategorysort / displaytitle / sortierung / seitentitel /
    titolovisualizzato / ordenar / clave de ordenación / cledetri / clefdetri / titre affiché /
    сортировка по умолчанию / сортировка / стандартне сортування / сортування / ترتيب افتراضي / عنوان العرض /
    عنوان عرض / ترتیب پیش‌فرض / ترتیب‌پیش‌فرض / מיון רגיל / כותרת תצוגה / デフォルトソート / 默認排序 / 默认排序 /
    預設排序 / 기본정렬 / варсайылған сұрыптау / standardsortering / visningstittel / sortering / aakkosta /
    öntanımlısıralama / önaltsıralama / sıralamaanahtarı / sắp xếp mặc định / xếpmặcđịnh / ordenamento /
    ordenapadrão / ordenação / domyślniesortuj / sortuj / výchozířazení / rendezés / standaardsortering / toontitel
"""
"""Functions, by their words in several languages, that set how a page is sorted or titled, and show nothing."""

SHOWN = """
    прапорифікація / прапор з назвою / nowrap / nobr / nowraplinks / small / smaller / big / larger / large / abbr /
    tooltip / sic / strong / em / bold / italic / math / mvar / var / mono / code / tt / kbd / samp / key /
    unicode / polytonic / angbr / angle bracket / script / rtl-lang / rtl / ltr / flag / flagcountry / flagu /
    country / zh / sub / smallcaps / smallcaps all / underline / overline / noitalic / nobold / vanchor / not a typo /
    as written / sc / lc / uc / ucfirst / lcfirst / proper name / typo / nastaliq / aut / nom / trad /
    comment / strikethrough / ruby / visible anchor / s / u / avoid wrap / nw / mathbb / serif / resize / bigger /
    center / centre / ind / indice / abbrlink / abbreviation / flaglink / flag+link / bidi / mp / مائل / صغير / كبير /
    غامق / خط عريض / علم / بلد / اختصار / اسم عربي / نص عربي / خط مائل / قرآن / آية / نستعلیق / درشت / پررنگ / کوچک /
    بزرگ / پرچم‌کشور / متن عربی / دیگر نام / خط نستعلیق / جھنڈا / знаме / флагификация / местосмерти / месторождения /
    мр / мс / мро / мсо / нобр / число прописью / подсказка / коммент / небр / država / vlajka a název / zászló2 /
    bandera2 / pays / bayrak / ülke / esd / özel ad / משמאל לימין / כתב קטן / ציטוטון / դրոշավորում / դրոշ+երկիր /
    დროშიფიკაცია / ध्वज / देश / ध्वज देश / পতাকা / দেশ / পতাকা দেশ / นามแฝง / ตัวหนา / ตัวเอน / 読み仮名 /
    読み仮名 ruby不使用 / ルビ / ふりがな / jis2004フォント / jis90フォント / jis2004フォント2 / 補助漢字フォント /
    cp932フォント / 拡張漢字 / 縦書き / 旧字体 / 下線 / 太字 / 補助漢字 / unicodeフォント / 機種依存文字 / 異体字 /
    フォント / 傍点 / 圏点 / 拼音 / 僻字 / 華 / 注音 / 日本漢字 / 擴充漢字 / 粗體 / 繁体字 / 生僻字 / 罕用字 / 국기 /
    나라 / 한자 / 루비 / 작은 글씨 / 굵게 / 국기나라
"""
"""Templates that show their first argument: they format it, explain it, or give it a flag."""

ROUND_TEXT = """
    unverified inline / 誰2範囲 / citation needed span / citation needed/span / référence nécessaire / refnec /
    citation nécessaire / citation manquante / réf. nécessaire / qui ? / pas clair / quand ? /
    citazione necessaria / 要出典範囲 / 独自研究範囲 / 要検証範囲 / 誰範囲 / кто / кто? / нет аи 2 /
    не аи 2 / нет источника 2 / 来源请求范围 / 來源請求範圍 / 출처 필요 범위 /
    cita requerida span / citación requerida
"""
"""Notes that may have text as their first argument, which they show."""

ACCENT = "ударение / наголос / у"
"""Templates that put an accent on the letter before them."""

RECORDINGS = "audio / audio2"
"""Pronunciations that are heard: the second argument is what a reader clicks on, mostly the word."""

GLOSSES = """
    pron-en / audio-ipa / listen / نطق / 発音 / 发音 / 發音 / 발음 / prononciation / wymowa /
    výslovnost / uttal / udtale / uttale / ääntäminen / kiejtés / pronunția
"""
"""Pronunciations of which the text is not known: only a bracket around one needs it."""

PLACES = """
    coord / coordinate / coordinates / إحداثيات / координаты / координати / coordenadas / coord dec / koord /
    koordinaten / coördinaten / współrzędne / souřadnice / koordinat / koordinatlar / koordinaatit / koordináta /
    coordonate / συντεταγμένες / נקודות ציון / נ"צ / კოორდინატები / կոորդինատներ / مختصات / متناسقات / निर्देशांक /
    স্থানাঙ্ক / พิกัด / tọa độ / 座標 / ウィキ座標 / 坐标 / 좌표
"""
"""Coordinates of a place."""

LANGUAGE = """
    lang / langx / langue / lg / wikt-lang / font color / color / لغة / لغ / لون / language text / llang / dil / jezik /
    језик / cizojazyčně / cudzojazyčne / vjazyce2 / språk / sprog / мова-текст / lezh / цвет / colour / couleur /
    farbe / fontcolor
"""
"""Templates that show their second argument; the first is its language or colour."""

LINK = """
    ill / ill-wd / illm / interlanguage link / interlanguage link multi / ill2 / link-interwiki / iwl / 仮リンク /
    임시링크 / 임시 링크 / lien / liên kết ngôn ngữ khác / وصلة إنترويكي / وإو / وصلة انترويكي / پیوند میان‌ویکی /
    پیوند میان‌ویکی ۲ / enlace interlingüístico / enlace ajeno / interwiki / dilbağlantı / interwiki bağı /
    ลิงก์ข้ามภาษา / बहुभाषी कड़ी / আন্তঃভাষা সংযোগ
"""
"""Links to an article that another wiki has: the text is their first argument, or the second after a language."""

LINK_TEXT_SECOND = """
    нп / нп1 / нп2 / нп3 / нп4 / нп5 / не переведено / не переведено 1 / не переведено 2 / не переведено 3 /
    не переведено 4 / не переведено 5 / iw / не перекладено / нп+ / չթարգմանված / չթարգմանված 3 / չթարգմանված 5 / չթ /
    არ არის თარგმნილი / არ ითარგმნა / превод / непреведено / непреведено 5
"""
"""Such links whose text, if it differs from the article's title, is their second argument."""

LINK_TEXT_THIRD = "le / link-en / llink / 内部链接助手 / 內部連結助手"
"""Such links whose text, if it differs from the article's title, is their third argument."""

LINK_PREFIXES = ("link-", "internal link helper/", "內部連結助手/", "内部链接助手/")
"""Beginnings of the names of such links, after which the language follows."""

LINK_BY_LANGUAGE = "tsl / translink / קישור שפה / sec link / 綠連 / 绿链"
"""Such links with the language first, the other wiki's title second, and the text third."""

LINK_TEXTS = """
    lt / label / text / texte / текст / 표시 / display / نص / عر / fr / treść / tekst / متن / 表示 / טקסט
"""
"""Parameters of such links that have their text."""

QUOTE = """
    quote / cquote / blockquote / quotation / rquote / bq / bquote / centered pull quote / اقتباس / قول /
    اقتباس مضمن / اقتباس خاص / اقتباس2 / نقل قول / اقتباس قول / цитат / цитата / citation bloc / zitat / cita /
    başlangıç alıntısı / اقتباس نص / alıntı / alıntı2 / citat / sitat / lainaus / idézet / citaat / cytat / citát /
    citação / citazione / cita2 / citació / aipua / цитата2 / απόσπασμα / παράθεση / ציטוט / մեջբերում / ციტატა /
    उक्ति / উক্তি / คำพูด / กล่องคำพูด / lời trích / petikan / kutipan / 인용문 / 인용문2 / 인용구 / 引用 / 引述 /
    引文 / 引言 / 語録 / навод / cytat2 / цитата1 / نقل‌قول / گفتاورد / نقل قول ۲
"""
"""Templates of quotations."""

QUOTE_TEXTS = """
    text / quote / content / نص / اقتباس / текст / תוכן / texto / testo / tekst / quotation / متن / szöveg / κείμενο /
    উক্তি / ข้อความ / 内容
"""
"""Parameters of quotations that have their text."""

CONVERT = """
    convert / cvt / تحويل / конвертиране / преобразуване / تبدیل / unidade / umrechnen / dönüştür / çevir / omreken /
    konverter / konversi / tukar / konvertálás / converteix / converti / конвертор / μετατροπή / המרה / המר /
    փոխարկել / კონვერტაცია / रूपांतर / রূপান্তর / แปลงหน่วย / chuyển đổi / đổi / 변환 / 変換 / 换算 / 換算
"""
"""Templates that show a measure in several units."""

FRACTION = """
    frac / fraction / sfrac / كسر / дробь / дріб / 分数 / 分數 / kesir / frazione / bruch / fracción / ułamek / 분수 /
    zlomek / fração / tört
"""
"""Templates that show a fraction."""

VALUE = "val / value / unité / unite / unidad / unitats / fmtn / 数値 / 숫자값 / значение"
"""Templates that show a number with its uncertainty, its power of ten and its unit."""

FORMATNUM = """
    formatnum / صيغة رقم / عدد منسق / число / форматиране на число / nombre / num / nb / عدد / број / formatnombre /
    fnum / numero / número / zahl / formatierezahl / ფორმატირება
"""
"""The parser function that groups the digits of a number, and templates that do the same."""
