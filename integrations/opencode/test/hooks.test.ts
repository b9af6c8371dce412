import assert from "node:assert/strict"
import { test } from "node:test"
import * as plugin from "../callstack.js"
import { amiss, greeting, staged, text, TOOLS, user, type Json, type Stage } from "./harness.js"

const S = "ses_1"
const event = (stage: Stage, type: string, properties: Json) => stage.hooks["event"]({ event: { type, properties } })

test("the file exports the plugin and nothing else, which OpenCode would take for a plugin", () => {
  assert.deepEqual(Object.keys(plugin), ["Callstack"])
})

test(
  "the greeting names both sides; its tools are registered with what is optional left optional",
  staged(async (stage) => {
    const hello = await (await stage.child(0)).next("hello")
    assert.deepEqual(hello.params, { protocol: 1, plugin: "0.1.0", directory: process.cwd(), worktree: process.cwd() })
    assert.deepEqual(Object.keys(stage.hooks["tool"]), ["stack_frame_push", "stack_frame_pop"])
    assert.deepEqual(stage.hooks["tool"].stack_frame_push.args, TOOLS[0]!.parameters.properties)
    const [ours, theirs]: Json[] = [{ description: "Push", parameters: {} }, { description: "Read", parameters: {} }]
    await stage.hooks["tool.definition"]({ toolID: "stack_frame_push" }, ours)
    await stage.hooks["tool.definition"]({ toolID: "read" }, theirs)
    assert.deepEqual(ours!["jsonSchema"], TOOLS[0]!.parameters)
    assert.deepEqual(theirs, { description: "Read", parameters: {} })
  }),
)

const listed = () => ({
  command: { push: { template: "(callstack) Open $ARGUMENTS" }, plan: { template: "Plan the week" }, tidy: { template: "Tidy" } },
})

test(
  "without frames our slash commands are not listed, and others are",
  staged(
    async (stage) => {
      const config = listed()
      await stage.hooks["config"](config)
      assert.deepEqual(Object.keys(config.command), ["plan", "tidy"])
    },
    (stage) => void (stage.answers["hello"] = () => ({ ...greeting, frames: false })),
  ),
)

test(
  "with frames all slash commands are listed",
  staged(async (stage) => {
    const config = listed()
    await stage.hooks["config"](config)
    assert.deepEqual(config, listed())
  }),
)

test(
  "a user's own words are told apart from what OpenCode adds to them",
  staged(async (stage) => {
    const added = { ...text("called the read tool"), synthetic: true }
    const ignored = { ...text("not for the model"), ignored: true }
    await stage.turn(S, [text("one"), added, { type: "file", url: "data:" }, ignored, text("two")])
    const { params } = await (await stage.child(0)).next("message")
    assert.deepEqual(params, { session: S, message: "msg_turn", agent: "build", text: "one\ntwo" })
  }),
)

test(
  "calls reach the child in the order in which they begin, with all that it needs",
  staged(async (stage) => {
    const child = await stage.child(0)
    const calls = Array.from({ length: 20 }, (_, i) => stage.tool("stack_frame_push", { title: `${i}` }, `call_${i}`))
    const requests = []
    for (let i = 0; i < 20; i++) requests.push(await child.next("tool"))
    assert.deepEqual(
      requests.map(({ params }) => params["call"]),
      Array.from({ length: 20 }, (_, i) => `call_${i}`),
    )
    assert.deepEqual(requests[3]!.params, {
      name: "stack_frame_push",
      args: { title: "3" },
      session: S,
      message: "msg_1",
      call: "call_3",
      agent: "build",
    })
    for (const request of requests.reverse())
      child.answer(request, { output: `pushed ${request.params["args"].title}`, title: "t", metadata: { callstack: { n: 1 } } })
    const results = await Promise.all(calls)
    assert.deepEqual(results[7], { output: "pushed 7", title: "t", metadata: { callstack: { n: 1 } } })
  }),
)

test(
  "a refused, a cancelled and a senseless call end in a sentence",
  staged(async (stage) => {
    const child = await stage.child(0)
    const sentence = (why: string) =>
      `callstack is not available just now (${why}). Go on without frames; the work is not affected.`
    const refused = stage.tool("stack_frame_pop", {})
    child.refuse(await child.next("tool"), "the disk is full", "free some space")
    assert.deepEqual(await refused, { output: sentence("the disk is full free some space"), title: "", metadata: {} })
    const abort = new AbortController()
    const cancelled = stage.tool("stack_frame_pop", {}, "call_2", abort.signal)
    await child.next("tool")
    abort.abort()
    assert.equal((await cancelled)["output"], sentence("the call was cancelled"))
    const senseless = stage.tool("stack_frame_pop", {})
    child.answer(await child.next("tool"), { text: "?" })
    assert.equal((await senseless)["output"], sentence("it answered without an output"))
    assert.deepEqual(stage.toasts, [amiss("the disk is full free some space")])
  }),
)

test(
  "of a written file the paths are told, never the contents",
  staged(async (stage) => {
    const child = await stage.child(0)
    const after = (tool: string, args: Json, metadata: Json) =>
      stage.hooks["tool.execute.after"]({ tool, sessionID: S, callID: "c", args }, { title: "", output: "", metadata })
    await after("read", { filePath: "/r" }, {})
    await after("write", { filePath: "/w", content: "secret" }, { filepath: "/w", exists: true })
    const files = [{ filePath: "/a", movePath: "/b", type: "move", patch: "secret" }]
    await after("apply_patch", { patchText: "secret" }, { files, diff: "secret" })
    assert.deepEqual((await child.next("after")).params, {
      session: S,
      call: "c",
      tool: "write",
      args: { filePath: "/w" },
      metadata: { filepath: "/w" },
    })
    assert.deepEqual((await child.next("after")).params, {
      session: S,
      call: "c",
      tool: "apply_patch",
      args: {},
      metadata: { files: [{ filePath: "/a", movePath: "/b", type: "move" }] },
    })
    await after("write", null as unknown as Json, undefined as unknown as Json)
  }),
)

test(
  "of the events those of sessions are told, cut to what matters",
  staged(async (stage) => {
    const child = await stage.child(0)
    const info = { id: S, parentID: "ses_0", title: "T", cost: 1, revert: { messageID: "msg_1", diff: "long" } }
    await event(stage, "session.updated", { sessionID: S, info })
    await event(stage, "message.part.updated", { part: {} })
    await event(stage, "message.removed", { sessionID: S, messageID: "msg_1" })
    await event(stage, "session.error", { sessionID: S, error: { name: "E", data: { message: "m", stack: "long" } } })
    await event(stage, "session.updated", { sessionID: S, info: { id: S, title: "T" } })
    const events = []
    for (let i = 0; i < 4; i++) events.push((await child.next("event")).params)
    assert.deepEqual(events, [
      {
        type: "session.updated",
        properties: { sessionID: S, info: { id: S, parentID: "ses_0", title: "T", revert: { messageID: "msg_1" } } },
      },
      { type: "message.removed", properties: { sessionID: S, messageID: "msg_1" } },
      { type: "session.error", properties: { sessionID: S, error: { name: "E", message: "m" } } },
      { type: "session.updated", properties: { sessionID: S, info: { id: S, title: "T", revert: null } } },
    ])
  }),
)

test(
  "the message that closes a turn is recorded, once",
  staged(async (stage) => {
    const child = await stage.child(0)
    const info = (id: string, more: Json) => ({ id, sessionID: S, role: "assistant", time: { created: 1, completed: 2 }, ...more })
    const updated = (id: string, more: Json) => event(stage, "message.updated", { info: info(id, more) })
    for (const id of ["msg_0", "msg_2", "msg_3"]) stage.messages.set(id, { info: { id }, parts: [text(id)] })
    // Nobody works in the session yet, so it is the copy that a fork makes.
    await updated("msg_0", { finish: "stop" })
    await stage.turn(S)
    await updated("msg_1", { finish: "tool-calls" })
    await updated("msg_1", { finish: "unknown" })
    await updated("msg_2", { finish: "stop", time: { created: 1 } })
    await updated("msg_2", { finish: "stop" })
    await updated("msg_2", { finish: "stop" })
    await updated("msg_3", { error: { name: "MessageAbortedError" } })
    await updated("msg_4", { finish: "stop" })
    assert.deepEqual((await child.next("record")).params, { session: S, messages: [stage.messages.get("msg_2")] })
    assert.deepEqual((await child.next("record")).params, { session: S, messages: [stage.messages.get("msg_3")] })
    await stage.system(S)
    assert.equal(child.all.filter(({ method }) => method === "record").length, 2)
  }),
)

test(
  "a session's last words go before the news that it fell silent",
  staged(async (stage) => {
    const child = await stage.child(0)
    await stage.turn(S)
    stage.messages.set("msg_1", { info: { id: "msg_1" }, parts: [text("done")] })
    const info = { id: "msg_1", sessionID: S, role: "assistant", time: { created: 1, completed: 2 }, finish: "stop" }
    await Promise.all([
      event(stage, "message.updated", { info }),
      event(stage, "session.idle", { sessionID: S }),
    ])
    await child.next("event")
    await child.next("record")
    assert.deepEqual(child.all.slice(-2).map(({ method }) => method), ["record", "event"])
  }),
)

test(
  "what is known of a session goes with it, or with the hundredth after it",
  staged(async (stage) => {
    const child = await stage.child(0)
    const keep = async (session: string) => {
      await stage.transform([user(session, "msg_1", "x")])
      return (await child.next("sync")).params["keep"]
    }
    assert.deepEqual([await keep(S), await keep(S)], [0, 1])
    await event(stage, "session.deleted", { sessionID: S, info: { id: S } })
    assert.equal(await keep(S), 0)
    for (let i = 0; i < 99; i++) await keep(`ses_other_${i}`)
    assert.equal(await keep(S), 1)
    for (let i = 0; i < 100; i++) await keep(`ses_more_${i}`)
    assert.equal(await keep(S), 0)
  }),
)

test(
  "no hook throws or rejects, whatever it is given",
  staged(async (stage) => {
    for (const [name, hook] of Object.entries(stage.hooks)) {
      if (typeof hook !== "function" || name === "dispose") continue
      for (const bad of [{}, { event: {} }, { event: { type: "session.deleted" } }])
        await assert.doesNotReject(async () => hook(bad, { messages: [{}], parts: null, message: {} }), name)
    }
  }),
)
