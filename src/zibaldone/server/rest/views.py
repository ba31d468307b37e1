"""Operations on what views made: profile, topics, themes; figures and maintenance."""

from __future__ import annotations

from zibaldone.api.profile import AsyncProfile
from zibaldone.errors import InvalidInput
from zibaldone.server.problems import Problem
from zibaldone.server.rest.operation import Reply, RestCall, operation
from zibaldone.server.rest.shapes import (
    AuditEntryJson,
    AuditJson,
    AuditQuery,
    EntryChangeJson,
    MaintainedJson,
    MaintainJson,
    NewEntryJson,
    ProfileEntryJson,
    ProfileJson,
    ProfileQuery,
    StatsJson,
    ThemeJson,
    ThemesJson,
    TopicEditedJson,
    TopicJson,
    TopicLineJson,
    TopicsJson,
    TopicTextJson,
    UserQuery,
)
from zibaldone.views.notes import UserNote


@operation(
    "listAudit",
    "GET",
    "/v1/memory/audit",
    replies={200: AuditJson},
    example={"query": {"user": "ann", "newest": 20}},
)
async def audit(call: RestCall[AuditQuery, None]) -> Reply:
    """List who read, wrote and forgot, when and how much; never what was said."""
    call.must_be_for_all_agents()
    query = call.query
    noted = await call.memory.admin.audit(user=call.user_or_all, since=query.since, newest=query.newest)
    return Reply(AuditJson(entries=[AuditEntryJson.model_validate(entry) for entry in noted]))


@operation(
    "getProfile",
    "GET",
    "/v1/memory/profile",
    replies={200: ProfileJson},
    example={"query": {"user": "ann", "budget_tokens": 200}},
)
async def profile(call: RestCall[ProfileQuery, None]) -> Reply:
    """Notes on the user, as text for a prompt and entry by entry."""
    call.must_be_for_all_agents()
    opened = call.memory.user(call.user).profile
    entries = [ProfileEntryJson.model_validate(entry) for entry in await opened.entries()]
    return Reply(ProfileJson(text=await opened.text(call.query.budget_tokens), entries=entries))


@operation(
    "addProfileEntry",
    "POST",
    "/v1/memory/profile",
    replies={201: ProfileEntryJson},
    writes=True,
    example={"query": {"user": "ann"}, "body": {"kind": "constraint", "text": "No nuts."}},
)
async def add_entry(call: RestCall[UserQuery, NewEntryJson]) -> Reply:
    """Note something that no message says."""
    call.must_be_for_all_agents()
    entry = await call.memory.user(call.user).profile.add(call.body.kind, call.body.text)
    return Reply(ProfileEntryJson.model_validate(entry), 201)


@operation(
    "changeProfileEntry",
    "PATCH",
    "/v1/memory/profile/{id}",
    replies={200: ProfileEntryJson},
    problems=(404,),
    writes=True,
    example={"query": {"user": "ann"}, "path": {"id": "1.0"}, "body": {"pinned": True}},
)
async def change_entry(call: RestCall[UserQuery, EntryChangeJson]) -> Reply:
    """Correct, pin or retire one entry of the profile."""
    call.must_be_for_all_agents()
    opened, body = call.memory.user(call.user).profile, call.body
    entry = await _entry(opened, call.path["id"])
    if body.text is not None:
        entry = await opened.edit(entry, body.text)
    elif body.retired:
        entry = await opened.retire(entry)
    else:
        entry = await (opened.pin(entry) if body.pinned else opened.unpin(entry))
    return Reply(ProfileEntryJson.model_validate(entry))


async def _entry(opened: AsyncProfile, entry_id: str) -> UserNote:
    for entry in await opened.entries():
        if entry.id == entry_id:
            return entry
    raise Problem(404, "no-entry", "the profile has no entry of this id")


@operation("listTopics", "GET", "/v1/memory/topics", replies={200: TopicsJson})
async def topics(call: RestCall[UserQuery, None]) -> Reply:
    """List the topic documents that maintenance of the view topics has made."""
    call.must_be_for_all_agents()
    lines = await call.memory.user(call.user).topics.catalogue()
    return Reply(TopicsJson(topics=[TopicLineJson.model_validate(line) for line in lines]))


@operation(
    "getTopic",
    "GET",
    "/v1/memory/topics/{id}",
    replies={200: TopicJson},
    problems=(404,),
    example={"query": {"user": "ann"}, "path": {"id": "topic-0001"}},
)
async def topic(call: RestCall[UserQuery, None]) -> Reply:
    """Get one topic document as Markdown."""
    call.must_be_for_all_agents()
    doc_id = call.path["id"]
    return Reply(TopicJson(id=doc_id, text=await _topic_text(call, doc_id)))


@operation(
    "editTopic",
    "PUT",
    "/v1/memory/topics/{id}",
    replies={200: TopicEditedJson},
    problems=(404,),
    writes=True,
    example={
        "query": {"user": "ann"},
        "path": {"id": "topic-0001"},
        "body": {"text": "Ann lives in Lisbon."},
    },
)
async def edit_topic(call: RestCall[UserQuery, TopicTextJson]) -> Reply:
    """Take over one topic document's edited text."""
    call.must_be_for_all_agents()
    doc_id = call.path["id"]
    await _topic_text(call, doc_id)
    edited = await call.memory.user(call.user).topics.edit(doc_id, call.body.text, before=call.body.before)
    conflicts = [conflict.diff for conflict in edited.conflicts]
    return Reply(TopicEditedJson(edits=len(edited.edits), conflicts=conflicts))


async def _topic_text(
    call: RestCall[UserQuery, TopicTextJson] | RestCall[UserQuery, None], doc_id: str
) -> str:
    try:
        return await call.memory.user(call.user).topics.text(doc_id)
    except InvalidInput as error:
        raise Problem(404, "no-topic", "there is no topic document of this id") from error


@operation("listThemes", "GET", "/v1/memory/themes", replies={200: ThemesJson})
async def themes(call: RestCall[UserQuery, None]) -> Reply:
    """List the themes that maintenance of the view hierarchy has made, with their facts."""
    call.must_be_for_all_agents()
    held = await call.memory.user(call.user).themes()
    return Reply(ThemesJson(themes=[ThemeJson.model_validate(theme) for theme in held]))


@operation("getStats", "GET", "/v1/memory/stats", replies={200: StatsJson})
async def stats(call: RestCall[UserQuery, None]) -> Reply:
    """Count what is stored, of one user or, for those who may, of all."""
    call.must_be_for_all_agents()
    shown = StatsJson.model_validate(await call.memory.admin.stats(user=call.user_or_all))
    if call.principal.user is not None:  # the folder's size tells of others
        shown = shown.model_copy(update={"bytes_on_disk": None})
    return Reply(shown)


@operation(
    "maintain",
    "POST",
    "/v1/memory/maintain",
    body_may_be_missing=True,
    replies={200: MaintainedJson},
    writes=True,
    example={"query": {"user": "ann"}, "body": {"views": ["topics", "hierarchy"]}},
)
async def maintain(call: RestCall[UserQuery, MaintainJson]) -> Reply:
    """Let views read what they have not read yet; the server does so by itself in the background."""
    done = await call.memory.maintain(user=call.user_or_all, views=call.body.views)
    return Reply(MaintainedJson.model_validate(done))
