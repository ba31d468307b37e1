"""French."""

from __future__ import annotations

from zibaldone.views.profile.languages.base import (
    Constraints,
    Facts,
    Language,
    Leanings,
    Orders,
    People,
)

_FOOD = r"""(?:noix|noisettes?|arachides?|cacahuetes?|amandes?|fruits\s+a\s+coque|lait|lactose|laitages?
        |gluten|ble|oeufs?|œufs?|soja|poisson|crustaces|fruits\s+de\s+mer|crevettes?|sesame
|moutarde|celeri|fraises?|kiwis?|pommes?|tomates?|avocats?|miel|mais|ail|oignons?|porc|viande|boeuf|bœuf
        |poulet|champignons?|chocolat|fructose|histamine|legumineuses|fromage|cafe|cafeine|alcool)\b"""
_DRUG = r"""(?:penicilline|antibiotiques?|aspirine|ibuprofene|paracetamol|anti-inflammatoires|insuline
        |latex|codeine|morphine|lithium|cortisone|anticoagulants?|antidepresseurs?|nickel|iode
|\p{L}{2,}(?:statine|pril|sartan|olol|prazole|cilline|mycine|formine|zepam|zolam|xaban|oxetine|thyroxine)
        |\d+\s?mg)\b"""
_CREATURE = (
    r"(?:chats?|chiens?|pollens?|graminees|acariens|poussiere|chevaux|abeilles|guepes|poils?\s+de\s+\p{L}+)\b"
)
_KIN = r"(?:fils|fille|femme|mari|epou[xs]e?|enfants?|bebe|copine?|conjointe?|jumeaux|jumelles)"
_MY = rf"\b(?:mon|ma|mes|notre|nos)\s+{_KIN}(?:\s+(?-i:\p{{Lu}}\p{{Ll}}+))?"
_ADVERBS = r"(?:(?:tres|aussi|maintenant|deja|vraiment|fortement|desormais|gravement)\s+)*"
_AM = rf"(?:\bje\s+suis|\bnous\s+sommes|{_MY}\s+(?:est|sont))\s+{_ADVERBS}"
_HAVE = (
    rf"(?:\bj'ai|\bnous\s+avons|{_MY}\s+(?:a|ont))\s+{_ADVERBS}(?:une?\s+|de\s+l'|du\s+|de\s+la\s+|des\s+)?"
)
_NOT = rf"""(?:\bje\s+ne|\bnous\s+ne|{_MY}\s+ne)\s+(?:manger?|mangent|mangeons|bois|boit|supporte|tolere
        |digere|peux\s+pas|peut\s+pas|dois\s+pas|doit\s+pas)\s+(?:(?:pas|jamais|plus|prendre|manger
        |boire)\s+)*(?:de\s+|d'|du\s+|le\s+|la\s+|les\s+|l')?"""
_TO = r"\s+(?:a\s+la\s+|a\s+l'|aux?\s+)"
_END = r"(?=\W*$|\s*[,;:.!()–—]|\s+(?:et|mais|depuis|parce|donc|car|a\s+cause)\b)"
_ORDER = r"""(?:reponds|ecris|parle|utilise|emploie|donne|mets|explique|resume|traduis|corrige|rappelle
        |suggere|recommande|propose|evite|garde|inclus|mentionne|tutoie|vouvoie|appelle|montre|indique
        |commence|termine|convertis|arrondis|calcule|ajoute|cite|fais|dis|sois
|repondez|ecrivez|parlez|utilisez|donnez|mettez|expliquez|corrigez|suggerez|recommandez|proposez|evitez
        |tutoyez|vouvoyez|appelez|indiquez|faites|dites)(?:-(?:moi|nous|le|la|les|toi))*\b"""

FRENCH = Language(
    marks=frozenset(
        """prefere nous
        je j ma mon mes notre nos toujours jamais desormais reponds repondez tutoie vouvoie
        utilise utilisez donne donnez evite plait
        appelle ecris propose proposez parle corrige est a""".split()
    ),
    little=frozenset(
        """le la les l un une des de du d a au aux en dans pour par sur avec sans et ou que qui quoi
        quel quelle quand comment me te se mon ma mes ton ta
        tes ce cette est sont il elle tout toute tous toutes toujours quelque chose""".split()
    ),
    orders=Orders(
        opening=r"""(?:(?:et|ah|alors|ok|oui|merci|bon|aussi|autre\s+chose|au\s+fait|important|bonjour
        |salut|s'il\s+(?:te|vous)\s+plait|stp|svp|rappelle-toi|desormais|dorenavant
        |a\s+(?:partir\s+de\s+maintenant|l'avenir)|toujours)\b[\s,:.!–—-]*)*""",
        please=r"\b(?:s'il\s+(?:te|vous)\s+plait|stp|svp)\b",
        order=_ORDER,
        refusal=rf"""(?:ne\s+(?:me\s+|nous\s+)?|n')(?:{_ORDER})\s+(?:pas|jamais|plus)\b|ne\s+(?:pas
        |jamais|plus)\s+\p{{L}}+er\b""",
        infinitive=r"(?!)",
        wish=r"\b(?:je\s+(?:veux|voudrais|prefere|souhaite)|j'aimerais)\s+que\s+(?:tu|vous)\s+",
        lasts=r"""\b(?:toujours(?!\s+pas)|jamais|desormais|dorenavant|a\s+partir\s+de\s+maintenant
        |a\s+l'avenir|chaque\s+fois|par\s+defaut|dans\s+tou[st]e?s?\s+(?:les|mes))\b""",
        once=r"""\b(?:aujourd'hui|demain|ce\s+soir|cette\s+(?:fois|semaine|lettre)|ce\s+(?:mail|texte
        |message|paragraphe|document)|pour\s+l'instant|pour\s+le\s+moment)\b""",
        form=r"""\ben\s+(?:francais|anglais|espagnol|allemand|italien|portugais|breton|arabe)\b(?=\W*$|,)
        |\be?mojis?\b|\bemoticones?\b|\b(?:tutoie|vouvoie|tutoyez|vouvoyez|tutoies)\b|\btes\s+reponses\b
        |\bjargon\b|\bpuces\b|\bmarkdown\b|\babreviations\b
        |\b(?:reponds|ecris|parle)(?:-moi)?\s+(?:(?:toujours|plus)\s+)*(?:brievement|simplement|court
        |clairement|poliment|en\s+(?:peu|quelques))\b|\bappelle-moi\s+(?-i:\p{Lu})|\bcorrige-moi\b(?!\W+si\b)""",
        condition=r"""(?:quand|si|lorsque|des\s+que|chaque\s+fois\s+que)\s+je\s+(?:te\s+|vous\s+
        |t')?(?:demand\p{L}+|parl\p{L}+|pos\p{L}+|mentionn\p{L}+|cherch\p{L}+|veux)\s+
        (?:(?:un|une|des|de|du|la|le|les|l'|d'|au|sur|quelque\s+chose|a\s+propos|conseil
        |question)\s*)*(?P<topic>[^,;.!?]{2,60}?)\s*,?\s+(?=(?:ne\b|n'|toujours|"""
        + _ORDER
        + r"""))""",
        scope=r"""\b(?:dans|pour)\s+(?:tou[st]e?s?\s+)?(?:les|mes|des)\s+(?P<topic>\p{L}+(?:\s+(?:de|a
        |aux?)\s+\p{L}+)?)""",
        reminds=r"^\W*(?:retiens|rappelle-toi|regle)\s*:\s*",
        subject=r""",\s+(?:celui-(?:la|ci)|celle-(?:la|ci)|(?:le|la|les|cet?|cette|mon|ma)\s+\p{L}+)\s*(?:[:.!]|$)""",
    ),
    facts=Facts(
        name=r"""\bje\s+m'appelle\s+(?P<value>(?-i:\p{Lu})\p{L}+(?:\s+(?-i:\p{Lu})\p{L}+){0,2})
        |\bmon\s+nom\s+est\s+(?P<value>(?-i:\p{Lu})\p{L}+(?:\s+(?-i:\p{Lu})\p{L}+){0,2})""",
        age=r"\bj'ai\s+(?P<value>\d{1,3})\s+ans(?=\W*$|\s*[,;.!()]|\s+(?:et|mais)\b(?!\s+demi))",
        home=r"""\b(?:j'habite|nous\s+habitons|je\s+vis|nous\s+vivons)\s+(?:(?:maintenant|desormais
        |actuellement|ici|depuis\s+\p{L}+)\s+)*(?:a|en
        |au)\s+(?P<value>(?-i:\p{Lu})\p{L}+(?:[\s-](?-i:\p{Lu})\p{L}+){0,2})
        |\b(?:j'ai|nous\s+avons)\s+demenage\s+a\s+(?P<value>(?-i:\p{Lu})\p{L}+(?:[\s-](?-i:\p{Lu})\p{L}+)?)""",
        employer=r"""\bje\s+travaille\s+(?:(?:maintenant|desormais|actuellement
        |depuis\s+\p{L}+)\s+)*(?:chez|pour|a\s+la
        |au)\s+(?P<value>(?-i:\p{Lu})[\p{L}&]+(?:\s+(?-i:\p{Lu})[\p{L}&]+){0,2})""",
        occupation=r"""\bje\s+travaille\s+(?:(?:maintenant
        |desormais)\s+)*comme\s+(?P<value>(?!toujours|prevu|avant|jamais|d'hab|tout)\p{L}{4,}(?:-\p{L}+)?)""",
    ),
    people=People(
        my=r"\b(?:mon|ma|mes|notre)",
        stand_in="ma femme",
        kin=r"""(?:femme|mari|epouse|epoux|mere|maman|pere|papa|soeur|sœur|frere|fils|fille|copain|copine
        |compagne|compagnon|grand-mere|grand-pere|tante|oncle|cousine?|niece|neveu|cheffe?|patronne?|ami
        |amie|collegue|voisine?|colocataire|coloc
        |proprietaire|medecin|dentiste|prof|chien|chat|belle-mere|beau-pere)""",
        one_at_a_time=frozenset(
            """femme mari epouse epoux mere maman pere papa copain copine compagne compagnon chef cheffe
            patron patronne proprietaire""".split()
        ),
        called=r"(?:(?:s'appelle|c'est|est(?=\s+(?-i:\p{Lu})\p{L}+\s+(?-i:\p{Lu}))|,)\s*)?",
        no_name=r"(?:janvier|fevrier|mars|avril|mai|juin|juillet|aout|noel|paques|dieu|internet)",
    ),
    constraints=Constraints(
        stated=(
            (
                ("food",),
                rf"""{_AM}(?:vegetarien(?:ne)?s?|vegane?|vegan|vegetalien(?:ne)?|c(?:oe|œ|e)liaque
        |pescetarien(?:ne)?){_END}""",
            ),
            (("food",), rf"{_AM}(?:allergiques?|intolerante?s?){_TO}{_FOOD}"),
            (
                ("food",),
                rf"{_HAVE}(?:(?:allergie|intolerance){_TO}{_FOOD}|maladie\s+c(?:oe|œ)liaque\b|goutte\b)",
            ),
            (("food",), rf"{_NOT}{_FOOD}"),
            (("food", "alcohol", "medicine"), rf"{_AM}diabetique\b|{_HAVE}diabete\b"),
            (("food", "alcohol", "medicine", "exercise", "travel"), rf"{_AM}enceinte\b"),
            (("medicine",), rf"{_AM}allergiques?{_TO}{_DRUG}|{_HAVE}allergie{_TO}{_DRUG}"),
            (
                ("medicine",),
                rf"{_NOT}{_DRUG}|\bje\s+ne\s+(?:peux|dois)\s+pas\s+prendre\s+(?:de\s+|d'|du\s+)?{_DRUG}",
            ),
            (
                ("medicine", "alcohol"),
                rf"\bje\s+prends\s+(?:(?:du|de\s+la|de\s+l'|des|chaque\s+\p{{L}}+)\s*)?{_DRUG}",
            ),
            (
                ("medicine", "exercise"),
                rf"""{_HAVE}(?:asthme|epilepsie|hypertension|arthrose|sclerose\s+en\s+plaques)\b
        |{_AM}asthmatique\b""",
            ),
            (("travel", "exercise"), rf"{_AM}en\s+fauteuil\s+roulant\b|{_AM}en\s+fauteuil\b"),
            (("hearing",), rf"{_AM}(?:sourde?|malentendante?){_END}"),
            (("sight",), rf"{_AM}(?:aveugle|daltonien(?:ne)?|malvoyante?){_END}"),
            (
                ("animals",),
                rf"""{_AM}allergiques?{_TO}{_CREATURE}|{_HAVE}(?:allergie{_TO}{_CREATURE}
        |rhume\s+des\s+foins\b)""",
            ),
        ),
        passing=r"""\b(?:aujourd'hui|avant(?!\s+midi)|si|serais|peut-etre|autrefois|imagine|hier
        |ne\s+suis\s+plus|ne\s+suis\s+pas|n'est\s+pas)\b""",
    ),
    leanings=Leanings(
        liked=r"""\b(?:j'|je\s+(?:n'|ne\s+)?|nous\s+(?:n'|ne\s+)?|moi\s+j')(?:aim(?:e|ons)|ador(?:e|ons)|prefer(?:e|ons)|detest(?:e|ons)|hais|appreci(?:e|ons)|evit(?:e|ons)|support(?:e|ons)|raffole)\s+
        (?:(?:pas|plus|jamais|du\s+tout|trop|bien|beaucoup|vraiment|mieux|surtout|enormement|toujours)\s+)*(?P<what>[^,;.!?()–—]{2,80})
        |\bje\s+(?:ne\s+)?suis\s+(?:pas\s+)?(?:tres\s+|(?:un|une)\s+(?:grand|grande|gros|grosse)\s+)?(?:fan|amateur|amatrice|passionnee?|accro|adepte)\s+(?P<what>[^,;.!?()–—]{2,80})
        |\bj'ai\s+horreur\s+(?P<what>[^,;.!?()–—]{2,80})""",
        against=r"""\b(?:ne|n'|pas|jamais|plus|detest\p{L}+|hais|evit\p{L}+|horreur|refuse|decline|renonce|contre)(?:\b|(?<='))""",
        favourite=r"""\b(?:mon|ma|mes|notre|nos)\s+(?P<what>\p{L}+(?:\s+\p{L}+){0,2}?)\s+(?:favori(?:te)?s?|preferee?s?)\s*,?\s*(?:est|sont|c'est|ce\s+sont|reste)\s+(?P<value>[^,;.!?]{2,60})""",
        decided=r"""\b(?:j'ai|nous\s+avons|on\s+a)\s+(?:(?:finalement|donc|enfin|deja)\s+)*(?:decide|choisi|opte|refuse|decline|retenu|renonce)\s+(?P<what>[^,;.!?()–—]{2,80})
        |\b(?:je\s+me\s+suis|nous\s+nous\s+sommes)\s+(?:finalement\s+)?decidee?s?\s+(?P<what>[^,;.!?()–—]{2,80})""",
        reaction=r"""(?:(?:a|de|d'|pour)\s*)?(?:ton|ta|tes|votre|vos|cet?|cette|ces|ca|cela|celui|celle|l'idee|l'approche|(?:la|le|les)\s+(?:photos?|images?|couleurs?|vue|theme|reponse|version|proposition|suggestion|plan|texte|ton|premiere?|deuxieme|seconde?|troisieme|dernier\p{L}*)
        |attendre|demain|aujourd'hui|quand|que|comme|comment|toi|te|vous|lorsque|pas(?=\W*$))\b""",
        unsettled=r"""\b(?:si|pas\s+encore|presque|failli|peut-etre|autrefois|aimerais|imagin\p{L}*)\b""",
    ),
    areas={
        "food": r"""\b(?:cuisin\p{L}*|diner|dejeuner|petit-dejeuner|gouter|repas|manger|recettes?
        |restaurants?|gateaux?|dessert|soupes?|salades?|pique-nique|courses|plats?)\b""",
        "alcohol": r"\b(?:vins?|bieres?|cocktails?|apero|alcool)\b",
        "medicine": r"""\b(?:medicaments?|comprimes?|antibiotiques?|antidouleurs?|douleurs?|rhume|grippe
        |fievre|pharmacie|vitamines?|angine|sirop|gants)\b""",
        "exercise": r"\b(?:sports?|entrain\p{L}*|musculation|courir|yoga|exercices?)\b",
        "travel": r"""\b(?:hotels?|voyages?|vacances|excursions?|musees?|randonnees?|hebergement|week-end
        |visiter)\b""",
        "hearing": r"\b(?:concerts?|casque|podcasts?|cinema|theatre)\b",
        "sight": r"\b(?:police|couleurs|graphique)\b",
        "animals": r"\b(?:animal|animaux|chats?|chiens?|zoo|ferme|chevaux)\b",
    },
    reported=r"""\b(?:d'apres|selon)\s+(?!mon\s+(?:medecin|docteur))|\bcomme\s+(?:dit|disait|disent)\b|,\s+(?:dit|disait|disaient|conseille|recommande)\s+(?:ma|mon|le|la|les|un|une)\b""",
    made_up=r"""\bdans\s+(?:mon|ma|le|la|une?|cet?|cette|mes)\s+(?:\p{L}+\s+)?(?:roman|reves?|histoire|conte|piece|film|chanson|poeme|jeu|nouvelle|scenario|fable)\b
        |\b(?:ecris|ecrire|ecrivez|redige\p{L}*|lettre|poeme|histoire|texte|phrases?|dialogue|chanson|devinette|commence\p{L}*)\b[^.!?:]*:""",
    of_another=r"""\b(?:il|elle|on|ils|elles|chef\p{L}*|tout\s+le\s+monde|mere|pere|ami\p{L}*)\s+(?:me\s+)?(?:dit|disent|disait
        |pense|pensent|croit|croient|pretend\p{L}*)\b|\b(?:disait|dit)(?:-il|-elle|-on)?\s+(?-i:\p{Lu})\p{L}+|\bdi(?:sai)?t-
        |\b(?:supposons|imagine\p{L}*|comme\s+si|admettons)\b|\btradui\p{L}*\b|\bblague\b""",
)
