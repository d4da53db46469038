"""Words that show whether a full stop ends a sentence, by language. In others the shape of a word tells alone."""

# ruff: noqa: RUF001  # Cyrillic and Greek look like Latin
from typing import NamedTuple


class Rules(NamedTuple):
    """The words of one language, as they are spelled."""

    abbreviations: frozenset[str] = frozenset()
    """Words after which a full stop marks an abbreviation; initials such as "J." and "U.S." need no entry."""
    openers: frozenset[str] = frozenset()
    """Words that begin so many sentences that they begin one after an abbreviation too."""
    ends: frozenset[str] = frozenset()
    """Words that look like abbreviations but end a sentence: eras in Arabic, which has no capitals, and "etc."."""
    speech: frozenset[str] = frozenset()
    """Words for "said", of languages without capitals: behind a quotation they tell that the sentence goes on."""
    ordinals: bool = False
    """Whether a full stop after a number makes it an ordinal."""
    syllabic: bool = False
    """Whether l and r can be the vowel of a word, as in Czech."""
    danda: bool = False
    """Whether sentences end with a danda, or with none as in Thai, so that a full stop abbreviates a short word."""


TITLES = frozenset(
    f"{title}."
    for title in "prof dr mr mrs ms st ing dipl akad mevr dhr проф доц акад инж պրոֆ դր திரு டாக்டர் శ్రీ ശ്രീ".split()  # noqa: SIM905
)
"""Titles before a name, in all languages; no word behind one begins a sentence."""


def _rules(
    abbreviations: str = "",
    openers: str = "",
    ends: str = "",
    *,
    speech: str = "",
    ordinals: bool = False,
    syllabic: bool = False,
) -> Rules:
    return Rules(
        frozenset(f"{word}." for word in abbreviations.split()),
        frozenset(openers.split()),
        frozenset(f"{word}." for word in ends.split()),
        frozenset(speech.split()),
        ordinals,
        syllabic,
    )


RULES = {
    "ar": _rules(
        openers="""
            وقد وكان وكانت كان كانت وفي في كما أما ثم ولم لم لكن ولكن هذا هذه وهذا وهذه وهو وهي وبعد بعد
            ومن إن لقد ولقد
        """,
        ends="م ق.م",
    ),
    "be": _rules(
        abbreviations="акад праф дац імя вул пл пас обл раён рэд выд тыс млн млрд чал руб гл гг ст стст рус бел",
        openers="У Ў На З Ад Пасля Гэта Ён Яна Яны Але І А Па Як Калі Для Пад",
        ends="т.д т.п інш",
    ),
    "bg": _rules(
        abbreviations="""
            гг вв др проф доц акад инж ген полк кап св ул бул гр кв бр вж напр срв т.нар пр.Хр сл.Хр
            пр.н.е сл.н.е хил млн млрд лв ст стр изд ред прев рус англ фр лат нем бълг ок обл общ вкл
        """,
        openers="""
            В Във На От През След По За С Със При До Из Към Между Под Над Без Около Преди Поради Според
            Той Тя То Те Това Тези Този Тази Негов Неговата Неговият Нейната Когато Като Докато Макар
            Въпреки Освен Обаче Също Така Затова Но А И Не Няма Има Кой Какво Един Една Едно Първият
            Още Днес Тук Само Всички Много Някои Повече Често
        """,
        ends="т.н",
    ),
    "ca": _rules(
        abbreviations="a d Dr Dra Sr Sra Sta St Prof núm pàg pàgs vol cap art fig aprox ed eds Av Ing Il tel",
        openers="El La Els Les L' Un Una En Es És Era Amb Per Al A De Des Durant Després Com Aquest Aquesta Va Hi Però",
    ),
    "cs": _rules(
        abbreviations="""
            Dr Ing Mgr Bc prof Prof doc JUDr MUDr RNDr PhDr sv např tzv tzn tj popř resp obr tab str kap
            roč nám ul gen plk kpt mjr por angl lat něm franc rus řec mil mld tis
        """,
        openers="V Ve Na Po Od Do Za Z Ze S Se K Ke O U Je Byl Byla Bylo To Ten Ta Tento Tato Jeho Její Jako Když",
        ends="atd apod aj",
        ordinals=True,
        syllabic=True,
    ),
    "da": _rules(
        abbreviations="Dr Prof Sct Skt St nr ca bl evt fx f.eks hhv jf kap lat mio mia pga tlf vedr født",
        openers="Den Det De Han Hun I På Fra Til Efter Ved En Et Der Da Som Med Men Og For",
        ends="osv mv mm",
        ordinals=True,
    ),
    "de": _rules(
        abbreviations="""
            Dr Prof Hr Fr St Nr Bd Abb Abs ca bzw vgl geb gest Jh Hrsg ggf inkl sog ehem evtl Mio
            Mrd Chr usw etc Kap lat griech engl frz dt österr Jan Feb Aug Sept Okt Nov Dez Str Tel Std
            geg Mag Dipl Ing Fa Frl Co Nrn Ziff Anm Aufl Tab Verl zit hl
        """,
        openers="""
            Der Die Das Er Sie Es Ein Eine In Im Am An Auf Bei Mit Nach Von Vor Zu Zum Zur Aus Durch Für
            Als Seit Bis Dieser Diese Dieses Dies Sein Seine Ihr Ihre Man Auch So Da Danach Dabei Damit
            Heute Hier Wie Wenn Während Um Unter Über Laut Zwischen Beide Viele Einige Nachdem Obwohl
        """,
        ordinals=True,
    ),
    "el": _rules(
        abbreviations="""
            κ κα κ.κ δρ Δρ καθ αρ Αρ βλ Βλ πρβλ σελ σ τ εκδ αι εκ δισ χλμ τηλ λεωφ οδ Αγ αγ Στρ Γεν π.χ
            δηλ αγγλ γαλλ λατ γερμ ιταλ ελλ
        """,
        openers="""
            Ο Η Το Οι Τα Του Της Των Στο Στη Στην Στον Στις Σε Με Από Για Και Ένα Ένας Μια Αυτό Αυτή
            Μετά Κατά Όμως
        """,
        ends="κ.λπ κ.τ.λ κλπ κτλ κ.ά",
    ),
    "en": _rules(
        abbreviations="""
            Dr Mr Mrs Ms Messrs Prof Rev Hon St Ste Mt Ft Gen Col Lt Capt Cmdr Maj Sgt Gov Sen Rep Pres
            Jr Sr Bros Inc Ltd Co Corp vs ca cf cca ed eds et al etc est fl fig figs no No nos Nos vol
            vols pp ch approx lit trans Jan Feb Mar Apr Aug Sept Oct Nov Dec Ave Blvd Ph.D Ph M.Sc
        """,
        openers="""
            The This That These Those It Its He His She Her They Their We Our You I A An In On At By For
            From With As After Before During Since Until While When Where Although Though However
            Because If Some Many Most Several There Here Two Both Each Other Another All One To Under
            According Despite Among Between Later Today Then Thus Also But And Such Following Not No
        """,
    ),
    "es": _rules(
        abbreviations="""
            a d Dr Dra Sr Sra Srta Sres Ud Uds Prof Sto Sta St Dña Avda EE UU JJ núm nº nro pág págs pp vol vols cap
            art fig figs ca aprox ed eds etc vs lat gr Av Gral Ing Lic Mons Rvdo Excmo Inc Jr Sgt
        """,
        openers="""
            El La Los Las Lo Un Una Unos Unas En Es Era Son Se Su Sus Fue Fueron Con Por Para Al A De
            Del Desde Durante Después Tras Según Entre Como Este Esta Estos Estas Esto Ese Esa Aunque
            También Además Sin Sobre Hasta Cuando Si No Tiene Hay Está Ha Más Muchos Muchas Algunos
            Algunas Otros Otras Ambos Cada Todos Todas Ya Así Actualmente Debido
        """,
    ),
    "fi": _rules(
        abbreviations="prof tri toht maist ins kenr evl kapt puh nro esim mm ent engl lat ruots saks n noin milj mrd",
        openers="Hän Se He Ne Tämä Nämä Vuonna Vuosina Kun Myös Mutta Ja Sen Hänen Lisäksi",
        ends="jne ym yms",
        ordinals=True,
    ),
    "fr": _rules(
        abbreviations="""
            Dr MM Mme Mmes Mlle Me Mgr St Ste av apr ap env cf vol vols pp éd éds dir fig chap coll
            etc vs lat gr hab ex Inc Jr Sgt c.-à-d p.-ê
        """,
        openers="""
            Le La Les L' Un Une Des Du De D' En Au Aux À A Il Elle Ils Elles On C' Ce Cet Cette Ces Son
            Sa Ses Leur Leurs Dans Par Pour Sur Sous Avec Sans Après Avant Depuis Pendant Durant Lors
            Selon Entre Si S' Mais Et Or Comme Plus Plusieurs Certains Certaines Chaque Tous Toutes
            Toutefois Cependant Ainsi Aussi Parmi Bien Quand Lorsque Lorsqu' Puis Deux Malgré Né Née
        """,
    ),
    "hi": _rules(
        abbreviations="डॉ डा प्रो प्रा श्री लि कं जि मि सं पं स्व क्र पृ सु कु इंजी एड ले जन कर्न",
        ends="है हैं था थे थी थीं हो हुआ हुई हुए गया गई गए दी ली की लो हूँ",
        speech="कहा पूछा बोला बोली बोले",
    ),
    "hr": _rules(
        abbreviations="dr prof mr ing sv npr tzv tj br str sl god ul gen akad doc engl lat njem franc tal mil mlrd tis",
        openers="U Na Od Do Za Iz S Sa Po Je Bio Bila On Ona Oni To Taj Ta Ovaj Ova Nakon Kao Kada Ali I",
        ends="itd itsl",
        ordinals=True,
        syllabic=True,
    ),
    "hu": _rules(
        abbreviations="dr Dr prof Prof ifj id özv szt Szt ún pl kb ill stb u old köt szerk ford sz tel ang ném lat",
        openers="A Az Egy Ez Ezt Ennek Ő Ők És De Majd Azonban Mivel Mint Amikor Később",
        ordinals=True,
    ),
    "id": _rules(
        abbreviations="""
            Dr dr Drs drs Dra Ir ir Prof Jl jl Jln Jend Kol Letkol Kapt Lt Mayjen Brigjen Pdt Tn Ny Nn
            Sdr Mr Mrs St Tb Rd KH Hj No no Telp telp Fax Kab Kec Kel Prov Gg Ds Blok hlm Hlm hal Hal
            cet vol Vol ed dkk a.n u.p tgl bhs PT CV UD Pres Bpk Yth Rev RS JL kaliber
        """,
        openers="""
            Pada Di Dari Ini Itu Ia Dia Mereka Kota Untuk Dengan Dalam Setelah Sebelum Selain Saat
            Ketika Namun Tetapi Karena Oleh Kemudian Sejak Menurut Berdasarkan Salah Para Beberapa
            Banyak Yang Adalah Sebagai
        """,
        ends="dll dsb dst",
    ),
    "it": _rules(
        abbreviations="""
            a d dr dott dottssa avv arch prof ing sig Sig Sigg Ing Avv Arch Gen Col Cap Mons On Rev S SS St
            fig figg pag pagg vol voll cap art artt ed cfr ca circa es ecc sec lat gr ingl fr ted num nr
            n tel tav
        """,
        openers="""
            Il Lo La I Gli Le L' Un Una Uno In Nel Nella Nei Nelle Nell' È Era Sono Si Con Per Da Dal
            Dalla Di Del Della A Al Alla Dopo Durante Come Questo Questa Ma Anche Non Se Tra Fu
        """,
    ),
    "ka": _rules(
        abbreviations="""
            პროფ აკად დოც გენ კოლ ინგლ რუს გერმ ფრანგ ბერძნ ლათ იტალ ესპ თურქ არაბ სპარს სომხ არაფორმ იხ
            მაგ სხვ ძვ ახ ძვ.წ ახ.წ წმ ქ მდ მთ სოფ რაიონ ქუჩ გამზ გვ ტ ტომ სურ ნახ ცხრ შდრ შეად შემოკლ
            აბრევ მლნ მლრდ ათ დაახლ დაბ გარდ ესტ არქ უკრ პოლ ჩეხ იაპ ჩინ
        """,
        ends="ა.შ დასხვ",
        speech="თქვა იკითხა უპასუხა",
    ),
    "nl": _rules(
        abbreviations="""
            dr Dr drs Drs ir Ir ing Ing mr Mr mevr Mevr dhr Dhr prof Prof St Ste nr blz afb bijv bv resp
            vgl ca circa ong o.a m.b.t zgn evt incl excl Lat Fr Eng Du mln mld jl tel red hfst
        """,
        openers="De Het Een In Op Bij Van Voor Na Door Met Hij Zij Ze Er Deze Dit Dat Die Als Ook Maar Om Tot Tijdens",
        ends="etc enz",
    ),
    "pl": _rules(
        abbreviations="""
            dr prof mgr inż hab doc gen płk ppłk kpt mjr por ks św bł im ul al pl nr str rys tab tzw np
            tj ok woj pow gm red wyd ang łac niem fr ros gr tys mln mld tel os zob
        """,
        openers="W We Na Po Od Do Za Z Ze Jest Był Była Było To Ten Ta Jego Jej Jako Gdy Kiedy Oraz Ale Przez",
        ends="itd itp in",
    ),
    "pt": _rules(
        abbreviations="""
            a d Dr Dra Drs Sr Sra Srs Sras Srta Prof Profa Eng Arq Gen Cel Cap Maj Ten Sgt Dom Exmo Exma
            Ilmo St Sta Sto Av R Al Pça Trav Rod núm nº pág págs pg vol vols cap art arts fig figs séc
            sec ed eds org orgs aprox tel Tel cf ca ex Ex vs lat gr Cia Ltda Jr Fr Pe
        """,
        openers="""
            O A Os As Um Uma Uns Umas Em No Na Nos Nas Num Numa De Do Da Dos Das Por Pelo Pela Para Com
            Sem Sob Sobre Ao Aos À Às Até Após Antes Depois Desde Durante Entre Segundo Conforme Como
            Quando Quanto Enquanto Embora Se Caso Mas Porém Entretanto Contudo Também Além Ainda Assim
            Então Agora Hoje Ele Ela Eles Elas Eu Nós Isso Isto Este Esta Estes Estas Esse Essa Esses
            Essas Aquele Aquela Foi Foram É Era São Está Estão Tem Têm Há Não Já Outro Outra Outros
            Outras Todo Toda Todos Tudo Muito Muitos Seu Sua Seus Suas Dado Faz Recebeu
        """,
    ),
    "ro": _rules(
        abbreviations="""
            dr Dr prof Prof ing dl Dl dna Dna dnei Sf sf str Str nr Nr gen col cpt jud com ed vol pag
            fig aprox lat
        """,
        openers="În La Pe Cu De Din După Este Era Un O El Ea Ei Acest Această Aceste Dar Când Ca Prin Pentru Sub",
        ends="etc ș.a",
    ),
    "ru": _rules(
        abbreviations="""
            им проф акад доц инж д-р канд ген полк подполк кап лейт зам зав пом св пр прот архим еп митр
            кн гр гор ул пл просп пр-т пер наб бул бульв пос дер обл р-н окр респ оз р о ст хут м т тт
            гл стр рис табл илл сб изд ред сост прим см ср напр ок тыс млн млрд трлн руб коп чел англ
            нем фр франц лат греч итал исп яп кит рус укр польск тур араб др сокр букв ум род тов гос пп
            пт ч чч кол кв куб сек мин экз л лл
        """,
        openers="""
            В Во На От Из После Через По За С Со При До К Ко У О Об Для Под Над Без Перед Между Около
            Среди Также Он Она Оно Они Его Её Ее Их Это Эта Этот Эти Тот Та Те Там Тогда Здесь Затем
            Позже Позднее Впоследствии Когда Как Если Хотя Однако Но А И Не Нет Все Всё Весь Один Одна
            Кроме Согласно Благодаря Несмотря Вскоре Был Была Было Были Имеет Является Состоит Население
            Площадь Город Первый Первая Сейчас Ныне
        """,
        ends="т.д т.п др пр тыс.чел",
    ),
    "sk": _rules(
        abbreviations="""
            Dr Ing Mgr Bc prof Prof doc sv napr tzv tzn tj resp obr tab str kap nám ul gen angl lat nem
            mil mld tis
        """,
        openers="V Vo Na Po Od Do Za Z Zo S So K O U Je Bol Bola Bolo To Ten Tá Tento Táto Jeho Jej Ako Keď",
        ends="atď apod",
        ordinals=True,
        syllabic=True,
    ),
    "sr": _rules(
        abbreviations="""
            др проф мр инж св нпр тзв тј бр стр сл год ул ген акад доц енг лат нем мил млрд хиљ dr prof
            mr inž sv npr tzv tj br str sl god ul gen akad doc engl lat nem mil mlrd hilj
        """,
        openers="""
            У На Од До За Из Са По Је Он Она То Након Као Када Али И U Na Od Do Za Iz Sa Po Je On Ona To
            Nakon Kao
        """,
        ends="итд itd",
        ordinals=True,
        syllabic=True,
    ),
    "sv": _rules(
        abbreviations="""
            dr Dr prof Prof S:t St nr ca bl d.v.s dvs f.d s.k t.ex resp kap lat milj mdr tel jfr eng fr
            ty omkr
        """,
        openers="Den Det De Han Hon I På Från Till Efter Vid En Ett Där Då Som Med Men Och För Under",
        ends="osv etc mm m.m",
    ),
    "tr": _rules(
        abbreviations="""
            Dr Prof Doç Yrd Av Alb Gen Org Korg Tümg Tuğg Yzb Bnb Ütğm Sn Hz Müh Öğr Gör Arş Uzm Ecz Bkz
            bkz Örn örn yy Yy No no Cad cad Sok sok Mah mah Bul Apt Blv Ltd Şti Fak Ens Ed ed Çev çev
            Haz haz s ss c Cilt vb İng Fr Alm Lat Yun Ar Far
        """,
        openers="""
            Bu Bir Ve O Onun Onlar Ancak Ama Fakat Daha Sonra Aynı Ayrıca Çünkü İlk En Her Bunun Bunlar
            Şu Burada Kendisi
        """,
        ordinals=True,
    ),
    "uk": _rules(
        abbreviations="""
            ім проф акад доц інж д-р канд ген полк св пр кн гр м р рр вул пл просп пров бул с смт обл
            р-н о оз ст т тт гл стор рис табл ред вид див пор напр бл тис млн млрд грн чол англ нім фр
            лат італ рос укр
        """,
        openers="""
            У В На Від Із З Після Через По За При До Для Під Він Вона Воно Вони Його Її Їх Це Ця Цей Ці
            Тоді Також Коли Як Якщо Однак Але А І Й Не Усі Згодом
        """,
        ends="т.д т.п ін",
    ),
    "vi": _rules(
        abbreviations="""
            TP Tp GS PGS TS ThS BS KS LS CN Q P H TX TT Tx Th TS.KH Dr Mr Mrs St tr Tr vd VD Vd Gs Ts Bs
            Ks NXB NSND NSƯT Đ Tel ĐT ĐH UBND
        """,
        openers="""
            Ông Bà Các Những Một Trong Khi Sau Từ Tại Đây Đó Tuy Nhưng Và Với Theo Vào Năm Ngày Ở Được
            Là Có Anh Cô
        """,
        ends="v.v",
    ),
}

_OTHERS = {"bs": "hr", "sh": "hr", "nb": "da", "no": "da", "nn": "da", "ms": "id", "gl": "pt"} | dict.fromkeys(
    ("mai", "bho", "awa"), "hi"
)
RULES |= {language: RULES[other] for language, other in _OTHERS.items()}
RULES |= dict.fromkeys(("az", "dsb", "et", "eu", "fo", "hsb", "is", "lb", "lv"), Rules(ordinals=True))
RULES |= dict.fromkeys(("mk", "sl"), Rules(ordinals=True, syllabic=True))
RULES |= dict.fromkeys(("mr", "ne"), RULES["hi"]._replace(ends=frozenset()))
# A word of one sign looks like an initial.
RULES |= {
    "bn": _rules(speech="বলল বললেন বলেন"),
    "fa": _rules(speech="گفت پرسید و"),
    "gu": _rules(ends="છે છો છું", speech="કહ્યું પૂછ્યું"),
    "he": _rules(speech="אמר אמרה אמרו שאל שאלה ענה ענתה"),
    "ko": _rules(speech="말했다 물었다 외쳤다"),
    "pa": _rules(ends="ਹੈ ਸੀ ਹਨ ਸਨ", speech="ਕਿਹਾ ਪੁੱਛਿਆ"),
    "si": _rules(ends="වේ යි විය"),
    "ta": _rules(speech="என்றார் என்றான் என்றாள் என்று"),
    "ur": _rules(speech="کہا پوچھا بولا"),
}


def rules_of(language: str, text: str) -> Rules:
    """Return the rules of an ISO 639 code for a text; the part after a hyphen is ignored."""
    rules = RULES.get(language.partition("-")[0], Rules())
    return rules._replace(danda=True) if "।" in text or language in ("th", "lo") else rules
