// zibaldone: what memory knows before each message of the user, and the session kept when it rests.
// The command exits with 0 whatever happens; a fault is a line in its log.
import { spawn } from "node:child_process";

const HOOK = ["zibaldone", "hook"];

function hook(event, given) {
  return new Promise((resolve) => {
    const child = spawn(HOOK[0], [...HOOK.slice(1), event, "--agent", "opencode"], { stdio: ["pipe", "pipe", "ignore"] });
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

const textOf = (parts) =>
  parts.filter((part) => part.type === "text" && !part.synthetic && !part.ignored).map((part) => part.text).join("\n");

export const Zibaldone = async ({ client, directory }) => {
  const begun = new Set();
  return {
    "chat.message": async ({ sessionID }, { message, parts }) => {
      const given = { session_id: sessionID, cwd: directory, prompt: textOf(parts) };
      const rules = begun.has(sessionID) ? "" : await hook("SessionStart", given);
      begun.add(sessionID);
      const recalled = await hook("UserPromptSubmit", given);
      for (const [place, text] of [rules, recalled].entries())
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
    event: async ({ event }) => {
      if (event.type !== "session.idle") return;
      const id = event.properties.sessionID;
      const session = await client.session.get({ path: { id } });
      if (session.data?.parentID) return; // a subagent's, to which a model speaks
      const { data = [] } = await client.session.messages({ path: { id } });
      const messages = data
        .map(({ info, parts }) => ({
          id: info.id,
          role: info.role,
          content: textOf(parts),
          time: new Date(info.time.created).toISOString(),
        }))
        .filter(({ content }) => content.trim());
      await hook("Stop", { session_id: id, cwd: directory, messages });
    },
  };
};
