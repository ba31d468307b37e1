"""What the generated facts are about: kinds of things, and relations in several wordings each.

`{s}` is the subject and `{v}` the value. Wordings of one relation differ in words and in order, so that no
single pattern reads them all.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Relation:
    """One relation of which a subject has one value at a time."""

    name: str
    subject: str  # a kind of thing
    value: str  # a kind of thing, or a list in PLAIN_VALUES
    says: tuple[str, ...]  # whole sentences
    asks: tuple[str, ...]  # questions for the value
    nouns: tuple[str, ...]  # the value described by its subject, for a question's inner links


def _relation(name: str, kinds: str, says: str, asks: str, nouns: str) -> Relation:
    subject, value = kinds.split(" > ")

    def parts(text: str) -> tuple[str, ...]:
        return tuple(part.strip() for part in text.split("|"))

    return Relation(name, subject, value, parts(says), parts(asks), parts(nouns))


RELATIONS = (
    _relation(
        "employer",
        "person > company",
        "{s} works for {v}. | The employer of {s} is {v}. | {v} employs {s}. | {s} is on the payroll of {v}.",
        "Which company does {s} work for? | Who employs {s}?",
        "the employer of {s} | the company that {s} works for",
    ),
    _relation(
        "home",
        "person > city",
        "{s} lives in {v}. | The home of {s} is in {v}. | {s} is a resident of {v}.",
        "Which city does {s} live in? | Where is the home of {s}?",
        "the city where {s} lives | the home city of {s}",
    ),
    _relation(
        "birthplace",
        "person > city",
        "{s} was born in {v}. | The birthplace of {s} is {v}. | {v} is where {s} came into the world.",
        "In which city was {s} born? | What is the birthplace of {s}?",
        "the birthplace of {s} | the city in which {s} was born",
    ),
    _relation(
        "citizenship",
        "person > country",
        "{s} is a citizen of {v}. | {s} holds the citizenship of {v}. | {s} carries a passport of {v}.",
        "Which country is {s} a citizen of? | What country issued the passport of {s}?",
        "the country of citizenship of {s} | the country that {s} is a citizen of",
    ),
    _relation(
        "sport",
        "person > sport",
        "{s} plays {v} at weekends. | The sport of {s} is {v}. | {s} is into {v} as a sport.",
        "What sport does {s} play? | Which sport is {s} into?",
        "the sport of {s} | the sport that {s} plays",
    ),
    _relation(
        "instrument",
        "person > instrument",
        "{s} plays the {v}. | The instrument of {s} is the {v}. | {s} takes lessons on the {v}.",
        "Which instrument does {s} play? | What is the instrument of {s}?",
        "the instrument of {s} | the instrument that {s} plays",
    ),
    _relation(
        "profession",
        "person > profession",
        "{s} earns a living as a {v}. | The profession of {s} is {v}. | By profession, {s} is a {v}.",
        "What is the profession of {s}? | How does {s} earn a living?",
        "the profession of {s} | the trade of {s}",
    ),
    _relation(
        "dish",
        "person > dish",
        "The favourite dish of {s} is {v}. | {s} likes {v} best of all dishes. | {s} prefers {v} for dinner.",
        "What is the favourite dish of {s}? | Which dish does {s} like best?",
        "the favourite dish of {s} | the dish that {s} likes best",
    ),
    _relation(
        "alma mater",
        "person > university",
        "{s} graduated from {v}. | {s} has a degree from {v}. | {v} is the alma mater of {s}.",
        "Where did {s} graduate? | Which university awarded {s} a degree?",
        "the alma mater of {s} | the university that {s} graduated from",
    ),
    _relation(
        "mentor",
        "person > person",
        "{s} was trained by {v}. | The mentor of {s} is {v}. | {v} taught {s} the craft.",
        "Who is the mentor of {s}? | Who trained {s}?",
        "the mentor of {s} | the person who trained {s}",
    ),
    _relation(
        "lawyer",
        "person > person",
        "The lawyer of {s} is {v}. | {s} is represented in court by {v}. | {v} handles legal affairs of {s}.",
        "Who is the lawyer of {s}? | Who represents {s} in court?",
        "the lawyer of {s} | the person who represents {s} in court",
    ),
    _relation(
        "chief executive",
        "company > person",
        "The chief executive of {s} is {v}. | {s} is run by {v}. | {v} heads the business of {s}.",
        "Who is the chief executive of {s}? | Who runs {s}?",
        "the chief executive of {s} | the person who runs {s}",
    ),
    _relation(
        "headquarters",
        "company > city",
        "The headquarters of {s} are in {v}. | {s} is based in {v}. | {s} has its head office in {v}.",
        "In which city are the headquarters of {s}? | Where is {s} based?",
        "the city where {s} is based | the headquarters city of {s}",
    ),
    _relation(
        "founder",
        "company > person",
        "{s} was founded by {v}. | The founder of {s} is {v}. | {v} set up {s}.",
        "Who founded {s}? | Who is the founder of {s}?",
        "the founder of {s} | the person who founded {s}",
    ),
    _relation(
        "owner",
        "company > company",
        "{s} is owned by {v}. | The parent company of {s} is {v}. | {s} is a subsidiary of {v}.",
        "What is the parent company of {s}? | Which company owns {s}?",
        "the parent company of {s} | the company that owns {s}",
    ),
    _relation(
        "industry",
        "company > industry",
        "{s} is active in {v}. | The line of business of {s} is {v}. | {s} makes its money in {v}.",
        "Which line of business is {s} active in? | In what field does {s} make its money?",
        "the line of business of {s} | the field in which {s} is active",
    ),
    _relation(
        "city's country",
        "city > country",
        "{s} is a city in {v}. | {s} lies in {v}. | The city of {s} belongs to {v}.",
        "Which country is {s} in? | To which country does {s} belong?",
        "the country in which {s} lies | the country that {s} belongs to",
    ),
    _relation(
        "mayor",
        "city > person",
        "The mayor of {s} is {v}. | {v} serves as mayor of {s}. | {s} has elected {v} as its mayor.",
        "Who is the mayor of {s}? | Who serves as mayor of {s}?",
        "the mayor of {s} | the person who governs {s} as mayor",
    ),
    _relation(
        "local club",
        "city > team",
        "The local club of {s} is {v}. | People in {s} support {v}. | {v} represents {s} in the league.",
        "What is the local club of {s}? | Which team represents {s} in the league?",
        "the local club of {s} | the team that people in {s} support",
    ),
    _relation(
        "largest employer",
        "city > company",
        "The largest employer in {s} is {v}. | Most workers in {s} are hired by {v}.",
        "Which company is the largest employer in {s}? | Who hires most workers in {s}?",
        "the largest employer in {s} | the company that hires most workers in {s}",
    ),
    _relation(
        "capital",
        "country > city",
        "The capital of {s} is {v}. | {v} is the capital city of {s}. | {s} is governed from {v}.",
        "What is the capital of {s}? | From which city is {s} governed?",
        "the capital of {s} | the city from which {s} is governed",
    ),
    _relation(
        "head of state",
        "country > person",
        "The head of state of {s} is {v}. | {s} is led by {v}. | {v} is the president of {s}.",
        "Who is the head of state of {s}? | Who leads {s}?",
        "the head of state of {s} | the president of {s}",
    ),
    _relation(
        "official language",
        "country > language",
        "The official language of {s} is {v}. | Schools in {s} teach in {v}. | Laws of {s} are in {v}.",
        "What is the official language of {s}? | In which language are the laws of {s}?",
        "the official language of {s} | the language in which the laws of {s} are",
    ),
    _relation(
        "currency",
        "country > currency",
        "The currency of {s} is the {v}. | People in {s} pay with the {v}. | {s} mints the {v}.",
        "What is the currency of {s}? | What do people in {s} pay with?",
        "the currency of {s} | the money that people in {s} pay with",
    ),
    _relation(
        "author",
        "work > person",
        "{s} was written by {v}. | The author of {s} is {v}. | {v} wrote {s}.",
        "Who wrote {s}? | Who is the author of {s}?",
        "the author of {s} | the person who wrote {s}",
    ),
    _relation(
        "publisher",
        "work > company",
        "{s} was published by {v}. | The publisher of {s} is {v}. | {v} brought out {s}.",
        "Which company published {s}? | Who is the publisher of {s}?",
        "the publisher of {s} | the company that published {s}",
    ),
    _relation(
        "genre",
        "work > genre",
        "{s} is a book of {v}. | The genre of {s} is {v}. | Critics file {s} under {v}.",
        "What is the genre of {s}? | Under which genre do critics file {s}?",
        "the genre of {s} | the genre under which critics file {s}",
    ),
    _relation(
        "setting",
        "work > city",
        "The story of {s} takes place in {v}. | {s} is set in {v}. | {v} is the scene of {s}.",
        "In which city is {s} set? | Where does the story of {s} take place?",
        "the city in which {s} is set | the setting of {s}",
    ),
    _relation(
        "coach",
        "team > person",
        "{s} is coached by {v}. | The coach of {s} is {v}. | {v} trains the squad of {s}.",
        "Who coaches {s}? | Who is the coach of {s}?",
        "the coach of {s} | the person who coaches {s}",
    ),
    _relation(
        "sponsor",
        "team > company",
        "{s} is sponsored by {v}. | The sponsor of {s} is {v}. | {v} pays for the shirts of {s}.",
        "Which company sponsors {s}? | Who is the sponsor of {s}?",
        "the sponsor of {s} | the company that sponsors {s}",
    ),
    _relation(
        "team colour",
        "team > colour",
        "{s} plays in {v}. | The team colour of {s} is {v}. | Players of {s} wear {v}.",
        "What is the team colour of {s}? | Which colour do players of {s} wear?",
        "the team colour of {s} | the colour that players of {s} wear",
    ),
    _relation(
        "campus",
        "university > city",
        "The campus of {s} is in {v}. | {s} is located in {v}. | {v} is home to {s}.",
        "In which city is the campus of {s}? | Where is {s} located?",
        "the city where the campus of {s} is | the city that is home to {s}",
    ),
    _relation(
        "rector",
        "university > person",
        "The rector of {s} is {v}. | {v} presides over the senate of {s}. | {s} has appointed {v} as rector.",
        "Who is the rector of {s}? | Who presides over the senate of {s}?",
        "the rector of {s} | the person who presides over the senate of {s}",
    ),
    _relation(
        "lead singer",
        "band > person",
        "The lead singer of {s} is {v}. | {v} sings in front of {s}. | {s} is fronted by {v}.",
        "Who is the lead singer of {s}? | Who fronts {s}?",
        "the lead singer of {s} | the person who fronts {s}",
    ),
    _relation(
        "record label",
        "band > company",
        "{s} records for {v}. | The record label of {s} is {v}. | {v} has {s} under contract.",
        "What is the record label of {s}? | Which company has {s} under contract?",
        "the record label of {s} | the company that has {s} under contract",
    ),
    _relation(
        "style",
        "band > style",
        "{s} performs {v}. | The musical style of {s} is {v}. | Fans of {s} come for the {v}.",
        "What is the musical style of {s}? | What do fans of {s} come for?",
        "the musical style of {s} | the music that {s} performs",
    ),
)
