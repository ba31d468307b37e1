// The client against a real server, whose address is in ZIBALDONE_URL, with a chat model and without keys; and
// against one of its own that fails on demand. tests/server/test_typescript.py starts the first.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { Zibaldone, ZibaldoneError } from "../src/index.js";

const url = process.env.ZIBALDONE_URL ?? "";
const skip = url ? false : "ZIBALDONE_URL names no server";
/** @param {string} user */
const memoryOf = (user) => new Zibaldone({ url, user });
const talk = [
  { id: "chat-7/1", content: "I moved to Lisbon in May.", time: "2024-06-01T09:00:00Z" },
  { id: "chat-7/2", role: "assistant", content: "How do you like Lisbon?" },
];

test("what is added is recalled, found, listed, corrected and forgotten", { skip }, async () => {
  const memory = memoryOf("ann");
  const added = await memory.add(talk, { session: "chat-7" });
  assert.deepEqual([added.new, added.messages[0]?.id], [2, "chat-7/1"]);
  assert.equal((await memory.add(talk, { session: "chat-7" })).new, 0);
  const recalled = await memory.recall("Where does Ann live?", { budget_tokens: 500 });
  assert.match(recalled.text, /Lisbon in May/);
  assert.match((await memory.recall([{ content: "Where did I move?" }])).text, /Lisbon in May/);
  const [passage] = (await memory.search("Lisbon", { limit: 1, roles: ["user"] })).passages;
  assert.match(passage?.text ?? "", /Lisbon in May/);
  const page = await memory.messages({ session: "chat-7", roles: ["user", "assistant"], limit: 1, metadata: {} });
  assert.deepEqual([page.messages.length, page.next], [1, 1]);
  assert.equal((await memory.message("chat-7/2")).role, "assistant");
  assert.equal((await memory.correct("chat-7/1", "I moved to Porto in May.")).role, "editor");
  assert.match((await memory.recall("Where does Ann live?")).text, /Porto/);
  assert.deepEqual((await memory.sessions()).sessions.map((one) => one.session), ["chat-7"]);
  assert.equal((await gathered(memory.export())).length, 3);
  assert.equal((await memory.forget({ session: "chat-7", dry_run: true })).messages, 3);
  const receipt = await memory.forget({ session: "chat-7" });
  assert.ok(receipt.purged);
  assert.equal((await memory.recall("Where does Ann live?")).text, "");
});

test("notes are added, changed and listed; another user has none", { skip }, async () => {
  const memory = memoryOf("ben");
  const note = await memory.addNote("constraint", "No nuts.");
  assert.ok((await memory.changeNote(note.id, { pinned: true })).pinned);
  assert.match((await memory.notes({ budget_tokens: 100 })).text, /No nuts/);
  assert.deepEqual((await memory.user("eve").notes()).entries, []);
  assert.deepEqual((await memory.notes({ user: "eve" })).entries, []);
  await memory.changeNote(note.id, { retired: true });
  assert.ok((await memory.users()).users.includes("ben"));
});

test("a model's answer comes at once or look by look", { skip }, async () => {
  const memory = memoryOf("cleo");
  await memory.add("I moved to Lisbon in May.", { session: "s" });
  const answer = await memory.ask("Where does Cleo live?", { rounds: 1 });
  assert.deepEqual([answer.text, answer.citations[0]?.seq], ["In Lisbon.", 1]);
  const events = await gathered(memory.askStream("Where does Cleo live?"));
  assert.equal(events.at(0)?.event, "step");
  const last = events.at(-1);
  assert.equal(last?.event === "answer" && last.answer.text, "In Lisbon.");
});

test("the rest of the table of operations answers", { skip }, async () => {
  const memory = memoryOf("dora");
  await memory.add([{ content: "I moved to Lisbon in May.", session: "s" }]);
  await memory.maintain({ views: ["topics", "hierarchy"] });
  const [topic] = (await memory.topics()).topics;
  if (topic) assert.ok((await memory.topic(topic.id)).text);
  assert.ok(Array.isArray((await memory.themes()).themes));
  assert.match((await memory.timeline("Lisbon")).text, /Lisbon/);
  assert.equal((await memory.stats()).messages, 1);
  assert.deepEqual((await memory.audit({ newest: 5 })).entries, []);
});

test("a shared memory is recalled beside one's own, while it is granted", { skip }, async () => {
  const memory = memoryOf("gina");
  await memory.add("The launch is on 3 May.", { user: "team:design" });
  await memory.grant("team:design");
  assert.equal((await memory.grants()).grants.length, 1);
  assert.match((await memory.recall("When is the launch?", { shared: ["team:design"] })).text, /3 May/);
  await memory.revoke("team:design");
  assert.equal((await memory.grants()).grants.length, 0);
});

test("an error has a code that stays, a hint, and the place of each fault", { skip }, async () => {
  const memory = memoryOf("finn");
  await memory.add(talk);
  const taken = await failure(memory.add({ id: "chat-7/1", content: "something else" }));
  assert.deepEqual([taken.code, taken.status], ["id-conflict", 409]);
  const wrong = await failure(memory.search("Lisbon", { limit: 0 }));
  assert.deepEqual([wrong.code, wrong.errors[0]?.at], ["invalid-input", "body.limit"]);
  assert.match(wrong.hint, /greater than/);
  assert.equal((await failure(memory.message("no such/one?"))).code, "no-message");
});

test("an attempt that broke off is repeated with the same ids", async () => {
  await failing(["break", "busy", "ok"], async ({ memory, requests }) => {
    assert.equal((await memory.add("My dog is called Rex.")).new, 1);
    const ids = requests.map((body) => JSON.parse(body).messages[0].id);
    assert.equal(ids.length, 3);
    assert.equal(new Set(ids).size, 1);
  });
});

test("Retry-After is waited for, and what may have happened is not sent twice", async () => {
  await failing(["later", "ok"], async ({ memory }) => {
    const began = Date.now();
    await memory.recall("Where?");
    assert.ok(Date.now() - began >= 1000);
  });
  await failing(["break", "ok"], async ({ memory, requests }) => {
    assert.equal((await failure(memory.forget({ session: "s" }))).code, "network");
    assert.equal(requests.length, 1);
  });
  await failing(["busy", "ok"], async ({ memory, requests }) => {
    await memory.forget({ session: "s" });
    assert.equal(requests.length, 2);
  });
  await failing(["busy", "busy"], async ({ address }) => {
    const error = await failure(new Zibaldone({ url: address, retries: 1 }).recall("Where?"));
    assert.deepEqual([error.code, error.status], ["storage-busy", 503]);
  });
});

test("a redirect is an error, and nothing goes to another place", async () => {
  await failing(["ok"], async ({ address: elsewhere, requests }) => {
    for (const fate of /** @type {const} */ (["moved", "found"])) {
      await failing([fate], async ({ memory }) => {
        assert.equal((await failure(memory.add("private words"))).status, fate === "moved" ? 307 : 302);
      }, elsewhere);
    }
    assert.equal(requests.length, 0);
  });
});

test("an export that breaks off says so, after what came", async () => {
  await failing(["half"], async ({ memory }) => {
    const messages = memory.export();
    assert.equal((await messages.next()).value?.content, "one");
    assert.equal((await failure(messages.next())).code, "network");
  });
});

test("a call ends at its timeout, and at its caller's signal", async () => {
  await failing(["hang", "hang"], async ({ memory }) => {
    const late = await failure(memory.ask("Where?", { timeoutMs: 50 }));
    assert.equal(late.code, "timeout");
    const gone = new AbortController();
    const asked = memory.recall("Where?", { signal: gone.signal });
    gone.abort(new Error("the user left"));
    await assert.rejects(asked, /the user left/);
  });
});

/** @param {Promise<unknown>} call @returns {Promise<ZibaldoneError>} */
async function failure(call) {
  const error = await call.then(() => assert.fail("it did not fail"), (error) => error);
  assert.ok(error instanceof ZibaldoneError, String(error));
  return error;
}

/** @template T @param {AsyncIterable<T>} given */
async function gathered(given) {
  /** @type {T[]} */
  const all = [];
  for await (const one of given) all.push(one);
  return all;
}

/**
 * Try a client at a server that meets each request with the next of these fates.
 * @param {("break" | "busy" | "later" | "hang" | "half" | "ok" | "moved" | "found")[]} fates
 * @param {(given: { memory: Zibaldone, address: string, requests: string[] }) => Promise<void>} trial
 * @param {string} [elsewhere] where "moved" and "found" point to
 */
async function failing(fates, trial, elsewhere = "") {
  /** @type {string[]} */
  const requests = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    requests.push(body);
    const fate = fates.shift();
    const broken = () => request.socket.destroy();
    if (fate === "break") broken();
    else if (fate === "half") response.write('{"content": "one"}\n{"cont', () => setTimeout(broken, 50));
    else if (fate === "moved" || fate === "found") response.writeHead(fate === "moved" ? 307 : 302, { location: elsewhere }).end();
    else if (fate === "ok") response.end(JSON.stringify({ messages: [], new: 1 }));
    else if (fate !== "hang") {
      const told = { type: "urn:zibaldone:problem:storage-busy", title: "", status: 503, detail: "try again" };
      response.writeHead(503, fate === "later" ? { "retry-after": "1" } : {}).end(JSON.stringify(told));
    }
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", () => listening(null)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  const address = `http://127.0.0.1:${port}/`;
  try {
    await trial({ memory: new Zibaldone({ url: address }), address, requests });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
