import assert from "node:assert/strict"
import { test } from "node:test"
import { assistant, ended, staged, TOOLS, tool, user } from "./harness.js"

const S = "ses_1"
const history = [user(S, "msg_1", "first"), assistant(S, "msg_2", [tool("read", "x")])]

for (const [flood, why] of [
  ["x".repeat(1 << 20), /it sent a line of more than 64 MB; this session goes on without frames/],
  ["no answer\n".repeat(2_000), /what it sends are no answers; this session goes on without frames/],
] as const)
  test(`a child that floods its output is ended and missed: ${why.source}`, () =>
    staged(async (stage) => {
      const child = await stage.child(0)
      for (let sent = 0; !child.gone && sent < 80; sent++) {
        child.raw(flood)
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
      await child.until(() => child.gone)
      await ended(child.pid)
      assert.match(stage.toasts[0]!, why)
      assert.deepEqual(await stage.transform(history), history)
    })())

test("of what a child lists only tools are taken", async () => {
  const listed = [null, 5, "x", {}, { name: 5 }, { name: "a", parameters: null }, { ...TOOLS[0], name: "__proto__" }, TOOLS[1]]
  await staged(
    async (stage) => assert.deepEqual(Object.keys(stage.hooks["tool"]), [TOOLS[1]!.name]),
    (stage) => (stage.answers["hello"] = () => ({ protocol: 1, version: "0", tools: listed })),
  )()
})

test("a message that is no JSON keeps no other back", () =>
  staged(async (stage) => {
    const endless: any = assistant(S, "msg_3", [tool("read", "x")])
    endless.parts[0].state.metadata.self = endless
    const child = await stage.child(0)
    await stage.transform([...history, endless, user(S, "msg_4", "next")])
    const { messages } = (await child.next("sync")).params
    assert.deepEqual(messages.map(({ info }: any) => info.id), ["msg_1", "msg_2", "msg_3", "msg_4"])
    assert.deepEqual(messages[1], history[1])
    assert.equal(messages[2].parts[0].type, "unreadable")
    assert.deepEqual(stage.toasts, [])
  })())

test("that it has been late for long, and that it answers with control characters, is said once and for people", () =>
    staged(async (stage) => {
      delete stage.answers["system"]
      for (let call = 0; call < 12; call++) await stage.system(S)
      assert.deepEqual(stage.toasts, [
        'callstack: it has been too slow for a while; what it says late is used late (run "callstack doctor")',
      ])
      const child = await stage.child(0)
      stage.answers["sync"] = () => ({ serial: 1, keep: 0, ops: [], trouble: "red \x1b[31m\u202e" })
      await stage.transform(history)
      assert.equal(stage.toasts[1], "callstack: red  [31m ")
      assert.equal(child.gone, false)
    })())
