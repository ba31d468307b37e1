# ruff: noqa: E501
"""Generated talk for `distill`: what people tell and ask a friend or an assistant. A run: statement, question."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

_SLOTS = {
    "who": "my sister|my brother|my mom|my dad|my wife|my husband|my partner|my best friend|my roommate|my boss|my coworker|my neighbour|my cousin|my aunt|my uncle|my grandma|my grandpa|my son|my daughter|my niece|my nephew|my landlord|my therapist|my manager|my girlfriend|my boyfriend|my kids|my teammate|my mentor|Alex|Maria|Sam|Priya|Tom|Julia|Kenji|Fatima|Lucas|Nina|Omar|Grace|Daniel|Sofia|Hannah|Marcus|Elena|Chloe|Victor|Amy|Leo|Ruth|Ivan|Zoe",
    "hobby": "painting|pottery|photography|hiking|running|swimming|yoga|climbing|cycling|gardening|baking|knitting|woodworking|chess|dancing|salsa dancing|ballet|surfing|skiing|snowboarding|kayaking|camping|fishing|birdwatching|stargazing|writing poetry|journaling|reading fantasy novels|playing the guitar|playing the piano|playing the violin|playing the drums|singing in a choir|stand-up comedy|board games|video games|role-playing games|karate|boxing|tennis|basketball|football|volleyball|golf|meditation|calligraphy|sewing|embroidery|origami|cooking Thai food|home brewing|beekeeping|scuba diving|horse riding|rowing|archery|table tennis|skateboarding|collecting stamps|collecting vinyl records|learning Spanish|learning Japanese|learning French|genealogy|astronomy|model trains|drone flying|podcasting|film making|drawing comics|interior design|volunteering|coding side projects",
    "place": "the park|the beach|the mountains|the lake|the museum|the library|the gym|the new cafe downtown|a farmers market|the cinema|the zoo|the botanical garden|the community centre|the shelter|a concert hall|the mall|the hospital|the airport|the office|the church|the aquarium|a national park|a bookshop|the art gallery|the stadium|a food festival|the vet|a small village|the river|a campsite",
    "city": "Paris|London|Rome|Berlin|Tokyo|New York|Chicago|Boston|Seattle|San Francisco|Barcelona|Lisbon|Amsterdam|Vienna|Prague|Istanbul|Sydney|Toronto|Vancouver|Mexico City|Rio|Buenos Aires|Cape Town|Nairobi|Mumbai|Delhi|Bangkok|Singapore|Seoul|Shanghai|Dublin|Edinburgh|Stockholm|Oslo|Athens|Cairo|Denver|Austin|Miami|Hawaii|Iceland|Portugal|Italy|Greece|Japan|Thailand|Peru|Costa Rica|Morocco|Scotland",
    "pet": "a golden retriever|a kitten|a puppy|two cats|a rescue dog|a rabbit|a parrot|a hamster|a guinea pig|a turtle|a goldfish|a beagle|a German shepherd|a tabby cat|a labrador|a snake|a lizard|a pony|three chickens",
    "petname": "Luna|Max|Bella|Charlie|Milo|Rocky|Daisy|Buddy|Coco|Oscar|Pepper|Biscuit|Shadow|Ginger|Simba|Willow|Toby|Nala|Pixel|Mochi",
    "food": "pizza|sushi|pasta|tacos|curry|ramen|lasagna|pancakes|chocolate cake|apple pie|ice cream|dumplings|a roast chicken|lentil soup|a vegan burger|paella|banana bread|cookies|salad|steak|pad thai|risotto|falafel|hummus|sourdough bread|cheesecake|kimchi|burritos|grilled salmon|oatmeal|smoothies|fried rice|shrimp|mushrooms|peanuts|strawberries|coffee|green tea|red wine|craft beer",
    "job": "nurse|teacher|software engineer|graphic designer|accountant|lawyer|chef|barista|electrician|plumber|architect|journalist|photographer|dentist|pharmacist|veterinarian|social worker|project manager|data analyst|marketing manager|sales representative|research assistant|professor|counselor|firefighter|police officer|flight attendant|mechanic|carpenter|translator|librarian|musician|actor|physical therapist|product manager|consultant|receptionist|farmer|real estate agent|civil engineer|web developer",
    "thing": "a car|a bike|a laptop|a camera|a phone|a couch|a guitar|a piano|a house|an apartment|a sewing machine|a tent|a pair of running shoes|a necklace|a watch|a coffee machine|a blender|a bookshelf|a desk|a lamp|a rug|a jacket|a dress|a backpack|a suitcase|headphones|a tablet|a smart watch|a telescope|a kayak|a motorcycle|an electric scooter|a mattress|a vacuum cleaner|a monitor|a printer|a game console|an air fryer|tickets|a ring|a plant|a painting|a drone|a treadmill|a ski pass",
    "when": "yesterday|last week|last month|last year|two weeks ago|three days ago|on Monday|on Friday|last Saturday|over the weekend|this morning|last summer|in January|in March|in June|in October|around Christmas|on my birthday|a few years ago|when I was ten|in 2019|in 2022|the other day|during the holidays|tonight|last night|in spring|on Valentine's Day|on the 5th of May|on the 12th of August",
    "soon": "tomorrow|next week|next month|next year|on Thursday|this weekend|in two weeks|in the fall|in December|next summer|on the 20th of April|after the exams|at the end of the month|later today|soon|in July",
    "event": "a wedding|a birthday party|a concert|a marathon|a half marathon|a job interview|a conference|a graduation|a funeral|a baby shower|a pride parade|a charity race|a book club meeting|a school play|a dance recital|a pottery workshop|a cooking class|a support group|a family reunion|a road trip|a camping trip|an art exhibition|a hackathon|a music festival|a job fair|a parade|a poetry reading|a fundraiser|a dentist appointment|a doctor's appointment|a parent-teacher meeting|a performance review|a house warming party|a football match|an exam|a driving test",
    "feel": "happy|excited|nervous|sad|stressed|proud|grateful|exhausted|relieved|anxious|overwhelmed|lonely|hopeful|frustrated|inspired|calm|disappointed|worried|angry|motivated|bored|homesick|confident|embarrassed",
    "health": "a cold|the flu|a migraine|back pain|a sprained ankle|a broken arm|allergies|a peanut allergy|asthma|diabetes|high blood pressure|insomnia|anxiety|depression|knee surgery|a toothache|lactose intolerance|celiac disease|a fever|a concussion|low iron|burnout|a stomach ache|an eye infection|arthritis|a torn ligament",
    "goal": "lose weight|run a marathon|learn to swim|save for a house|pay off my student loans|get promoted|start a business|write a novel|learn to code|quit smoking|sleep better|eat less sugar|read more books|adopt a child|become a nurse|go back to school|travel the world|build a cabin|learn to drive|launch a podcast|open a bakery|get a master's degree|finish my thesis|retire early|grow my own vegetables|start a family|move abroad|improve my English|organize my closet|spend less time on my phone",
    "media": "a fantasy novel|a mystery|a documentary about oceans|a science fiction series|a romantic comedy|a horror movie|a biography|a history podcast|a self-help book|a classic|a superhero movie|an animated film|a true crime podcast|a cookbook|a jazz album|a rock concert|classical music|a children's book|a poetry collection|a detective show|a thriller|a musical",
    "app": "a to-do list app|a budget tracker|a weather dashboard|a chat bot|a portfolio website|an online shop|a recipe app|a blog|a fitness tracker|a REST API|a recommendation system|a booking system|a quiz app|an inventory system|a mobile game|a web scraper|a search engine|a job board|a language learning app|a note taking app|a payment service|an image classifier|a data pipeline|a trading bot|a calendar app|a login page|a forum|a Discord bot|a parking system",
    "tech": "Python|JavaScript|TypeScript|React|Vue|Django|Flask|FastAPI|Node.js|Express|Java|Spring Boot|Kotlin|Swift|Rust|Go|C++|PostgreSQL|SQLite|MySQL|MongoDB|Redis|Docker|Kubernetes|AWS|Firebase|Heroku|GraphQL|PyTorch|TensorFlow|pandas|scikit-learn|Bootstrap|Tailwind|Next.js|Flutter|Unity|Git|GitHub Actions|Nginx|Celery|Kafka|Jest|pytest",
    "bug": "a CORS error|a 500 error|a 404 error|a null pointer exception|a memory leak|a type error|an infinite loop|a timeout|a failing test|a merge conflict|a race condition|a database deadlock|an import error|a login bug|slow queries|a layout that breaks on mobile|an expired token|a wrong time zone|missing environment variables|a rate limit|a segmentation fault|duplicate rows|an off-by-one error|a broken build",
    "feature": "user authentication|password reset|email notifications|pagination|search|dark mode|file upload|role-based access control|caching|unit tests|logging|error handling|a database schema|deployment|continuous integration|payment with Stripe|an admin page|charts|data validation|rate limiting|input sanitization|localization|offline mode|push notifications|a responsive layout|session management|an API endpoint|image compression|backups|monitoring",
    "task": "a cover letter|my resume|an essay|a speech|a budget|a meal plan|a workout plan|a study plan|a travel itinerary|a birthday invitation|a business plan|a marketing plan|a project proposal|an email to my boss|a short story|a poem|a presentation|a contract|a blog post|a lesson plan|a packing list|a to-do list|a thank-you note|a literature review|a personal statement|a screenplay|a schedule|a grant application|a patent application|a will|a probability problem|a geometry proof|a calculus exercise|a statistics assignment",
    "topic": "machine learning|climate change|compound interest|the French Revolution|photosynthesis|quantum physics|taxes|mortgages|index funds|nutrition|protein intake|sleep hygiene|time management|negotiation|public speaking|grief|parenting|dog training|houseplants|solar panels|electric cars|job interviews|networking|remote work|philosophy|Stoicism|world history|the stock market|cryptocurrency|immigration law|copyright|insurance|retirement savings|triangles|probability|linear algebra|derivatives|permutations|fractions|grammar|creative writing|character development|plot twists|ethics of artificial intelligence|mental health|mindfulness|decision making",
    "num": "two|three|four|five|six|seven|eight|ten|twelve|fifteen|twenty|thirty|fifty|a hundred",
    "money": "$20|$50|$120|$300|$450|$800|$1,200|$2,500|$5,000|$12,000|$45,000|$80,000|300 euros|1,500 pounds",
    "like": "like|love|enjoy|hate|don't like|can't stand|am obsessed with|prefer|have always loved|am getting tired of",
    "color": "red|blue|green|yellow|purple|black|white|orange|pink|grey",
    "nature": "the sunset|the waterfall|the forest|the ocean|the stars|the northern lights|the flowers|the snow|the desert|the birds|the waves|a rainbow|the autumn leaves|a meteor shower",
    "thanks": "Thanks|Thank you so much|Wow|That's great|Congrats|Oh no|I'm so sorry to hear that|Sounds good|Awesome|Haha|Good luck|Take care|That means a lot",
}
_RUNS = """
I started {hobby} {when} and I really enjoy it. | What hobby did I take up {when}? | How long have I been into {hobby}?
{who} took me to {place} {when} and we had a great time. | Where did I go with {who}? | When did I go to {place}?
I went to {event} {when} with {who}. | When did I go to {event}? | Who went with me to {event}?
I just adopted {pet} named {petname}. | What is the name of my pet? | What kind of animal is {petname}?
{petname} has been sick, so we went to the vet {when}. | What happened to {petname}? | How is your pet doing?
I'm allergic to {food}, so please keep that in mind. | What food should I avoid? | Can you suggest a dinner that I can eat?
I made {food} for {who} {when} and it turned out great! | What did I cook {when}? | What dish did I make for {who}?
My favourite food is {food}, but {who} prefers {food2}. | What is my favourite food? | What does {who} like to eat?
I work as a {job} in {city}. | What do I do for a living? | Where do I work?
I got a new job as a {job}! I start {soon}. | When do I start my new job? | What is my new job?
{who} is a {job} and works long hours. | What does {who} do for work?
I used to be a {job} before I became a {job2}. | What was my previous job? | How did my career change?
We moved from {city} to {city2} {when}. | Where did we live before? | Which city did we move to?
I'm planning a trip to {city} {soon}. | Where am I going on holiday? | What are my travel plans?
We spent {num} days in {city} {when}, and {nature} was breathtaking. | How long did we stay in {city}? | What did we see in {city}?
I bought {thing} {when} for {money}. | What did I buy {when}? | How much did I pay for {thing}?
I'm saving up for {thing}, I have {money} so far. | What am I saving for? | How much money have I saved?
{who} gave me {thing} for my birthday. | What did I get for my birthday? | Who gave me {thing}?
I've been dealing with {health} since {when}. | What health problem do I have? | How have you been feeling lately?
{who} was diagnosed with {health} {when}. | What is wrong with {who}? | When was {who} diagnosed?
I feel {feel} because {event} is {soon}. | Why do I feel {feel}? | What is coming up {soon}?
I was so {feel} {when} after {event}. | How did I feel after {event}?
My goal is to {goal} by {soon}. | What is my goal? | What do I want to achieve?
I've decided to {goal}. | What did I decide to do? | What are my plans for the future?
I have {num} kids and they {like} {hobby}. | How many children do I have? | What do my kids like to do?
{who} and I have been married for {num} years. | How long have {who} and I been married?
{who} and I {like} {hobby}, it helps us relax. | What do {who} and I do together? | How do you relax?
I'm reading {media} right now, {who} recommended it. | What book am I reading? | Who recommended it to me?
Have you seen {media}? I watched it {when} and loved it. | What did I watch {when}?
My favourite colour is {color}, so I painted the room {color}. | What is my favourite colour?
I painted {nature} {when}, inspired by our trip to {city}. | What did I paint? | What inspired my painting?
I volunteer at {place} every {num} weeks. | Where do I volunteer? | What do I do to help others?
I run {num} miles every morning before work. | How far do I run? | What is my exercise routine?
My meeting with {who} was moved to {soon}. | When is my meeting with {who}? | What changed in my calendar?
The deadline for {task} is {soon}. | When is the deadline? | When do I have to finish {task}?
I changed my mind, I would rather do {hobby} than {hobby2}. | Which activity do I prefer?
I no longer eat {food} since I got {health}. | What did I stop eating, and why?
I'm building {app} with {tech} and {tech2}. | What technology am I using? | What project am I working on?
I'm trying to add {feature} to {app}, can you show me an example in {tech}? | How did I implement {feature}? | Which feature did I add?
I keep getting {bug} in {app} when I use {tech}. How do I fix it? | What error did I run into? | How did I solve {bug}?
I fixed {bug} by adding {feature}. | How did I fix {bug}?
The first version of {app} should be ready {soon}, with {feature} and {feature2}. | When is the release? | Which features are planned for {app}?
I switched from {tech} to {tech2} for {app} because of {bug}. | Why did I switch to {tech2}? | Which database or framework do I use now?
Response time of {app} improved from {num} seconds to {num2} hundred milliseconds. | How much faster did it get? | What is the response time?
Can you help me write {task}? I need it {soon}. | What did I ask for help with?
Can you explain {topic} in simple terms? | What topics did I ask about? | What did you explain to me about {topic}?
I'm trying to understand {topic}, but I find it hard because of {topic2}. | What am I struggling to understand?
Could you give me tips on {topic}? {who} says I should {goal}. | What advice did you give me on {topic}?
I'm preparing {task} about {topic} and my budget is {money}. | What is my budget? | What is {task} about?
I earn {money} a month and spend {money2} on rent. | How much is my rent? | What is my income?
Our team has {num} people and {who} leads it. | Who leads the team? | How many people are on the team?
I met {who} {when} at {event}. | How did I meet {who}? | When did we meet?
{who} suggested that I try {hobby} to deal with {health}. | What did {who} suggest?
{who} wants to {goal}, but {who2} thinks it is too early. | What does {who} want? | What does {who2} think about it?
{who} and I argued about {topic} {when}, but we made up. | What did we argue about?
{thanks}! {who} told me about {event}, how was it? | How was {event}?
{thanks}! I can't wait to see {nature} with {who}. | What are you looking forward to?
I always {like} {food} on rainy days, it reminds me of {city}. | What reminds me of {city}?
I grew up in {city} with {num} siblings. | Where did I grow up? | How many siblings do I have?
I've been learning {tech} for {num} months. | How long have I been learning {tech}?
I graduated {when} with a degree in {topic}. | What did I study? | When did I graduate?
I signed up for {event} {soon}, I'm a bit {feel}. | What did I sign up for?
We are going to {place} {soon}, do you want to come? | Where are we going {soon}?
The doctor told me to rest for {num} days because of {health}. | What did the doctor say?
I lost {num} pounds since I started {hobby}. | How much weight did I lose?
I want to remember that {who} likes {food} and {hobby}. | What does {who} like?
Should I buy {thing} or {thing2}? My budget is {money}. | What was I going to buy?
I usually wake up at {num} and go to {place}. | What is my morning routine?
Let's keep {topic} out of this, please always answer with bullet points. | How do I want answers to be formatted?
I would like short answers with examples in {tech}. | What are my preferences for answers?
My character is a {job} from {city} who wants to {goal}. | Who is the main character of my story?
I need {task} for {event} with {num} guests. | How many guests are coming? | What is the occasion?
Summarize what I told you about {topic} and {app}. | What did we discuss about {topic}?
In what order did I mention {hobby}, {event} and {topic}? | What did I bring up first?
Have I ever mentioned {tech} or {feature} in our conversations? | Did I use {tech} before?
""".strip().splitlines()
_SLOT = re.compile(r"\{(\w+?)2?\}")


def runs(count: int) -> Iterator[list[str]]:
    """So many statements, each with questions about it."""
    rng = random.Random(7)
    values = {name: text.split("|") for name, text in _SLOTS.items()}
    for _ in range(count):
        chosen: dict[str, str] = {}
        for name, some in values.items():
            chosen[name], chosen[name + "2"] = rng.sample(some, 2)
        run = [part.strip().format_map(chosen) for part in rng.choice(_RUNS).split("|")]
        run = [run[0], rng.choice(run[1:])]
        yield [text[0].upper() + text[1:] for text in run]
