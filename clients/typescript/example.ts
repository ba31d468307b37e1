// A chat loop's memory: what was said is kept, and what fits the next question stands before it.
import { Zibaldone, ZibaldoneError } from "zibaldone";

const memory = new Zibaldone({ url: process.env.ZIBALDONE_URL, key: process.env.ZIBALDONE_KEY, user: "ann" });

await memory.add(
  [
    { role: "user", content: "I moved to Lisbon in May.", time: "2024-06-01T09:00:00Z" },
    { role: "assistant", content: "How do you like Lisbon?" },
  ],
  { session: "chat-7" },
);

const recalled = await memory.recall("Where does Ann live?", { budget_tokens: 500 });
for (const passage of recalled.evidence) console.log(passage.time, passage.speaker, passage.text);
console.log(recalled.quoted); // for a prompt

try {
  const answer = await memory.ask("Where does Ann live?", { rounds: 2, signal: AbortSignal.timeout(60_000) });
  console.log(answer.text, answer.citations.map((cited) => cited.seq));
} catch (error) {
  if (!(error instanceof ZibaldoneError) || error.code !== "invalid-input") throw error;
  console.log(error.hint); // this server has no chat model
}

const receipt = await memory.forget({ session: "chat-7", dry_run: true });
console.log(receipt.messages, "messages would go");
