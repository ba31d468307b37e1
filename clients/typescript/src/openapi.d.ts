// Made by 'npm run generate' of the OpenAPI document with the digest 16b67626b1b3762357a685662b59ac288fb038f6e38165a4d6a72ce88eb6e5a8
export interface paths {
    "/v1/memory/ask": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Let the server's chat model answer a question; it may look again, and cites what it was shown. */
        post: operations["ask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List who read, wrote and forgot, when and how much; never what was said. */
        get: operations["listAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Stream all messages as JSON Lines, which 'zibaldone import' reads back exactly. */
        get: operations["exportMessages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/forget": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Delete messages and all that was made from them, for good; a dry run only counts. */
        post: operations["forget"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/grants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List who may read, or write into, which shared memories. */
        get: operations["listGrants"];
        put?: never;
        /** Let a user read a shared memory beside their own. */
        post: operations["grant"];
        /** Take a grant back, at once. */
        delete: operations["revoke"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/maintain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Let views read what they have not read yet; the server does so by itself in the background. */
        post: operations["maintain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List messages in the order in which they were stored, page by page. */
        get: operations["listMessages"];
        put?: never;
        /** Keep messages, all of them or none; a message whose id is known adds nothing. */
        post: operations["addMessages"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/messages/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get one message by its id. */
        get: operations["getMessage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Correct a message: a new one of the role editor takes its place, and the log keeps both. */
        patch: operations["correctMessage"];
        trace?: never;
    };
    "/v1/memory/profile": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List notes on the user, as text for a prompt and entry by entry. */
        get: operations["getProfile"];
        put?: never;
        /** Note something that no message says. */
        post: operations["addProfileEntry"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/profile/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Correct, pin or retire one entry of the profile. */
        patch: operations["changeProfileEntry"];
        trace?: never;
    };
    "/v1/memory/recall": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Recall the evidence for a question: cited, in the order of time, within a budget of tokens. */
        post: operations["recall"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** List the passages that fit a query best, best first, without a budget. */
        post: operations["search"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List sessions in the order of their first messages. */
        get: operations["listSessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Count what is stored, of one user or, for those who may, of all. */
        get: operations["getStats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/themes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the themes that maintenance of the view hierarchy has made, with their facts. */
        get: operations["listThemes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/timeline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List dated lines: of each session its title and first statement, and what a model noted. */
        get: operations["timeline"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/topics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the topic documents that maintenance of the view topics has made. */
        get: operations["listTopics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/topics/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get one topic document as Markdown. */
        get: operations["getTopic"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List users that have, or had, messages. */
        get: operations["listUsers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description Keep messages, all of them or none; a message whose id is known adds nothing. */
        AddMessages: {
            /**
             * @description The agent that they were said to or by.
             * @default null
             */
            agent?: string | null;
            messages: components["schemas"]["NewMessage"][];
            /**
             * @description The session of messages that name none.
             * @default null
             */
            session?: string | null;
        };
        /** @description The messages as they are stored; one whose id was known is as it was first stored. */
        Added: {
            messages: components["schemas"]["Message"][];
            /** @description How many of them were not stored before. */
            new: number;
        };
        /** @description A model's answer to a question, and the evidence that it was shown. */
        Answer: {
            /** @description Of the messages that it names, in evidence.text. */
            citations: components["schemas"]["Citation"][];
            confidence: number;
            evidence: components["schemas"]["Recalled"];
            /** @description False: memory does not hold it, as far as the model was shown. null: no model read it. */
            known: boolean | null;
            /** @description What is wrong with it, in sentences. */
            marks: string[];
            question: string;
            steps: components["schemas"]["Step"][];
            /** @description Empty where no model gave one; then the evidence is what there is. */
            text: string;
        };
        /** @description Let the server's chat model answer a question; it may look again, and cites what it was shown. */
        Ask: {
            /**
             * @description Only what was said to or by this agent.
             * @default null
             */
            agent?: string | null;
            /**
             * @description Tokens of all evidence that the model is shown.
             * @default 2500
             */
            budget_tokens?: number;
            /**
             * @description All but this session.
             * @default null
             */
            exclude_session?: string | null;
            /**
             * @description Only with this metadata: {"key": value}, or operators such as {"n": {"$gte": 3}}.
             * @default null
             */
            metadata?: {
                [key: string]: components["schemas"]["JsonValue"];
            } | null;
            /**
             * @description Ask as if it were then, with what was known by then: ISO 8601.
             * @default null
             */
            now?: string | null;
            /** @description What to answer. */
            question: string;
            /**
             * @description Only what these roles said: user, assistant, ...
             * @default null
             */
            roles?: string[] | null;
            /**
             * @description How often the model may look again.
             * @default 3
             */
            rounds?: number;
            /**
             * @description Only this session.
             * @default null
             */
            session?: string | null;
            /**
             * @description Of what is shared with the user, only these memories; all of it unless given.
             * @default null
             */
            shared?: string[] | null;
            /**
             * @description Only from then on: ISO 8601.
             * @default null
             */
            since?: string | null;
            /**
             * @description Server-sent events: a `step` for each look, then `answer`, or `error`.
             * @default false
             */
            stream?: boolean;
            /**
             * @description Seconds; then what was recalled.
             * @default 120
             */
            timeout_s?: number;
            /**
             * @description Only before then: ISO 8601.
             * @default null
             */
            until?: string | null;
        };
        /** @description Who read, wrote and forgot, in the order of time. */
        Audit: {
            entries: components["schemas"]["AuditEntry"][];
        };
        /** @description One thing that was done with a user's memory. */
        AuditEntry: {
            /** @enum {string} */
            action: "read" | "write" | "forget";
            count: number;
            door: string;
            key: string | null;
            /** @description Rises by one per user. */
            number: number;
            operation: string;
            /** Format: date-time */
            time: string;
            user: string;
        };
        /** @description A view that could not be brought to the end of the log. */
        Behind: {
            reason: string;
            user: string;
            view: string;
        };
        /** @description Where text[start:end] of a recall comes from. */
        Citation: {
            end: number;
            id: string | null;
            role: string | null;
            /** @description The shared memory that has the message. */
            scope: string;
            seq: number;
            session: string;
            start: number;
            /** Format: date-time */
            time: string;
        };
        /** @description A part of a message in the shape of a chat client: text word for word, anything else described. */
        ContentPart: {
            /** @default null */
            text?: string | null;
            type: string;
        } & {
            [key: string]: unknown;
        };
        /** @description Correct a message: a new one of the role editor takes its place, and the log keeps both. */
        Correction: {
            content: string;
            /** @default null */
            metadata?: {
                [key: string]: components["schemas"]["JsonValue"];
            } | null;
        };
        /** @description So many rows of a kind. */
        Counted: {
            kind: string;
            rows: number;
        };
        /** @description Correct, pin or retire one entry of the profile. */
        EntryChange: {
            /**
             * @description Whether it comes first in the text.
             * @default null
             */
            pinned?: boolean | null;
            /**
             * @description true: it holds no longer; one that was retired holds again with a new text.
             * @default null
             */
            retired?: boolean | null;
            /**
             * @description What it says instead; one that was retired holds again.
             * @default null
             */
            text?: string | null;
        } & ({
            text: string;
        } | {
            pinned: boolean;
        } | {
            /** @constant */
            retired: true;
        });
        /** @description A passage, word for word. */
        Evidence: {
            /** @description Further sentences of it that hold no more. */
            also_outdated: components["schemas"]["Outdated"][];
            /** @description It begins inside a sentence, whose first words are missing. */
            begins_inside: boolean;
            /** @description It ends inside a sentence, whose last words are missing. */
            ends_inside: boolean;
            ids: string[];
            /** @description false: its time is that of an import. */
            is_dated: boolean;
            kind: string;
            metadata: {
                [key: string]: unknown;
            };
            outdated: components["schemas"]["Outdated"] | null;
            role: string | null;
            /** @description The shared memory that has it; empty: the user's own. */
            scope: string;
            score: number;
            session: string;
            /** @description Seqs of its messages. */
            sources: number[];
            speaker: string | null;
            /** @description It always holds, and was not recalled for this question alone. */
            standing: boolean;
            text: string;
            /** Format: date-time */
            time: string;
            tokens: number;
            view: string;
        };
        /** @description A fault in a request, and its place. */
        Fault: {
            at: string;
            detail: string;
        };
        /** @description Delete messages and all that was made from them, for good; a dry run only counts. */
        Forget: {
            /**
             * @description What happened before: ISO 8601.
             * @default null
             */
            before?: string | null;
            /**
             * @description Count what would go, and change nothing.
             * @default false
             */
            dry_run?: boolean;
            /**
             * @description All of the user's memory.
             * @default false
             */
            everything?: boolean;
            /**
             * @description Give what the messages said, to verify with.
             * @default false
             */
            keep_texts?: boolean;
            /**
             * @description The messages of these seqs.
             * @default null
             */
            seqs?: number[] | null;
            /**
             * @description A whole session.
             * @default null
             */
            session?: string | null;
            /**
             * @description With all of the memory: destroy the user's key, too.
             * @default false
             */
            shred?: boolean;
        } & ({
            seqs: unknown[];
        } | {
            session: string;
        } | {
            before: string;
        } | {
            /** @constant */
            everything: true;
        });
        /** @description The right to read a shared memory, and perhaps to write. */
        Grant: {
            /** @description The shared memory, a user of its own. */
            scope: string;
            /** Format: date-time */
            since: string;
            user: string;
            write: boolean;
        };
        /** @description Who may read which shared memories. */
        Grants: {
            grants: components["schemas"]["Grant"][];
        };
        JsonValue: unknown;
        /** @description A query of the model's. */
        Lookup: {
            /** @enum {string} */
            order: "best" | "first" | "last";
            query: string;
            role: string | null;
            session: string | null;
            since: string | null;
            until: string | null;
        };
        /** @description Let views read what they have not read yet; the server does so by itself in the background. */
        Maintain: {
            /**
             * @description Only these views.
             * @default null
             */
            views?: ("chunks" | "hierarchy" | "messages" | "notes" | "topics")[] | null;
        };
        /** @description What a maintenance did. */
        Maintained: {
            behind: components["schemas"]["Behind"][];
            completion_tokens: number;
            /** @description Of these, messages so long that the beginning alone was read. */
            cut_short: number;
            degraded: number;
            /** @description Read by at least one view. */
            messages: number;
            model_calls: number;
            prompt_tokens: number;
            users: number;
        };
        /** @description A message as it is stored. */
        Message: {
            content: string;
            id: string;
            metadata: {
                [key: string]: unknown;
            };
            name: string | null;
            role: string;
            seq: number;
            session: string;
            /** Format: date-time */
            time: string;
        };
        /** @description Messages in the order in which they were stored. */
        MessagePage: {
            messages: components["schemas"]["Message"][];
            /** @description `after` of the next page; null: this is the last. */
            next: number | null;
        };
        /** @description Note something that no message says. */
        NewEntry: {
            /**
             * @description instruction, constraint, fact ...
             * @enum {string}
             */
            kind: "instruction" | "constraint" | "preference" | "fact" | "person" | "plan" | "decision";
            /** @description What holds. */
            text: string;
        };
        /** @description Let a user read a shared memory beside their own. */
        NewGrant: {
            /** @description The shared memory: a user of its own, such as team:design. */
            scope: string;
            /**
             * @description They may write into it, too.
             * @default false
             */
            write?: boolean;
        };
        /** @description A message in the OpenAI chat shape, and what belongs to it. */
        NewMessage: {
            /** @default null */
            content?: string | components["schemas"]["ContentPart"][] | null;
            /**
             * @description Your own; sending a message of the same id again adds nothing.
             * @default null
             */
            id?: string | null;
            metadata?: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            /** @default null */
            name?: string | null;
            /** @default null */
            refusal?: string | null;
            /** @default user */
            role?: string;
            /** @default null */
            session?: string | null;
            /**
             * @description When it was said; unless given, now.
             * @default null
             */
            time?: string | null;
            /** @default null */
            tool_call_id?: string | null;
            /** @default null */
            tool_calls?: {
                [key: string]: components["schemas"]["JsonValue"];
            }[] | null;
        } & ({
            content: string | unknown[];
        } | {
            tool_calls: unknown[];
        });
        /** @description What held once and holds no more. */
        Outdated: {
            /** @description Seq of the message that says otherwise. */
            by: number;
            sentence: string;
            since: string | null;
        };
        /** @description What was found, best first. */
        Passages: {
            /** @description How likely memory knows of the query, 0 to 1; low: perhaps none is about it. */
            confidence: number;
            passages: components["schemas"]["Evidence"][];
        };
        /** @description A problem (RFC 9457). */
        Problem: {
            detail: string;
            /** @default null */
            errors?: components["schemas"]["Fault"][] | null;
            status: number;
            title: string;
            /** @description urn:zibaldone:problem: and a name that stays. */
            type: string;
        } & {
            [key: string]: unknown;
        };
        /** @description What should always be known of a user. */
        Profile: {
            entries: components["schemas"]["ProfileEntry"][];
            /** @description For a system prompt. */
            text: string;
        };
        /** @description One thing that is known of a user. */
        ProfileEntry: {
            about: string;
            edited: boolean;
            ended_by: number | null;
            holds: boolean;
            id: string;
            /** @enum {string} */
            kind: "instruction" | "constraint" | "preference" | "fact" | "person" | "plan" | "decision";
            made_by: string;
            pinned: boolean;
            retired: boolean;
            session: string;
            sources: number[];
            superseded_by: string | null;
            supersedes: string[];
            text: string;
            /** Format: date-time */
            time: string;
        };
        /** @description Recall the evidence for a question: cited, in the order of time, within a budget of tokens. */
        Recall: {
            /**
             * @description Only what was said to or by this agent.
             * @default null
             */
            agent?: string | null;
            /**
             * @description At most so many tokens.
             * @default 2000
             */
            budget_tokens?: number;
            /**
             * @description All but this session.
             * @default null
             */
            exclude_session?: string | null;
            /**
             * @description The messages of a chat; the user's last one is the question.
             * @default null
             */
            messages?: components["schemas"]["NewMessage"][] | null;
            /**
             * @description Only with this metadata: {"key": value}, or operators such as {"n": {"$gte": 3}}.
             * @default null
             */
            metadata?: {
                [key: string]: components["schemas"]["JsonValue"];
            } | null;
            /**
             * @description Recall nothing below this confidence.
             * @default null
             */
            min_confidence?: number | null;
            /**
             * @description Ask as if it were then, with what was known by then: ISO 8601.
             * @default null
             */
            now?: string | null;
            /**
             * @description What to remember.
             * @default null
             */
            query?: string | null;
            /**
             * @description Only what these roles said: user, assistant, ...
             * @default null
             */
            roles?: string[] | null;
            /**
             * @description Only this session.
             * @default null
             */
            session?: string | null;
            /**
             * @description Of what is shared with the user, only these memories; all of it unless given.
             * @default null
             */
            shared?: string[] | null;
            /**
             * @description Only from then on: ISO 8601.
             * @default null
             */
            since?: string | null;
            /**
             * @description Only before then: ISO 8601.
             * @default null
             */
            until?: string | null;
            /**
             * @description Only these views.
             * @default null
             */
            views?: ("chunks" | "hierarchy" | "messages" | "notes" | "topics")[] | null;
        } & ({
            query: string;
        } | {
            messages: unknown[];
        });
        /** @description The evidence for a question. */
        Recalled: {
            citations: components["schemas"]["Citation"][];
            /** @description How likely memory has the answer, 0 to 1. */
            confidence: number;
            evidence: components["schemas"]["Evidence"][];
            /** @description Shared memories that could not be recalled. */
            missing: string[];
            ms: number;
            query: string;
            /** @description The text, declared to be a quotation and no instruction. */
            quoted: string;
            /** @description Why nothing was recalled; empty where something was. */
            reason: string;
            /** @description Ready for a prompt; empty when nothing was recalled. */
            text: string;
            tokens: number;
        };
        /** @description What forgetting removed, or in a dry run would remove. */
        Receipt: {
            dry_run: boolean;
            /** @description The number of the user's key, where it was destroyed. */
            key: string;
            messages: number;
            /** @description No file has the text any more; false in a dry run. */
            purged: boolean;
            seqs: number[];
            /** @description What the messages said, where that was asked for. */
            texts: string[];
            time: string | null;
            user: string;
            views: components["schemas"]["Removed"][];
        };
        /** @description What one view lost. */
        Removed: {
            counts: components["schemas"]["Counted"][];
            view: string;
        };
        /** @description List the passages that fit a query best, best first, without a budget. */
        Search: {
            /**
             * @description Only what was said to or by this agent.
             * @default null
             */
            agent?: string | null;
            /**
             * @description All but this session.
             * @default null
             */
            exclude_session?: string | null;
            /**
             * @description At most so many.
             * @default 20
             */
            limit?: number;
            /**
             * @description Only with this metadata: {"key": value}, or operators such as {"n": {"$gte": 3}}.
             * @default null
             */
            metadata?: {
                [key: string]: components["schemas"]["JsonValue"];
            } | null;
            /**
             * @description Ask as if it were then, with what was known by then: ISO 8601.
             * @default null
             */
            now?: string | null;
            /** @description What to look for. */
            query: string;
            /**
             * @description Only what these roles said: user, assistant, ...
             * @default null
             */
            roles?: string[] | null;
            /**
             * @description Only this session.
             * @default null
             */
            session?: string | null;
            /**
             * @description Of what is shared with the user, only these memories; all of it unless given.
             * @default null
             */
            shared?: string[] | null;
            /**
             * @description Only from then on: ISO 8601.
             * @default null
             */
            since?: string | null;
            /**
             * @description Only before then: ISO 8601.
             * @default null
             */
            until?: string | null;
        };
        /** @description A fact, and who says so. */
        Semantic: {
            id: number;
            seqs: number[];
            text: string;
            /** Format: date-time */
            time: string;
        };
        /** @description One conversation. */
        Session: {
            /** Format: date-time */
            end: string;
            first_seq: number;
            last_seq: number;
            messages: number;
            session: string;
            /** Format: date-time */
            start: string;
        };
        /** @description Sessions in the order of their first messages. */
        SessionPage: {
            next: number | null;
            sessions: components["schemas"]["Session"][];
        };
        /** @description What a memory holds. */
        Stats: {
            /** @description Of the whole folder; null with a user's key. */
            bytes_on_disk: number | null;
            messages: number;
            sessions: number;
            user: string | null;
            users: number;
            views: components["schemas"]["ViewStats"][];
        };
        /** @description One look, or the answer. */
        Step: {
            /** @description Seqs of what it brought. */
            added: number[];
            answered: boolean;
            calls: number;
            completion_tokens: number;
            ms: number;
            /** @description 0 is the first look, before any model. */
            number: number;
            prompt_tokens: number;
            queries: components["schemas"]["Lookup"][];
            /** @description Of the evidence after it. */
            tokens: number;
        };
        /** @description Facts that belong together. */
        Theme: {
            /** Format: date-time */
            end: string;
            id: number;
            name: string;
            near: number[];
            semantics: components["schemas"]["Semantic"][];
            /** Format: date-time */
            start: string;
        };
        /** @description All themes, in the order in which they began. */
        Themes: {
            themes: components["schemas"]["Theme"][];
        };
        /** @description Dated lines in the order of time. */
        Timeline: {
            lines: components["schemas"]["TimelineLine"][];
            text: string;
        };
        /** @description A session, or what a model noted of it. */
        TimelineLine: {
            holds: boolean;
            is_dated: boolean;
            kind: string;
            session: string;
            sources: number[];
            text: string;
            /** Format: date-time */
            time: string;
        };
        /** @description A topic document, as Markdown. */
        Topic: {
            id: string;
            text: string;
        };
        /** @description A topic document before it is opened. */
        TopicLine: {
            id: string;
            summary: string;
            title: string;
            tokens: number;
        };
        /** @description All topic documents but the one that is not filed yet. */
        Topics: {
            topics: components["schemas"]["TopicLine"][];
        };
        /** @description Names of users, in order. */
        UserPage: {
            next: string | null;
            users: string[];
        };
        /** @description What one view holds. */
        ViewStats: {
            counts: components["schemas"]["Counted"][];
            /** @description Messages that it has not read yet. */
            lag: number;
            view: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type AddMessages = components['schemas']['AddMessages'];
export type Added = components['schemas']['Added'];
export type Answer = components['schemas']['Answer'];
export type Ask = components['schemas']['Ask'];
export type Audit = components['schemas']['Audit'];
export type AuditEntry = components['schemas']['AuditEntry'];
export type Behind = components['schemas']['Behind'];
export type Citation = components['schemas']['Citation'];
export type ContentPart = components['schemas']['ContentPart'];
export type Correction = components['schemas']['Correction'];
export type Counted = components['schemas']['Counted'];
export type EntryChange = components['schemas']['EntryChange'];
export type Evidence = components['schemas']['Evidence'];
export type Fault = components['schemas']['Fault'];
export type Forget = components['schemas']['Forget'];
export type Grant = components['schemas']['Grant'];
export type Grants = components['schemas']['Grants'];
export type JsonValue = components['schemas']['JsonValue'];
export type Lookup = components['schemas']['Lookup'];
export type Maintain = components['schemas']['Maintain'];
export type Maintained = components['schemas']['Maintained'];
export type Message = components['schemas']['Message'];
export type MessagePage = components['schemas']['MessagePage'];
export type NewEntry = components['schemas']['NewEntry'];
export type NewGrant = components['schemas']['NewGrant'];
export type NewMessage = components['schemas']['NewMessage'];
export type Outdated = components['schemas']['Outdated'];
export type Passages = components['schemas']['Passages'];
export type Problem = components['schemas']['Problem'];
export type Profile = components['schemas']['Profile'];
export type ProfileEntry = components['schemas']['ProfileEntry'];
export type Recall = components['schemas']['Recall'];
export type Recalled = components['schemas']['Recalled'];
export type Receipt = components['schemas']['Receipt'];
export type Removed = components['schemas']['Removed'];
export type Search = components['schemas']['Search'];
export type Semantic = components['schemas']['Semantic'];
export type Session = components['schemas']['Session'];
export type SessionPage = components['schemas']['SessionPage'];
export type Stats = components['schemas']['Stats'];
export type Step = components['schemas']['Step'];
export type Theme = components['schemas']['Theme'];
export type Themes = components['schemas']['Themes'];
export type Timeline = components['schemas']['Timeline'];
export type TimelineLine = components['schemas']['TimelineLine'];
export type Topic = components['schemas']['Topic'];
export type TopicLine = components['schemas']['TopicLine'];
export type Topics = components['schemas']['Topics'];
export type UserPage = components['schemas']['UserPage'];
export type ViewStats = components['schemas']['ViewStats'];
export type $defs = Record<string, never>;
export interface operations {
    ask: {
        parameters: {
            query?: {
                /**
                 * @description Whose memory. Not needed with a user's key.
                 * @example ann
                 */
                user?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "question": "Where has Ann lived?",
                 *       "rounds": 2
                 *     }
                 */
                "application/json": components["schemas"]["Ask"];
            };
        };
        responses: {
            /** @description As asked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Answer"];
                    "text/event-stream": string;
                };
            };
            /** @description The body is not JSON, or nobody's memory was named. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A key is needed, or this one is unknown or was revoked. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key does not open this, or a page of another origin sent the request. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body did not come in time. */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is not declared to be JSON. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The Host header names no host of this server. */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something in the request cannot be used; `errors` say what. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key sent too many requests: wait as long as Retry-After says. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Busy or shutting down: wait as long as Retry-After says. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listAudit: {
        parameters: {
            query?: {
                /**
                 * @description Whose memory. Not needed with a user's key.
                 * @example ann
                 */
                user?: string;
                /** @description Only from then on: ISO 8601. */
                since?: string;
                /**
                 * @description Only the newest so many.
                 * @example 20
                 */
                newest?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description As asked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Audit"];
                };
            };
            /** @description The body is not JSON, or nobody's memory was named. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A key is needed, or this one is unknown or was revoked. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key does not open this, or a page of another origin sent the request. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The Host header names no host of this server. */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something in the request cannot be used; `errors` say what. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key sent too many requests: wait as long as Retry-After says. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Busy or shutting down: wait as long as Retry-After says. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    exportMessages: {
        parameters: {
            query?: {
                /**
                 * @description Whose memory. Not needed with a user's key.
                 * @example ann
                 */
                user?: string;
                /** @description Only what was said to or by this agent. */
                agent?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description As asked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/jsonl": string;
                };
            };
            /** @description The body is not JSON, or nobody's memory was named. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A key is needed, or this one is unknown or was revoked. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key does not open this, or a page of another origin sent the request. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The Host header names no host of this server. */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something in the request cannot be used; `errors` say what. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key sent too many requests: wait as long as Retry-After says. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Busy or shutting down: wait as long as Retry-After says. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    forget: {
        parameters: {
            query?: {
                /**
                 * @description Whose memory. Not needed with a user's key.
                 * @example ann
                 */
                user?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "dry_run": true,
                 *       "session": "chat-7"
                 *     }
                 */
                "application/json": components["schemas"]["Forget"];
            };
        };
        responses: {
            /** @description As asked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Receipt"];
                };
            };
            /** @description The body is not JSON, or nobody's memory was named. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A key is needed, or this one is unknown or was revoked. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key does not open this, or a page of another origin sent the request. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body did not come in time. */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is not declared to be JSON. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The Host header names no host of this server. */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something in the request cannot be used; `errors` say what. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key sent too many requests: wait as long as Retry-After says. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Busy or shutting down: wait as long as Retry-After says. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listGrants: {
        parameters: {
            query?: {
                /**
                 * @description Whose memory. Not needed with a user's key.
                 * @example ann
                 */
                user?: string;
                /** @description Only this shared memory. */
                scope?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description As asked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Grants"];
                };
            };
            /** @description The body is not JSON, or nobody's memory was named. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A key is needed, or this one is unknown or was revoked. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key does not open this, or a page of another origin sent the request. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The Host header names no host of this server. */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something in the request cannot be used; `errors` say what. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key sent too many requests: wait as long as Retry-After says. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Busy or shutting down: wait as long as Retry-After says. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    grant: {
        parameters: {
            query?: {
                /**
                 * @description Whose memory. Not needed with a user's key.
                 * @example ann
                 */
                user?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "scope": "team:design",
                 *       "write": true
                 *     }
                 */
                "application/json": components["schemas"]["NewGrant"];
            };
        };
        responses: {
            /** @description As asked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Grant"];
                };
            };
            /** @description The body is not JSON, or nobody's memory was named. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A key is needed, or this one is unknown or was revoked. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key does not open this, or a page of another origin sent the request. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body did not come in time. */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is not declared to be JSON. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The Host header names no host of this server. */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something in the request cannot be used; `errors` say what. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key sent too many requests: wait as long as Retry-After says. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Busy or shutting down: wait as long as Retry-After says. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    revoke: {
        parameters: {
            query: {
                /**
                 * @description Whose memory. Not needed with a user's key.
                 * @example ann
                 */
                user?: string;
                /**
                 * @description The shared memory.
                 * @example team:design
                 */
                scope: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description As asked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Grant"];
                };
            };
            /** @description The body is not JSON, or nobody's memory was named. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A key is needed, or this one is unknown or was revoked. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key does not open this, or a page of another origin sent the request. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The Host header names no host of this server. */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something in the request cannot be used; `errors` say what. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key sent too many requests: wait as long as Retry-After says. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Busy or shutting down: wait as long as Retry-After says. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    maintain: {
        parameters: {
            query?: {
                /**
                 * @description Whose memory. Not needed with a user's key.
                 * @example ann
                 */
                user?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "views": [
                 *         "topics",
                 *         "hierarchy"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["Maintain"];
            };
        };
        responses: {
            /** @description As asked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Maintained"];
                };
            };
            /** @description The body is not JSON, or nobody's memory was named. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A key is needed, or this one is unknown or was revoked. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key does not open this, or a page of another origin sent the request. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body did not come in time. */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is not declared to be JSON. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The Host header names no host of this server. */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something in the request cannot be used; `errors` say what. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key sent too many requests: wait as long as Retry-After says. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Busy or shutting down: wait as long as Retry-After says. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listMessages: {
        parameters: {
            query?: {
                /**
                 * @description Whose memory. Not needed with a user's key.
                 * @example ann
                 */
                user?: string;
                /** @description Only what was said to or by this agent. */
                agent?: string;
                /**
                 * @description Only this session.
                 * @example chat-7
                 */
                session?: string;
                /** @description Only what these roles said: user, assistant, ... */
                roles?: string[];
                /** @description Only from then on: ISO 8601. */
                since?: string;
                /** @description Only before then: ISO 8601. */
                until?: string;
                /** @description Only with this metadata: {"key": value}, or operators such as {"n": {"$gte": 3}}. */
                metadata?: {
                    [key: string]: unknown;
                };
                /** @description Only what comes after this seq: the `next` of the page before. */
                after?: number;
                /**
                 * @description At most so many.
                 * @example 50
                 */
                limit?: number;
                /** @description The newest so many, in place of a page. */
                last?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description As asked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagePage"];
                };
            };
            /** @description The body is not JSON, or nobody's memory was named. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A key is needed, or this one is unknown or was revoked. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key does not open this, or a page of another origin sent the request. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The Host header names no host of this server. */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something in the request cannot be used; `errors` say what. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key sent too many requests: wait as long as Retry-After says. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Busy or shutting down: wait as long as Retry-After says. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    addMessages: {
        parameters: {
            query?: {
                /**
                 * @description Whose memory. Not needed with a user's key.
                 * @example ann
                 */
                user?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "messages": [
                 *         {
                 *           "content": "I moved to Lisbon in May.",
                 *           "id": "chat-7/1",
                 *           "time": "2024-06-01T09:00:00Z"
                 *         },
                 *         {
                 *           "content": "How do you like Lisbon?",
                 *           "id": "chat-7/2",
                 *           "role": "assistant"
                 *         }
                 *       ],
                 *       "session": "chat-7"
                 *     }
                 */
                "application/json": components["schemas"]["AddMessages"];
            };
        };
        responses: {
            /** @description Stored. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Added"];
                };
            };
            /** @description The body is not JSON, or nobody's memory was named. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A key is needed, or this one is unknown or was revoked. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key does not open this, or a page of another origin sent the request. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body did not come in time. */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The id is taken by a message with another content. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is not declared to be JSON. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The Host header names no host of this server. */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something in the request cannot be used; `errors` say what. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key sent too many requests: wait as long as Retry-After says. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Busy or shutting down: wait as long as Retry-After says. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getMessage: {
        parameters: {
            query?: {
                /**
                 * @description Whose memory. Not needed with a user's key.
                 * @example ann
                 */
                user?: string;
                /** @description Only what was said to or by this agent. */
                agent?: string;
            };
            header?: never;
            path: {
                /** @example chat-7/1 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description As asked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Message"];
                };
            };
            /** @description The body is not JSON, or nobody's memory was named. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A key is needed, or this one is unknown or was revoked. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key does not open this, or a page of another origin sent the request. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is none of this id. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The Host header names no host of this server. */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something in the request cannot be used; `errors` say what. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key sent too many requests: wait as long as Retry-After says. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Busy or shutting down: wait as long as Retry-After says. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    correctMessage: {
        parameters: {
            query?: {
                /**
                 * @description Whose memory. Not needed with a user's key.
                 * @example ann
                 */
                user?: string;
                /** @description Only what was said to or by this agent. */
                agent?: string;
            };
            header?: never;
            path: {
                /** @example chat-7/1 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "content": "I moved to Lisbon in April."
                 *     }
                 */
                "application/json": components["schemas"]["Correction"];
            };
        };
        responses: {
            /** @description Stored. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Message"];
                };
            };
            /** @description The body is not JSON, or nobody's memory was named. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A key is needed, or this one is unknown or was revoked. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key does not open this, or a page of another origin sent the request. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is none of this id. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body did not come in time. */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is not declared to be JSON. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The Host header names no host of this server. */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something in the request cannot be used; `errors` say what. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key sent too many requests: wait as long as Retry-After says. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Busy or shutting down: wait as long as Retry-After says. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getProfile: {
        parameters: {
            query?: {
                /**
                 * @description Whose memory. Not needed with a user's key.
                 * @example ann
                 */
                user?: string;
                /**
                 * @description The profile as a text of at most so many tokens.
                 * @example 200
                 */
                budget_tokens?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description As asked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Profile"];
                };
            };
            /** @description The body is not JSON, or nobody's memory was named. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A key is needed, or this one is unknown or was revoked. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key does not open this, or a page of another origin sent the request. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The Host header names no host of this server. */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something in the request cannot be used; `errors` say what. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key sent too many requests: wait as long as Retry-After says. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Busy or shutting down: wait as long as Retry-After says. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    addProfileEntry: {
        parameters: {
            query?: {
                /**
                 * @description Whose memory. Not needed with a user's key.
                 * @example ann
                 */
                user?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "kind": "constraint",
                 *       "text": "No nuts."
                 *     }
                 */
                "application/json": components["schemas"]["NewEntry"];
            };
        };
        responses: {
            /** @description Stored. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProfileEntry"];
                };
            };
            /** @description The body is not JSON, or nobody's memory was named. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A key is needed, or this one is unknown or was revoked. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key does not open this, or a page of another origin sent the request. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body did not come in time. */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is not declared to be JSON. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The Host header names no host of this server. */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something in the request cannot be used; `errors` say what. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key sent too many requests: wait as long as Retry-After says. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Busy or shutting down: wait as long as Retry-After says. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    changeProfileEntry: {
        parameters: {
            query?: {
                /**
                 * @description Whose memory. Not needed with a user's key.
                 * @example ann
                 */
                user?: string;
            };
            header?: never;
            path: {
                /** @example 1.0 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "pinned": true
                 *     }
                 */
                "application/json": components["schemas"]["EntryChange"];
            };
        };
        responses: {
            /** @description As asked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProfileEntry"];
                };
            };
            /** @description The body is not JSON, or nobody's memory was named. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A key is needed, or this one is unknown or was revoked. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key does not open this, or a page of another origin sent the request. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is none of this id. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body did not come in time. */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is not declared to be JSON. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The Host header names no host of this server. */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something in the request cannot be used; `errors` say what. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key sent too many requests: wait as long as Retry-After says. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Busy or shutting down: wait as long as Retry-After says. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    recall: {
        parameters: {
            query?: {
                /**
                 * @description Whose memory. Not needed with a user's key.
                 * @example ann
                 */
                user?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "budget_tokens": 500,
                 *       "query": "Where does Ann live?"
                 *     }
                 */
                "application/json": components["schemas"]["Recall"];
            };
        };
        responses: {
            /** @description As asked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Recalled"];
                };
            };
            /** @description The body is not JSON, or nobody's memory was named. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A key is needed, or this one is unknown or was revoked. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key does not open this, or a page of another origin sent the request. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body did not come in time. */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is not declared to be JSON. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The Host header names no host of this server. */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something in the request cannot be used; `errors` say what. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key sent too many requests: wait as long as Retry-After says. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Busy or shutting down: wait as long as Retry-After says. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    search: {
        parameters: {
            query?: {
                /**
                 * @description Whose memory. Not needed with a user's key.
                 * @example ann
                 */
                user?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "limit": 5,
                 *       "query": "Lisbon"
                 *     }
                 */
                "application/json": components["schemas"]["Search"];
            };
        };
        responses: {
            /** @description As asked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Passages"];
                };
            };
            /** @description The body is not JSON, or nobody's memory was named. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A key is needed, or this one is unknown or was revoked. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key does not open this, or a page of another origin sent the request. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body did not come in time. */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is not declared to be JSON. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The Host header names no host of this server. */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something in the request cannot be used; `errors` say what. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key sent too many requests: wait as long as Retry-After says. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Busy or shutting down: wait as long as Retry-After says. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listSessions: {
        parameters: {
            query?: {
                /**
                 * @description Whose memory. Not needed with a user's key.
                 * @example ann
                 */
                user?: string;
                /** @description Only what comes after this seq: the `next` of the page before. */
                after?: number;
                /** @description At most so many. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description As asked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionPage"];
                };
            };
            /** @description The body is not JSON, or nobody's memory was named. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A key is needed, or this one is unknown or was revoked. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key does not open this, or a page of another origin sent the request. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The Host header names no host of this server. */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something in the request cannot be used; `errors` say what. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key sent too many requests: wait as long as Retry-After says. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Busy or shutting down: wait as long as Retry-After says. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getStats: {
        parameters: {
            query?: {
                /**
                 * @description Whose memory. Not needed with a user's key.
                 * @example ann
                 */
                user?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description As asked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Stats"];
                };
            };
            /** @description The body is not JSON, or nobody's memory was named. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A key is needed, or this one is unknown or was revoked. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key does not open this, or a page of another origin sent the request. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The Host header names no host of this server. */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something in the request cannot be used; `errors` say what. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key sent too many requests: wait as long as Retry-After says. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Busy or shutting down: wait as long as Retry-After says. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listThemes: {
        parameters: {
            query?: {
                /**
                 * @description Whose memory. Not needed with a user's key.
                 * @example ann
                 */
                user?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description As asked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Themes"];
                };
            };
            /** @description The body is not JSON, or nobody's memory was named. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A key is needed, or this one is unknown or was revoked. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key does not open this, or a page of another origin sent the request. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The Host header names no host of this server. */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something in the request cannot be used; `errors` say what. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key sent too many requests: wait as long as Retry-After says. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Busy or shutting down: wait as long as Retry-After says. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    timeline: {
        parameters: {
            query?: {
                /**
                 * @description Whose memory. Not needed with a user's key.
                 * @example ann
                 */
                user?: string;
                /**
                 * @description What about; everything unless given.
                 * @example moving to Lisbon
                 */
                query?: string;
                /** @description Only this session. */
                session?: string;
                /** @description Only from then on: ISO 8601. */
                since?: string;
                /** @description Only before then: ISO 8601. */
                until?: string;
                /** @description At most so many. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description As asked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Timeline"];
                };
            };
            /** @description The body is not JSON, or nobody's memory was named. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A key is needed, or this one is unknown or was revoked. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key does not open this, or a page of another origin sent the request. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The Host header names no host of this server. */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something in the request cannot be used; `errors` say what. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key sent too many requests: wait as long as Retry-After says. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Busy or shutting down: wait as long as Retry-After says. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listTopics: {
        parameters: {
            query?: {
                /**
                 * @description Whose memory. Not needed with a user's key.
                 * @example ann
                 */
                user?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description As asked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Topics"];
                };
            };
            /** @description The body is not JSON, or nobody's memory was named. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A key is needed, or this one is unknown or was revoked. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key does not open this, or a page of another origin sent the request. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The Host header names no host of this server. */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something in the request cannot be used; `errors` say what. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key sent too many requests: wait as long as Retry-After says. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Busy or shutting down: wait as long as Retry-After says. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getTopic: {
        parameters: {
            query?: {
                /**
                 * @description Whose memory. Not needed with a user's key.
                 * @example ann
                 */
                user?: string;
            };
            header?: never;
            path: {
                /** @example topic-0001 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description As asked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Topic"];
                };
            };
            /** @description The body is not JSON, or nobody's memory was named. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A key is needed, or this one is unknown or was revoked. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key does not open this, or a page of another origin sent the request. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is none of this id. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The Host header names no host of this server. */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something in the request cannot be used; `errors` say what. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key sent too many requests: wait as long as Retry-After says. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Busy or shutting down: wait as long as Retry-After says. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listUsers: {
        parameters: {
            query?: {
                /** @description Only names that come after this one. */
                after?: string;
                /**
                 * @description At most so many.
                 * @example 10
                 */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description As asked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserPage"];
                };
            };
            /** @description The body is not JSON, or nobody's memory was named. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A key is needed, or this one is unknown or was revoked. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key does not open this, or a page of another origin sent the request. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The Host header names no host of this server. */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something in the request cannot be used; `errors` say what. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key sent too many requests: wait as long as Retry-After says. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Busy or shutting down: wait as long as Retry-After says. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Any other problem. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
