"""German."""

from __future__ import annotations

from zibaldone.views.profile.languages.base import (
    Constraints,
    Facts,
    Language,
    Leanings,
    Orders,
    People,
)

_FOOD = r"""(?:(?:erd|hasel|wal|para|cashew)?nu(?:ss|ß)e?n?|mandeln?|milch(?:produkte)?|laktose|lactose
        |gluten|weizen|eier|ei|soja|fisch
|schalentiere?|meeresfruchte|krabben|garnelen|sesam|senf|sellerie|lupinen?|erdbeeren|kiwis?|apfel|tomaten
        |fruktose|fructose|histamin
|(?:schweine|rind)?fleisch|kase|knoblauch|zwiebeln|pilze|alkohol|koffein|kaffee|zucker|huhn
        |hulsenfruchte)\b"""
_DRUG = r"""(?:penicillin|antibiotika|aspirin|ass|ibuprofen|paracetamol|diclofenac|insulin|marcumar
        |cortison|kortison|blutverdunner
|blutdrucksenker|antidepressiva|betablocker|statine|latex|epoxidharz|nickel|jod|novalgin
        |\p{L}{2,}(?:statin|pril|sartan|olol|prazol
|cillin|mycin|formin|zepam|zolam|xaban|oxetin|thyroxin)|\d+\s?(?:mg|µg))\b"""
_CREATURE = r"""(?:katzen(?:haare)?|hunde(?:haare)?|pollen|graser|hausstaub(?:milben)?|pferde|bienen
        |wespen|tierhaare)\b"""
_KIN = r"(?:sohn|tochter|kind(?:er)?|frau|mann|partner(?:in)?|freundin|freund|baby|zwillinge)"
_I = rf"(?:\bich|\bwir|\b(?:meine?|unsere?)\s+{_KIN}(?:\s+(?-i:\p{{Lu}}\p{{Ll}}+))?)"
_AM = r"(?:bin|ist|sind)"
_HAVE = r"(?:habe?|hat|haben)"
_ADVERBS = r"""(?:(?:selber|selbst|auch|leider|ubrigens|seit\s+(?:dem\s+|der\s+)?\p{L}+(?:\s+(?:jahren
        |monaten|wochen))?|jetzt|nun
|schwer|stark|leicht|extrem|hochgradig|ja|halt|eben|inzwischen|mittlerweile|strikt|streng
        |uberzeugte[rn]?)\s+)*"""
_IAM = rf"(?:{_I}\s+{_ADVERBS}{_AM}|\b{_AM}\s+{_I}|{_I}(?:\s+(?:selber|selbst))?\s+{_AM})\s+{_ADVERBS}"
_IHAVE = rf"(?:{_I}\s+{_HAVE}|\b{_HAVE}\s+{_I})\s+{_ADVERBS}(?:eine?n?\s+)?"
_MY_PART = r"(?:starke|schwere|leichte|echte)?\s*"
_TAKE = rf"""(?:{_I}\s+(?:nehme?|nimmt|nehmen|spritze?|spritzt)|\b(?:nehme
        |spritze)\s+ich)\s+{_ADVERBS}(?:(?:taglich|jeden\s+\p{{L}}+|abends|morgens)\s+)*"""
_NOT = r"(?:keine?n?|weder)\s+"
_END = r"(?=\W*$|\s*[,;:.!()–—-]|\s+(?:und|aber|weil|seit|wegen|auf|also|denn|oder)\b)"
_ORDER = r"""(?:(?:antwort|schreib|nenn|zeig|benutz|verwend|nutz|red|duz|siez|verzicht|lass|erklar
        |erinner|vermeid|denk|beacht|halt|fass
|formulier|ubersetz|rechn|rund|frag|sag|schlag|mach|korrigier|fug|erwahn|begrund|bleib|fang|beginn|kurz
        |plan|liste?|ruf|beruf|nimm|stell
|bevorzug|gliedr)(?:e|\s+sie|en\s+sie|n\s+sie)?|gib|geben\s+sie|sprich|sprechen\s+sie|nimm|empfiehl
        |empfehlen\s+sie)\b(?!')"""

GERMAN = Language(
    marks=frozenset(
        """mag hasse liebe
        ich mein meine meinen meiner wir unser unsere mir mich bitte immer nie niemals kunftig
        zukunft du sie antworte
        antworten schreib schreibe gib nenn nenne benutze verwende sprich duz duze keine kein keinen
        allergisch""".split()
    ),
    little=frozenset(
        """der die das den dem des ein eine einen einem einer in im an am auf aus bei fur mit nach
        von zu zum zur und oder was wie wer
        wo wann ich du mir mich dir es ist sind nicht kein keine immer bitte jede jeder jedes jeden
        mehr noch nur doch mal ja
        auch so dass sie wir uns man hat habe kann soll""".split()
    ),
    orders=Orders(
        opening=r"""(?:(?:und|also|aber|so|ach|ja|nein|ok|okay|super|danke|gut|noch\s+(?:was|eins)
        |ubrigens|ausserdem|wichtig|hallo|hi|bitte
        |eine\s+bitte|merk(?:e)?\s+(?:dir|es\s+dir)|denk\s+dran|(?:ab|von)\s+(?:jetzt|sofort|heute
        |nun)(?:\s+an)?|in\s+zukunft|kunftig
        |zukunftig|grundsatzlich|generell)\b[\s,:.!–—-]*)*""",
        please=r"\bbitte\b",
        order=_ORDER,
        refusal=r"\b(?:nie|niemals|nicht|keine?n?|verzichte?|vermeide?|ohne)\b",
        infinitive=r"""\bbitte\b[^.;!?]*\b(?:antworten|schreiben|nennen|angeben|verwenden|benutzen|nutzen
        |duzen|siezen|sprechen|reden|zeigen
        |erklaren|ubersetzen|vermeiden|weglassen|halten|formulieren|korrigieren)\W*$
        |\bbitte\b[^.;!?]*\bkeine?n?\s+(?!(?:panik|sorge|angst|witze|eile|umstande)\b)\p{L}+(?:\s+mehr)?\W*$""",
        wish=r"""\b(?:ich|wir)\s+(?:mochten?|will|wollen|wunsche\s+mir|wunschen\s+uns
        |hatten?\s+gerne?),?\s+dass\s+(?:du|sie)\s+""",
        lasts=r"""\b(?:immer(?!\s+noch)|nie(?:mals)?|stets|grundsatzlich|generell|(?:ab|von)\s+(?:jetzt
        |sofort|heute|nun)(?:\s+an)?|in\s+zukunft
        |kunftig|zukunftig|jedes\s?mal|(?:bei|in)\s+(?:jede[rm]|allen)|nicht\s+mehr|nie\s+(?:wieder|mehr)|nur\s+noch
        |keine?n?\s+\p{L}+\s+mehr)\b""",
        once=r"""\b(?:heute|diesmal|dieses\s+mal|diese[rnsm]?\s+\p{L}+|jetzt\s+gerade|gerade|morgen
        |fur\s+jetzt|vorerst|immer\s+noch)\b(?!\s+an\b)""",
        form=r"""\bauf\s+(?:deutsch|englisch|franzosisch|spanisch|italienisch|turkisch|russisch|polnisch
        |plattdeutsch)\b|\bemojis?\b|\bduz|\bsiez
        |\bper\s+(?:du|sie)\b|\bdeine\s+antworten\b|\b(?:antwort|schreib|sprich|red|fass
        |halt)\p{L}*\s+(?:(?:mir|dich|bitte|immer|stets|nur|noch|ganz|sehr|moglichst)\s+)*
        (?:kurz|knapp|ausfuhrlich|hoflich|locker|formlich|einfach|in\s+(?:stichpunkten|stichworten)
        |ohne)\b|\b(?:fremdwort|fachbegriff|abkurzung|stichpunkt|aufzahlung)\p{L}*
        |\bmarkdown\b|\bnenn\p{L}*\s+mich\b|\bsprich\s+mich\b|\bkorrigier\p{L}*\s+mich\b(?!\W+(?:wenn|falls)\b)""",
        condition=r"""(?:immer\s+)?(?:wenn|falls|sobald|jedes\s?mal,?\s+wenn)\s+(?:ich|wir)\s+(?:dich\s+
        |sie\s+|dir\s+)?(?:(?:nach|uber|um|von|zu|etwas|was|eine?n?)\s+)*
        (?P<topic>[^,;.!?]{2,60}?)\s+(?:frage?n?|bitten?|sprech\p{L}*|red\p{L}*|erwahn\p{L}*|brauch\p{L}*
        |such\p{L}*|will|wollen|mochten?|plane?n?|wissen\s+will)\b\s*[,–-]?\s*(?:dann\s+)?""",
        scope=r"""\b(?:bei|in|fur|zu)\s+(?:allen\s+|jede[rnm]?\s+|meinen\s+
        |den\s+)*(?P<topic>(?-i:\p{Lu})\p{L}+(?:\s+(?:an|fur|uber|von|mit)\s+(?-i:\p{Lu})\p{L}+)?)
        |\bjede[snmr]?\s+(?P<topic>(?-i:\p{Lu})\p{L}+)""",
        reminds=r"^\W*(?:\p{L}+\W+){0,3}?(?:merk(?:e)?\s+dir|erinner(?:e)?\s+mich|regel|grundregel)\s*:\s*",
        subject=r"""(?!)""",
    ),
    facts=Facts(
        name=r"""\bich\s+(?:heisse
        |heiße)\s+(?P<value>(?-i:\p{Lu})\p{L}+(?:\s+(?:von\s+)?(?-i:\p{Lu})\p{L}+){0,2})
        |\bmein\s+name\s+ist\s+(?P<value>(?!(?:hase|programm)\b)(?-i:\p{Lu})\p{L}+(?:\s+(?-i:\p{Lu})\p{L}+){0,2})""",
        age=r"""\bich\s+(?:bin|werde)\s+(?:jetzt\s+|inzwischen\s+)?(?P<value>\d{1,3})\s+jahre(?=\s+(?:alt|jung
        |und)\b|\W*$|\s*[,;.!()])""",
        home=r"""(?:\b(?:ich|wir)\s+(?:wohnen?|leben?)|\b(?:wohne|lebe)\s+ich)\s+(?:(?:jetzt|nun
        |inzwischen|mittlerweile|hier|aktuell|seit\s+(?:\p{L}+\s+)?(?:\p{L}+|\d{4}))\s+)*
        in\s+(?P<value>(?!\p{L}+(?:ung|schaft|heit|keit|miete)\b|(?:angst|armut|frieden|miete|sorge|ruhe
        |saus|zeiten|gedanken|erinnerungen|traumen|hotels|zelten)\b)(?-i:\p{Lu})\p{L}+(?:-(?-i:\p{Lu})\p{L}+)?)\b
        |\b(?:ich\s+bin
        |wir\s+sind)\b[^.;!?]{0,40}\bnach\s+(?P<value>(?!hause\b)(?-i:\p{Lu})\p{L}+)\s+(?:um)?gezogen\b""",
        employer=r"""\b(?:ich\s+arbeite|wir\s+arbeiten)\s+(?:(?:jetzt|nun|inzwischen|mittlerweile
        |seit\s+(?:\p{L}+\s+)?(?:\p{L}+|\d{4}))\s+)*(?:bei|fur)\s+(?:der\s+|dem\s+|die\s+
        |das\s+)?(?P<value>(?!(?:\p{L}*(?:regen|licht|wetter|hitze|kalte|sonne)|nacht|tag|musik|geld|freunde
        |kunden|kollegen)\b)(?-i:\p{Lu})[\p{L}&]+(?:\s+(?-i:\p{Lu})[\p{L}&]+){0,2})""",
        occupation=r"""\bich\s+(?:arbeite|bin)\s+(?:(?:jetzt|nun|inzwischen
        |seit\s+(?:\p{L}+\s+)?(?:\p{L}+
        |\d{4}))\s+)*als\s+(?P<value>(?!(?:erst|letzt|nachst|zweit|dritt|einzig)\p{L}*\b|(?:kind|team|paar|gast
        |ausgleich|hobby|beispiel)\b)(?-i:\p{Lu})\p{L}+)\b(?!\s+(?:verkleidet|erste[rs]?|letzte[rs]?)\b)
        |\bich\s+bin\s+(?P<value>(?-i:\p{Lu})\p{L}+)\s+von\s+beruf\b""",
    ),
    people=People(
        my=r"\b(?:mein|meine|meinen|meinem|meiner|unser|unsere|unseren|unserem|unserer)",
        stand_in="meine Frau",
        kin=r"""(?:frau|mann|ehefrau|ehemann|mutter|mama|vater|papa|schwester|bruder|sohn|tochter
        |freundin|freund|partnerin|partner|oma|opa|tante|onkel
        |cousine|cousin|nichte|neffe|chefin|chef|kollegin|kollege|nachbarin|nachbar|vermieterin|vermieter
        |hausarztin|hausarzt|arztin|arzt|zahnarztin
        |zahnarzt|azubi|geselle|gesellin|hund|katze|kater|mitbewohnerin|mitbewohner|schwiegermutter
        |schwiegervater)""",
        one_at_a_time=frozenset(
            """frau mann ehefrau ehemann mutter vater mama papa chefin chef vermieterin vermieter hausarzt
            hausarztin""".split()
        ),
        called=r"""(?:(?:(?:heisst|heiße|heißt|ist\s+(?:jetzt\s+)?(?:der|die)|namens)\s+)|(?<=^\W*\p{L}+\s+\p{L}+\s+)
        (?=\p{L}+(?:\s+\p{Lu}\p{Ll}+)?(?:\s+(?-i:\p{Ll})|\W*$|\s*[,;.!]))|(?=\p{L}+(?:\s+(?-i:\p{Lu})\p{L}+)?\s*,))""",
        no_name=r"""(?:\p{L}+(?:ung|heit|keit|schaft|tag|zeit|termin|schmerzen|fieber|kasse|geld|essen)
        |angst|recht|krebs|urlaub|probleme?|hilfe|hunger|lust|corona|diabetes
        |kaffee|tee|besuch|bescheid|platz|arbeit|auto|musik|sport|karten|sachen|briefe?|blumen|kuchen
        |deutsch|herr|frau|ende|beste|hammer|hit|wahnsinn|anfang|montags?|sie|ihr|ihnen)""",
    ),
    constraints=Constraints(
        stated=(
            (
                ("food",),
                rf"""{_IAM}(?:vegetarier(?:in)?|veganer(?:in)?|vegetarisch|vegan|pescetarier(?:in)?
        |laktoseintolerant|lactoseintolerant){_END}""",
            ),
            (("food",), rf"{_IAM}(?:gegen\s+{_FOOD}\s+allergisch|allergisch\s+(?:gegen|auf)\s+{_FOOD})"),
            (
                ("food",),
                rf"""{_IHAVE}{_MY_PART}(?:(?:zoliakie|nussallergie|milchallergie|laktoseintoleranz|gicht
        |morbus\s+crohn|reizdarm)\b|allergie\s+gegen\s+{_FOOD}|\p{{L}}*?(?<=nuss|milch|ei|fisch|soja
        |weizen)allergie\b)""",
            ),
            (
                ("food",),
                rf"""(?:{_I}\s+(?:esse?|isst|essen|vertrage?|vertragt|trinke?|trinkt)|\b(?:esse|vertrage
        |trinke)\s+ich)\s+{_ADVERBS}{_NOT}{_FOOD}""",
            ),
            (
                ("food",),
                rf"""{_I}\s+(?:esse?|isst|essen)\s+(?:kein\s+gluten|glutenfrei|vegan|vegetarisch|halal
        |koscher)\b""",
            ),
            (
                ("food", "alcohol", "medicine"),
                rf"{_IHAVE}(?:typ[\s-][12][\s-])?diabetes\b|{_IAM}diabetiker(?:in)?\b",
            ),
            (
                ("food", "alcohol", "medicine", "exercise", "travel"),
                rf"{_IAM}(?:im\s+\p{{L}}+\s+monat\s+)?schwanger\b(?!\s+mit\b)",
            ),
            (("medicine",), rf"{_IAM}(?:gegen\s+{_DRUG}\s+allergisch|allergisch\s+(?:gegen|auf)\s+{_DRUG})"),
            (
                ("medicine",),
                rf"{_IHAVE}{_MY_PART}(?:allergie\s+gegen\s+{_DRUG}|\p{{L}}*?(?<=penicillin|latex)allergie\b)",
            ),
            (("medicine",), rf"{_I}\s+(?:darf|kann|vertrage?|vertragt)\s+{_ADVERBS}{_NOT}{_DRUG}"),
            (("medicine", "alcohol"), rf"{_TAKE}{_DRUG}"),
            (
                ("medicine", "exercise"),
                rf"{_IHAVE}(?:asthma|epilepsie|bluthochdruck|arthrose|rheuma|multiple\s+sklerose)\b",
            ),
            (
                ("exercise",),
                rf"""{_I}\s+(?:darf|kann)\s+{_ADVERBS}(?:nichts?|nix)\s+(?:uber\s+\d+\s+(?:kilo|kg)
        |schweres?)\s+heben\b|{_IHAVE}(?:bandscheibenvorfall|kaputte[sn]?\s+knie)\b""",
            ),
            (
                ("travel", "exercise"),
                rf"""{_I}\s+(?:sitze?|sitzt)\s+{_ADVERBS}im\s+rollstuhl\b|{_IAM}(?:im\s+rollstuhl
        |rollstuhlfahrer(?:in)?|auf\s+den\s+rollstuhl\s+angewiesen)\b""",
            ),
            (("hearing",), rf"{_IAM}(?:schwerhorig|gehorlos|taub){_END}|{_IHAVE}(?:horgerate?|tinnitus)\b"),
            (("sight",), rf"{_IAM}(?:blind|farbenblind|sehbehindert){_END}"),
            (
                ("animals",),
                rf"""{_IAM}(?:gegen\s+{_CREATURE}\s+allergisch|allergisch\s+(?:gegen|auf)\s+{_CREATURE})
        |{_IHAVE}(?:heuschnupfen|tierhaarallergie)\b""",
            ),
        ),
        passing=r"""\b(?:heute|fruher|damals|nicht\s+mehr|falls|wenn|ware|wurde|hatte|vielleicht
        |angeblich|als\s+kind|stell\s+dir|gestern|nicht\s+allergisch)\b""",
    ),
    leanings=Leanings(
        liked=r"""\b(?:ich|wir)\s+(?:(?:auch|wirklich|eigentlich|echt|einfach|ja)\s+)*(?:mag|mogen|liebe|lieben|bevorzuge|bevorzugen|schatze|schatzen|hasse|hassen
        |verabscheue|meide|meiden)\s+(?:(?:auch|wirklich|sehr|besonders|vor\s+allem|am\s+liebsten|uberhaupt)\s+)*(?P<what>[^,;.!?()–—]{2,80})
        |(?:^\W*|[,;:]\s*(?:(?:und|aber|denn)\s+)?)(?P<what>(?!(?:das|es|dann|so|da|was|wie|wenn|weil|dass)\b)[^,;:.!?]{3,60}?)\s+
        (?:(?:mag|liebe|hasse|verabscheue|meide|bevorzuge)\s+(?:ich|wir)\b|(?:kann|konnen)\s+(?:ich|wir)\s+(?:gar\s+|uberhaupt\s+)?nicht\s+(?:ausstehen|leiden|ab))
        |\b(?:ich|wir)\s+(?!(?:mochten?|wurden?|hatten?|will|wollen|kann|konnen|soll\p{L}*|muss\p{L}*|ware?n?|bleib\p{L}*)\b)\p{L}+e?n?\s+(?:(?:viel|immer|meist|meistens|eigentlich|sowieso)\s+)*
        (?:lieber|am\s+liebsten)\s+(?P<what>[^,;.!?()–—]{2,80})
        |\bam\s+liebsten\s+(?!(?:mochte|wurde|hatte|ware)\b)\p{L}+e\s+(?:ich|wir)\s+(?P<what>[^,;.!?()–—]{2,80})
        |\b(?:ich|wir)\s+(?:esse|trinke|lese|hore|koche|reise|schaue|sehe|spiele|wandere|schwimme|laufe|tanze|fahre)n?\s+(?:(?:sehr|nicht|nur|auch)\s+)*gerne?\s+(?P<what>[^,;.!?()–—]{2,80})
        |\b(?:ich|wir)\s+(?:kann|konnen)\s+(?P<what>[^,;.!?]{3,60}?)\s+(?:gar\s+|uberhaupt\s+)?nicht\s+(?:ausstehen|leiden)\b
        |\bich\s+bin\s+(?:ein\s+|eine\s+)?(?:grosser\s+|grosse\s+|echter\s+)?fan\s+(?P<what>[^,;.!?()–—]{2,80})""",
        against=r"""\b(?:keine?[nr]?|nicht|hassen?|verabscheue|meiden?|gegen|abgelehnt|verworfen)\b""",
        favourite=r"""\b(?:meine?|unsere?)\s+(?P<what>lieblings\p{L}+)\s+(?:ist|sind|bleibt)\s+(?P<value>[^,;.!?]{2,60})""",
        decided=r"""\b(?:(?:ich|wir)\s+(?:hab|habe|haben)|(?:hab|habe|haben)\s+(?:ich|wir))\s+(?:mich|uns)\s+(?:(?:jetzt|nun|doch|am\s+ende|schliesslich|letztlich|gestern|heute)\s+)*
        (?:(?P<what>(?:fur|gegen)\s+[^,;.!?]+?)\s+entschieden\b|(?:dazu\s+|dafur\s+|dagegen\s+)?(?:entschieden|entschlossen)[,:]?\s+(?P<what>[^;.!?]{3,80}))
        |\b(?:(?:ich|wir)\s+(?:hab|habe|haben)|(?:hab|habe|haben)\s+(?:ich|wir))\s+(?:(?:jetzt|nun|gestern|heute|endlich)\s+)*beschlossen[,:]?\s+(?P<what>[^;.!?]{3,80})
        |(?:^\W*|[,;:]\s*)(?P<what>(?!(?:was|das|es|den|die)\s+(?:hab|habe|haben)\b)[^,;.!?]{3,60}?)\s+(?:hab|habe|haben)\s+(?:ich|wir)\s+(?:(?:jetzt|nun|doch|dann|gestern)\s+)*(?:abgelehnt|gewahlt|verworfen|ausgesucht)\b
        |\b(?:ich|wir)\s+(?:hab|habe|haben)\s+(?P<what>[^,;.!?]{3,60}?)\s+(?:abgelehnt|gewahlt|verworfen|ausgesucht)\b
        |\b(?:ich|wir)\s+(?:entscheide\s+mich|entscheiden\s+uns|nehmen\s+jetzt)\s+(?:jetzt\s+)?(?P<what>(?:fur|gegen)\s+[^,;.!?]{3,60})""",
        reaction=r"""(?:bei\s+(?:dir|euch|ihnen)|morgen|heute|jetzt|spater|das|es|dies\p{L}*|dein\p{L}*|ihre?n?|eure?n?|dich|sie|ihn|ihm|ihr|mir|dir|so|wie|dass|wenn|was|lieber|gerne?|nicht(?=\W*$)|(?:die|den|der|das)\s+(?:idee|antwort|version|variante
        |fotos?|bild\p{L}*|farben?|stimmung|blick|aussicht|vorschlag|entwurf|plan|ansatz|gedanken?|text|ton|erste\p{L}*|zweite\p{L}*|dritte\p{L}*|letzte\p{L}*)|nicht\s+(?:das|so|wie|dass|wenn))\b""",
        unsettled=r"""\b(?:noch\s+(?:gar\s+)?(?:nicht|keine?n?)|noch\s+immer\s+nicht|wurden?|ware|hatten?|konnten?|wenn|falls|ob|fast|beinahe|vielleicht|fruher|stell\s+dir)\b""",
    ),
    areas={
        "food": r"""\b(?:koch\p{L}*|ess(?:e|en)|abendessen|mittagessen|fruhstuck\p{L}*|snacks?
        |rezept\p{L}*|restaurants?|back(?:e|en)|kuchen|torte|salate?|suppen?|grill\p{L}*|gerichte?
        |mahlzeit\p{L}*|lebensmittel|einkauf\p{L}*)\b""",
        "alcohol": r"\b(?:wein\p{L}*|bier\p{L}*|cocktails?|schnaps|sekt|drinks?|kneipen?)\b",
        "medicine": r"""\b(?:medikament\p{L}*|tabletten?|schmerzmittel|antibiotik\p{L}*|salben?
        |kopfschmerzen|erkaltung|fieber|apotheke|vitamine?|nahrungserganz\p{L}*|harz\p{L}*|handschuhe
        |klebstoffe?|kleber)\b""",
        "exercise": r"""\b(?:sport\p{L}*|training\p{L}*|trainier\p{L}*|fitness\p{L}*|joggen|laufen|yoga
        |ubungen|heben|tragen|schleppen|muskel\p{L}*)\b""",
        "travel": r"""\b(?:hotels?|reisen?|urlaub\p{L}*|ausfluge?|stadtetrip|museen|museum|wandern
        |wanderung\p{L}*|unterkunft|ferienwohnung|sehenswurdigkeiten)\b""",
        "hearing": r"\b(?:konzerte?|kopfhorer|podcasts?|horbuch\p{L}*|kino|theater)\b",
        "sight": r"\b(?:schrift\p{L}*|farben|diagramm\p{L}*)\b",
        "animals": r"\b(?:haustiere?|katzen?|hunde?|zoo|tierheim|reiten|wiese\p{L}*)\b",
    },
    reported=r"""(?<!\b(?:arzt|arztin|hausarzt|hausarztin|doktor)\s)\b(?:sagt|meint|behauptet|glaubt|findet|erzahlt|schwort)\b(?:\s+(?:immer|oft|gern|ja|mir|uns|dir|halt))*\s*[,:]
        |,\s+(?:(?:so|das|wie|jedenfalls|zumindest)\s+)*(?:sagt|sagen|sagte|meint|meinte|rat|raten|empfiehlt|schreibt|behauptet|heisst\s+es)\b
        |\blaut\s+(?!(?:meine[mr]|dem|der)\s+\p{L}*(?:arzt|doktor))\p{L}|\bzufolge\b""",
    made_up=r"""\b(?:in|fur|bei)\s+(?:(?:meine[mnr]?|das|dem|der|den|eine[mnr]?|unsere[mnr]?|diese[mnr]?)\s+)?(?:\p{L}+(?:en|er|em)\s+)?(?:roman|traum|geschichte|gedicht
        |theaterstuck|stuck|film|lied|marchen|rollenspiel|buch|drehbuch|horspiel|krimi)\b|\bim\s+(?:traum|roman|film|stuck|theaterstuck|marchen|lied|gedicht|spiel)\b
        |(?<!\bich\s)\b(?:schreib(?:e|t)?|verfass\p{L}*|dicht(?:e|et)|gedicht|geschichte|brief|text|satz|satze|lied|lautet|beginnt|spiel(?:e|te|t)?\s+(?:ich\s+)?den
        |ratsel)\b[^.!?:]*:""",
    of_another=r"""\b(?:er|sie|man|jeder|alle|viele|manche|niemand|chef\p{L}*|leute|nachbar\p{L}*|freund\p{L}*|mutter
        |vater|mann|frau|\p{L}+erin)\s+(?:immer\s+|wieder\s+)?(?:sagt|sagen|sagte|behaupte\p{L}*|meint\p{L}*|meinen
        |glaubt|glauben|denkt|denken|dachte\p{L}*|findet|fragt)\b|\b(?:sagte|behauptet\p{L}*|meinte|schrieb|rief
        |sagt)\s+(?:er|sie|man|der|die|mein|meine|(?-i:\p{Lu})\p{L}+)\b|\b(?:angenommen|nehmen\s+wir\s+an|als\s+ob)\b
        |\b(?:ubersetz(?:e|en|t)?|formuliere?)\b|\bwitz\b|\b(?:schreib\p{L}*|bilde)\s+(?:\p{L}+\s+){0,3}satz""",
)
