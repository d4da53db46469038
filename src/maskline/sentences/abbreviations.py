"""Words that show whether a full stop ends a sentence, by language. Other languages have ICU's rules alone."""

# ruff: noqa: RUF001  # Cyrillic looks like Latin
from typing import NamedTuple


class Rules(NamedTuple):
    """The words of one language, as they are spelled."""

    abbreviations: frozenset[str] = frozenset()
    """Words after which a full stop marks an abbreviation; initials such as "J." and "U.S." need no entry."""
    openers: frozenset[str] = frozenset()
    """Words that begin so many sentences that they begin one after an abbreviation too."""
    ends: frozenset[str] = frozenset()
    """Words that look like initials but end a sentence: eras in Arabic, which has no capitals, and "etc."."""
    ordinals: bool = False
    """Whether a full stop after a number makes it an ordinal."""


def _rules(abbreviations: str = "", openers: str = "", ends: str = "", *, ordinals: bool = False) -> Rules:
    return Rules(
        frozenset(f"{word}." for word in abbreviations.split()),
        frozenset(openers.split()),
        frozenset(f"{word}." for word in ends.split()),
        ordinals,
    )


RULES = {
    "ar": _rules(
        openers="""
            وقد وكان وكانت كان كانت وفي في كما أما ثم ولم لم لكن ولكن هذا هذه وهذا وهذه وهو وهي وبعد بعد
            ومن إن لقد ولقد
        """,
        ends="م ق.م",
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
    "de": _rules(
        abbreviations="""
            Dr Prof Hr Fr St Nr Bd Abb Abs ca bzw vgl geb gest Jh Hrsg ggf inkl sog ehem evtl Mio
            Mrd Chr usw etc Kap lat griech engl frz dt österr Jan Feb Aug Sept Okt Nov Dez
        """,
        openers="""
            Der Die Das Er Sie Es Ein Eine In Im Am An Auf Bei Mit Nach Von Vor Zu Zum Zur Aus Durch Für
            Als Seit Bis Dieser Diese Dieses Dies Sein Seine Ihr Ihre Man Auch So Da Danach Dabei Damit
            Heute Hier Wie Wenn Während Um Unter Über Laut Zwischen Beide Viele Einige Nachdem Obwohl
        """,
        ordinals=True,
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
            Dr Dra Sr Sra Srta Sres Ud Uds Prof Sto Sta St EE UU JJ núm nº nro pág págs pp vol vols cap
            art fig figs ca aprox ed eds etc vs lat gr Av Gral Ing Lic Mons Rvdo Excmo Inc Jr Sgt
        """,
        openers="""
            El La Los Las Lo Un Una Unos Unas En Es Era Son Se Su Sus Fue Fueron Con Por Para Al A De
            Del Desde Durante Después Tras Según Entre Como Este Esta Estos Estas Esto Ese Esa Aunque
            También Además Sin Sobre Hasta Cuando Si No Tiene Hay Está Ha Más Muchos Muchas Algunos
            Algunas Otros Otras Ambos Cada Todos Todas Ya Así Actualmente Debido
        """,
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
}
