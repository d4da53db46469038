import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskline.sentences.splitter import split_sentences

CASES = [
    ("ar", "هل نجح؟| نعم!| قال: «ذهب».| ثم ٣.٥٪ زيادة؛ وهكذا، انتهى…"),
    ("ar", "حكم من 30 ق.م. – 12 ق.م. وقيل بعد ذلك.".replace("ق.م. وقيل", "ق.م.| وقيل")),
    ("ar", "قال د. محمد ذلك.| ج. ر. ر. تولكين كاتب."),
    ("ar", "كان ذلك عام 1945 م.| تتألف المخطوطات من قسمين."),
    ("ar", "مات عام 320ق.م.| وكان ملكًا عام 311ق. م. فيما يقال.".replace(" فيما", "| فيما")),
    ("ar", "هذا «قول. »| ثم ذهب .| قال: لا !| نعم ؟"),
    ("ar", "هذه جملة.|وهذه أخرى بلا مسافة."),
    ("en", "The U.S. Army is in the U.S.| The navy is not."),
    ("en", "Read J. R. R. Tolkien, e.g. in St. Louis, c. 1950.| He agreed."),
    ("en", "It is 3.5 km from Dr. Smith (b. 1950).| It has vitamin C.| It helps."),
    ("en", 'She said "Go."| Then they went.| (They came back.)| Why?'),
    ("en", 'Yahoo! was founded in 1994.| "Who?" asked the owl.'),
    ("en", "Really?… Yes.| Wait… and more.\n| 1. An item"),
    ("en", "A heading\n|A paragraph"),
    ("en", "Smiles 😀😀 count.| So do others 😀."),
    ("bg", "Роден през 1948 г. в гр. Русе, на ул. „Шипка“ № 3.| Той е проф. Иванов."),
    ("bg", "Умира през 1993 г.| През 2000 г. излиза книга, филми и т.н.| Българската е добра."),
    ("bg", "През 7 г. пр.н.е. Рим расте.| Населението е 3,5 млн. души."),
    ("de", "Er kam am 3. Oktober und z. B. im 19. Jahrhundert.| Danach ging er."),
    ("es", "Nació en 44 a. C. en Roma.| El año siguiente murió."),
    ("es", "¿Vive en EE. UU. todavía?| ¡No!"),
    ("fr", "Né en 44 av. J.-C. à Rome, il meurt en 30 apr. J.-C.| L'année suivante, M. Dupont part."),
    ("fr", "Il dit : « Je pars. » Elle rit.| « Non ! » crie-t-il.".replace("» Elle", "»| Elle")),
    ("fr", "Apple Inc. Est grand, dit p. ex. M. Jobs Jr. Hier.".replace("Inc. Est", "Inc. est")),
    ("de", "»Ja.« |»Nein.« |Sie ging."),
    ("fr", "Mort en 30 apr. J.-C.| L\u2019année suivante, tout change."),
    ("hi", "यह एक है।| वह दो है।"),
    ("zh", "他说：“好。”|然后走了。|“真的吗？！”|对。"),
    ("ja", "彼は言った。|「はい。」|そして去った。"),
    ("en", "It ends.|[1] It goes on."),
    ("en", "A lobster of 0 @.@ 7 kg or 1 @.@ 5 <unk> .| <unk> like 1 @,@ 000 J. <unk> at St. <unk> .| It ends ."),
    ("en", 'He said , " It is good .| It is big . "| The end .| " No ! " he <unk> .| " Yes ? "| <unk> did .'),
    ("en", 'It was , " he said .\n| " Never . "| It was ( as <unk> wrote . )| It ends [ ... ]| The " end " .'),
    ("xx", "No rules: Capt.| Smith and J. R. Jones."),
    ("xx", "No rules: Prof. Dr. Smith, Ltd. Jones and Mrs. Green.| TX. Brown."),
    ("en-GB", "Mr. Smith is in."),
    ("en", "Yes.| One.| Two."),
    # Scripts without case: what Python calls lower case tells nothing.
    ("ka", "მატარებელი გვიან ჩამოვიდა.| პროფ. ლომიძე სადგურში იდგა.| წვიმდა."),
    ("ka", "იყიდა პური, რძე და სხვ.| სახლში წავიდა (პური, რძე და სხვ.) მალე."),
    ("he", "הרכבת איחרה.| ירד גשם."),
    # Titles, streets and the like before a name
    ("id", "Prof. Ir. H. Slamet tinggal di Jl. Merdeka.| Ia lahir di Solo."),
    ("pt", "O Sr. Costa mora na Av. Central.| A Profa. Lima nasceu em 44 a. C. em Roma."),
    ("ru", "Музей им. Чехова открыл проф. Орлов.| Он стоит на ул. Садовой, д. 3.| См. рис. 2."),
    ("uk", "Проф. Коваль жив на вул. Лесі Українки.| Див. рис. 3."),
    ("vi", "GS. Lê Văn Tám sống ở TP. Huế.| Ông dạy học."),
    ("tr", "Doç. Dr. Elif Kaya konuştu.| Bkz. Şekil 2."),
    ("it", "L'ing. Conti e il dott. Neri abitano qui.| Vedi pag. 12."),
    ("pl", "Prof. dr hab. Nowak mieszka przy ul. Długiej.| W 1970 r. ukończył studia."),
    ("el", "Ο κ. Παππάς ζει στην οδ. Ερμού.| Πού πήγε;| Δεν ξέρω."),
    ("hi", "प्रो. वर्मा जि. सतारा में रहते हैं।| दूरी ५ कि.मी. है।| सन् ई.पू. २०० की बात है।"),
    ("hi", "वह गया.| वह घर पर है.| बारिश हुई."),
    ("mr", "डॉ. पाटील आले.| ते प्रा. होते."),
    ("gu", "તે ઘરે છે.| તે ગયો."),
    ("cs", "Přišla smrt.| Prof. Malý odešel.| Čti str. 5."),
    # Units and years behind a number
    ("ru", "Дом построили ещё в 1890 г.| Семья Беловых в нём жила.| В 1890 г. Белов умер."),
    ("ru", "Он жил в г. Твери с 1890 г. и до войны."),
    ("pl", "Ma 5 km.| Obok płynie rzeka."),
    ("en", "It is 5×10²⁴ kg.| Light runs.| It has 3,000 ft."),
    ("fr", "Le village se trouve à 416 m.| Santa Ana est plus haut, à 5 km."),
    ("en", "It rose at 8 a.m. Monday, and weighs about 500 g.| Thought to be rare, it flew 500 m. A. Smith saw it."),
    ("nl", "Hij leefde in deze stad rond 300 v. C en stierf."),
    ("ar", "هذا نطاق اسمه fr.| هو امتداد فرنسا."),
    # Ordinals
    ("tr", "Kitap bitti.| 20. Yüzyıl başladı.| II. Mahmut 10. Yıl şenliğine geldi."),
    ("hr", "Rođen je 5. svibnja 1950. godine.| Prof. Babić umro je u 19. stoljeću."),
    # Ends that ICU misses
    ("pt", "O jogo acabou.|Todos foram para casa.| Choveu no Rio.|O time venceu, disse Rita."),
    ("en", "Node.Js runs on www.example.Com and in Amazon.Com."),
    ("fr", "Il aime les livres.| 26 volumes sont sortis, au prix de 3 francs."),
    ("ru", "Сборник вышел.| 3 мая его запретили.| 5-я армия ушла."),
    ("pt", '"Vamos."|"Nunca mais", disse.| -- Hoje vou, disse ele, -- Amanhã não.'),
    ("ru", "Я приду. — сказал он.| — Когда ты уйдёшь?"),
    ("es", '"Todo está bien" dijo.|"Nada", respondió.'),
    # Closing quotation marks and brackets in the midst
    ("en", "He lives (in a house in the U.S.) Tuesdays."),
    ("zh", "“门开着。”他说道。|“有人吗？”没人回答。"),
    ("zh", "老人问：“你找谁？”孩子低下了头。|古人云：“水滴石穿。”可见恒心重要。"),
    ("zh", "他写道：“门开着。”|第二天下雨了。"),
    ("ja", "母は「早く。」と言った。|「もう行く。」|父は（静かに。）うなずいた。"),
    ("ko", '그는 "간다."라고 말했다.| 비가 왔다.'),
    # A paragraph of each of many languages
    ("de", "Er kam u. a. nach Berlin.| Siehe S. 12 und Nr. 5.| Das war 1990 n. Chr. und kalt."),
    ("de", "Das war im Jahr 300 n. Chr. Rom wurde reich."),
    ("de", "Die Otto GmbH & Co. KG sitzt in der Hauptstr. 5 in Ulm."),
    ("nl", "Dhr. Jansen en mevr. De Wit wonen in de Kerkstr. 5.| Op 3 mei was er feest."),
    ("pl", "Mieszka w woj. Mazowieckim, pow. Płońsk.| Zob. Tab. 2.| Ks. Jan Twardowski był poetą."),
    ("cs", "Sv. Václav byl kníže.| Viz tab. 3.| Ul. Dlouhá je krátká."),
    ("it", "S. Pietro è a Roma.| Il sig. Rossi vive qui.| Nacque nel 44 a.C. e morì a Roma."),
    ("es", "D. Quijote y Dña. Inés viven en la Avda. Central.| Véase pág. 5."),
    ("az", "19. Əsrdə yaşadı.| Akad. Əliyev gəldi."),
    ("vi", "ThS. Lê Hoa ở P. 3, Q. Tân Bình.| PGS.TS. Trần Nam đến."),
    ("hi", "स्व. इंदिरा गांधी प्रधानमंत्री थीं।| पं. नेहरू आए।| वह एम. ए. पास है।| दूरी १० कि. मी. है।"),
    ("hi", '"तुम कौन हो?" उसने पूछा।| वह चला गया।'),
    ("bn", "ড. আম্বেদকর এলেন।| মো. রহিম গেলেন।| দূরত্ব ৫ কি.মি. হবে।"),
    ("ta", "திரு. குமரன் சென்றார்.| கி.பி. 300 இல் நடந்தது."),
    ("te", "డా. రావు వచ్చారు.| క్రీ.శ. 300 లో జరిగింది."),
    ("ml", "ഡോ. നായർ വന്നു.| ക്രി.വ. 300-ൽ നടന്നു."),
    ("mr", "इ.स. १९५० मध्ये जन्म झाला.| श्री. जोशी आले."),
    ("gu", "ઈ.સ. ૧૯૫૦ માં થયું.| શ્રી. શાહ ગયા."),
    ("ne", "श्री. शर्मा काठमाडौंमा बस्छन्।| वि.सं. २०५० मा जन्मे।"),
    ("he", 'הוא גר ברח\' הרצל 5.| "בוא." אמר דוד.| ירד גשם.'),
    ("fa", "ا. ت. احمدی آمد.| او گفت.| «بیا.» و رفت."),
    ("ur", "وہ آیا۔| پروفیسر ا۔ خان گئے۔"),
    ("ko", '"가자." 그가 말했다.| 거리는 3.5 km이다.'),
    ("ka", "„წადი.“ თქვა მან.| წვიმდა."),
    ("th", "ดร. สมชาย มา พ.ศ. 2500 แล้ว"),
    ("tr", "Av. Mehmet Kaya geldi.| 1. Dünya Savaşı başladı.| Öğr. Gör. Can geldi."),
    ("id", "Bpk. Ahmad dan Ny. Siti tinggal di Kab. Bandung.| KH. Ahmad Dahlan lahir 1868.| Lihat hlm. 12."),
    ("zh", "J.K.罗琳是作家。|他问道：“在哪里？”便走了。|“好！”众人齐声喊道。"),
    ("ja", "Mr.スミスは「はい。」と答えた。|J.K.ローリングは作家だ。|「え？」と彼女。"),
    ("tr", "Bahçede bir ev var.| 19. Yüzyıl burada bitti."),
    ("it", "Il dott. Rossi abita in via G. Verdi n. 5.| L'ing. Bianchi, nato nel 1950 ca., è morto.| Vedi pag. 12."),
    ("nl", "Prof. dr. J. de Vries woont in St. Anna.| Hij is geb. in 1950.| Zie blz. 3."),
    (
        "pl",
        "Prof. dr hab. Jan Kowalski ur. w 1950 r. w Krakowie.| W 1970 r. ukończył studia.| Mieszka przy ul. Długiej.",
    ),
    ("pl", "W XIX w. Polska była podzielona.| Bitwa odbyła się 3. maja."),
    ("cs", "Prof. Ing. Jan Novák se narodil 5. května 1950.| Žil v 19. století.| Viz obr. 3."),
    ("uk", "Проф. І. Франко народився у с. Нагуєвичі.| У 1918 р. завод закрили.| Див. рис. 3."),
    ("sv", "Dr. Svensson bor i St. Eriks gata.| Han är t.ex. född 1950.| Se s. 5."),
    ("fi", "Prof. Virtanen syntyi 5. toukokuuta 1950.| Hän asui Helsingissä 1900-luvulla, ks. s. 5."),
    ("hu", "Dr. Kovács 1950. május 5-én született.| A IV. Béla király a XIII. században élt.| Lásd a 3. oldalt."),
    ("ro", "Dl. Popescu locuiește pe str. Mihai Eminescu nr. 5.| Prof. dr. Ion este aici."),
    ("he", "ד\"ר כהן גר ברח' הרצל.| הוא נולד בשנת 1950.| פרופ' לוי בא."),
    ("fa", "دکتر احمدی آمد.| او در سال ۱۹۵۰ م. به دنیا آمد."),
    ("ur", "ڈاکٹر اقبال آئے۔| وہ ۱۸۷۷ء میں پیدا ہوئے۔"),
    ("bn", "ড. মুহাম্মদ ইউনূস জন্মগ্রহণ করেন।| তিনি প্রো. ছিলেন।"),
    ("ta", "திரு. குமார் வந்தார்.| அவர் சென்றார்."),
    ("mr", "डॉ. आंबेडकर यांचा जन्म झाला.| ते प्रा. होते."),
    ("ne", "डा. शर्मा आए।| उनी कि.मि. हिँडे।"),
    ("gu", "ડૉ. પટેલ આવ્યા.| તે અહીં છે.| તે ગયો."),
    ("th", "เขามา พ.ศ. 2500 แล้วไป"),
    ("ko", '김 교수가 왔다.| 그는 "간다."라고 말했다.| 끝.'),
    ("km", "គាត់មក។| គាត់ទៅ។"),
    ("my", "သူလာတယ်။| သူသွားတယ်။"),
    ("am", "ዶ/ር አበበ መጣ።| እሱ ሄደ።"),
    ("hy", "Նա եկավ։| Պրոֆ. Աբեղյանը գնաց։"),
    ("el", "Ο κ. Παπαδόπουλος ζει στην οδ. Ερμού.| Ο καθ. Νικολάου ήρθε.| Βλ. σελ. 5."),
    ("sr", "Проф. др Јован Цвијић рођен је 11. октобра 1865. у Лозници.| Умро је 1927. године."),
    ("sr", "Prof. Petrović živi u ul. Nemanjinoj.| Rođen je 1950. godine."),
    ("hr", "Dr. Horvat rođen je 5. svibnja 1950.| Živi u Zagrebu."),
    ("kk", "Проф. Ахметов келді.| Ол 1950 ж. туған."),
    ("az", "Prof. Əliyev gəldi.| 19. əsr bitdi."),
    ("eo", "D-ro Zamenhof naskiĝis en 1859.| Prof. Smith venis."),
    ("eu", "Prof. Agirre etorri zen.| 19. mendean bizi izan zen."),
    ("cy", "Daeth Dr. Jones adref.| Aeth Mr. Evans i'r cwm. Yna daeth yn ôl."),
    ("sw", "Dkt. Nyerere alizaliwa 1922.| Prof. Ali alikuja."),
    ("tl", "Si Gng. Santos ay dumating.| Si Dr. Jose Rizal ay bayani."),
    ("ms", "Prof. Dr. Ahmad tinggal di Jln. Ampang.| Beliau lahir pada 1950."),
    ("id", "Nama Jl. Sudirman terkenal.| Dr. H. Abdul lahir di Kec. Bogor.| Ia pergi."),
    ("vi", "PGS. TS. Trần Văn B sinh năm 1950.| Ông sống ở TP. HCM.| Xem tr. 5."),
    ("tr", "Doç. Dr. Ayşe Kaya geldi.| II. Abdülhamid tahta çıktı.| M.Ö. 300 yılında yaşadı."),
    ("tr", "Sn. Başkan konuştu.| Cad. No. 5 kapalı.| 20. Yüzyıl başladı."),
    ("hi", "श्री. शर्मा आए।| उनका जन्म ई.पू. ३०० में हुआ।| कु. सीता आई।"),
    ("ja", "「静か！」と叫んだ。|「はい。」|彼は答えた。"),
    ("ja", "「もう帰る。」と言って、彼は去った。|外は雨だ。"),
    ("zh", "他问：“你是谁？”没人回答。|“我来了。”小明说。|他走了。"),
    ("zh", "“快跑！”他喊道，“来不及了。”|大家都跑了。"),
    ("zh", "（他走了。）|她来了。"),
    ("zh", "李白（701年生。）是诗人。"),
    (
        "ru",
        "А. С. Пушкин родился в 1799 г. в Москве.| Его отец — С. Л. Пушкин.| Это 5 кв. км.| Город стоит на р. Волге.",
    ),
    ("ru", "В 2010 г. Иванов уехал."),
    ("ru", "Он жил в XIX в. и умер.| В сер. 1950-х гг. Петров вернулся."),
    ("ru", "«Я приду.» — сказал он.| «Куда?» — спросила она."),
    ("pt", "O Sr. Silva mora na R. Augusta n. 5.| A Profa. Maria nasceu em 44 a. C. em Roma."),
    ("fr", "M. Dupont et Mme. Durand vivent au bd. St. Michel.| Cf. p. 12."),
    ("es", "El Dr. Pérez vive en la Av. Libertad.| La Sra. Gómez, etc. Fin."),
    ("ka", "პროფ. ბერიძე დაიბადა ქ. თბილისში.| ის ცხოვრობდა 1950 წ. მაისამდე."),
    ("da", "Hr. Jensen bor i Skt. Peders Stræde.| Han er født d. 5. maj.| Se s. 5."),
    ("ca", "El Sr. Puig viu a l'Av. Diagonal núm. 5.| La Dra. Soler va néixer el 1950."),
    ("sl", "Dr. Novak se je rodil 5. maja 1950.| V 19. stoletju je umrl."),
    ("lv", "Prof. Bērziņš dzimis 1950. gada 5. maijā.| Viņš mira."),
    ("et", "Prof. Tamm sündis 5. mail 1950.| Ta suri 19. sajandil."),
    ("is", "Dr. Jónsson fæddist 5. maí 1950.| Hann dó."),
]


@pytest.mark.parametrize(("language", "marked"), CASES)
def test_sentences_end_where_a_reader_ends_them(language, marked):
    assert split_sentences(marked.replace("|", ""), language) == [part.strip() for part in marked.split("|")]


@pytest.mark.parametrize("text", ["", " \n \n", "\u2028"])
def test_whitespace_has_no_sentences(text):
    assert split_sentences(text, "en") == []


PIECES = st.sampled_from(
    [*'.!?؟…،؛。।"«»()[]“” \n\t\r\u2028', " ", "Dr", "J", "U.S.", "the", "The", "ق.م", "٣.٥", "1", "😀", "<unk>", "@.@"]
)


@settings(deadline=None, max_examples=300)
@given(
    st.lists(PIECES | st.text(st.characters(exclude_categories=["Cs"]), max_size=4)),
    st.sampled_from(["ar", "en", "de"]),
)
def test_joined_sentences_are_the_text_but_for_whitespace(pieces, language):
    text = "".join(pieces)
    sentences = split_sentences(text, language)
    assert "".join("".join(sentences).split()) == "".join(text.split())
    assert all(sentence == sentence.strip() != "" for sentence in sentences)
    assert not any("\n" in sentence for sentence in sentences)
