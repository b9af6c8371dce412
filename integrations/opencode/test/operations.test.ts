import assert from "node:assert/strict"
import { test } from "node:test"
import { assistant, reasoning, staged, text, texts, tool, user, type Json, type Stage } from "./harness.js"

const S = "ses_1"
const history = () => [
  user(S, "msg_1", "first"),
  assistant(S, "msg_2", [reasoning("r2"), tool("stack_frame_push", "pushed"), tool("read", "file")]),
  assistant(S, "msg_3", [reasoning("r3"), tool("write", "written")]),
  assistant(S, "msg_4", [reasoning("r4"), tool("stack_frame_pop", "popped"), text("said")]),
  user(S, "msg_5", "second"),
]
const withoutReasoning = (messages: Json[]): Json[] =>
  messages.map(({ info, parts }) => ({ info, parts: parts.filter(({ type }: Json) => type !== "reasoning") }))
const ids = (messages: Json[]) => messages.map(({ info }) => info.id)

async function applying(stage: Stage, ops: unknown[], messages = history()): Promise<Json[]> {
  stage.answers["sync"] = () => ({ serial: 1, keep: 0, ops })
  const before = structuredClone(messages)
  const after = await stage.transform(messages)
  assert.deepEqual(messages, before)
  return after
}

test(
  "cut removes both ends and what lies between, and nothing when an end is missing or comes first",
  staged(async (stage) => {
    assert.deepEqual(ids(await applying(stage, [{ op: "cut", from: "msg_3", to: "msg_4" }])), ["msg_1", "msg_2", "msg_5"])
    const whole = ids(history())
    assert.deepEqual(ids(await applying(stage, [{ op: "cut", from: "msg_3", to: "msg_9" }])), whole)
    assert.deepEqual(ids(await applying(stage, [{ op: "cut", from: "msg_9", to: "msg_3" }])), whole)
    assert.deepEqual(ids(await applying(stage, [{ op: "cut", from: "msg_4", to: "msg_3" }])), whole)
  }),
)

test(
  "operations act on the list as the ones before have left it",
  staged(async (stage) => {
    const cuts = [
      { op: "cut", from: "msg_3", to: "msg_3" },
      { op: "cut", from: "msg_3", to: "msg_5" },
      { op: "append", message: "msg_3", text: "lost" },
      { op: "cut", from: "msg_2", to: "msg_4" },
    ]
    assert.deepEqual(ids(await applying(stage, cuts)), ["msg_1", "msg_5"])
  }),
)

test(
  "a text is added at the end of a call's output, and nothing else of it changes",
  staged(async (stage) => {
    const add = { op: "add_to_output", message: "msg_4", part: "prt_msg_4_1", text: "s1: the last call" }
    const before = (await applying(stage, []))[3]!.parts.find(({ id }: Json) => id === "prt_msg_4_1") as any
    const after = (await applying(stage, [add]))[3]!.parts.find(({ id }: Json) => id === "prt_msg_4_1") as any
    assert.equal(after.state.output, `${before.state.output}\n\ns1: the last call`)
    assert.deepEqual({ ...after, state: { ...after.state, output: "" } }, { ...before, state: { ...before.state, output: "" } })
  }),
)

test(
  "join puts what is left of a step at the end of an earlier one, and nothing where that is none",
  staged(async (stage) => {
    const ops = [
      { op: "cut", from: "msg_3", to: "msg_3" },
      { op: "keep", message: "msg_4", parts: ["prt_msg_4_1"] },
      { op: "join", message: "msg_4", to: "msg_2" },
    ]
    const after = await applying(stage, ops)
    assert.deepEqual(ids(after), ["msg_1", "msg_2", "msg_5"])
    const parts = ["prt_msg_2_0", "prt_msg_2_1", "prt_msg_2_2", "prt_msg_4_1"]
    assert.deepEqual(after[1]!.parts.map(({ id }: Json) => id), parts)
    // Later operations go on from there.
    assert.deepEqual(ids(await applying(stage, [...ops, { op: "cut", from: "msg_2", to: "msg_2" }])), ["msg_1", "msg_5"])
    const whole = ids(history())
    for (const [message, to] of [["msg_4", "msg_9"], ["msg_2", "msg_4"], ["msg_4", "msg_1"], ["msg_5", "msg_4"], ["msg_3", "msg_3"]])
      assert.deepEqual(ids(await applying(stage, [{ op: "join", message, to }])), whole, `${message} ${to}`)
  }),
)

test(
  "keep leaves the named parts in their order",
  staged(async (stage) => {
    const after = await applying(stage, [{ op: "keep", message: "msg_4", parts: ["prt_msg_4_2", "prt_msg_4_1"] }])
    assert.deepEqual(
      after[3]!.parts.map(({ id }: Json) => id),
      ["prt_msg_4_1", "prt_msg_4_2"],
    )
  }),
)

test(
  "output completes a tool part, also a failed or a pruned one, and keeps its call",
  staged(async (stage) => {
    const failed = { type: "tool", tool: "x", callID: "c", state: { status: "error", input: { b: 2 }, error: "no", time: { start: 3, end: 4 } } }
    const pruned = tool("y", "old")
    pruned.state.time.compacted = 5
    pruned.state.attachments = [{}]
    const messages = [...history(), assistant(S, "msg_6", [failed, pruned])]
    const part = (n: number) => ({ op: "output", message: "msg_6", part: `prt_msg_6_${n}`, text: `new ${n}` })
    const [first, second] = (await applying(stage, [part(0), part(1)], messages))[5]!.parts
    assert.equal(first.callID, "c")
    assert.deepEqual(first.state, {
      status: "completed",
      input: { b: 2 },
      output: "new 0",
      title: "",
      metadata: {},
      time: { start: 3, end: 4 },
    })
    assert.deepEqual(second.state, {
      status: "completed",
      input: { a: 1 },
      output: "new 1",
      title: "y",
      metadata: {},
      time: { start: 1, end: 2 },
    })
  }),
)

test(
  "replace puts a text of ours in the part's place",
  staged(async (stage) => {
    const after = await applying(stage, [{ op: "replace", message: "msg_2", part: "prt_msg_2_1", text: "instead" }])
    assert.deepEqual(after[1]!.parts[1], {
      id: "prt_msg_2_1",
      messageID: "msg_2",
      sessionID: S,
      type: "text",
      text: "instead",
      synthetic: true,
    })
  }),
)

test(
  "append and insert make synthetic texts with ids that stay the same",
  staged(async (stage) => {
    const ops = [
      { op: "append", message: "msg_1", text: "note" },
      { op: "insert", after: "msg_3", text: "between" },
    ]
    const after = await applying(stage, ops)
    assert.deepEqual(texts(after[0]), ["first", "note"])
    assert.equal(after[0]!.parts[1].synthetic, true)
    assert.equal(ids(after).indexOf("msg_3"), 2)
    const inserted = after[3]!
    assert.deepEqual([inserted.info.role, inserted.info.agent, texts(inserted)], ["user", "build", ["between"]])
    assert.equal(inserted.parts[0].messageID, inserted.info.id)
    assert.deepEqual(await applying(stage, ops), after)
  }),
)

test(
  "an answer with an unknown or malformed operation is none, and that is said once",
  staged(async (stage) => {
    const fine = { op: "cut", from: "msg_3", to: "msg_4" }
    const broken = [
      { op: "paint", message: "msg_1" },
      { op: "keep", message: "msg_1" },
      { op: "keep", message: "msg_1", parts: [5] },
      { op: "output", message: "msg_2", part: "prt_msg_2_1" },
      { op: "output", message: "msg_2", part: "prt_msg_2_1", text: { a: 1 } },
      { op: "insert", after: "msg_2", text: 5 },
      null,
      "cut",
    ]
    for (const op of broken) assert.deepEqual(await applying(stage, [fine, op]), withoutReasoning(history()), String(op))
    assert.equal(stage.toasts.length, 1)
    assert.match(stage.toasts[0]!, /it answered without operations; what is said meanwhile may be missing/)
  }),
)

test(
  "what would take from the user's words is not done, and nothing with it, which is said once",
  staged(async (stage) => {
    const fine = { op: "output", message: "msg_2", part: "prt_msg_2_1", text: "returned" }
    const harmful = [
      { op: "cut", from: "msg_1", to: "msg_4" },
      { op: "cut", from: "msg_5", to: "msg_5" },
      { op: "keep", message: "msg_1", parts: [] },
      { op: "replace", message: "msg_5", part: "prt_msg_5", text: "not the user's words" },
    ]
    for (const op of harmful) assert.deepEqual(await applying(stage, [fine, op]), withoutReasoning(history()))
    assert.equal(stage.toasts.length, 1)
    assert.match(stage.toasts[0]!, /what it answered is not done: it would cut the user's message msg_1/)
  }),
)

test(
  "what the host added to the user's words may go",
  staged(async (stage) => {
    const messages = [user(S, "msg_0", "go"), ...history()]
    const added = { type: "text", text: "a whole file", synthetic: true, id: "prt_added", messageID: "msg_1", sessionID: S }
    messages[1]!["parts"].push(added, { ...added, type: "file", id: "prt_file" })
    messages[5] = { ...user(S, "msg_5", ""), parts: [added] }
    const ops = [
      { op: "keep", message: "msg_1", parts: ["prt_msg_1"] },
      { op: "cut", from: "msg_5", to: "msg_5" },
    ]
    const after = await applying(stage, ops, messages)
    assert.deepEqual(ids(after), ["msg_0", "msg_1", "msg_2", "msg_3", "msg_4"])
    assert.deepEqual(texts(after[1]), ["first"])
  }),
)

test(
  "operations act on what others inserted, and on a place of which some is gone",
  staged(async (stage) => {
    const ops = [
      { op: "insert", after: "msg_2", text: "one" },
      { op: "insert", after: "msg_2", text: "two" },
      { op: "insert", after: "msg_2_callstack", text: "behind one" },
      { op: "append", message: "msg_2_callstack_1", text: "more" },
      { op: "cut", from: "msg_2_callstack", to: "msg_2_callstack_1" },
      { op: "cut", from: "msg_3", to: "msg_2_callstack" },
      { op: "cut", from: "msg_2_callstack", to: "msg_3" },
      { op: "insert", after: "msg_4", text: "last" },
    ]
    const after = await applying(stage, ops)
    assert.deepEqual(ids(after), ["msg_1", "msg_2", "msg_2_callstack_1", "msg_4", "msg_4_callstack", "msg_5"])
    assert.deepEqual(texts(after[2]), ["two", "more"])
  }),
)

test(
  "tens of thousands of operations at one message are applied like few",
  staged(async (stage) => {
    const many = 150_000
    const after = await applying(stage, Array.from({ length: many }, (_, i) => ({ op: "insert", after: "msg_2", text: `${i}` })))
    assert.equal(after.length, history().length + many)
    assert.equal(new Set(ids(after)).size, after.length)
    assert.deepEqual(texts(after[2]), [`${many - 1}`])
    assert.deepEqual(texts(after[many + 1]), ["0"])
  }),
)

test(
  "many operations over many messages end in time",
  staged(async (stage) => {
    const message = (i: number) => (i % 4 ? assistant(S, `msg_${i}`, [text("x")]) : user(S, `msg_${i}`, "x"))
    const messages = Array.from({ length: 2_000 }, (_, i) => message(i))
    const ops = Array.from({ length: 500 }, (_, i) => [
      { op: "append", message: `msg_${i * 4}`, text: "results" },
      { op: "cut", from: `msg_${i * 4 + 1}`, to: `msg_${i * 4 + 3}` },
    ]).flat()
    const after = await applying(stage, ops, messages)
    assert.equal(after.length, 500)
    assert.deepEqual(texts(after[499]), ["x", "results"])
  }),
)
