import assert from "node:assert/strict"
import { test } from "node:test"
import { staged, user, type Json } from "./harness.js"

const push = "stack_frame_push"
const create = { do: "create_session", parent: "ses_1", title: "T" }
const prompt = { do: "prompt", session: "ses_child", text: "go", agent: "build", like: "ses_1", wait: true }
const said = { parts: [{ type: "text", text: "go", synthetic: true }], agent: "build", model: { providerID: "p", modelID: "m" } }
const answered = { output: "all done", title: "t", metadata: { callstack: {} } }

test(
  "a tool's answer waits for its effects, one after the other",
  staged(async (stage) => {
    const child = await stage.child(0)
    const result = stage.tool(push, { title: "T" })
    child.answer(await child.next("tool"), { next: create, token: { step: 1 } })
    const first = await child.next("continue")
    assert.deepEqual(first.params, {
      name: push,
      session: "ses_1",
      message: "msg_1",
      call: "call_1",
      agent: "build",
      token: { step: 1 },
      outcome: { ok: { session: "ses_child" } },
    })
    child.answer(first, { next: prompt, token: { step: 2 } })
    const second = await child.next("continue")
    assert.deepEqual(second.params["token"], { step: 2 })
    assert.deepEqual(second.params["outcome"], { ok: { text: "done" } })
    child.answer(second, answered)
    assert.deepEqual(await result, answered)
    assert.deepEqual(stage.done, [{ create: { parentID: "ses_1", title: "T" } }, { prompt: "ses_child", body: said }])
  }),
)

test(
  "a call asks again after each while that it is told to wait",
  staged(async (stage) => {
    const child = await stage.child(0)
    const result = stage.tool(push, {})
    child.answer(await child.next("tool"), { next: { do: "wait", ms: 20 }, token: 1 })
    const first = await child.next("continue")
    assert.deepEqual(first.params["outcome"], { ok: {} })
    child.answer(first, { next: { do: "wait", ms: 20 }, token: 2 })
    const second = await child.next("continue")
    assert.equal(second.params["token"], 2)
    child.answer(second, answered)
    assert.deepEqual(await result, answered)
  }),
)

test(
  "an effect that fails is told",
  staged(async (stage) => {
    const child = await stage.child(0)
    stage.prompted = async () => ({ info: { error: { name: "ProviderError", data: { message: "no" } } }, parts: [] })
    const result = stage.tool(push, {})
    child.answer(await child.next("tool"), { next: prompt, token: 1 })
    const request = await child.next("continue")
    assert.deepEqual(request.params["outcome"], { error: { message: "ProviderError: no", aborted: false } })
    child.answer(request, answered)
    await result
  }),
)

test(
  "a call that is aborted stops the session that works for it, and is told as such",
  staged(async (stage) => {
    const child = await stage.child(0)
    const abort = new AbortController()
    let silence = (_: Json) => {}
    stage.prompted = () => new Promise((resolve) => (silence = resolve))
    const result = stage.tool(push, {}, "call_1", abort.signal)
    child.answer(await child.next("tool"), { next: prompt, token: 1 })
    while (!stage.done.some((did) => "prompt" in did)) await new Promise(setImmediate)
    abort.abort()
    silence({ info: {}, parts: [] })
    const request = await child.next("continue")
    assert.equal(request.params["outcome"].error.aborted, true)
    assert.deepEqual(stage.done.at(-1), { abort: "ses_child" })
    child.answer(request, answered)
    await result
  }),
)

test(
  "another process goes on when the one that asked for the effect is gone",
  staged(async (stage) => {
    const child = await stage.child(0)
    let silence = (_: Json) => {}
    stage.prompted = () => new Promise((resolve) => (silence = resolve))
    const result = stage.tool(push, {})
    child.answer(await child.next("tool"), { next: prompt, token: { step: 7 } })
    while (stage.done.length === 0) await new Promise(setImmediate)
    await child.crash()
    silence({ info: {}, parts: [{ type: "text", text: "late" }] })
    const heir = await stage.child(1)
    const request = await heir.next("continue")
    assert.deepEqual(request.params["token"], { step: 7 })
    assert.deepEqual(request.params["outcome"], { ok: { text: "late" } })
    heir.answer(request, answered)
    assert.deepEqual(await result, answered)
  }),
)

test(
  "what became of an effect is told again, as such, when the process that was told is gone",
  staged(async (stage) => {
    const child = await stage.child(0)
    const result = stage.tool(push, {})
    child.answer(await child.next("tool"), { next: { do: "wait", ms: 0 }, token: { step: 1 } })
    const first = await child.next("continue")
    assert.equal(first.params["again"], undefined)
    await child.crash()
    const heir = await stage.child(1)
    const second = await heir.next("continue")
    assert.deepEqual(second.params, { ...first.params, again: true })
    heir.answer(second, answered)
    assert.deepEqual(await result, answered)
  }),
)

test(
  "effects beside an answer are performed in order, and nobody waits for them",
  staged(async (stage) => {
    const child = await stage.child(0)
    const effects = [{ do: "summarize", session: "ses_1" }, { ...prompt, wait: false }, { do: "abort", session: "ses_2" }]
    const result = stage.tool(push, {})
    child.answer(await child.next("tool"), { ...answered, effects })
    assert.deepEqual(await result, answered)
    while (stage.done.length < 3) await new Promise(setImmediate)
    assert.deepEqual(stage.done, [
      { summarize: "ses_1", body: { providerID: "p", modelID: "m", auto: true } },
      { promptAsync: "ses_child", body: said },
      { abort: "ses_2" },
    ])
  }),
)

test(
  "the process is woken when it asked for it, at the earliest time that it named",
  staged(async (stage) => {
    const child = await stage.child(0)
    for (const wake of [3_600_000, 1, 7_200_000]) {
      const result = stage.tool(push, {})
      child.answer(await child.next("tool"), { ...answered, wake })
      await result
    }
    assert.deepEqual((await child.next("wake")).params, {})
  }),
)

test(
  "what the binary has trouble with is said once, and again after it was over",
  staged(async (stage) => {
    let trouble = ""
    stage.answers["sync"] = () => ({ serial: 1, keep: 0, ops: [], trouble })
    for (trouble of ["", "the disk is full", "the disk is full", "", "the disk is full"])
      await stage.transform([user("ses_1", "msg_1", "hello")])
    const line = "callstack: the disk is full"
    assert.deepEqual(stage.toasts, [line, line])
  }),
)
