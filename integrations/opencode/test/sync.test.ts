import assert from "node:assert/strict"
import { test } from "node:test"
import { amiss, assistant, reasoning, staged, text, texts, tool, user, type Json, type Request, type Stage } from "./harness.js"

const S = "ses_1"
const step = (n: number, session = S) => assistant(session, `msg_${n}`, [tool("read", `output ${n}`)])
const steps = (count: number, session = S) => [
  user(session, "msg_0", "first"),
  ...Array.from({ length: count }, (_, i) => step(i + 1, session)),
]
const mark = (text: string, message = "msg_0") => ({ op: "append", message, text })
const marks = (messages: Json[]) => texts(messages[0]).slice(1)
const sent = ({ params }: Request) => params["messages"].map(({ info }: Json) => info.id)
const untilSeen = async (stage: Stage) => void (await stage.system("ses_other"))

test(
  "only what is new is sent, and the first request sends all",
  staged(async (stage) => {
    const child = await stage.child(0)
    let serial = 0
    stage.answers["sync"] = ({ params }) => ({ serial: ++serial, keep: params["ops"], ops: [mark(`op${serial}`)] })
    await stage.transform(steps(2))
    const first = await child.next("sync")
    assert.deepEqual(first.params["messages"], steps(2))
    assert.deepEqual({ ...first.params, messages: 0 }, { session: S, purpose: "turn", keep: 0, messages: 0, ops: 0, applied: 0, newest: 0 })
    assert.deepEqual(marks(await stage.transform(steps(3))), ["op1", "op2"])
    const second = await child.next("sync")
    assert.deepEqual([second.params["keep"], sent(second), second.params["ops"], second.params["applied"]], [3, ["msg_3"], 1, 1])
    await stage.transform(steps(1))
    const undone = await child.next("sync")
    assert.deepEqual([undone.params["keep"], sent(undone), undone.params["applied"]], [2, [], 2])
  }),
)

test(
  "a change anywhere in the newest messages is sent, from there on",
  staged(async (stage) => {
    const child = await stage.child(0)
    const changes: ((message: Json) => void)[] = [
      (m) => (m["parts"][0].state.output = "output X"),
      (m) => (m["parts"][0].state.input.a = 2),
      (m) => (m["parts"][0].state.metadata.deep = { er: [true] }),
      (m) => (m["parts"][0].state.time.compacted = 77),
      (m) => (m["parts"][0].id = "prt_other"),
      (m) => m["parts"].push({ ...text("more"), id: "prt_more" }),
      (m) => (m["info"].finish = "stop"),
      (m) => (m["info"].error = { name: "MessageAbortedError" }),
    ]
    for (const change of changes) {
      await stage.transform(steps(4))
      await child.next("sync")
      const messages = steps(4)
      change(messages[2]!)
      await stage.transform(messages)
      const request = await child.next("sync")
      assert.deepEqual([request.params["keep"], sent(request)], [2, ["msg_2", "msg_3", "msg_4"]], String(change))
    }
  }),
)

test(
  "a change far back is sent within a few calls, and at once where a part came or a message went",
  staged(async (stage) => {
    const child = await stage.child(0)
    let serial = 0
    stage.answers["sync"] = ({ params }) => ({ serial: ++serial, keep: params["ops"], ops: [] })
    const request = async (messages: Json[]) => {
      await stage.transform(messages)
      return await child.next("sync")
    }
    await request(steps(300))
    const changed = () => {
      const messages = steps(300)
      messages[7]!["parts"][0].state.output = "quite another output"
      return messages
    }
    let calls = 0
    let keep = 301
    while (keep === 301 && calls++ < 8) keep = (await request(changed())).params["keep"]
    assert.equal(keep, 7)
    assert.equal((await request(changed())).params["keep"], 301)
    const longer = changed()
    longer[20]!["parts"].push({ ...text("more"), id: "prt_more" })
    assert.equal((await request(longer)).params["keep"], 20)
    longer.splice(9, 1)
    assert.equal((await request(longer)).params["keep"], 9)
  }),
)

test(
  "what OpenCode rewrites behind the scenes is no change, nor is growing old",
  staged(async (stage) => {
    const child = await stage.child(0)
    await stage.transform(steps(20))
    await child.next("sync")
    const messages = steps(90)
    messages[0]!.info.summary = { diffs: [] }
    messages[3]!.info.cost = 5
    await stage.transform(messages)
    assert.equal((await child.next("sync")).params["keep"], 21)
    const changed = steps(90)
    changed[4]!.parts[0].state.output = "another output, of another length"
    await stage.transform(changed)
    assert.equal((await child.next("sync")).params["keep"], 4)
  }),
)

test(
  "an answer that comes late is held for the next call",
  staged(async (stage) => {
    const child = await stage.child(0)
    stage.answers["sync"] = ({ params }) => ({ serial: 1, keep: params["ops"], ops: [mark("one")] })
    await stage.transform(steps(1))
    await child.next("sync")
    delete stage.answers["sync"]
    const started = performance.now()
    assert.deepEqual(marks(await stage.transform(steps(2))), ["one"])
    assert.ok(performance.now() - started < 1_000)
    const late = await child.next("sync")
    child.answer(late, { serial: 2, keep: 1, ops: [mark("two")] })
    await untilSeen(stage)
    const third = stage.transform(steps(3))
    const request = await child.next("sync")
    // The last model call used the first answer; both ends hold the second one by now.
    assert.deepEqual([request.params["keep"], sent(request), request.params["ops"], request.params["applied"]], [3, ["msg_3"], 2, 1])
    child.answer(request, { serial: 3, keep: 2, ops: [] })
    assert.deepEqual(marks(await third), ["one", "two"])
  }),
)

test(
  "a call that begins while an answer is under way waits for it and builds on it",
  staged(async (stage) => {
    const child = await stage.child(0)
    delete stage.answers["sync"]
    assert.deepEqual(await stage.transform(steps(1)), steps(1))
    const second = stage.transform(steps(2))
    const first = await child.next("sync")
    child.answer(first, { serial: 1, keep: 0, ops: [mark("one")] })
    const request = await child.next("sync")
    assert.deepEqual([request.params["keep"], sent(request), request.params["ops"]], [2, ["msg_2"], 1])
    child.answer(request, { serial: 2, keep: 0, ops: [mark("two")] })
    assert.deepEqual(marks(await second), ["two"])
    assert.equal(child.all.filter(({ method }) => method === "sync").length, 2)
  }),
)

test(
  "a child without the base is sent everything, within the same call or with the next",
  staged(async (stage) => {
    const child = await stage.child(0)
    stage.answers["sync"] = () => ({ serial: 1, keep: 0, ops: [mark("one")] })
    await stage.transform(steps(1))
    await child.next("sync")
    delete stage.answers["sync"]
    const second = stage.transform(steps(2))
    child.answer(await child.next("sync"), { need: "all" })
    const again = await child.next("sync")
    assert.deepEqual([again.params["keep"], again.params["ops"], again.params["applied"]], [0, 0, 1])
    assert.deepEqual(again.params["messages"], steps(2))
    child.answer(again, { serial: 2, keep: 0, ops: [mark("two")] })
    assert.deepEqual(marks(await second), ["two"])

    assert.deepEqual(marks(await stage.transform(steps(3))), ["two"])
    child.answer(await child.next("sync"), { need: "all" })
    await untilSeen(stage)
    const fourth = stage.transform(steps(4))
    const full = await child.next("sync")
    assert.deepEqual([full.params["keep"], full.params["ops"], sent(full).length], [0, 0, 5])
    child.answer(full, { serial: 3, keep: 0, ops: [] })
    assert.deepEqual(await fourth, steps(4))
  }),
)

test(
  "a refusal, and an answer that is none, leave the operations held",
  staged(async (stage) => {
    const child = await stage.child(0)
    stage.answers["sync"] = () => ({ serial: 1, keep: 0, ops: [mark("one")] })
    await stage.transform(steps(1))
    await child.next("sync")
    delete stage.answers["sync"]
    const second = stage.transform(steps(2))
    child.refuse(await child.next("sync"), "busy")
    assert.deepEqual(marks(await second), ["one"])
    for (const nonsense of [null, {}, { serial: 1, keep: 9, ops: [] }, { serial: 1, keep: -1, ops: [] }, { serial: 1, keep: 0, ops: "none" }]) {
      const call = stage.transform(steps(3))
      child.answer(await child.next("sync"), nonsense)
      assert.deepEqual(marks(await call), ["one"])
    }
    assert.deepEqual(stage.toasts, [amiss("busy")])
  }),
)

test(
  "a new process gets everything, and is told which answer of the old one went out last",
  staged(async (stage) => {
    const old = await stage.child(0)
    stage.answers["sync"] = () => ({ serial: 7, keep: 0, ops: [mark("one")] })
    await stage.transform(steps(1))
    delete stage.answers["sync"]
    const second = stage.transform(steps(2))
    await old.next("sync")
    await old.next("sync")
    await old.crash()
    assert.deepEqual(marks(await second), ["one"])
    // A process may take longer to start than a call waits.
    const turn = stage.turn("ses_1")
    const child = await stage.child(1)
    assert.equal((await child.until(() => child.all[0])).method, "hello")
    await turn
    const third = stage.transform(steps(3))
    const request = await child.next("sync")
    assert.deepEqual([request.params["keep"], request.params["ops"], request.params["applied"], sent(request).length], [0, 0, 7, 4])
    child.answer(request, { serial: 8, keep: 0, ops: [mark("new")] })
    assert.deepEqual(marks(await third), ["new"])
  }),
)

test(
  "a call that went out before the first answer is told of as such, until an answer went into one",
  staged(async (stage) => {
    const child = await stage.child(0)
    delete stage.answers["sync"]
    assert.deepEqual(await stage.transform(steps(1)), steps(1))
    const first = await child.next("sync")
    assert.equal(first.params["applied"], 0)
    child.answer(first, { serial: 5, keep: 0, ops: [mark("late")] })
    await untilSeen(stage)
    const second = stage.transform(steps(2))
    const request = await child.next("sync")
    assert.deepEqual([request.params["ops"], request.params["applied"]], [1, -1])
    child.answer(request, { serial: 6, keep: 1, ops: [] })
    assert.deepEqual(marks(await second), ["late"])
    const third = stage.transform(steps(3))
    const next = await child.next("sync")
    assert.equal(next.params["applied"], 6)
    child.answer(next, { serial: 7, keep: 1, ops: [] })
    await third
  }),
)

test(
  "a call without the system prompt that it asked for counts as one that went out without us",
  staged(async (stage) => {
    const child = await stage.child(0)
    await stage.transform(steps(1))
    await child.next("sync")
    delete stage.answers["system"]
    assert.deepEqual(await stage.system(S), ["You are"])
    child.answer(await child.next("system"), { texts: ["late"] })
    await stage.transform(steps(2))
    assert.equal((await child.next("sync")).params["applied"], -1)
    assert.deepEqual(await stage.system(S), ["You are", "late"])
    await stage.transform(steps(3))
    assert.equal((await child.next("sync")).params["applied"], 1)
  }),
)

test(
  "the first answer in a session from before this process is waited for, and no later one",
  staged(async (stage) => {
    const child = await stage.child(0)
    delete stage.answers["sync"]
    const first = stage.transform(steps(3))
    const asked = await child.next("sync")
    await new Promise((resolve) => setTimeout(resolve, 600))
    child.answer(asked, { serial: 1, keep: 0, ops: [mark("one")] })
    assert.deepEqual(marks(await first), ["one"])
    const second = stage.transform(steps(4))
    const late = await child.next("sync")
    assert.deepEqual(marks(await second), ["one"], "the list that is held goes out")
    child.answer(late, { serial: 2, keep: 0, ops: [mark("two")] })
  }),
)

test(
  "sessions do not see each other, whatever order their answers come in",
  staged(async (stage) => {
    const child = await stage.child(0)
    delete stage.answers["sync"]
    const one = stage.transform(steps(1, "ses_a"))
    const two = stage.transform(steps(2, "ses_b"))
    const [a, b] = [await child.next("sync"), await child.next("sync")]
    assert.deepEqual([a.params["session"], b.params["session"]], ["ses_a", "ses_b"])
    child.answer(b, { serial: 1, keep: 0, ops: [mark("b")] })
    child.answer(a, { serial: 2, keep: 0, ops: [mark("a")] })
    assert.deepEqual([marks(await one), marks(await two)], [["a"], ["b"]])
    stage.answers["sync"] = ({ params }) => ({ serial: 3, keep: params["ops"], ops: [] })
    assert.deepEqual(marks(await stage.transform(steps(2, "ses_a"))), ["a"])
    const next = await child.next("sync")
    assert.deepEqual([next.params["keep"], next.params["ops"], next.params["applied"]], [2, 1, 2])
  }),
)

test(
  "a compaction in between is a matter of its own",
  staged(async (stage) => {
    const child = await stage.child(0)
    stage.answers["sync"] = ({ params }) =>
      params["purpose"] === "compaction"
        ? { serial: 50, keep: 0, ops: [mark("for the summary")] }
        : { serial: 1, keep: params["ops"], ops: params["ops"] ? [] : [mark("one")] }
    stage.answers["compacting"] = () => ({ context: ["frames"] })
    await stage.transform(steps(3))
    await child.next("sync")
    const output = { context: ["theirs"] }
    await stage.hooks["experimental.session.compacting"]({ sessionID: S }, output)
    assert.deepEqual(output.context, ["theirs", "frames"])
    assert.deepEqual(marks(await stage.transform(steps(2))), ["for the summary"])
    const compaction = await child.next("sync")
    assert.deepEqual([compaction.params["purpose"], compaction.params["keep"], compaction.params["ops"]], ["compaction", 0, 0])
    assert.equal(sent(compaction).length, 3)
    assert.deepEqual(marks(await stage.transform(steps(4))), ["one"])
    const turn = await child.next("sync")
    assert.deepEqual(
      [turn.params["purpose"], turn.params["keep"], turn.params["ops"], turn.params["applied"]],
      ["turn", 4, 1, 1],
    )
  }),
)

test(
  "a compaction that never asked for its messages does not colour the next turn",
  staged(async (stage) => {
    const child = await stage.child(0)
    for (const settle of [
      () => stage.turn(S),
      () => stage.hooks["event"]({ event: { type: "session.compacted", properties: { sessionID: S } } }),
    ]) {
      await stage.hooks["experimental.session.compacting"]({ sessionID: S }, { context: [] })
      await stage.transform([])
      await settle()
      await stage.transform(steps(1))
      assert.equal((await child.next("sync")).params["purpose"], "turn")
    }
  }),
)

test(
  "without a child and without operations no reasoning stands behind a pop",
  staged(async (stage) => {
    delete stage.answers["sync"]
    const message = (n: number, part: Json, created = Date.now()) => {
      const made = assistant(S, `msg_${n}`, [reasoning(`r${n}`), part])
      made["info"].time.created = created
      return made
    }
    const thoughts = (messages: Json[]) =>
      messages.flatMap(({ parts }) => parts.filter(({ type }: Json) => type === "reasoning").map(({ text }: Json) => text))
    const failed = { ...tool("stack_frame_pop", ""), state: { status: "error", input: {}, error: "", time: {} } }
    const before = [user(S, "msg_0", "go"), message(1, failed), message(2, tool("read", ""))]
    const after = [message(4, tool("read", "")), message(5, text("done"))]
    for (const pop of [tool("stack_frame_pop", "popped"), tool("stack_do", "", { callstack: { closed: true } })]) {
      const messages = [...before, message(3, pop), ...after]
      assert.deepEqual(thoughts(await stage.transform(messages)), ["r1", "r2", "r3"])
    }
    assert.deepEqual(await stage.transform([...before, ...after]), [...before, ...after])
    // Messages that an earlier process sent had its system prompt in front.
    const earlier = [user(S, "msg_0", "go"), message(1, tool("read", ""), 1), message(2, text("done"))]
    assert.deepEqual(thoughts(await stage.transform(earlier)), ["r2"])
  }),
)

test("whatever happens in between, both ends agree on messages and operations", async () => {
  for (let seed = 1; seed <= 3; seed++) await staged((stage) => randomWalk(stage, seed))()
})

/** The child keeps its requests and answers; both must agree with the plugin's state. */
async function randomWalk(stage: Stage, seed: number): Promise<void> {
  let state = seed
  const random = (below: number) => ((state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0) >>> 16) % below
  type Base = { messages: Json[]; ops: Json[] }
  let bases = new Map<string, Base>()
  let serial = 0
  let crashes = 0
  const answer = ({ params }: Request): unknown => {
    const { session, keep, ops, messages } = params as { session: string; keep: number; ops: number; messages: Json[] }
    const base = bases.get(session) ?? { messages: [], ops: [] }
    if (keep > base.messages.length || ops > base.ops.length || random(12) === 0) {
      bases.delete(session)
      return keep + ops > 0 ? { need: "all" } : { serial: 0, keep: 0, ops: [] }
    }
    assert.equal(ops, base.ops.length)
    const kept = random(ops + 1)
    const added = random(2) ? [mark(`op ${++serial}`)] : []
    bases.set(session, { messages: [...base.messages.slice(0, keep), ...messages], ops: [...base.ops.slice(0, kept), ...added] })
    return { serial: ++serial, keep: kept, ops: added }
  }
  stage.answers["sync"] = answer
  const histories = new Map<string, Json[]>([["ses_a", steps(1, "ses_a")], ["ses_b", steps(1, "ses_b")]])
  for (let round = 0; round < 60; round++) {
    const session = random(2) ? "ses_a" : "ses_b"
    const messages = histories.get(session)!
    for (let n = random(3); n > 0; n--) messages.push(step(messages.length, session))
    if (random(6) === 0) messages.splice(1 + random(messages.length))
    if (random(6) === 0 && messages[1]) messages[messages.length - 1]!.parts[0].state = { ...tool("", `changed ${round}`).state }
    const child = stage.children.at(-1)!
    if (random(10) === 0) {
      await child.crash()
      crashes++
      bases = new Map()
      await stage.turn("ses_other")
      await stage.child(crashes)
    }
    const late = random(10) === 0
    if (late) delete stage.answers["sync"]
    const seen = child.all.length
    const started = performance.now()
    const result = await stage.transform(messages)
    // On a busy machine a call may come late that was not meant to.
    if (!late && performance.now() - started > 200) await untilSeen(stage)
    else if (late) {
      stage.answers["sync"] = answer
      const now = await stage.child(crashes)
      const missed = await now.until(() => now.all.slice(now === child ? seen : 0).find(({ method }) => method === "sync"))
      now.answer(missed, answer(missed))
      await untilSeen(stage)
    } else if (bases.has(session)) {
      assert.deepEqual(bases.get(session)!.messages, messages, `seed ${seed}, round ${round}`)
      assert.deepEqual(marks(result), bases.get(session)!.ops.map(({ text }) => text), `seed ${seed}, round ${round}`)
    }
  }
}
