/**
 * Client of a zibaldone server. Types of what goes in and comes out are generated from the server's OpenAPI
 * document: `openapi.d.ts`. Runs wherever there is `fetch`, and depends on nothing.
 *
 * @import { Call, ClientOptions, Operation, Options, Result, Selected } from "./types.js"
 * @import { Answer, Fault, Message, NewMessage, Problem, Step } from "./openapi.js"
 * @typedef {{ event: "step", step: Step } | { event: "answer", answer: Answer }} AskEvent
 */
import { ROUTES } from "./routes.js";

/** What may have happened although no answer came, and would happen twice: not sent again then. @type {Operation[]} */
const ONCE = ["ask", "forget", "correctMessage", "addProfileEntry", "changeProfileEntry", "revoke", "maintain"];
const FIRST_WAIT_MS = 250, LONGEST_WAIT_MS = 60_000, ASK_S = 120, ASK_MORE_MS = 10_000;

/** Any failure but the caller's own abort, which is thrown as it is. */
export class ZibaldoneError extends Error {
  /** @param {string} code @param {string} hint
   * @param {{ status?: number, errors?: Fault[], retryAfterS?: number, cause?: unknown }} [more] */
  constructor(code, hint, { status = 0, errors = [], retryAfterS, cause } = {}) {
    super(`${code}: ${hint}`, { cause });
    this.name = "ZibaldoneError";
    /** The same in every version: "id-conflict", "invalid-input"; "network" or "timeout": there was no answer. */
    this.code = code;
    /** What went wrong, and how to mend it. */
    this.hint = hint;
    /** Of HTTP; 0 where there was no answer. */
    this.status = status;
    /** The place of each fault in the request. */
    this.errors = errors;
    /** Seconds to wait before another try, where the server says. */
    this.retryAfterS = retryAfterS;
  }
}

/** The memory of a server. Methods are those of the library; parameters have the names that REST has for them. */
export class Zibaldone {
  #options;

  /** @param {ClientOptions} [options] */
  constructor(options = {}) {
    const url = (options.url ?? "http://127.0.0.1:8787").replace(/\/+$/, "");
    this.#options = { timeoutMs: 30_000, retries: 3, ...options, url };
  }

  /** The same server and key, of another user. @param {string} name */
  user(name) {
    return new Zibaldone({ ...this.#options, user: name });
  }

  /** Keep messages, all of them or none; they are on disk when this returns. One whose id is known adds nothing:
   * those without get one here, so that an attempt that broke off can be repeated.
   * @param {string | NewMessage | (string | NewMessage)[]} messages
   * @param {Options<"addMessages", "messages">} [options] */
  add(messages, options = {}) {
    const given = [messages].flat().map((one) => (typeof one === "string" ? { content: one } : one));
    const named = given.map((one) => ({ ...one, id: one.id ?? crypto.randomUUID() }));
    return this.#call("addMessages", { ...options, messages: named });
  }

  /** The evidence for a question, or for the messages of a chat: cited, in the order of time, within a budget.
   * @param {string | NewMessage[]} question @param {Options<"recall", "query" | "messages">} [options] */
  recall(question, options = {}) {
    const asked = typeof question === "string" ? { query: question } : { messages: question };
    return this.#call("recall", { ...options, ...asked });
  }

  /** An answer of the server's chat model, cited; it may look again.
   * @param {string} question @param {Options<"ask", "question" | "stream">} [options] */
  ask(question, options = {}) {
    return this.#call("ask", { ...asking(options), question });
  }

  /** The same, look by look: each `step` as it is made, then the `answer`.
   * @param {string} question @param {Options<"ask", "question" | "stream">} [options]
   * @returns {AsyncGenerator<AskEvent>} */
  async *askStream(question, options = {}) {
    const response = await this.#stream("ask", { ...asking(options), question, stream: true });
    for await (const event of split(response, "\n\n")) {
      const [, name, data] = /^event: (\w+)\ndata: (.*)$/s.exec(event) ?? [];
      const told = JSON.parse(data ?? "null");
      if (name === "error") throw problem(told, response);
      if (name === "step") yield { event: "step", step: told };
      if (name === "answer") yield { event: "answer", answer: told };
    }
  }

  /** Passages that fit best, best first.
   * @param {string} query @param {Options<"search", "query">} [options] */
  search(query, options = {}) { return this.#call("search", { ...options, query }); }
  /** Messages in the order in which they were stored; the next page begins `after` this one's `next`.
   * @param {Options<"listMessages">} [options] */
  messages(options = {}) { return this.#call("listMessages", options); }
  /** @param {string} id @param {Options<"getMessage">} [options] */
  message(id, options = {}) { return this.#call("getMessage", options, id); }
  /** Correct a message: the log keeps both.
   * @param {string} id @param {string} content @param {Options<"correctMessage", "content">} [options] */
  correct(id, content, options = {}) { return this.#call("correctMessage", { ...options, content }, id); }
  /** @param {Options<"listSessions">} [options] */
  sessions(options = {}) { return this.#call("listSessions", options); }
  /** Names of users, for a key that may see them. @param {Options<"listUsers">} [options] */
  users(options = {}) { return this.#call("listUsers", options); }
  /** Notes on the user, as text for a prompt and one by one. @param {Options<"getProfile">} [options] */
  notes(options = {}) { return this.#call("getProfile", options); }
  /** @param {Options<"addProfileEntry">["kind"]} kind @param {string} text @param {Call} [options] */
  addNote(kind, text, options = {}) { return this.#call("addProfileEntry", { ...options, kind, text }); }
  /** Edit, pin or retire a note: one of the three.
   * @param {string} id @param {{ text: string } | { pinned: boolean } | { retired: true }} change
   * @param {Call} [options] */
  changeNote(id, change, options = {}) { return this.#call("changeProfileEntry", { ...options, ...change }, id); }
  /** Dated lines, about something or everything.
   * @param {string} [query] @param {Options<"timeline", "query">} [options] */
  timeline(query = "", options = {}) { return this.#call("timeline", { ...options, query }); }
  /** @param {Options<"listTopics">} [options] */
  topics(options = {}) { return this.#call("listTopics", options); }
  /** @param {string} id @param {Options<"getTopic">} [options] */
  topic(id, options = {}) { return this.#call("getTopic", options, id); }
  /** @param {Options<"listThemes">} [options] */
  themes(options = {}) { return this.#call("listThemes", options); }
  /** Delete for good, with all that was made of it; with `dry_run` only count.
   * @param {Selected & { dry_run?: boolean, keep_texts?: boolean } & Call} selected */
  forget(selected) { return this.#call("forget", selected); }
  /** All messages, as they come.
   * @param {Options<"exportMessages">} [options] @returns {AsyncGenerator<Message>} */
  async *export(options = {}) {
    const response = await this.#stream("exportMessages", options);
    for await (const line of split(response, "\n")) yield JSON.parse(line);
  }

  /** Which memories are shared with the user. @param {Options<"listGrants">} [options] */
  grants(options = {}) { return this.#call("listGrants", options); }
  /** For admins: let a user read a shared memory, and with `write` write into it.
   * @param {string} scope @param {Options<"grant", "scope">} [options] */
  grant(scope, options = {}) { return this.#call("grant", { ...options, scope }); }
  /** For admins: take that back. @param {string} scope @param {Options<"revoke", "scope">} [options] */
  revoke(scope, options = {}) { return this.#call("revoke", { ...options, scope }); }

  /** @param {Options<"listAudit">} [options] */
  audit(options = {}) { return this.#call("listAudit", options); }
  /** @param {Options<"getStats">} [options] */
  stats(options = {}) { return this.#call("getStats", options); }
  /** Let views read what they have not read yet; the server does so by itself.
   * @param {Options<"maintain">} [options] */
  maintain(options = {}) { return this.#call("maintain", options); }

  /** @template {Operation} O @param {O} name @param {Call & Record<string, any>} options @param {string} [id]
   * @returns {Promise<Result<O>>} */
  async #call(name, options, id) {
    return this.#tried(name, options, id, (response) => response.json());
  }

  /** @param {Operation} name @param {Call & Record<string, any>} options */
  async #stream(name, options) {
    return this.#tried(name, options, undefined, async (response) => response);
  }

  /** Send, and again where that helps; `read` is part of an attempt.
   * @template A @param {Operation} name @param {Call & Record<string, any>} options @param {string | undefined} id
   * @param {(response: Response) => Promise<A>} read @returns {Promise<A>} */
  async #tried(name, { signal, timeoutMs = this.#options.timeoutMs, ...fields }, id, read) {
    const request = this.#request(name, fields, id);
    const send = this.#options.fetch ?? globalThis.fetch;
    for (let attempt = 0; ; attempt++) {
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), timeoutMs);
      let error;
      try {
        const either = signal ? AbortSignal.any([signal, late.signal]) : late.signal;
        const response = await send(request.url, { ...request.init, redirect: "manual", signal: either });
        if (response.ok) return await read(response);
        error = problem(await response.json().catch(() => null), response);
      } catch (cause) {
        signal?.throwIfAborted();
        error = late.signal.aborted
          ? new ZibaldoneError("timeout", `no answer in ${timeoutMs} ms: give timeoutMs more`, { cause })
          : new ZibaldoneError("network", `no whole answer came from ${this.#options.url}: check that it runs`, { cause });
      } finally {
        clearTimeout(timer);
      }
      const again = error.status === 429 || error.status === 503 || (!error.status && !ONCE.includes(name));
      const waitMs = (error.retryAfterS ?? 0) * 1000 || FIRST_WAIT_MS * 2 ** attempt * (0.5 + Math.random());
      if (!again || attempt >= this.#options.retries || waitMs > LONGEST_WAIT_MS) throw error;
      await sleep(waitMs, signal);
    }
  }

  /** @param {Operation} name @param {Record<string, any>} fields @param {string} [id] */
  #request(name, fields, id = "") {
    const [method, path, inUrl] = ROUTES[name];
    const url = new URL(this.#options.url + path.replace("{id}", encodeURIComponent(id)));
    const body = { ...fields };
    for (const key of inUrl) {
      delete body[key];
      for (const value of [fields[key] ?? (key === "user" ? this.#options.user : undefined)].flat()) {
        const shown = typeof value === "object" ? JSON.stringify(value) : value;
        if (value !== undefined) url.searchParams.append(key, shown);
      }
    }
    const headers = new Headers(this.#options.key ? { authorization: `Bearer ${this.#options.key}` } : {});
    if (method === "GET" || method === "DELETE") return { url, init: { method, headers } };
    headers.set("content-type", "application/json");
    return { url, init: { method, headers, body: JSON.stringify(body) } };
  }
}

/** Wait for an answer as long as the server works on it, and a little.
 * @template {{ timeoutMs?: number, timeout_s?: number }} O @param {O} options */
function asking(options) {
  return { timeoutMs: (options.timeout_s ?? ASK_S) * 1000 + ASK_MORE_MS, ...options };
}

/** @param {Problem | null} told @param {Response} response */
function problem(told, response) {
  const wait = Number(response.headers.get("retry-after") ?? NaN);
  const code = told?.type?.split(":").at(-1) ?? `http-${response.status}`;
  const hint = told?.detail ?? `${response.url} answered with ${response.status}: is it a zibaldone server?`;
  const status = told?.status ?? response.status;
  const retryAfterS = Number.isFinite(wait) ? wait : undefined;
  return new ZibaldoneError(code, hint, { status, errors: told?.errors ?? [], retryAfterS });
}

/** The parts of a body between separators, without empty ones. @param {Response} response @param {string} by */
async function* split(response, by) {
  let rest = "";
  try {
    for await (const text of (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
      const parts = (rest + text).split(by);
      rest = parts.pop() ?? "";
      yield* parts.filter(Boolean);
    }
  } catch (cause) {
    throw cause instanceof TypeError ? new ZibaldoneError("network", "the answer broke off", { cause }) : cause;
  }
}

/** @param {number} ms @param {AbortSignal} [signal] @returns {Promise<void>} */
function sleep(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => (clearTimeout(timer), reject(signal.reason)), { once: true });
  });
}
