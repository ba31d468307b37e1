/** How a method's types follow from the server's OpenAPI document, by the name of its operation. */
import type { operations } from "./openapi.js";

export type Operation = keyof operations;

type BodyOf<O extends Operation> = operations[O] extends { requestBody?: infer R }
  ? NonNullable<R> extends { content: { "application/json": infer B } } ? B : unknown
  : unknown;
type QueryOf<O extends Operation> = NonNullable<operations[O]["parameters"]["query"]>;
type Ok<R> = R extends { 200: infer A } ? A : R extends { 201: infer A } ? A : never;

/** What an operation answers. */
export type Result<O extends Operation> = Ok<operations[O]["responses"]> extends {
  content: { "application/json": infer A };
} ? A : never;

/** Options of every call. */
export interface Call {
  user?: string; // whose memory; not needed with a user's key
  signal?: AbortSignal; // gives the call up
  timeoutMs?: number; // for one attempt
}

/** An operation's parameters but those that a method takes by place, and the options of every call. */
export type Options<O extends Operation, Placed extends string = never> = Omit<
  BodyOf<O> & QueryOf<O>, Placed | keyof Call
> & Call;

/** What is to be forgotten: exactly one of these. */
export type Selected =
  | { seqs: number[] } | { session: string } | { before: string } | { everything: true; shred?: boolean };

export interface ClientOptions {
  url?: string; // of the server; http://127.0.0.1:8787 unless given
  key?: string; // of the server, as `zibaldone keys create` prints it
  user?: string; // whose memory, where a call names nobody
  timeoutMs?: number; // for one attempt; 30,000 unless given
  retries?: number; // at most; 3 unless given
  fetch?: typeof globalThis.fetch; // in place of the platform's own
}
