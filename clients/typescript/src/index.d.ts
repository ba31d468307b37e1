/** Any failure but the caller's own abort, which is thrown as it is. */
export class ZibaldoneError extends Error {
    /** @param {string} code @param {string} hint
     * @param {{ status?: number, errors?: Fault[], retryAfterS?: number, cause?: unknown }} [more] */
    constructor(code: string, hint: string, { status, errors, retryAfterS, cause }?: {
        status?: number;
        errors?: Fault[];
        retryAfterS?: number;
        cause?: unknown;
    });
    /** The same in every version: "id-conflict", "invalid-input"; "network" or "timeout": there was no answer. */
    code: string;
    /** What went wrong, and how to mend it. */
    hint: string;
    /** Of HTTP; 0 where there was no answer. */
    status: number;
    /** The place of each fault in the request. */
    errors: {
        at: string;
        detail: string;
    }[];
    /** Seconds to wait before another try, where the server says. */
    retryAfterS: number | undefined;
}
/** The memory of a server. Methods are those of the library; parameters have the names that REST has for them. */
export class Zibaldone {
    /** @param {ClientOptions} [options] */
    constructor(options?: ClientOptions);
    /** The same server and key, of another user. @param {string} name */
    user(name: string): Zibaldone;
    /** Keep messages, all of them or none; they are on disk when this returns. One whose id is known adds nothing:
     * those without get one here, so that an attempt that broke off can be repeated.
     * @param {string | NewMessage | (string | NewMessage)[]} messages
     * @param {Options<"addMessages", "messages">} [options] */
    add(messages: string | NewMessage | (string | NewMessage)[], options?: Options<"addMessages", "messages">): Promise<{
        messages: import("./openapi.js").components["schemas"]["Message"][];
        new: number;
    }>;
    /** The evidence for a question, or for the messages of a chat: cited, in the order of time, within a budget.
     * @param {string | NewMessage[]} question @param {Options<"recall", "query" | "messages">} [options] */
    recall(question: string | NewMessage[], options?: Options<"recall", "query" | "messages">): Promise<{
        citations: import("./openapi.js").components["schemas"]["Citation"][];
        confidence: number;
        evidence: import("./openapi.js").components["schemas"]["Evidence"][];
        missing: string[];
        ms: number;
        query: string;
        quoted: string;
        reason: string;
        text: string;
        tokens: number;
    }>;
    /** An answer of the server's chat model, cited; it may look again.
     * @param {string} question @param {Options<"ask", "question" | "stream">} [options] */
    ask(question: string, options?: Options<"ask", "question" | "stream">): Promise<{
        citations: import("./openapi.js").components["schemas"]["Citation"][];
        confidence: number;
        evidence: import("./openapi.js").components["schemas"]["Recalled"];
        known: boolean | null;
        marks: string[];
        question: string;
        steps: import("./openapi.js").components["schemas"]["Step"][];
        text: string;
    }>;
    /** The same, look by look: each `step` as it is made, then the `answer`.
     * @param {string} question @param {Options<"ask", "question" | "stream">} [options]
     * @returns {AsyncGenerator<AskEvent>} */
    askStream(question: string, options?: Options<"ask", "question" | "stream">): AsyncGenerator<AskEvent>;
    /** Passages that fit best, best first.
     * @param {string} query @param {Options<"search", "query">} [options] */
    search(query: string, options?: Options<"search", "query">): Promise<{
        confidence: number;
        passages: import("./openapi.js").components["schemas"]["Evidence"][];
    }>;
    /** Messages in the order in which they were stored; the next page begins `after` this one's `next`.
     * @param {Options<"listMessages">} [options] */
    messages(options?: Options<"listMessages">): Promise<{
        messages: import("./openapi.js").components["schemas"]["Message"][];
        next: number | null;
    }>;
    /** @param {string} id @param {Options<"getMessage">} [options] */
    message(id: string, options?: Options<"getMessage">): Promise<{
        content: string;
        id: string;
        metadata: {
            [key: string]: unknown;
        };
        name: string | null;
        role: string;
        seq: number;
        session: string;
        time: string;
    }>;
    /** Correct a message: the log keeps both.
     * @param {string} id @param {string} content @param {Options<"correctMessage", "content">} [options] */
    correct(id: string, content: string, options?: Options<"correctMessage", "content">): Promise<{
        content: string;
        id: string;
        metadata: {
            [key: string]: unknown;
        };
        name: string | null;
        role: string;
        seq: number;
        session: string;
        time: string;
    }>;
    /** @param {Options<"listSessions">} [options] */
    sessions(options?: Options<"listSessions">): Promise<{
        next: number | null;
        sessions: import("./openapi.js").components["schemas"]["Session"][];
    }>;
    /** Names of users, for a key that may see them. @param {Options<"listUsers">} [options] */
    users(options?: Options<"listUsers">): Promise<{
        next: string | null;
        users: string[];
    }>;
    /** Notes on the user, as text for a prompt and one by one. @param {Options<"getProfile">} [options] */
    notes(options?: Options<"getProfile">): Promise<{
        entries: import("./openapi.js").components["schemas"]["ProfileEntry"][];
        text: string;
    }>;
    /** @param {Options<"addProfileEntry">["kind"]} kind @param {string} text @param {Call} [options] */
    addNote(kind: Options<"addProfileEntry">["kind"], text: string, options?: Call): Promise<{
        about: string;
        edited: boolean;
        ended_by: number | null;
        holds: boolean;
        id: string;
        kind: "instruction" | "constraint" | "preference" | "fact" | "person" | "plan" | "decision";
        made_by: string;
        pinned: boolean;
        retired: boolean;
        session: string;
        sources: number[];
        superseded_by: string | null;
        supersedes: string[];
        text: string;
        time: string;
    }>;
    /** Edit, pin or retire a note: one of the three.
     * @param {string} id @param {{ text: string } | { pinned: boolean } | { retired: true }} change
     * @param {Call} [options] */
    changeNote(id: string, change: {
        text: string;
    } | {
        pinned: boolean;
    } | {
        retired: true;
    }, options?: Call): Promise<{
        about: string;
        edited: boolean;
        ended_by: number | null;
        holds: boolean;
        id: string;
        kind: "instruction" | "constraint" | "preference" | "fact" | "person" | "plan" | "decision";
        made_by: string;
        pinned: boolean;
        retired: boolean;
        session: string;
        sources: number[];
        superseded_by: string | null;
        supersedes: string[];
        text: string;
        time: string;
    }>;
    /** Dated lines, about something or everything.
     * @param {string} [query] @param {Options<"timeline", "query">} [options] */
    timeline(query?: string, options?: Options<"timeline", "query">): Promise<{
        lines: import("./openapi.js").components["schemas"]["TimelineLine"][];
        text: string;
    }>;
    /** @param {Options<"listTopics">} [options] */
    topics(options?: Options<"listTopics">): Promise<{
        topics: import("./openapi.js").components["schemas"]["TopicLine"][];
    }>;
    /** @param {string} id @param {Options<"getTopic">} [options] */
    topic(id: string, options?: Options<"getTopic">): Promise<{
        id: string;
        text: string;
    }>;
    /** @param {Options<"listThemes">} [options] */
    themes(options?: Options<"listThemes">): Promise<{
        themes: import("./openapi.js").components["schemas"]["Theme"][];
    }>;
    /** Delete for good, with all that was made of it; with `dry_run` only count.
     * @param {Selected & { dry_run?: boolean, keep_texts?: boolean } & Call} selected */
    forget(selected: Selected & {
        dry_run?: boolean;
        keep_texts?: boolean;
    } & Call): Promise<{
        dry_run: boolean;
        key: string;
        messages: number;
        purged: boolean;
        seqs: number[];
        texts: string[];
        time: string | null;
        user: string;
        views: import("./openapi.js").components["schemas"]["Removed"][];
    }>;
    /** All messages, as they come.
     * @param {Options<"exportMessages">} [options] @returns {AsyncGenerator<Message>} */
    export(options?: Options<"exportMessages">): AsyncGenerator<Message>;
    /** Which memories are shared with the user. @param {Options<"listGrants">} [options] */
    grants(options?: Options<"listGrants">): Promise<{
        grants: import("./openapi.js").components["schemas"]["Grant"][];
    }>;
    /** For admins: let a user read a shared memory, and with `write` write into it.
     * @param {string} scope @param {Options<"grant", "scope">} [options] */
    grant(scope: string, options?: Options<"grant", "scope">): Promise<{
        scope: string;
        since: string;
        user: string;
        write: boolean;
    }>;
    /** For admins: take that back. @param {string} scope @param {Options<"revoke", "scope">} [options] */
    revoke(scope: string, options?: Options<"revoke", "scope">): Promise<{
        scope: string;
        since: string;
        user: string;
        write: boolean;
    }>;
    /** @param {Options<"listAudit">} [options] */
    audit(options?: Options<"listAudit">): Promise<{
        entries: import("./openapi.js").components["schemas"]["AuditEntry"][];
    }>;
    /** @param {Options<"getStats">} [options] */
    stats(options?: Options<"getStats">): Promise<{
        bytes_on_disk: number | null;
        messages: number;
        sessions: number;
        user: string | null;
        users: number;
        views: import("./openapi.js").components["schemas"]["ViewStats"][];
    }>;
    /** Let views read what they have not read yet; the server does so by itself.
     * @param {Options<"maintain">} [options] */
    maintain(options?: Options<"maintain">): Promise<{
        behind: import("./openapi.js").components["schemas"]["Behind"][];
        completion_tokens: number;
        cut_short: number;
        degraded: number;
        messages: number;
        model_calls: number;
        prompt_tokens: number;
        users: number;
    }>;
    #private;
}
/**
 * Client of a zibaldone server. Types of what goes in and comes out are generated from the server's OpenAPI
 * document: `openapi.d.ts`. Runs wherever there is `fetch`, and depends on nothing.
 */
export type AskEvent = {
    event: "step";
    step: Step;
} | {
    event: "answer";
    answer: Answer;
};
import type { Fault } from "./openapi.js";
import type { NewMessage } from "./openapi.js";
import type { Options } from "./types.js";
import type { Call } from "./types.js";
import type { Selected } from "./types.js";
import type { Message } from "./openapi.js";
import type { ClientOptions } from "./types.js";
import type { Step } from "./openapi.js";
import type { Answer } from "./openapi.js";
