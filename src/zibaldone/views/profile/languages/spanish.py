"""Spanish."""

from __future__ import annotations

from zibaldone.views.profile.languages.base import (
    Constraints,
    Facts,
    Language,
    Leanings,
    Orders,
    People,
)

_FOOD = r"""(?:nuez|nueces|frutos\s+secos|cacahuetes?|mani|almendras?|avellanas?|leche|lactosa|lacteos
        |gluten|trigo|huevos?|soja|pescado|marisco|mariscos|gambas
|camarones|sesamo|mostaza|apio|altramuces|fresas?|kiwis?|platanos?|tomates?|aguacates?|miel|maiz|ajo
        |cebolla|cerdo|carne|ternera|pollo|setas|chocolate
|fructosa|histamina|legumbres|queso|cafe|cafeina|alcohol|melocoton)\b"""
_DRUG = r"""(?:penicilina|antibioticos|aspirina|ibuprofeno|paracetamol|antiinflamatorios|sulfamidas
        |insulina|latex|codeina|morfina|litio|cortisona|anticoagulantes
|antidepresivos|sintrom|niquel|yodo|\p{L}{2,}(?:statina|pril|sartan|olol|prazol|cilina|micina|formina
        |zepam|zolam|xaban|oxetina|tiroxina)|\d+\s?(?:mg|mcg))\b"""
_CREATURE = r"(?:gatos?|perros?|polen|gramineas|acaros|polvo|caballos?|abejas?|avispas?|pelo\s+de\s+\p{L}+)\b"
_KIN = r"(?:hij[oa]s?|mujer|marido|espos[oa]|pareja|novi[oa]|bebe|nin[oa]s?|gemel[oa]s)"
_MY = rf"\b(?:mis?|nuestr[oa]s?)\s+{_KIN}(?:\s+(?-i:\p{{Lu}}\p{{Ll}}+))?"
_START = r"(?:^\W*|[,;:.!(–—]\s*|\b(?:y|pero|porque|que|importante|ademas|tambien|pues|yo|es\s+que)\s+)"
_CLAUSE = r"(?:^\W*|[,;:.!]\s*|\b(?:y|pero|porque|yo|ahora|ya|actualmente|tambien|aqui)\s+)"
_ADVERBS = r"(?:(?:muy|tambien|ahora|ya|desde\s+\p{L}+|totalmente|severamente|medio)\s+)*"
_AM = rf"(?:{_START}(?:yo\s+)?(?:soy|somos)|{_MY}\s+(?:es|son))\s+{_ADVERBS}"
_HAVE = rf"""(?:{_START}(?:yo\s+)?(?:tengo|tenemos|sufro\s+de|padezco)|{_MY}\s+(?:tiene|tienen|sufre\s+de
        |padece))\s+{_ADVERBS}(?:una?\s+)?"""
_NOT = rf"""(?:{_START}(?:yo\s+)?no\s+(?:como|comemos|tomo|bebo|tolero|digiero|puedo\s+(?:comer|tomar
        |beber|tolerar))|{_MY}\s+no\s+(?:comen?|toman?|toleran?|pueden?\s+(?:comer|tomar|beber
        |tolerar)))\s+(?:ni\s+)?(?:(?:el|la|los|las|nada\s+de|ningun|ninguna)\s+)?"""
_END = r"(?=\W*$|\s*[,;:.!()–—]|\s+(?:y|pero|porque|desde|por|de|diagnosticad[oa]|aunque|asi)\b)"
_ORDER = r"""(?:(?:respond|contest|escrib|habl|us|utiliz|d|pon|explic|resum|traduc|corrig|record|sugier
        |recomiend|propon|evit|mantien|incluy|menciona|trat|llam|tut|cuent|pas|muestr|ensen|indic|empiez
        |termin|convi?ert|redonde|calcul|agreg|anad|cit|hac|dim|haz)
(?:a|e|i|o)?(?:me|nos|lo|la|los|las|melo|te)?|di(?:me)?|haz(?:me|lo)?|pon(?:me|lo)?|se\s+(?:breve|conciso
        |directo)|ten\s+en\s+cuenta)\b"""

SPANISH = Language(
    marks=frozenset(
        """odio prefiero adoro detesto rechace decidi decidimos hemos he elegi nos encanta gusta
        yo soy tengo vivo vivimos trabajo mi mis nuestra nuestro me llamo siempre nunca jamas
        favor uses utilices recomiendes sugieras respondeme
        contestame hablame dame escribeme corrigeme usa evita tutea tuteame llamame quiero como
        puedo tolero voy mudado mude ahora es tiene""".split()
    ),
    little=frozenset(
        """el la los las un una unos unas de del al a en por para con sin y o que algo como cual
        cuando donde quien me te se mi mis tu es son lo le
        sobre acerca cada todo toda todos todas siempre""".split()
    ),
    orders=Orders(
        opening=r"""(?:(?:y|ah|oye|vale|ok|si|gracias|pues|bueno|ademas|otra\s+cosa|por\s+cierto
        |importante|hola|por\s+favor|porfa(?:vor)?|recuerda|(?:desde|a\s+partir\s+de)\s+(?:ahora|hoy
        |ya)(?:\s+en\s+adelante)?
        |de\s+ahora\s+en\s+adelante|en\s+adelante|en\s+el\s+futuro|siempre)\b[\s,:.!–—-]*)*""",
        please=r"\b(?:por\s+favor|porfa(?:vor)?)\b",
        order=_ORDER,
        refusal=r"""(?:no|nunca|jamas)\s+(?:me\s+|nos\s+|lo\s+)?(?:uses|utilices|recomiendes|sugieras
        |propongas|des|pongas|escribas|hables|digas|menciones|respondas|contestes|hagas|incluyas|anadas
        |llames|trates|ofrezcas|cuentes)\b""",
        infinitive=r"(?!)",
        wish=r"\b(?:quiero|queremos|prefiero|me\s+gustaria|necesito)\s+que\s+(?=(?:siempre|nunca|me|no)\b)",
        lasts=r"""\b(?:siempre|nunca|jamas|(?:desde|a\s+partir\s+de)\s+(?:ahora|hoy|ya)
        |de\s+ahora\s+en\s+adelante|en\s+adelante|en\s+el\s+futuro|cada\s+vez|por\s+defecto|(?:en
        |para)\s+tod[oa]s\s+(?:las|los|mis|tus)\s+(?:recetas|respuestas|correos|e?mails|mensajes|textos|listas))\b""",
        once=r"""\b(?:hoy(?!\s+en\s+adelante)|manana|esta\s+(?:vez|noche|tarde|semana|carta)
        |este\s+(?:correo|texto|mensaje|parrafo|documento)|por\s+ahora|de\s+momento)\b""",
        form=r"""\ben\s+(?:espanol|castellano|ingles|frances|catalan|gallego|euskera|italiano|portugues
        |aleman)\b(?=\W*$|,)|\bemojis?\b|\bemoticonos?\b|\btute(?:a|ame|es)\b|\bde\s+(?:tu|usted)\b
        |\btus\s+respuestas\b|\bsin\s+rodeos\b|\btecnicismos\b
        |\b(?:respond|contest|escrib|habl)\p{L}*\s+(?:(?:siempre|de\s+forma|solo)\s+)*(?:breve|corto
        |claro|sencillo|en\s+pocas|con\s+pocas|formal|informal)\p{L}*|\bllamame\s+(?-i:\p{Lu})
        |\bcorrigeme\b(?!\W+si\b)|\babreviaturas\b|\bmarkdown\b|\bparrafos\s+(?:largos|eternos)\b""",
        condition=r"""(?:cuando|si|cada\s+vez\s+que|siempre\s+que)\s+(?:yo\s+)?(?:te\s+|le\s+
        |os\s+)?(?:pregunt\p{L}+|pid\p{L}+|habl\p{L}+|mencion\p{L}+|quier\p{L}+|busqu\p{L}+|consult\p{L}+
        |necesit\p{L}+)\s+
        (?:(?:algo|por|sobre|de|del|un|una|unos|unas|el|la|los|las|acerca|en
        |cosas)\s+)*(?P<topic>[^,;.!?]{2,60}?)\s*,?\s+(?=(?:por\s+favor\s+)?(?:no|nunca|jamas|siempre|"""
        + _ORDER
        + r"""))""",
        scope=r"""\b(?:en|para)\s+(?:tod[oa]s\s+)?(?:(?:las|los|mis)\s+)(?P<topic>\p{L}+(?:\s+(?:de|a
        |para)\s+\p{L}+)?)|\b(?:cada|las|los)\s+(?P<topic>(?!dos\b|tres\b)\p{L}{4,})(?=\s+(?:siempre|para
        |con|en)\b)""",
        reminds=r"^\W*(?:recuerda|acuerdate|regla|norma|apunta)\s*:\s*",
        subject=r""",\s+(?:(?:el|la|los|las|ese|esa|este|esta)\s+(?!verdad\b)\p{L}+|(?:mi|tu|su)\s+\p{L}+)\s*(?:[:.!]|$)""",
    ),
    facts=Facts(
        name=r"""\b(?:me\s+llamo
        |mi\s+nombre\s+es)\s+(?P<value>(?-i:\p{Lu})\p{L}+(?:\s+(?-i:\p{Lu})\p{L}+){0,2})""",
        age=r"(?<!\b(?:que|si)\s)\btengo\s+(?P<value>\d{1,3})\s+anos(?=\W*$|\s*[,;.!()]|\s+(?:y|pero)\b)",
        home=rf"""{_CLAUSE}(?:vivo|vivimos|resido)\s+(?:(?:ahora|ya|actualmente|aqui
        |desde\s+\p{{L}}+)\s+)*en\s+(?:la\s+
        |el\s+)?(?P<value>(?-i:\p{{Lu}})\p{{L}}+(?:\s+(?:de\s+)?(?-i:\p{{Lu}})\p{{L}}+){{0,2}})
        |\bme\s+(?:mude
        |he\s+mudado)\b[^.;!?]{{0,30}}?\ba\s+(?P<value>(?-i:\p{{Lu}})\p{{L}}+(?:\s+(?-i:\p{{Lu}})\p{{L}}+)?)""",
        employer=rf"""{_CLAUSE}trabajo\s+(?:(?:ahora|ya|actualmente
        |desde\s+\p{{L}}+)\s+)*(?:en|para)\s+(?:la\s+
        |el\s+)?(?P<value>(?-i:\p{{Lu}})[\p{{L}}&]+(?:\s+(?:de\s+)?(?-i:\p{{Lu}})[\p{{L}}&]+){{0,2}})""",
        occupation=rf"""{_CLAUSE}trabajo\s+(?:(?:ahora|ya|actualmente)\s+)*(?:como
        |de)\s+(?P<value>(?!lunes|noche|dia|forma|manera|siempre|nunca|antes|loc[oa]|burr|mul[oa])\p{{L}}{{4,}})""",
    ),
    people=People(
        my=r"\b(?:mis?|nuestr[oa]s?)",
        stand_in="mi mujer",
        kin=r"""(?:mujer|marido|espos[oa]|madre|mama|padre|papa|herman[oa]|hij[oa]|novi[oa]|pareja
        |abuel[oa]|ti[oa]|prim[oa]|sobrin[oa]|jef[ea]|amig[oa]|companer[oa](?:\s+de\s+(?:piso|cuarto
        |cocina|trabajo))?|vecin[oa]|caser[oa]
        |medic[oa]|doctora?|profesora?|tutora?|perr[oa]|gat[oa]|suegr[oa])""",
        one_at_a_time=frozenset(
            """mujer marido esposa esposo madre padre mama papa jefe jefa novio novia pareja casero casera
            tutor tutora""".split()
        ),
        called=r"(?:(?:se\s+llama|es\s+(?:ahora\s+)?(?:el\s+|la\s+)?|,)\s*)?",
        no_name=r"(?:enero|febrero|marzo|abril|mayo|junio|julio|agosto|navidad|semana|dios|internet)",
    ),
    constraints=Constraints(
        stated=(
            (
                ("food",),
                rf"""{_AM}(?:vegetarian[oa]s?|vegan[oa]s?|celiac[oa]s?|pescetarian[oa]s?){_END}
        |{_START}me\s+he\s+hecho\s+(?:vegetarian[oa]|vegan[oa])\b""",
            ),
            (
                ("food",),
                rf"""{_AM}(?:alergic[oa]s?|intolerantes?)\s+(?:al?|a\s+l[oa]s?)\s+(?:(?:l[oa]s?
        |el)\s+)?{_FOOD}""",
            ),
            (
                ("food",),
                rf"""{_HAVE}(?:(?:alergia|intolerancia)\s+(?:al?|a\s+l[oa]s?)\s+(?:(?:l[oa]s?
        |el)\s+)?{_FOOD}|celiaquia\b|enfermedad\s+celiaca\b|gota\b)""",
            ),
            (("food",), rf"{_NOT}{_FOOD}"),
            (("food", "alcohol", "medicine"), rf"{_AM}diabetic[oa]s?\b|{_HAVE}diabetes\b"),
            (
                ("food", "alcohol", "medicine", "exercise", "travel"),
                rf"{_START}(?:yo\s+)?estoy\s+embarazada\b|{_MY}\s+esta\s+embarazada\b",
            ),
            (
                ("medicine",),
                rf"""{_AM}alergic[oa]s?\s+(?:al?|a\s+l[oa]s?)\s+(?:(?:l[oa]s?|el)\s+)?{_DRUG}
        |{_HAVE}alergia\s+(?:al?|a\s+l[oa]s?)\s+(?:(?:l[oa]s?|el)\s+)?{_DRUG}
        |{_START}alergic[oa]\s+a\s+(?:la\s+)?{_DRUG}""",
            ),
            (("medicine",), rf"{_NOT}{_DRUG}"),
            (
                ("medicine", "alcohol"),
                rf"{_START}(?:yo\s+)?tomo\s+(?:(?:cada\s+\p{{L}}+|todos\s+los\s+dias)\s+)?{_DRUG}",
            ),
            (
                ("medicine", "exercise"),
                rf"""{_HAVE}(?:asma|epilepsia|hipertension|artrosis|artritis|esclerosis\s+multiple)\b
        |{_AM}asmatic[oa]\b""",
            ),
            (
                ("travel", "exercise"),
                rf"""{_START}(?:voy|estoy|vamos)\s+en\s+silla\s+de\s+ruedas\b|{_MY}\s+(?:va
        |esta)\s+en\s+silla\s+de\s+ruedas\b|{_START}uso\s+(?:silla\s+de\s+ruedas|muletas|baston)\b""",
            ),
            (("hearing",), rf"{_AM}sord[oa]{_END}|{_HAVE}(?:perdida\s+de\s+audicion|audifonos?)\b"),
            (("sight",), rf"{_AM}(?:cieg[oa]|daltonic[oa])(?!\s+de\s+amor){_END}"),
            (
                ("animals",),
                rf"""{_AM}alergic[oa]s?\s+(?:al?|a\s+l[oa]s?)\s+(?:(?:l[oa]s?|el)\s+)?{_CREATURE}
        |{_HAVE}alergia\s+(?:al?|a\s+l[oa]s?)\s+(?:(?:l[oa]s?|el)\s+)?{_CREATURE}""",
            ),
        ),
        passing=r"""\b(?:hoy|antes|ya\s+no|si\s+fuera|fuese|seria|quizas?|tal\s+vez|de\s+pequen[oa]
        |imagina|ayer|nunca\s+antes)\b""",
    ),
    leanings=Leanings(
        liked=r"""(?:^\W*|[,;:.]\s*|\b(?:y|pero|porque|pues|yo|tambien|ademas|sinceramente|aunque|asi\s+que|al\s+final|finalmente|de\s+hecho)\s+)(?:a\s+(?:mi|nosotr[oa]s)\s+)?(?:(?:no|siempre|nunca)\s+){0,2}(?:me|nos)\s+(?:ha\s+|han\s+)?(?:gustan?|gustado|encantan?|encantado|fascinan?|chiflan?|apasionan?|disgustan?|horrorizan?)\s+
        (?:(?:mucho|muchisimo|mas|nada|tanto|sobre\s+todo)\s+)*(?P<what>[^,;.!?()–—]{2,80})
        |(?:^\W*|[,;:.]\s*|\b(?:y|pero|porque|pues|yo|tambien|ademas|sinceramente|aunque|asi\s+que|al\s+final|finalmente|de\s+hecho)\s+)(?:siempre\s+)?(?:prefiero|preferimos|adoro|adoramos|odio|odiamos|detesto|detestamos|evito|evitamos)\s+(?:(?:mucho|mas)\s+)*(?P<what>[^,;.!?()–—]{2,80})
        |(?:^\W*|[,;:.]\s*|\b(?:y|pero|porque|pues|yo|tambien|ademas|sinceramente|aunque|asi\s+que|al\s+final|finalmente|de\s+hecho)\s+)no\s+(?:soporto|soportamos|aguanto|aguantamos)\s+(?P<what>[^,;.!?()–—]{2,80})
        |(?:^\W*|[,;:.]\s*|\b(?:y|pero|porque|pues|yo|tambien|ademas|sinceramente|aunque|asi\s+que|al\s+final|finalmente|de\s+hecho)\s+)(?:no\s+)?(?:soy|somos)\s+(?:muy\s+|(?:un|una)\s+gran\s+|tan\s+)?(?:fan(?:s|atic[oa]s?)?|aficionad[oa]s?|amantes?|partidari[oa]s?)\s+(?P<what>[^,;.!?()–—]{2,80})""",
        against=r"""\b(?:no|nunca|odio|odiamos|detest\p{L}+|evit\p{L}+|disgustan?|horrorizan?|rechac\p{L}+|rechaz\p{L}+|descart\p{L}+)\b""",
        favourite=r"""\b(?:mis?|nuestr[oa]s?)\s+(?P<what>\p{L}+(?:\s+\p{L}+){0,2}?)\s+(?:favorit[oa]s?|preferid[oa]s?)\s+(?:es|son|sigue\s+siendo)\s+(?P<value>[^,;.!?]{2,60})""",
        decided=r"""\b(?:he|hemos)\s+(?:(?:finalmente|al\s+final|ya)\s+)?(?:decidido|elegido|escogido|optado\s+por|rechazado|descartado)\s+(?P<what>[^,;.!?()–—]{2,80})
        |\b(?:me\s+(?:decidi|he\s+decidido)|nos\s+(?:decidimos|hemos\s+decidido)|opte|optamos)\s+por\s+(?P<what>[^,;.!?()–—]{2,80})
        |(?:^\W*|[,;:.]\s*|\b(?:y|pero|porque|pues|yo|tambien|ademas|sinceramente|aunque|asi\s+que|al\s+final|finalmente|de\s+hecho)\s+)(?:al\s+final\s+|finalmente\s+)?(?:decidi|decidimos|elegi|elegimos|escogi|escogimos|rechace|rechazamos|descarte|descartamos)\s+(?P<what>[^,;.!?()–—]{2,80})""",
        reaction=r"""(?:(?:mucho|mas|muy)\s+)?(?:a\s+)?(?:tus?|vuestr[oa]s?|sus?|es[aeo]s?|est[aeo]s?|eso|esto|lo\s+(?:que|de)|(?:la|el|las|los)\s+(?:idea|fotos?|imagen\p{L}*|color\p{L}*|vistas?|tema|respuesta|opcion|propuesta|version|plan|texto|tono|enfoque|primer\p{L}*|segund[oa]|tercer\p{L}*|ultim[oa])
        |a\s+(?:fotos?|cor|ideia)|esperar|manana|hoy|ahora|como|que|cuando|te|si)\b""",
        unsettled=r"""\b(?:todavia|aun(?!que)|no\s+(?:he|hemos|me\s+he)\s+(?:\p{L}+\s+)?(?:decidido|elegido)|si(?!\s*,)|gustaria|gustara|antes|casi|quizas?|tal\s+vez|ojala|imagina\p{L}*)\b""",
    ),
    areas={
        "food": r"""\b(?:cocin\p{L}*|cenas?|cenar|comidas?|comer|desayun\p{L}*|almuerzo|almorzar|merienda
        |snacks?|recetas?|restaurantes?|hornear|pastel|tarta|postres?|sopas?|ensaladas?|bocadillos?
        |picnic|supermercado|ingredientes|nevera)\b""",
        "alcohol": r"\b(?:vinos?|cervezas?|cocteles?|copas?|licor\p{L}*)\b",
        "medicine": r"""\b(?:medicament\p{L}*|medicinas?|pastillas?|antibiotic\p{L}*|analgesic\p{L}*
        |dolor\p{L}*|resfriado|gripe|fiebre|farmacia|vitaminas?|anginas|jarabe|guantes)\b""",
        "exercise": r"\b(?:deportes?|entren\p{L}*|gimnasio|correr|yoga|ejercicios?|levantar|cargar)\b",
        "travel": r"""\b(?:hotel\p{L}*|viajes?|vacaciones|excursion\p{L}*|museos?|senderismo|alojamiento
        |escapada|visitar)\b""",
        "hearing": r"\b(?:conciertos?|auriculares|podcasts?|cine|teatro)\b",
        "sight": r"\b(?:letra|colores|grafico\p{L}*)\b",
        "animals": r"\b(?:mascotas?|gatos?|perros?|zoo|granja|caballos?)\b",
    },
    reported=r"""\bsegun\s+(?!(?:mi|el|la)\s+(?:medic|doctor))|,\s+(?:como\s+)?(?:dice|dicen|decia|aconseja|recomienda)\s+(?:mi|el|la|los|las|un|una|que)\b""",
    made_up=r"""\ben\s+(?:mi|la|el|una?|est[ea]|mis)\s+(?:\p{L}+\s+)?(?:novela|cuento|historia|suenos?|obra|pelicula|cancion|poema|juego|guion|fabula)\b
        |\b(?:escrib(?:e|eme|a|ir|enos)|redact(?:a|ame|ar)|poema|cuento|carta|texto|frases?|dialogo|cancion|adivinanza|empiece|comience|diga)\b[^.!?:]*:""",
    of_another=r"""\b(?:dice|dicen|decia|dijo|cree|creen|piensa|piensan|creia|afirma|opina)\b(?!\s+(?:mi|el|la)\s+(?:medic
        |doctor))|\b(?:supongamos|imagina\p{L}*|como\s+si)\b|\btradu(?:ce|cir|zca)\p{L}*\b|\bchiste\b""",
)
