"""The table of operations: each thing that can be done with a memory, once for every door.

REST's routes, requests and OpenAPI document, the commands of the command line and MCP's tools with their arguments
are made from it. A new operation is one entry here and one row in tests/server/test_operations. A door that does
more than call the method and show its result registers a function under the operation's name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal

from zibaldone.core import DEFAULT_SESSION

REQUIRED: Final = object()  # in place of a default
VIEWS = ("chunks", "hierarchy", "messages", "notes", "topics")
NOTE_KINDS = ("instruction", "constraint", "preference", "fact", "person", "plan", "decision")
PAGE, LONGEST_PAGE = 100, 1000
LARGEST = 2**63 - 1  # a seq
FILTERS = frozenset({"agent", "session", "exclude_session", "roles", "since", "until", "metadata"})
Kind = Literal[
    "text", "texts", "words", "time", "number", "fraction", "seconds", "flag", "boolean", "object", "choice", "choices",
    "session", "seqs", "messages", "path", "paths", "folder",
]  # fmt: skip
Door = Literal["", "rest", "cli"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A named input of an operation.

    `least` and `most` bound a number, the length of a text, or the number of things in a list. `door` names the
    only door that has it. One that is not `passed` steers a door, and the method never gets it.
    """

    name: str
    kind: Kind
    help: str = ""
    default: Any = None
    least: float | None = None
    most: float | None = None
    flags: str = ""  # of the command line, such as "--budget -b"; in capitals, an argument; "": --NAME
    door: Door = ""
    passed: bool = True
    choices: tuple[str, ...] = ()
    argument: str = ""  # of the method, where that has another name for it


@dataclass(frozen=True, slots=True)
class Rest:
    """A method of a path below /v1/memory."""

    method: str
    path: str  # as Starlette has it
    result: str = ""  # the name of its shape in server/rest/shapes; "": the handler gives a response
    key: str = ""  # under which the result stands in its shape; "": it is the shape
    body: str = ""  # the name of the request's shape; "": all parameters are in the URL
    in_url: tuple[str, ...] = ()  # parameters that are there although there is a body
    status: int = 200
    problems: tuple[int, ...] = ()  # that only this operation has
    streams: str = ""  # the media type of a 200 that is no JSON
    asks: bool = False  # it reads alone: given up when its client is gone
    example: Mapping[str, Any] = field(default_factory=dict)  # "query", "path", "body"


@dataclass(frozen=True, slots=True)
class Cli:
    """A command."""

    command: str  # such as "build topics"
    more: str = ""  # further paragraphs of its help
    empty: str = ""  # said where the result is empty; {user} and {about}, a query, stand in it
    empty_fails: bool = False  # then the exit code is 1
    has_json: bool = True  # the option --json
    defaults: Mapping[str, Any] = field(default_factory=dict)  # that are otherwise than the method's


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool by MCP: a model has words of its own for what it gives, and is shown text."""

    name: str
    title: str
    description: str = ""
    parameters: tuple[Parameter, ...] = ()  # of topic documents their view has them


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """An action on a memory, with the doors that offer it."""

    name: str  # also its operationId
    method: str  # a dotted path on Memory, such as "user.timeline"; "": only the doors' functions know
    summary: str
    parameters: tuple[Parameter, ...] = ()
    right: Literal["read", "write", "forget", "admin"] = "read"
    whose: Literal["user", "all", "none"] = "user"  # "all": of one user, or of all without one
    agents: Literal["narrows", "refused", "any"] = "refused"  # to a key of one agent's messages
    one_of: tuple[str, ...] = ()  # parameters of which exactly one has to be given
    any_of: tuple[str, ...] = ()  # parameters of which at least one has to be given
    has_filter: bool = False  # the method takes what narrows it as one Filter
    rest: Rest | None = None
    cli: Cli | None = None
    tools: tuple[Tool, ...] = ()

    def parameters_of(self, door: Door) -> tuple[Parameter, ...]:
        """The parameters that a door has."""
        return tuple(given for given in self.parameters if given.door in ("", door))

    def bound(self, memory: Any, user: str | None) -> Callable[..., Any]:
        """Its method, of this user where it is of one; of an AsyncMemory it gives a coroutine."""
        *owners, name = self.method.split(".")
        for owner in owners:
            memory = memory.user(user) if owner == "user" else getattr(memory, owner)
        method = getattr(memory, name)
        return method if "user" in owners or self.whose == "none" else partial(method, user=user)

    def options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The method's part of what a door was given; what narrows it as one Filter."""
        from zibaldone.log.filters import Filter

        options: dict[str, Any] = {}
        narrowed: dict[str, Any] = {}
        for part in self.parameters:
            if part.passed and part.name in given:
                (narrowed if self.has_filter and part.name in FILTERS else options)[
                    part.argument or part.name
                ] = given[part.name]
        return options | ({"filter": Filter(**narrowed)} if narrowed else {})


def _text(name: str, text: str = "", default: Any = None, **more: Any) -> Parameter:
    return Parameter(name, "text", text, default, **more)


def _number(
    name: str,
    text: str = "",
    default: Any = None,
    least: int | None = None,
    most: int | None = None,
    **more: Any,
) -> Parameter:
    return Parameter(name, "number", text, default, least, most, **more)


def _flag(name: str, text: str, **more: Any) -> Parameter:
    return Parameter(name, "flag", text, False, **more)


# fmt: off
_HERE: dict[str, Any] = {"door": "cli", "passed": False}  # for the command line's own functions
_AGENT = _text("agent", "Only what was said to or by this agent.", least=1, door="rest")
_SESSION = Parameter("session", "session", "Only this session.", flags="--session -s")
_ROLES = Parameter("roles", "texts", "Only what these roles said: user, assistant, ...", flags="--role")
_SINCE = Parameter("since", "time", "Only from then on: ISO 8601.")
_UNTIL = Parameter("until", "time", "Only before then: ISO 8601.")
_METADATA = Parameter(
    "metadata", "object", 'Only with this metadata: {"key": value}, or operators such as {"n": {"$gte": 3}}.',
    door="rest")
_NARROWED = (
    _AGENT, _SESSION, Parameter("exclude_session", "session", "All but this session."), _ROLES, _SINCE,
    _UNTIL, _METADATA,
    Parameter("now", "time", "Ask as if it were then, with what was known by then: ISO 8601."))
_NOISE = _flag("include_tool_traffic", "Calls of tools, their results, thoughts and the like, too.", flags="--noise",
               door="cli")
_VIEWS = Parameter("views", "choices", "Only these views.", None, 1, 20, flags="--view", choices=VIEWS)
_AFTER = _number("after", "Only what comes after this seq: the `next` of the page before.", 0, 0, LARGEST)
_LIMIT = _number("limit", "At most so many.", PAGE, 1, LONGEST_PAGE, flags="--limit -n")
_ENTRY = _text("entry", "Of the entry, as 'notes' lists it.", REQUIRED, flags="ID", door="cli")
_DOCUMENT = _text("doc_id", "Of the document.", REQUIRED, flags="ID", door="cli")
_SHARED = Parameter(
    "shared", "texts", "Of what is shared with the user, only these memories; all of it unless given.", None, None, 16)
_BUDGET: dict[str, Any] = {"least": 1, "most": 100_000, "flags": "--budget -b"}
_WHICH_SCOPE = _text("scope", "a shared memory, as headers name it; it has numbers of its own", "")
_QUERY = _text("query", "one narrow question, or words", REQUIRED, least=1, most=10_000)
_ABOUT = _text("about", "a question, or words", "", most=10_000)
_IN_SESSION = _text("session", "a session's name, as the headers have it", "")
_FROM = _text("since", "from this day or time on, such as 2023-05-08", "")
_TO = _text("until", "up to this day, or before this time", "")
_TOKENS: dict[str, Any] = {"least": 100, "most": 8000}
_IN_FULL = "With --json each in full."
_NO_HIERARCHY = "nothing yet: 'zibaldone maintain --view hierarchy' makes episodes and themes"
_TALK = (
    {"id": "chat-7/1", "content": "I moved to Lisbon in May.", "time": "2024-06-01T09:00:00Z"},
    {"id": "chat-7/2", "role": "assistant", "content": "How do you like Lisbon?"})

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        "addMessages", "add", "Keep messages, all of them or none; a message whose id is known adds nothing.",
        (Parameter("messages", "messages", "", REQUIRED, 1, 1000, door="rest"),
         _text("session", "The session of messages that name none.", least=1, flags="--session -s"),
         _text("agent", "The agent that they were said to or by.", least=1, door="rest"),
         _text("text", "The message; '-' or nothing reads it from standard input.", "-", flags="TEXT", **_HERE),
         _text("role", "Who speaks: user, assistant, ...; else user.", **_HERE),
         _text("name", "The speaker's name.", **_HERE),
         _text("by", "Into a shared memory: the user who writes.", door="cli"),
         _text("time", "When: ISO 8601, else UTC now.", **_HERE)),
        "write", agents="narrows",
        rest=Rest("POST", "messages", "Added", body="AddMessages", status=201, problems=(409,),
                  example={"body": {"session": "chat-7", "messages": _TALK}}),
        cli=Cli("add"),
        tools=(Tool(
            "remember", "Remember",
            "Keep something that was said, word for word, for later conversations. Call it when the user states something"
            " that should outlast this conversation: facts about them, preferences, decisions, instructions, plans. Give"
            " the user's own words, not a summary.",
            (_WHICH_SCOPE, _text("content", "the words", REQUIRED, least=1, most=200_000),
             Parameter("role", "choice", "who said them", "user", choices=("user", "assistant")),
             _text("session", "a name for this conversation", DEFAULT_SESSION, least=1))),)),
    Operation(
        "importFile", "admin.import_",
        "Import conversations: an export of ChatGPT, Claude, WhatsApp, Slack and others, or chats as JSON.",
        (Parameter("path", "path", "An export as it was downloaded (.zip), its folder, or a file; '-' is standard input.",
                   REQUIRED, flags="PATH"),
         _text("format", "Which format it is; else told by the content."),
         _text("branches", "current, or all: what was edited or retried since, too.", "current"),
         _flag("again", "Bring back messages that were forgotten, too."),
         _flag("attachments", "Keep images and files, too, where the export holds them."),
         Parameter("me", "texts", "What you are called in a chat of several people: the others' words are not yours."),
         _text("dates", "The order of WhatsApp's dates where they do not show it: dmy, mdy or ymd.")),
        "write", "all",
        cli=Cli("import",
                "What cannot be read is listed at the end and holds nothing else up. Importing again adds only what is"
                " new; what has changed since stays as it was stored first, and what was forgotten stays forgotten."
                " Ctrl-C keeps what is complete. Without --user, a file that names its users keeps them, and any"
                " other goes to 'me'.")),
    Operation(
        "listMessages", "messages", "List messages in the order in which they were stored, page by page.",
        (_AGENT, _SESSION, _ROLES, _SINCE, _UNTIL, _METADATA, _AFTER, _LIMIT,
         _number("last", "The newest so many, in place of a page.", None, 1, LONGEST_PAGE), _NOISE),
        agents="narrows", has_filter=True,
        rest=Rest("GET", "messages", "MessagePage", example={"query": {"session": "chat-7", "limit": 50}}),
        cli=Cli("messages", defaults={"limit": None}),
        tools=(Tool(
            "read_session", "Read a session",
            "Read a conversation: from its beginning, or what was said around a message that recall showed.",
            (_WHICH_SCOPE, _IN_SESSION, _number("around", "number of a message", 0, 0),
             _text("start", "where to read on, as answers show it: 57 or 57+600", ""),
             _number("budget", "most tokens of the answer", 1000, **_TOKENS))),)),
    Operation(
        "getMessage", "get", "Get one message by its id.", (_AGENT,), agents="narrows",
        rest=Rest("GET", "messages/{id:path}", "Message", problems=(404,), example={"path": {"id": "chat-7/1"}})),
    Operation(
        "showMessage", "user.versions", "Show a message whole, with all that is known of it and its corrections.",
        (_number("which", "The message's number, as lists show it.", REQUIRED, flags="SEQ"),
         _number("around", "Also so many before and after it in its session.", 0, 0, passed=False)),
        cli=Cli("show")),
    Operation(
        "correctMessage", "update",
        "Correct a message: a new one of the role editor takes its place, and the log keeps both.",
        (_AGENT, _text("content", "", REQUIRED), Parameter("metadata", "object")),
        "write", agents="narrows",
        rest=Rest("PATCH", "messages/{id:path}", "Message", body="Correction", in_url=("agent",), status=201,
                  problems=(404,),
                  example={"path": {"id": "chat-7/1"}, "body": {"content": "I moved to Lisbon in April."}})),
    Operation(
        "listSessions", "user.sessions", "List sessions in the order of their first messages.", (_AFTER, _LIMIT),
        rest=Rest("GET", "sessions", "SessionPage"),
        cli=Cli("sessions", defaults={"limit": None}),
        tools=(Tool(
            "sessions", "List sessions",
            "List conversations with dates, sizes and titles, the newest first. With `about`, those that say most about"
            " it, the best first, each with the passage that fits.",
            (_WHICH_SCOPE, _ABOUT, _FROM, _TO, _number("after", "as an earlier answer says", 0, 0))),)),
    Operation(
        "listUsers", "users", "List users that have, or had, messages.",
        (_text("after", "Only names that come after this one.", "", door="rest"),
         _number("limit", "At most so many.", PAGE, 1, LONGEST_PAGE, door="rest")),
        "admin", "none",
        rest=Rest("GET", "users", "UserPage", example={"query": {"user": None, "limit": 10}}), cli=Cli("admin users")),
    Operation(
        "exportMessages", "user.export", "Stream all messages as JSON Lines, which 'zibaldone import' reads back exactly.",
        (_AGENT, Parameter("path", "path", "The file to write; '-' is standard output.", REQUIRED, flags="PATH", door="cli"),
         _flag("attachments", "A .zip, with the images and files that were kept.", door="cli")),
        agents="narrows", rest=Rest("GET", "export", streams="application/jsonl"), cli=Cli("export")),
    Operation(
        "forget", "forget", "Delete messages and all that was made from them, for good; a dry run only counts.",
        (Parameter("seqs", "seqs", "The messages of these seqs.", None, 1, 10_000, flags="--seq"),
         Parameter("session", "session", "A whole session.", flags="--session -s"),
         Parameter("before", "time", "What happened before: ISO 8601."),
         _flag("everything", "All of the user's memory.", flags="--all"),
         _text("person", "All that somebody of this name said.", **_HERE),
         _flag("dry_run", "Count what would go, and change nothing."),
         _flag("keep_texts", "Give what the messages said, to verify with.", door="rest"),
         _flag("shred", "With all of the memory: destroy the user's key, too."),
         _flag("yes", "Do not ask.", flags="--yes -y", **_HERE),
         Parameter("receipt", "path", "Keep the receipt here, with the texts, for --verify.", **_HERE),
         Parameter("verify", "path", "Forget nothing: look for what this receipt says is gone.", **_HERE),
         Parameter("texts", "texts", "With --verify: look for this, too.", flags="--text", **_HERE),
         Parameter("also", "paths", "With --verify: look here, too, such as in a backup.", **_HERE),
         _flag("seal", "With --verify: when nothing is left, take the texts out of it.", **_HERE)),
        "forget", agents="narrows", one_of=("seqs", "session", "before", "everything"),
        rest=Rest("POST", "forget", "Receipt", body="Forget", example={"body": {"session": "chat-7", "dry_run": True}}),
        cli=Cli("forget"),
        tools=(Tool(
            "forget", "Forget",
            "Delete messages for good, with all that was made from them. Give exactly one of the selectors. Without"
            " `confirm` nothing is deleted: the answer says what would be. Show that to the user, and call again with"
            " `confirm` when they agree.",
            (Parameter("seqs", "seqs", "numbers of messages, as the other tools give", None, 1, 1000),
             _text("session", "all of this session", least=1),
             _text("before", "all that was said before then: ISO 8601"),
             _flag("everything", "all that is known of the user"),
             _flag("confirm", "true: really delete it"))),)),
    Operation(
        "recall", "recall",
        "Recall the evidence for a question: cited, in the order of time, within a budget of tokens.",
        (_text("query", "What to remember.", flags="QUESTION"),
         Parameter("messages", "messages", "The messages of a chat; the user's last one is the question.", None, None,
                   1000, door="rest"),
         _number("budget_tokens", "At most so many tokens.", 2000, **_BUDGET), *_NARROWED,
         Parameter("min_confidence", "fraction", "Recall nothing below this confidence.", None, 0, 1), _SHARED, _VIEWS,
         _NOISE,
         _flag("why", "Show the plan, and every candidate with its fate.", **_HERE)),
        agents="narrows", has_filter=True, any_of=("query", "messages"),
        rest=Rest("POST", "recall", "Recalled", body="Recall", asks=True,
                  example={"body": {"query": "Where does Ann live?", "budget_tokens": 500}}),
        cli=Cli("recall"),
        tools=(Tool(
            "recall", "Recall",
            "Look for what was said in earlier conversations: word for word, dated, each with its message's number. Ask"
            " one narrow question; where the answer is not there, ask again in other words, for a time or a role.",
            (_WHICH_SCOPE, _QUERY, _FROM, _TO, _text("role", "who said it: user or assistant", ""), _IN_SESSION,
             Parameter("order", "choice", "of what fits best, the first or the last mention first", "best",
                       choices=("best", "first", "last")),
             _number("budget", "most tokens of the answer", 1000, **_TOKENS),
             Parameter("seen", "seqs", "numbers of messages you have read: they are left out", (), None, 10_000))),)),
    Operation(
        "ask", "ask", "Let the server's chat model answer a question; it may look again, and cites what it was shown.",
        (_text("question", "What to answer.", REQUIRED, least=1, flags="QUESTION"),
         _number("rounds", "How often the model may look again.", 3, 0, 10),
         _number("budget_tokens", "Tokens of all evidence that the model is shown.", 2500, **_BUDGET),
         Parameter("timeout_s", "seconds", "Seconds; then what was recalled.", 120, 0, 600, flags="--timeout"),
         *_NARROWED, _SHARED,
         _flag("stream", "Server-sent events: a `step` for each look, then `answer`, or `error`.", door="rest", passed=False),
         _flag("steps", "Show each look as it is made.", **_HERE)),
        agents="narrows", has_filter=True,
        rest=Rest("POST", "ask", "Answer", body="Ask", asks=True, streams="text/event-stream",
                  example={"body": {"question": "Where has Ann lived?", "rounds": 2}}),
        cli=Cli("ask")),
    Operation(
        "search", "search", "List the passages that fit a query best, best first, without a budget.",
        (_text("query", "What to look for.", REQUIRED, flags="QUERY"),
         _number("limit", "At most so many.", 20, 1, 200, flags="--limit -n"), *_NARROWED, _SHARED),
        agents="narrows", has_filter=True,
        rest=Rest("POST", "search", "Passages", body="Search", asks=True,
                  example={"body": {"query": "Lisbon", "limit": 5}}),
        cli=Cli("search", empty="nothing found for user {user!r}", empty_fails=True, defaults={"limit": 10})),
    Operation(
        "timeline", "user.timeline", "List dated lines: of each session its title and first statement, and what a model noted.",
        (_text("query", "What about; everything unless given.", "", flags="SUBJECT", argument="subject"), _SESSION, _SINCE,
         _UNTIL, _LIMIT),
        rest=Rest("GET", "timeline", "Timeline", asks=True, example={"query": {"query": "moving to Lisbon"}}),
        cli=Cli("build timeline", empty="nothing found{about} for user {user!r}", empty_fails=True)),
    Operation(
        "listGrants", "admin.grants", "List who may read, or write into, which shared memories.",
        (_text("scope", "Only this shared memory.", least=1),), whose="all",
        rest=Rest("GET", "grants", "Grants", "grants"),
        cli=Cli("admin grants", empty="nothing is shared: 'zibaldone admin grant SCOPE --user NAME'")),
    Operation(
        "grant", "admin.grant", "Let a user read a shared memory beside their own.",
        (_text("scope", "The shared memory: a user of its own, such as team:design.", REQUIRED, least=1, flags="SCOPE"),
         _flag("write", "They may write into it, too.")),
        "admin",
        rest=Rest("POST", "grants", "Grant", body="NewGrant", example={"body": {"scope": "team:design", "write": True}}),
        cli=Cli("admin grant")),
    Operation(
        "revoke", "admin.revoke", "Take a grant back, at once.",
        (_text("scope", "The shared memory.", REQUIRED, least=1, flags="SCOPE"),), "admin",
        rest=Rest("DELETE", "grants", "Grant", example={"query": {"scope": "team:design"}}), cli=Cli("admin revoke")),
    Operation(
        "listAudit", "admin.audit", "List who read, wrote and forgot, when and how much; never what was said.",
        (_SINCE, _number("newest", "Only the newest so many.", PAGE, 1, LONGEST_PAGE)), whose="all",
        rest=Rest("GET", "audit", "Audit", "entries", example={"query": {"newest": 20}}),
        cli=Cli("admin audit", "It is noted where ZIBALDONE_AUDIT is 1, or Config(audit=True) was opened.",
                "nothing was noted: set ZIBALDONE_AUDIT=1", defaults={"newest": None})),
    Operation(
        "getProfile", "user.profile.entries", "List notes on the user, as text for a prompt and entry by entry.",
        (_number("budget_tokens", "The profile as a text of at most so many tokens.", 400, **_BUDGET, door="rest",
                 passed=False),
         _text("kind", f"Only {', '.join(NOTE_KINDS[:-1])} or {NOTE_KINDS[-1]}.", door="cli"),
         _flag("every", "Also what has ended.", flags="--all", **_HERE)),
        rest=Rest("GET", "profile", "Profile", example={"query": {"budget_tokens": 200}}),
        cli=Cli("notes"),
        tools=(Tool(
            "notes", "Read notes",
            "Notes of the user that still hold: rules, facts, people, preferences, plans, decisions. With `about`, only"
            " what is near it, the nearest first.",
            (_WHICH_SCOPE, _ABOUT, _number("budget", "most tokens of the answer", 400, **_TOKENS))),)),
    Operation(
        "addProfileEntry", "user.profile.add", "Note something that no message says.",
        (Parameter("kind", "choice", "instruction, constraint, fact ...", REQUIRED, flags="--kind -k", choices=NOTE_KINDS),
         Parameter("text", "words", "What holds.", REQUIRED, flags="TEXT")),
        "write",
        rest=Rest("POST", "profile", "ProfileEntry", body="NewEntry", status=201,
                  example={"body": {"kind": "constraint", "text": "No nuts."}}),
        cli=Cli("notes add", defaults={"kind": "fact"})),
    Operation(
        "changeProfileEntry", "", "Correct, pin or retire one entry of the profile.",
        (_text("text", "What it says instead; one that was retired holds again.", least=1),
         Parameter("pinned", "boolean", "Whether it comes first in the text."),
         Parameter("retired", "flag", "true: it holds no longer; one that was retired holds again with a new text.")),
        "write", one_of=("text", "pinned", "retired"),
        rest=Rest("PATCH", "profile/{id}", "ProfileEntry", body="EntryChange", problems=(404,),
                  example={"path": {"id": "1.0"}, "body": {"pinned": True}})),
    Operation(
        "pinProfileEntry", "user.profile.pin", "Put an entry first in the text.",
        (_ENTRY, _flag("undo", "Take the pin back.", passed=False)), "write", cli=Cli("notes pin")),
    Operation(
        "editProfileEntry", "user.profile.edit", "Put other words in an entry's place.",
        (_ENTRY, _text("text", "The new words.", REQUIRED, flags="TEXT")), "write", cli=Cli("notes edit")),
    Operation(
        "retireProfileEntry", "user.profile.retire", "Leave an entry out from now on; its message stays.", (_ENTRY,),
        "write", cli=Cli("notes delete")),
    Operation(
        "listTopics", "user.topics.catalogue", "List the topic documents that maintenance of the view topics has made.",
        rest=Rest("GET", "topics", "Topics", "topics")),
    Operation(
        "listDocuments", "user.topics.documents", "List the documents; CURRENT, what is not filed yet, comes last.",
        cli=Cli("build topics", empty="nothing yet: 'zibaldone maintain --view topics' makes topic documents")),
    Operation(
        "getTopic", "user.topics.text", "Get one topic document as Markdown.", (_DOCUMENT,),
        rest=Rest("GET", "topics/{id}", "Topic", problems=(404,), example={"path": {"id": "topic-0001"}}),
        cli=Cli("build topics show", has_json=False),
        tools=(Tool("topics_grep", "Search all topic documents by a pattern"),
               Tool("topics_grep_doc", "Search one topic document by a pattern"),
               Tool("topics_search", "Search topic documents by words"),
               Tool("topics_list_docs", "List topic documents"),
               Tool("topics_read_lines", "Read lines of a topic document"))),
    Operation(
        "exportTopics", "user.topics.export", "Write the documents as a folder of Markdown files, with an index.",
        (Parameter("folder", "folder", "New, empty, or an earlier export.", REQUIRED, flags="DIR"),),
        cli=Cli("build topics export")),
    Operation(
        "listChunks", "user.chunks", "List what the chunks view remembers.",
        cli=Cli("build chunks", _IN_FULL, "nothing yet: 'zibaldone maintain --view chunks' makes them, of 1024 tokens or so each")),
    Operation(
        "listThemes", "user.themes", "List the themes that maintenance of the view hierarchy has made, with their facts.",
        rest=Rest("GET", "themes", "Themes", "themes"), cli=Cli("build themes", _IN_FULL, _NO_HIERARCHY)),
    Operation(
        "listEpisodes", "user.episodes", "List the hierarchy view's episodes.",
        cli=Cli("build episodes", _IN_FULL, _NO_HIERARCHY)),
    Operation(
        "getStats", "admin.stats", "Count what is stored, of one user or, for those who may, of all.", whose="all",
        rest=Rest("GET", "stats", "Stats"), cli=Cli("admin stats")),
    Operation(
        "getUsage", "admin.usage", "Show what models were used for: calls, tokens and time per user, day, view and task.",
        whose="all", cli=Cli("admin usage", empty="no model was used")),
    Operation(
        "check", "admin.check", "Compare the log with everything that was made from it.", (), "admin", "none",
        cli=Cli("admin check")),
    Operation(
        "maintain", "maintain",
        "Let views read what they have not read yet; the server does so by itself in the background.",
        (_VIEWS,), "write", "all", "any",
        rest=Rest("POST", "maintain", "Maintained", body="Maintain",
                  example={"body": {"views": ["topics", "hierarchy"]}}),
        cli=Cli("maintain",
                "A chat model is asked where ZIBALDONE_CHAT_MODEL names one; else plain algorithms do the work.")),
    Operation(
        "rebuild", "builds.rebuild",
        "Make a view anew beside the one that serves, of one user or of all; compare, then switch or discard.",
        (Parameter("view", "choice", "Which view.", REQUIRED, flags="VIEW", choices=VIEWS),
         _flag("diff", "Show what the other build says otherwise."),
         _flag("switch", "Let the build beside serve."),
         _flag("rollback", "Let the kept build serve again."),
         _flag("discard", "Remove the build that does not serve."),
         _flag("show", "Only say which builds there are."),
         _flag("at_once", "Take the old one's place when complete: mends damage.")),
        "write", "all",
        cli=Cli("build rebuild",
                "The models are those of the ZIBALDONE_* variables. Stopped half way, it goes on where it was.")),
    Operation(
        "retention", "user.retention", "Show or set what goes by itself in the next maintenance.",
        (Parameter("days", "fraction", "Add a rule: what is older goes."),
         Parameter("session", "session", "Of this session alone.", flags="--session -s"), _ROLES,
         _flag("drop", "Take back the rule of these --days, --session and --role."),
         _flag("off", "Keep everything from now on."),
         _flag("dry_run", "Change nothing: show what would go now."),
         _flag("yes", "Do not ask.", flags="--yes -y")),
        "write", cli=Cli("admin retention")),
)
# fmt: on
BY_NAME: Mapping[str, Operation] = {operation.name: operation for operation in OPERATIONS}
