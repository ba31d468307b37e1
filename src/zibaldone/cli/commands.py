"""The table of the command line's own commands, which are no operations of a memory; see api/operations."""

from __future__ import annotations

from typing import Any

from zibaldone.api.operations import REQUIRED, VIEWS, Cli, Kind, Operation, Parameter


def _command(
    command: str, summary: str, more: str = "", *parts: Parameter, whose: Any = "none", has_json: bool = True
) -> Operation:
    return Operation(command, "", summary, parts, "admin", whose, cli=Cli(command, more, has_json=has_json))


def _option(
    name: str, text: str, default: Any = None, least: float | None = None, kind: Kind = "text", **more: Any
) -> Parameter:
    return Parameter(name, kind, text, default, least, passed=False, **more)


def _flag(name: str, text: str) -> Parameter:
    return Parameter(name, "flag", text, False)


SECTIONS = {  # of the help: a line for each command, which its own help begins with
    "Talk": ("ask", "recall", "search"),
    "History": ("import", "sessions", "show"),
    "Notes": ("notes", "forget"),
    "Serve": ("open", "serve", "install", "mcp", "keys"),
    "More": ("add", "messages", "export", "maintain", "demo", "build", "admin"),
}
GROUPS = {  # of commands, and the help of each
    "notes": "List what holds of a user; add, edit, pin, delete.",
    "keys": "Manage keys of the server: make, list and revoke them.",
    "mcp": "Serve the memory to an editor or an agent; print what they are to be told.",
    "build": "See what views made; make one anew; compare.",
    "build topics": "Show and export topic documents.",
    "admin": "Look after the store: users, figures, keys of the folder, workers, ...",
}

# fmt: off
_BLOCKS = _option(
    "blocks", "A bucket for blocks and saved indexes, s3://bucket/prefix, which the memory then knows; else that of"
    " ZIBALDONE_BLOCKS.")
_SERVED = (_option("agent", "Only what this agent says and hears."),
           _flag("read_only", "Offer no tool that changes anything."))
_MODE = "How the gateway's model gets at memory"
COMMANDS = (
    _command(
        "admin worker", "Maintain whoever lags behind, until Ctrl-C: one of any number of workers, on any machines.",
        "Each user is one worker's at a time. Of a worker that is killed others take over.",
        _option("threads", "How many users side by side.", 2, 1, "number"),
        _option("poll_s", "Seconds between two looks at who lags behind.", 5.0, 0.05, "seconds", flags="--poll"),
        _option("lease_s", "Seconds after which a killed worker is taken over.", 60.0, 0.2, "seconds", flags="--lease"),
        _option("turn_s", "Seconds for one user, before the others are next.", 30.0, 0, "seconds", flags="--turn"),
        Parameter("views", "choices", "Only this view.", flags="--view", choices=VIEWS), _BLOCKS, has_json=False),
    _command(
        "open", "Open the memory in the browser: search it, read it, correct it, import into it, forget from it.",
        "Serves the page at a loopback address until Ctrl-C; makes the folder if it is missing.",
        _option("port", "0: any that is free; else 8787, or one that is free.", kind="number"),
        Parameter("browser", "flag", "Open the browser.", True, flags="--browser/--no-browser"), whose="all",
        has_json=False),
    _command(
        "serve", "Serve the memory over HTTP: a page, REST, MCP, and a gateway before a model server.",
        "Without keys a request names its user; with --user all are that user's, and naming another is refused.",
        _option("host", "The address to listen on; other machines need a key.", "127.0.0.1"),
        _option("port", "0: any that is free.", 8787, kind="number"),
        _option("upstream", "The model server that the gateway stands before: http://localhost:8000/v1."),
        _option("upstream_key_env", "The environment variable with the upstream's key."),
        _option("notes_model", "The upstream's model that reads conversations for notes, at its price; none unless given."),
        _option("memory_mode", f"{_MODE}: context, tool (it searches) or both.", "context"),
        _option("allow_host", "A name by which clients reach this server.", kind="texts"),
        _option("requests_per_minute", "Of one key; 0: no limit.", 6000, 0, "number"),
        _option("max_body_mib", "Of one request.", 32, 1, "number"),
        _option("processes", "That recall and store for the gateway; 0: the server's own.", 1, 0, "number", most=64),
        Parameter("views", "choices", "Recalled beside messages; else notes.", flags="--view", choices=VIEWS), _BLOCKS, has_json=False,
        whose="all"),
    _command(
        "keys create", "Make a key; its token is shown this once, and only its hash is kept.", "",
        _option("user", "Whose memory it opens.", flags="--user -u"),
        _option("agent", "Only what this agent said and heard of it."),
        _flag("read_only", "It may not change anything."), _flag("admin", "It opens every user's memory."),
        _option("memory_mode", f"{_MODE}; else as the server says.")),
    _command("keys list", "List the keys; never their tokens."),
    _command(
        "keys revoke", "Let a key open nothing any more, at once, in a running server too.", "",
        _option("key_id", "As 'keys list' shows it.", REQUIRED, flags="ID")),
    _command(
        "mcp serve", "Serve over standard input and output until the client goes away.", "", *_SERVED, whose="user",
        has_json=False),
    _command(
        "mcp config", "Print the lines that tell a client of this memory, or of the server at --url.", "",
        _option("client", "claude-desktop, claude-code, cursor, vscode, codex or windsurf; all of them unless given.",
                flags="CLIENT"),
        _option("url", "Of a running 'zibaldone serve': http://host:8787."), *_SERVED, whose="user"),
    _command(
        "install", "Set up a coding agent or an editor.", "",
        _option("program", "claude-code, codex, opencode, cursor or vscode.", REQUIRED, flags="PROGRAM"),
        _flag("project", "In this folder alone; else for all of the user's."),
        _flag("remove", "Take back what was written."), _flag("dry_run", "Show what would be written."),
        whose="user", has_json=False),
    _command(
        "admin encrypt", "Encrypt the memory's folder with the key of ZIBALDONE_KEY_COMMAND or ZIBALDONE_KEY.",
        "Close the memory before, in every process. Stopped half way, run it again. Without the key nobody can read the folder any more: keep it where the folder is not."),
    _command("admin decrypt", "Write the memory's folder as plain files again."),
    _command(
        "admin rekey", "Give the folder another key: that of ZIBALDONE_NEW_KEY_COMMAND or ZIBALDONE_NEW_KEY.",
        "Where ZIBALDONE_USER_KEYS names a place of users' keys, the new key opens these from now on.\n\nWhoever has"
        " the old key and an old copy of encryption.json can still read: to be safe from them decrypt the folder and"
        " encrypt it anew.", has_json=False),
    _command(
        "admin wall", "Let a role serve a memory in PostgreSQL that must prove whose rows it means.",
        "Run it as the owner of the tables, with the key in ZIBALDONE_WALL_KEY_COMMAND or ZIBALDONE_WALL_KEY. Whoever"
        " opens the memory as that role needs the same key; run it again to give the role another.",
        _option("role", "A role of PostgreSQL that does not own the tables.", REQUIRED, flags="ROLE"), has_json=False),
    _command(
        "build compare", "Compare views and settings on your own log, with your questions or with some that are made from it.",
        "Offline; every system takes the log in anew, in a folder that is gone afterwards.",
        _option("questions", 'A JSON object a line: {"question": "...", "evidence": [12, "words"]}; else they are made.',
                kind="path"),
        _option("system", "Only this system: a view, views joined by '+', or a baseline.", kind="texts"),
        _option("budget", "Tokens of a recall.", (250, 500, 1000), 1, "seqs"),
        whose="user"),
)
# fmt: on
