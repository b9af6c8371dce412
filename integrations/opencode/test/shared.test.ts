import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { assistant, staged, tool, user, type Json } from "./harness.js"

const S = "ses_1"
// The cases with which core's own application of operations is tested.
const shared = JSON.parse(
  readFileSync(new URL("../../../../../crates/core/src/fold/operations.json", import.meta.url), "utf8"),
) as { messages: { id: string; role: string; parts: string[] }[]; cases: { name: string; ops: unknown[]; sent: unknown[] }[] }

const messages = (): Json[] =>
  shared.messages.map(({ id, role, parts }) =>
    role === "user" ? user(S, id, "words") : assistant(S, id, parts.map((part) => tool("read", `said ${part}`))),
  )

function seen({ info, parts }: Json): unknown {
  const own = shared.messages.some(({ id }) => id === info.id) ? { id: info.id } : {}
  const part = (it: Json) =>
    it["synthetic"] ? { text: it["text"] } : it["type"] === "tool" ? { id: it["id"], output: it["state"].output } : { id: it["id"] }
  return { ...own, parts: parts.map(part) }
}

for (const { name, ops, sent } of shared.cases)
  test(
    `as in core: ${name}`,
    staged(async (stage) => {
      stage.answers["sync"] = () => ({ serial: 1, keep: 0, ops })
      assert.deepEqual((await stage.transform(messages())).map(seen), sent)
    }),
  )
