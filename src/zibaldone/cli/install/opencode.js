// zibaldone: what memory knows before each message of the user, and the session kept whenever it rests.
// The command exits with 0 whatever happens; a fault is a line in its log.
import { spawn, spawnSync } from "node:child_process";

const HOOK = ["zibaldone", "hook"];
const command = (event) => [HOOK[0], [...HOOK.slice(1), event, "--agent", "opencode"]];

function recalled(event, given) {
  return new Promise((resolve) => {
    const child = spawn(...command(event), { stdio: ["pipe", "pipe", "ignore"] });
    let text = "";
    child.stdout.on("data", (data) => (text += data));
    child.on("error", () => resolve(""));
    child.on("close", () => {
      try {
        resolve(JSON.parse(text).hookSpecificOutput.additionalContext);
      } catch {
        resolve("");
      }
    });
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(given));
  });
}

export const Zibaldone = async ({ client, directory }) => {
  const sessions = new Map(); // what was said in each since the program began
  return {
    "chat.message": async ({ sessionID }, { message, parts }) => {
      const session = await client.session.get({ path: { id: sessionID } });
      if (session.data?.parentID) return; // a subagent's, to which a model speaks
      const written = parts.filter((part) => part.type === "text" && !part.synthetic && !part.ignored);
      const prompt = written.map((part) => part.text).join("\n");
      const given = { session_id: sessionID, cwd: directory, prompt };
      const rules = sessions.has(sessionID) ? "" : await recalled("SessionStart", given);
      const context = await recalled("UserPromptSubmit", given);
      const messages = sessions.get(sessionID) ?? [];
      messages.push({ id: message.id, role: "user", content: prompt, time: new Date(message.time.created).toISOString() });
      sessions.set(sessionID, messages);
      for (const [place, text] of [rules, context].entries())
        if (text)
          parts.unshift({
            id: `prt_zibaldone${place}${message.id}`,
            sessionID,
            messageID: message.id,
            type: "text",
            text,
            synthetic: true,
          });
    },
    "experimental.text.complete": async ({ sessionID, partID }, { text }) => {
      const time = new Date().toISOString();
      sessions.get(sessionID)?.push({ id: partID, role: "assistant", content: text, time });
    },
    event: async ({ event }) => {
      const id = event.properties?.sessionID;
      if (event.type !== "session.idle" || !sessions.has(id)) return;
      const given = { session_id: id, cwd: directory, messages: sessions.get(id) };
      // Not in the background: the program may end now. What is stored already adds nothing.
      spawnSync(...command("Stop"), { input: JSON.stringify(given), stdio: ["pipe", "ignore", "ignore"], timeout: 30000 });
    },
  };
};
