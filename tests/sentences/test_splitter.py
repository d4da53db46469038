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
    ("fr", "Le village se trouve à 416 m.| Santa Ana est plus haut, à 5 km."),
    ("en", "It rose at 8 a.m. Monday, and weighs about 500 g.| Thought to be rare, it flew 500 m. A. Smith saw it."),
    # Ordinals
    ("tr", "Kitap bitti.| 20. Yüzyıl başladı.| II. Mahmut 10. Yıl şenliğine geldi."),
    ("hr", "Rođen je 5. svibnja 1950. godine.| Prof. Babić umro je u 19. stoljeću."),
    # Ends that ICU misses
    ("pt", "O jogo acabou.|Todos foram para casa.| Choveu no Rio.|O time venceu, disse Rita."),
    ("en", "Node.Js runs on www.example.Com and in Amazon.Com."),
    ("fr", "Il aime les livres.| 26 volumes sont sortis, au prix de 3 francs."),
    ("ru", "Сборник вышел.| 3 мая его запретили.| 5-я армия ушла."),
    ("pt", '"Vamos."|"Nunca mais", disse.| -- Hoje vou, disse ele, -- Amanhã não.'),
    ("es", '"Todo está bien" dijo.|"Nada", respondió.'),
    # Closing quotation marks and brackets in the midst
    ("en", "He lives (in a house in the U.S.) Tuesdays."),
    ("zh", "“门开着。”他说道。|“有人吗？”没人回答。"),
    ("zh", "老人问：“你找谁？”孩子不说话。|古人云：“水滴石穿。”可见恒心重要。"),
    ("zh", "他写道：“门开着。”|第二天下雨了。"),
    ("ja", "母は「早く。」と言った。|「もう行く。」|父は（静かに。）うなずいた。"),
    ("ko", '그는 "간다."라고 말했다.| 비가 왔다.'),
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
