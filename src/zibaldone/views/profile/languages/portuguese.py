"""Portuguese, of Portugal and of Brazil."""

from __future__ import annotations

from zibaldone.views.profile.languages.base import (
    Constraints,
    Facts,
    Language,
    Leanings,
    Orders,
    People,
)

_FOOD = r"""(?:noz|nozes|frutos\s+secos|amendoim|amendoins|amendoas?|avelas?|castanhas?|leite|lactose
        |laticinios|gluten|trigo|ovos?|soja|peixe|marisco|mariscos|camarao|camaroes|sesamo|gergelim
        |mostarda|aipo|morangos?|kiwis?
|tomates?|abacate|mel|milho|alho|cebola|porco|carne|frango|cogumelos|chocolate|frutose|histamina
        |leguminosas|queijo|cafe|cafeina|alcool)\b"""
_DRUG = r"""(?:penicilina|antibioticos?|aspirina|ibuprofeno|paracetamol|dipirona|anti-inflamatorios?
        |insulina|latex|codeina|morfina|litio|cortisona|anticoagulantes?|antidepressivos?|niquel|iodo
|\p{L}{2,}(?:statina|pril|sartana|olol|prazol|cilina|micina|formina|zepam|zolam|xabana|oxetina|tiroxina)
        |\d+\s?mg)\b"""
_CREATURE = (
    r"(?:gatos?|caes|cachorros?|polen|gramineas|acaros|po|cavalos?|abelhas?|vespas?|pelo\s+de\s+\p{L}+)\b"
)
_KIN = r"(?:filh[oa]s?|mulher|marido|espos[oa]|companheir[oa]|namorad[oa]|bebe|gemeos)"
_MY = rf"\b(?:meus?|minhas?|noss[oa]s?)\s+{_KIN}(?:\s+(?-i:\p{{Lu}}\p{{Ll}}+))?"
_START = r"(?:^\W*|[,;:.!(–—]\s*|\b(?:e|mas|porque|importante|tambem|eu|pois)\s+)"
_CLAUSE = r"(?:^\W*|[,;:.!]\s*|\b(?:e|mas|porque|eu|agora|ja|atualmente|tambem|aqui)\s+)"
_ADVERBS = r"(?:(?:muito|tambem|agora|ja|desde\s+\p{L}+|totalmente)\s+)*"
_AM = rf"(?:{_START}(?:eu\s+)?(?:sou|somos)|{_MY}\s+(?:e|sao))\s+{_ADVERBS}"
_HAVE = rf"(?:{_START}(?:eu\s+)?(?:tenho|temos)|{_MY}\s+(?:tem))\s+{_ADVERBS}(?:uma?\s+)?"
_NOT = rf"""(?:{_START}(?:eu\s+)?nao\s+(?:como|comemos|bebo|tomo|tolero|posso\s+(?:comer|beber|tomar))
        |{_MY}\s+nao\s+(?:come|bebe|toma|tolera|pode\s+(?:comer|beber|tomar)))\s+(?:(?:o|a|os|as|nenhum
        |nenhuma)\s+)?"""
_TO = r"\s+(?:ao|aos|as?)\s+"
_END = r"(?=\W*$|\s*[,;:.!()–—]|\s+(?:e|mas|desde|ha|porque|por|entao)\b)"
_ORDER = r"""(?:responde?|responda|escreve|escreva|fala|fale|usa|use|utiliza|utilize|da|de|poe|ponha
        |explica|explique|resume|resuma|traduz|traduza|corrige|corrija|lembra|lembre|sugere|sugira
        |recomenda|recomende|propoe|proponha|evita|evite|mantem|mantenha|inclui|inclua
|menciona|mencione|trata|trate|chama|chame|mostra|mostre|indica|indique|comeca|comece|converte|converta
        |arredonda|arredonde|calcula|calcule|cita|cite|faz|faca|diz|diga|se\s+breve)(?:-(?:me|nos|o|a|os
        |as))?\b"""

PORTUGUESE = Language(
    marks=frozenset(
        """gosto gostamos adoro odeio prefiro detesto decidi decidimos
        resolvi resolvemos escolhi optei recusei acabei acabamos nossa nosso
        eu sou tenho moro moramos trabalho meu minha meus minhas chamo sempre nunca jamais
        responde responda uses sugiras usa use evita evite nao
        favor agora posso mudei chama chamar tem e""".split()
    ),
    little=frozenset(
        """o a os as um uma uns umas de do da dos das em no na nos nas por para com sem e ou que
        algo como qual quando onde quem me te se meu minha
        teu tua isto sobre cada todo toda todos todas sempre""".split()
    ),
    orders=Orders(
        opening=r"""(?:(?:e|ah|ok|sim|obrigad[oa]|entao|bem|tambem|outra\s+coisa|ja\s+agora|importante
        |ola|oi|por\s+favor|lembra-te|(?:a\s+partir\s+de|de)\s+(?:agora|hoje)(?:\s+em\s+diante)?
        |daqui\s+(?:em\s+diante|para\s+a\s+frente)
        |de\s+futuro|no\s+futuro|sempre)\b[\s,:.!–—-]*)*""",
        please=r"\bpor\s+favor\b",
        order=_ORDER,
        refusal=r"""(?:nao|nunca|jamais)\s+(?:me\s+|nos\s+)?(?:uses|use|utilizes|utilize|recomendes
        |recomende|sugiras|sugira|proponhas|proponha|des|de|ponhas|escrevas|escreva|fales|fale|digas|diga
        |menciones|mencione|respondas|responda|facas|faca|incluas|inclua|ofereças|ofereca)\b""",
        infinitive=r"(?!)",
        wish=r"\b(?:quero|queria|prefiro|gostava|gostaria)\s+que\s+(?=(?:tu|voce|sempre|nunca|me)\b)",
        lasts=r"""\b(?:sempre|nunca|jamais|(?:a\s+partir\s+de|de)\s+(?:agora|hoje)(?:\s+em\s+diante)?
        |daqui\s+em\s+diante|de\s+futuro|no\s+futuro|cada\s+vez|por\s+defeito|por\s+padrao
        |em\s+tod[oa]s\s+(?:as|os)\s+(?:\p{L}+s\s+)?(?:receitas|respostas|e?mails|mensagens|textos|listas))\b""",
        once=r"""\b(?:hoje(?!\s+em\s+diante)|amanha|esta\s+(?:vez|noite|semana|carta)|este\s+(?:email
        |texto|paragrafo|documento)|por\s+enquanto|por\s+agora)\b""",
        form=r"""\bem\s+(?:portugues|ingles|frances|espanhol|alemao|italiano)\b(?=\W*$|,)|\bemojis?\b
        |\bpor\s+(?:tu|voce)\b|\btuas\s+respostas\b|\bsuas\s+respostas\b|\bsem\s+rodeios\b|\bmarkdown\b
        |\babreviaturas\b
        |\b(?:respond|escrev|fal)\p{L}*(?:-me)?\s+(?:sempre\s+)?(?:de\s+forma\s+)?(?:breve|curto|claro
        |simples|formal)\p{L}*|\b(?:chama|trata)-me\s+(?:por\s+)?(?-i:\p{Lu})
        |\bme\s+chame\s+de\s+(?-i:\p{Lu})|\bcorri[gj][ea]-me\b(?!\W+se\b)""",
        condition=r"""(?:quando|se|sempre\s+que|cada\s+vez\s+que)\s+(?:eu\s+)?(?:te\s+
        |lhe\s+)?(?:pergunt\p{L}+|ped\p{L}+|fal\p{L}+|mencion\p{L}+|quis\p{L}+|procur\p{L}+)\s+
        (?:(?:algo|por|sobre|de|do|da|um|uma|o|a|os|as)\s+)*(?P<topic>[^,;.!?]{2,60}?)\s*,?\s+(?=(?:nao
        |nunca|jamais|sempre|"""
        + _ORDER
        + r"""))""",
        scope=r"""\b(?:em|nas|nos|para)\s+(?:tod[oa]s\s+)?(?:as|os)?\s*(?P<topic>receitas|emails?|mails
        |respostas\s+a\s+\p{L}+|\p{L}{4,}s)\b|\bas\s+(?P<topic>\p{L}{4,})(?=\s+(?:sempre|para|com|em)\b)""",
        reminds=r"^\W*(?:lembra-te|lembre-se|regra)\s*:\s*",
        subject=r""",\s+(?:[oa]s?|ess[ea]|est[ea]|aquel[ea])\s+(?!serio|verdade)(?:(?:meu|minha|teu|tua)\s+)?\p{L}+\s*(?:[:.!]|$)""",
    ),
    facts=Facts(
        name=r"""\b(?:chamo-me|eu\s+me\s+chamo|me\s+chamo
        |(?:o\s+)?meu\s+nome\s+e)\s+(?P<value>(?-i:\p{Lu})\p{L}+(?:\s+(?-i:\p{Lu})\p{L}+){0,2})""",
        age=r"(?<!\b(?:que|se)\s)\btenho\s+(?P<value>\d{1,3})\s+anos(?=\W*$|\s*[,;.!()]|\s+(?:e|mas)\b)",
        home=rf"""{_CLAUSE}(?:moro|moramos|vivo|vivemos)\s+(?:(?:agora|ja|atualmente
        |aqui|desde\s+\p{{L}}+)\s+)*(?:em|no|na)\s+(?P<value>(?-i:\p{{Lu}})\p{{L}}+(?:\s+(?:de\s+|do\s+
        |da\s+)?(?-i:\p{{Lu}})\p{{L}}+){{0,2}})
        |\b(?:mudei-me|me\s+mudei|mudamo-nos|nos\s+mudamos)\s+para\s+(?:o\s+
        |a\s+)?(?P<value>(?-i:\p{{Lu}})\p{{L}}+(?:\s+(?-i:\p{{Lu}})\p{{L}}+)?)""",
        employer=rf"""{_CLAUSE}trabalho\s+(?:(?:agora|ja|atualmente
        |desde\s+\p{{L}}+)\s+)*(?:na|no|para\s+a|para\s+o
        |em)\s+(?P<value>(?-i:\p{{Lu}})[\p{{L}}&]+(?:\s+(?-i:\p{{Lu}})[\p{{L}}&]+){{0,2}})""",
        occupation=rf"""{_CLAUSE}trabalho\s+(?:(?:agora
        |ja)\s+)*como\s+(?P<value>(?!sempre|nunca|antes|louc)\p{{L}}{{4,}})""",
    ),
    people=People(
        my=r"\b(?:meus?|minhas?|noss[oa]s?)",
        stand_in="minha mulher",
        kin=r"""(?:mulher|marido|espos[oa]|mae|pai|irma|irmao|filh[oa]|namorad[oa]|companheir[oa]|avo|tia
        |tio|prim[oa]|sobrinh[oa]|chefe|amig[oa]|colega|vizinh[oa]|senhorio|senhoria|medic[oa]
        |professora?|cao|cachorro|gat[oa]|sogr[oa])""",
        one_at_a_time=frozenset(
            """mulher marido esposa esposo mae pai namorada namorado chefe senhorio senhoria companheira
            companheiro""".split()
        ),
        called=r"(?:(?:chama-se|se\s+chama|e\s+(?:agora\s+)?(?:o|a)|,)\s*)?",
        no_name=r"(?:janeiro|fevereiro|marco|abril|maio|junho|julho|agosto|natal|pascoa|deus|internet)",
    ),
    constraints=Constraints(
        stated=(
            (("food",), rf"{_AM}(?:vegetarian[oa]s?|vegan[oa]s?|celiac[oa]s?){_END}"),
            (("food",), rf"{_AM}(?:alergic[oa]s?|intolerantes?){_TO}{_FOOD}"),
            (("food",), rf"{_HAVE}(?:(?:alergia|intolerancia){_TO}{_FOOD}|doenca\s+celiaca\b|gota\b)"),
            (("food",), rf"{_NOT}{_FOOD}"),
            (("food", "alcohol", "medicine"), rf"{_AM}diabetic[oa]s?\b|{_HAVE}diabetes\b"),
            (
                ("food", "alcohol", "medicine", "exercise", "travel"),
                rf"{_START}(?:eu\s+)?estou\s+gravida\b|{_MY}\s+esta\s+gravida\b",
            ),
            (("medicine",), rf"{_AM}alergic[oa]s?{_TO}{_DRUG}|{_HAVE}alergia{_TO}{_DRUG}"),
            (("medicine",), rf"{_NOT}{_DRUG}"),
            (("medicine", "alcohol"), rf"{_START}(?:eu\s+)?tomo\s+(?:todos\s+os\s+dias\s+)?{_DRUG}"),
            (
                ("medicine", "exercise"),
                rf"""{_HAVE}(?:asma|epilepsia|hipertensao|artrite|artrose|esclerose\s+multipla)\b
        |{_AM}asmatic[oa]\b""",
            ),
            (
                ("travel", "exercise"),
                rf"""{_START}(?:ando|estou)\s+(?:em|numa)\s+cadeira\s+de\s+rodas\b
        |{_START}uso\s+(?:cadeira\s+de\s+rodas|muletas|bengala)\b""",
            ),
            (("hearing",), rf"{_AM}surd[oa]{_END}"),
            (("sight",), rf"{_AM}(?:ceg[oa]|daltonic[oa]){_END}"),
            (("animals",), rf"{_AM}alergic[oa]s?{_TO}{_CREATURE}|{_HAVE}alergia{_TO}{_CREATURE}"),
        ),
        passing=r"\b(?:hoje|antes|ja\s+nao|se\s+fosse|seria|talvez|em\s+crianca|imagina|ontem)\b",
    ),
    leanings=Leanings(
        liked=r"""(?:^\W*|[,;:.]\s*|\b(?:e|mas|porque|pois|eu|tambem|sinceramente|embora|entao|no\s+fim|afinal|nos)\s+)(?:(?:nao|nunca|sempre)\s+){0,2}(?:gosto|gostamos|gostei\s+sempre|sempre\s+gostei)\s+(?:(?:muito|mais|nada|mesmo|imenso|tanto|sobretudo)\s+)*(?=d(?:e|[oa]s?|um|uma|est|ess|iss|ist|aquel)\p{L}*\b)(?P<what>[^,;.!?()–—]{2,80})
        |(?:^\W*|[,;:.]\s*|\b(?:e|mas|porque|pois|eu|tambem|sinceramente|embora|entao|no\s+fim|afinal|nos)\s+)(?:sempre\s+)?(?:prefiro|preferimos|adoro|adoramos|odeio|odiamos|detesto|detestamos|evito|evitamos|amo)\s+(?:(?:muito|mais)\s+)*(?P<what>[^,;.!?()–—]{2,80})
        |(?:^\W*|[,;:.]\s*|\b(?:e|mas|porque|pois|eu|tambem|sinceramente|embora|entao|no\s+fim|afinal|nos)\s+)nao\s+(?:suporto|suportamos|aguento|aguentamos)\s+(?P<what>[^,;.!?()–—]{2,80})
        |(?:^\W*|[,;:.]\s*|\b(?:e|mas|porque|pois|eu|tambem|sinceramente|embora|entao|no\s+fim|afinal|nos)\s+)(?:nao\s+)?(?:sou|somos)\s+(?:muito\s+|(?:um|uma)\s+grande\s+)?(?:fas?|adept[oa]s?|apaixonad[oa]s?|apreciador\p{L}*)\s+(?P<what>[^,;.!?()–—]{2,80})""",
        against=r"""\b(?:nao|nunca|nada|odeio|odiamos|detest\p{L}+|evit\p{L}+|recus\p{L}+|rejeit\p{L}+)\b""",
        favourite=r"""\b(?:meus?|minhas?|noss[oa]s?)\s+(?P<what>\p{L}+(?:\s+\p{L}+){0,2}?)\s+(?:favorit[oa]s?|preferid[oa]s?)\s+(?:e|sao|continua\s+a\s+ser)\s+(?P<value>[^,;.!?]{2,60})""",
        decided=r"""(?:^\W*|[,;:.]\s*|\b(?:e|mas|porque|pois|eu|tambem|sinceramente|embora|entao|no\s+fim|afinal|nos)\s+)(?:finalmente\s+|ja\s+)?(?:decidi|decidimos|resolvi|resolvemos|escolhi|escolhemos|optei\s+por|optamos\s+por|recusei|recusamos|rejeitei|rejeitamos)\s+(?P<what>[^,;.!?()–—]{2,80})
        |\bacab(?:ei|amos)\s+por\s+(?:escolher|ficar\s+com|comprar|optar\s+por|aceitar|recusar)\s+(?P<what>[^,;.!?()–—]{2,80})""",
        reaction=r"""(?:(?:d?[oa]s?|de|muito|mais)\s+)?(?:d?(?:tuas?|teus?|suas?|seus?|voss[oa]s?)|d?est[ea]s?|d?ess[ea]s?|d?isso|d?isto|d?aquil\p{L}*|(?:da|do|das|dos|as?|os?)\s+(?:ideia|fotos?|imagens?|cor|cores|vista|tema|resposta|proposta|versao|plano|texto|tom|primeir[oa]|segund[oa]|terceir[oa]|ultim[oa])
        |esperar|amanha|hoje|agora|ideia|resposta|proposta|que|quando|como|te|ti|voces?)\b""",
        unsettled=r"""\b(?:ainda|se|quase|talvez|gostava|gostaria|antes|antigamente|imagin\p{L}*)\b""",
    ),
    areas={
        "food": r"""\b(?:cozinh\p{L}*|jantar\p{L}*|almoco|almocar|pequeno-almoco|cafe\s+da\s+manha
        |lanches?|refeic\p{L}*|comer|receitas?|restaurantes?|bolos?|sobremesas?|sopas?|saladas?
        |piquenique|compras|pratos?)\b""",
        "alcohol": r"\b(?:vinhos?|cervejas?|cocktails?|coqueteis|bebidas?)\b",
        "medicine": r"""\b(?:medicament\p{L}*|remedios?|comprimidos?|antibiotic\p{L}*|analgesic\p{L}*|dor
        |dores|constipacao|gripe|febre|farmacia|vitaminas?|luvas)\b""",
        "exercise": r"\b(?:desportos?|esportes?|trein\p{L}*|ginasio|academia|correr|ioga|exercicios?)\b",
        "travel": r"""\b(?:hotel|hoteis|viage\p{L}*|ferias|excurs\p{L}*|museus?|caminhadas?|alojamento
        |hospedagem|visitar)\b""",
        "hearing": r"\b(?:concertos?|shows?|auscultadores|podcasts?|cinema|teatro)\b",
        "sight": r"\b(?:letra|cores|grafico)\b",
        "animals": r"\b(?:animal|animais|gatos?|caes|cachorros?|zoo|quinta|cavalos?)\b",
    },
    reported=r"""\b(?:segundo|de\s+acordo\s+com)\s+(?!(?:o|a)\s+(?:meu\s+|minha\s+)?(?:medic|doutor))|,\s+(?:como\s+)?(?:diz|dizem|dizia|aconselha|recomenda)\s+(?:o|a|os|as|meu|minha)\b""",
    made_up=r"""\bn(?:[oa]s?|um|uma)\s+(?:(?:meu|minha|este|esta|teu)\s+)?(?:\p{L}+\s+)?(?:romance|conto|sonhos?|historia|peca|filme|cancao|musica|poema|jogo|guiao|roteiro|fabula)\b
        |\b(?:escrev(?:e|a|er|am)|redig\p{L}*|poema|conto|carta|texto|frases?|dialogo|cancao|adivinha|comece)\b[^.!?:]*:""",
    of_another=r"""\b(?:diz|dizem|dizia|disse|disseram|acha|acham|pensa|pensam|acredita)\b(?!\s+(?:o|a)\s+(?:meu\s+
        |minha\s+)?(?:medic|doutor))|\b(?:vamos\s+supor|suponhamos|imagin[ae]\p{L}*|como\s+se)\b
        |\btradu(?:z|za|zir)\b|\bpiada\b""",
)
