"""The page: what is shown of a memory, and what its forms do."""

import json
import re
from html import unescape
from urllib.parse import urlencode

import httpx2
import pytest
from loopback import servers

from zibaldone import Memory
from zibaldone.engine.verification.receipts import from_object
from zibaldone.testing import ScriptedModel

FORM = {"Origin": ""}  # replaced by the server's own, as a browser sends it
TALK = [
    ("user", "My sister Ruth moved to Lisbon in May. I prefer short answers."),
    ("assistant", "How does Ruth like Lisbon?"),
    ("user", "She loves the trams. My dog is called Rex and he is three years old."),
    ("user", "We booked the ferry to Tangier for the tenth of June."),
]


def text_of(page):
    """What a page says, without its tags."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A client of one server for all tests here; ann has talked, and every view has read it."""
    home = tmp_path_factory.mktemp("page")
    talk = [
        {
            "role": role,
            "content": words,
            "session": "c0ffee",
            "time": f"2024-05-0{day}T10:00",
            "metadata": {"title": "Ruth in Lisbon"},
        }
        for day, (role, words) in enumerate(TALK, 1)
    ]
    long = [{"content": f"Line {n} of a long talk.", "session": "long/one?&#"} for n in range(1, 101)]
    with Memory(home) as memory:
        memory.add(talk, user="ann")
        memory.maintain(user="ann", views=["topics", "hierarchy", "notes"])
        memory.add(long, user="lou")
    with servers(home) as serving:
        base = serving()
        with httpx2.Client(base_url=base, headers={"Origin": base}, timeout=60) as client:
            client.home = home
            yield client


def get(browser, path, user="ann", **parameters):
    """A page, which has to be there."""
    answer = browser.get(f"{path}?{urlencode({**parameters, 'user': user})}")
    assert answer.status_code == 200, answer.text
    return answer.text


def post(browser, path, user, data, **options):
    """What a form leads to."""
    return browser.post(f"{path}?{urlencode({'user': user})}", data=data, follow_redirects=True, **options)


def add(browser, user, *contents, **fields):
    """Messages of a user of one test alone; gives their seqs."""
    messages = [{"content": content, **fields} for content in contents]
    answer = browser.post(f"/v1/memory/messages?{urlencode({'user': user})}", json={"messages": messages})
    return [message["seq"] for message in answer.json()["messages"]]


ASKED = {"q": "Where did my sister Ruth move?"}
SHOWN = [  # a path, its query, what its text has, and what it has not
    ("/", {}, ["Ruth in Lisbon"], ["c0ffee"]),
    ("/", ASKED, ["My sister Ruth moved"], ["Nothing clearly"]),
    ("/", {"q": "submarine warranty"}, ["Nothing clearly about this.", "The nearest 3 passages"], []),
    (
        "/recall",
        {**ASKED, "seq": 1},
        ["moved to Lisbon in May.", "likely to be among", "Message 1 is in:"],
        [],
    ),
    ("/recall", {**ASKED, "seq": 99}, ["There is no message 99"], []),
    ("/timeline", {}, ["May 2024", "Ruth in Lisbon: My sister Ruth moved to Lisbon in May."], []),
    ("/timeline", {"since": "2030-01-01"}, ["nothing of this"], []),
    ("/sessions", {"words": "LISBON ruth"}, ["Ruth in Lisbon"], []),
    ("/sessions", {"words": "lisbon berlin"}, ["No session has these words"], ["Ruth in Lisbon"]),
    ("/usage", {}, ["Sessions", "at no cost"], []),
]


@pytest.mark.parametrize(("path", "query", "has", "has_not"), SHOWN)
def test_a_page_shows(browser, path, query, has, has_not):
    """In words: titles, passages, reasons, days; where nothing is clearly meant it says so."""
    page = text_of(get(browser, path, **query))
    assert not [words for words in has if words not in page], page
    assert not [words for words in has_not if words in page], page


def test_search_marks_the_words_and_leads_to_the_source(browser):
    """Stems count as search counts them: "moving" marks "moved"; the passage's message is a click away."""
    page = get(browser, "/", q="moving to Lisbon")
    assert "<mark>moved</mark>" in page
    assert "<mark>Lisbon</mark>" in page
    assert "/message/1?user=ann" in page


def test_htmx_gets_the_part_that_changes(browser):
    """Passages alone, a recall alone, or sessions beside the passages, without the page around."""
    page = get(browser, "/", q="ruth in lisbon")
    assert page.index("in their titles") < page.index('class="passages"')
    beside = unescape(re.search(r'hx-get="(/sessions[^"]+)"', page)[1])
    for path, part in (
        ("/?q=Lisbon&user=ann", "passages"),
        ("/recall?q=Lisbon&user=ann", "recalled"),
        (beside, "Ruth in Lisbon"),
    ):
        answer = browser.get(path, headers={"HX-Request": "true"}).text
        assert part in answer
        assert "<html" not in answer


def test_a_long_session_comes_in_pages(browser):
    """From the beginning, on to its end, and back; whatever signs its name has."""
    first = get(browser, "/session", user="lou", name="long/one?&#")
    assert "Line 1 of" in first
    assert "Line 41 of" not in first
    later = re.search(r'rel="next" href="([^"]+)"', first)[1]
    second = browser.get(unescape(later)).text
    assert "Line 41 of" in second
    assert "Line 40 of" not in second
    earlier = browser.get(unescape(re.search(r'rel="prev" href="([^"]+)"', second)[1])).text
    assert "Line 1 of" in earlier
    around = get(browser, "/session", user="lou", name="long/one?&#", at=90)
    assert "Line 85 of" in around
    assert "Line 84 of" not in around


def test_a_note_is_added_pinned_edited_deleted_and_put_back(browser):
    """Each by its form, in plain words; what is deleted is folded away, and told to no model."""
    add(browser, "pat", "My manager is Ruth.")
    page = get(browser, "/profile", user="pat")
    assert "Retire" not in page
    entry = re.search(r'<li id="e([\d.]+)"', page)[1]
    assert "pinned" in post(browser, f"/profile/{entry}", "pat", {"act": "pin"}).text
    edited = post(browser, f"/profile/{entry}", "pat", {"act": "edit", "text": "My manager is Judith."})
    assert "My manager is Judith." in edited.text
    gone = post(browser, f"/profile/{entry}", "pat", {"act": "delete"}).text
    assert "Deleted: 1 note" in text_of(gone)
    assert "Judith" not in browser.get("/v1/memory/profile?user=pat").json()["text"]
    (text,) = re.findall(r'name="text" value="([^"]+)"', gone)
    post(browser, f"/profile/{entry}", "pat", {"act": "edit", "text": text})
    assert "My manager is Judith." in browser.get("/v1/memory/profile?user=pat").json()["text"]
    added = post(browser, "/profile", "pat", {"kind": "constraint", "text": "No nuts."})
    assert "No nuts." in added.text
    assert "need a chat model" in added.text
    assert post(browser, "/profile", "pat", {"kind": "wish", "text": "x"}).status_code == 422
    assert post(browser, f"/profile/{entry}", "pat", {"act": "burn"}).status_code == 422
    assert post(browser, "/profile/77.0", "pat", {"act": "pin"}).status_code == 404


def test_what_others_say_of_themselves_is_no_note_about_you(browser):
    """It stands apart, behind their name."""
    add(browser, "moe", "My manager is Ruth.")
    add(browser, "moe", "My manager is Judith.", name="Carla")
    page = text_of(get(browser, "/profile", user="moe"))
    assert "Carla: My manager is Judith." in page.partition("About others")[2]
    assert "My manager is Ruth." in page.partition("About others")[0]


def test_forgetting_begins_where_one_looks(browser):
    """At a message, a session and a note, each with a dry run in words that name a session by its title."""
    add(browser, "zoe", "My manager is Ada.", session="3f2c-uuid", metadata={"title": "Family"})
    for path in ("/message/1", "/session?name=3f2c-uuid", "/profile"):
        page = browser.get(path, params={"user": "zoe", "name": "3f2c-uuid"}).text
        look = browser.get(unescape(re.search(r'href="(/forget\?(?:seq|session)=[^"]+)"', page)[1])).text
        assert "Forget 1 message?" in text_of(look), path
        assert "uuid" not in text_of(look)
    assert "“Family”" in get(browser, "/forget", user="zoe", session="3f2c-uuid")
    assert "/forget" not in get(browser, "/usage", user="zoe")


def test_a_topic_document_is_read_edited_and_looked_back_on(browser):
    """Edits are taken; an edit of an older state is a conflict, shown as a diff, and takes nothing."""
    lines = browser.get("/v1/memory/topics", params={"user": "ann"}).json()["topics"]
    path = f"/topics/{lines[0]['id'] if lines else 'CURRENT'}"
    assert "/message/" in get(browser, path)
    form = get(browser, f"{path}/edit")
    before = unescape(re.search(r'name="before" value="([^"]*)"', form)[1])
    new = before + "\n- Ruth has a balcony.\n"
    assert "Ruth has a balcony." in post(browser, path, "ann", {"text": new, "before": before}).text
    late = post(browser, path, "ann", {"text": before + "\n- Ruth has a piano.\n", "before": before})
    assert late.status_code == 409
    assert "+- Ruth has a piano." in late.text
    assert "Ruth has a piano." not in get(browser, path)
    assert "Ruth has a balcony." in text_of(get(browser, f"{path}/history"))
    assert ("Not filed yet" in get(browser, path)) == path.endswith("CURRENT")


def test_topics_and_themes_are_for_people_where_a_model_made_them(browser, serving):
    """What is made without one has no names that one can read: its parts are not in the menu."""
    for path in ("/topics", "/themes"):
        assert f'href="{path}' not in get(browser, "/")
        assert "none is configured" in get(browser, path)
        assert re.search(r'href="/sessions', get(browser, path))

    def answer(request):
        shown = json.loads(request.turns[-1].content).get("messages", [])
        told = " ".join(f"{said['speaker']}: {said['text']}" for said in shown)
        facts = [{"text": said["text"], "sources": [said["seq"]]} for said in shown]
        return {
            "hierarchy.episodes": {"starts": []},
            "hierarchy.narrate": {"title": "Trams", "narrative": told},
            "hierarchy.predict": {"expected": []},
            "hierarchy.distil": {"statements": facts},
        }[request.task]

    with httpx2.Client(base_url=serving(chat=ScriptedModel(answer)), timeout=60) as asking:
        asking.headers["Origin"] = str(asking.base_url).rstrip("/")
        for day in range(1, 5):
            of_day = {
                "time": f"2024-05-0{day}T10:00",
                "session": f"s{day}",
                "metadata": {"title": f"Day {day}"},
            }
            add(asking, "me", *(words for _, words in TALK), **of_day)
        assert "Draw themes" in get(asking, "/themes", user="me")
        post(asking, "/maintain", "me", {"view": "hierarchy"})
        assert 'href="/themes' in get(asking, "/", user="me")
        theme = re.search(
            r'href="(/themes/\d+)[^"]*"><bdi class="name">([^<]+)<', get(asking, "/themes", user="me")
        )
        assert re.fullmatch(r"Day \d", theme[2])
        assert "/message/" in get(asking, theme[1], user="me")


def test_forgetting_is_looked_at_first_and_has_a_receipt(browser):
    """The dry run names what would go; the receipt can be loaded again, and is a file that programs read."""
    seq, _ = add(browser, "flo", "The code is 4711.", "Something else.", session="s")
    look = text_of(get(browser, "/forget", user="flo", seq=seq))
    assert "Forget 1 message?" in look
    assert "4711" in look
    assert "4711" in get(browser, "/", user="flo", q="code")
    sent = browser.post("/forget?user=flo", data={"seq": str(seq)})
    assert sent.status_code == 303
    for _ in range(2):
        page = browser.get(sent.headers["location"]).text
        for words in (
            "1 message forgotten",
            "No file of the memory has the text any more.",
            f"Messages #{seq}",
        ):
            assert words in text_of(page)
    assert "4711" not in get(browser, "/", user="flo", q="code")
    file = browser.get(unescape(re.search(r'href="([^"]+file=1[^"]*)"', page)[1]))
    assert "attachment" in file.headers["content-disposition"]
    receipt = from_object(file.json())
    assert (receipt.user, receipt.seqs, receipt.purged, receipt.texts) == ("flo", (seq,), True, ())


def test_the_report_of_an_import_goes_with_what_is_forgotten(browser):
    """It might quote it."""
    imported = post(browser, "/import", "fay", {}, files={"file": ("a.md", b"Bees.", "text/markdown")})
    link = unescape(re.search(r'href="([^"]+file=1[^"]*)"', imported.text)[1])
    assert browser.get(link).json()["added"] == 1
    with Memory(browser.home) as beside:  # as the command line does
        beside.forget(user="fay", everything=True)
    assert browser.get(link).status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        *("/nothing", "/serch?q=x", "/static/none.css"),
        *(
            f"/{of}?user=ann"
            for of in ("message/999", "session", "topics/nothing", "themes/999", "jobs/none")
        ),
    ],
)
def test_an_error_is_a_page_in_a_browser_and_json_elsewhere(browser, path):
    """Whether or not the address is one of the page's."""
    seen = browser.get(path, headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert (seen.status_code, seen.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "To the first page" in seen.text
    assert "openapi" not in seen.text
    told = browser.get(path, headers={"Accept": "application/json"})
    assert (told.status_code, told.headers["content-type"]) == (404, "application/problem+json")
    api = browser.get("/v1/memory/nothing", headers={"Accept": "text/html"})
    assert api.headers["content-type"] == "application/problem+json"


def test_everything_goes_only_by_name(browser):
    """A click alone does not forget all of a memory."""
    add(browser, "gil", "One.", "Two.")
    refused = post(browser, "/forget", "gil", {"everything": "yes", "name": "ann"})
    assert refused.status_code == 422
    done = post(browser, "/forget", "gil", {"everything": "yes", "name": "gil"})
    assert "2 messages forgotten" in text_of(done.text)
    assert post(browser, "/forget", "gil", {}).status_code == 422
    assert post(browser, "/forget", "gil", {"seq": "x"}).status_code == 422


def test_a_message_is_corrected(browser):
    """Its versions stand below each other, and search brings the new one."""
    (seq,) = add(browser, "hal", "The meeting is in room 12.")
    page = text_of(post(browser, f"/message/{seq}", "hal", {"text": "The meeting is in room 14."}).text)
    assert "Versions" in page
    assert "room 14. " in page
    assert "room 14" in text_of(get(browser, "/", user="hal", q="where is the meeting"))


def test_a_file_is_imported(browser):
    """By what is in it; what cannot be read says why, by the name that the person knows it by."""
    line = json.dumps({"role": "user", "content": "I keep bees.", "session": "hive"})
    file = ("bees.jsonl", line.encode(), "application/json")
    page = text_of(post(browser, "/import", "ida", {}, files={"file": file}).text)
    assert "1 message added" in page
    assert "I keep bees." in get(browser, "/session", user="ida", name="hive")
    half = ("half.jsonl", line.encode().replace(b"keep", b"sell") + b'\n{"role": "user"}', "application/json")
    shown = post(browser, "/import", "ida", {}, files={"file": half}).text
    file = browser.get(unescape(re.search(r'href="([^"]+file=1[^"]*)"', shown)[1]))
    report = text_of(shown)
    assert "1 message added" in report
    assert "1 could not be read: half.jsonl: " in report
    assert "tmp" not in report + file.text
    broken = post(browser, "/import", "ida", {}, files={"file": ("notes.bin", b"\0\1", "x/y")})
    assert "notes.bin" in text_of(broken.text)
    assert "upload" not in text_of(broken.text)
    assert post(browser, "/import", "ida", {"file": ""}).status_code == 422


def test_what_nobody_is_known_to_have_said_is_not_yours(browser):
    """A mail without a sender, among others'."""
    mail = "From 1@x Mon Jan 15 10:30:00 2024\n{}Message-ID: <{}@x>\n\nHello.\n\n"
    sent = mail.format("", 1) + mail.format("From: Ben <b@x>\n", 2)
    post(browser, "/import", "vic", {"me": "Ben"}, files={"file": ("Inbox", sent.encode(), "text/plain")})
    unsigned, signed = (text_of(get(browser, f"/message/{seq}", user="vic")) for seq in (1, 2))
    assert "You" not in unsigned
    assert "You" in signed


def test_an_import_is_told_who_speaks_and_how_dates_are_written(browser):
    """Where a file does not say it; what is forgotten comes back where that is wished."""
    chat = b"3/4/24, 10:00 - Ann: I am allergic to nuts.\n3/4/24, 10:01 - Ben: I live in Leeds.\n"
    send = {"files": {"file": ("chat.txt", chat, "text/plain")}}
    report = text_of(post(browser, "/import", "uma", {}, **send).text)
    assert "several people speak in it: Ann, Ben." in report
    assert "day first was taken" in report
    post(browser, "/forget", "uma", {"everything": "yes", "name": "uma"})
    assert "no 'Cy' speaks in it" in text_of(post(browser, "/import", "uma", {"me": "Cy"}, **send).text)
    told = {"me": " ann ;", "dates": "mdy", "again": "yes"}
    assert "2 messages added" in text_of(post(browser, "/import", "uma", told, **send).text)
    (session,) = re.findall(r"whatsapp%3A\w+", get(browser, "/sessions", user="uma"))
    assert "You 4 Mar 2024" in text_of(get(browser, "/session", user="uma", name=session.replace("%3A", ":")))
    notes = text_of(get(browser, "/profile", user="uma"))
    assert "I am allergic to nuts. 4 Mar 2024" in notes
    assert "About others" not in notes


@pytest.mark.parametrize(
    ("name", "session"),
    [("gifts.md", "note:gifts.md"), (".hidden.md", "note:hidden.md"), ("a\tb.md", "note:a_09b.md")],
)
def test_a_note_that_is_dropped_keeps_a_harmless_name(browser, name, session):
    """Its session is called as the note is, without signs that a name should not have."""
    file = (name, b"A scarf for Anna.", "text/markdown")
    post(browser, "/import", "lea", {}, files={"file": file})
    assert "A scarf for Anna." in get(browser, "/session", user="lea", name=session)


def test_what_people_wrote_turns_no_line_around(browser):
    """A title from right to left stands by itself: what is beside it keeps its place."""
    title = "رحلة إلى لشبونة (2025)"
    (seq,) = add(browser, "aya", "لشبونة", session="trip", metadata={"title": title})
    for path, query in (
        ("/", {}),
        ("/", {"q": title, "session": "trip"}),
        ("/sessions", {}),
        ("/session", {"name": "trip"}),
        (f"/message/{seq}", {}),
        ("/forget", {"session": "trip"}),
        ("/recall", {"q": title}),
    ):
        page = re.sub(
            r'(?:value|href|hx-get)="[^"]*"|<pre.*?</pre>',
            "",
            get(browser, path, user="aya", **query),
            flags=re.DOTALL,
        )
        alone = re.findall(r'(?:<bdi[^>]*>|dir="auto"[^>]*>|&#x2068;)[^<]*' + re.escape(title), page)
        assert len(alone) == page.count(title) > 0, path


def test_a_search_is_narrowed(browser):
    """By who said it, when, and where it came from; links keep what was chosen."""
    garden = {"metadata": {"title": "Garden"}}
    add(browser, "kim", "I planted a pear tree.", time="2024-05-01T10:00", id="slack:c:1", **garden)
    add(browser, "kim", "The pear tree needs water.", time="2024-06-01T10:00", role="assistant")
    for chosen, left in (
        ({"role": "user"}, "planted"),
        ({"role": "assistant"}, "water"),
        ({"until": "2024-05-01"}, "planted"),
        ({"since": "2024-05-02"}, "water"),
        ({"source": "slack"}, "planted"),
    ):
        found = text_of(get(browser, "/", user="kim", q="pear tree", **chosen))
        assert ("planted" in found, "water" in found) == (left == "planted", left == "water"), chosen
    add(browser, "kim", *(f"I planted pear tree {n}." for n in range(20)), time="2024-05-01T10:00")
    add(browser, "kim", "The invoice is paid.", time="2024-05-01T10:00", id="claude:c:2")
    assert "Nothing clearly" in get(browser, "/", user="kim", q="I planted pear tree", source="claude")
    assert 'value="2024-05-02"' in get(browser, "/", user="kim", q="pear", since="2024-05-02")
    for path in ("/?q=pear&since=soon", "/timeline?since=tomorrow"):
        assert browser.get(f"{path}&user=kim").status_code == 422
    for query in ("pear", ""):
        inside = get(browser, "/", user="kim", q=query, session="default")
        assert "Only in Garden" in text_of(inside)
        everywhere = unescape(re.search(r'href="([^"]+)">Search everywhere', inside)[1])
        assert "session=" not in everywhere
        assert "Only in" not in browser.get(everywhere).text


def test_whose_memory_is_chosen(browser):
    """Where there are several and none is named; links then keep the name."""
    chosen = browser.get("/sessions", follow_redirects=True)
    assert chosen.url.path == "/users"
    assert "/?user=ann" in chosen.text
    assert browser.post("/maintain", data={"view": "all"}).status_code == 400


def test_an_empty_memory_says_what_to_do(tmp_path):
    """And is that of "me"."""
    with servers(tmp_path) as serving, httpx2.Client(base_url=serving()) as client:
        page = client.get("/").text
        assert "Import a file" in page
        assert "user=me" in page
