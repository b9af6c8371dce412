/**
 * callstack for OpenCode: forwards hooks to the child process `callstack host opencode`, one JSON object a line over
 * stdio, and applies the operations it answers. Every rule lives in the child. A hook here never throws, never waits
 * longer than its limit, and on any failure leaves its input unchanged.
 */
import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process"
import { once } from "node:events"
import { existsSync, lstatSync, readFileSync, statSync, type Stats } from "node:fs"
import { homedir } from "node:os"
import { dirname, isAbsolute, join } from "node:path"
import { isMainThread } from "node:worker_threads"
import type { Hooks, Plugin, ToolContext, ToolDefinition } from "@opencode-ai/plugin"

// `callstack init opencode` rewrites the marked line.
const TOOLS: ToolSpec[] = [] // callstack:tools

const VERSION = "0.1.0"
const PROTOCOL = 1
/** The longest that a hook waits for the child. */
const HOOK_MS = 250
const START_MS = 3_000
const TOOL_MS = 30_000
/** With requests waiting and none answered for so long, the child is taken to hang. */
const HANG_MS = 5_000
const CLOSE_MS = 1_000
const BACKOFF_MS = { first: 1_000, most: 30_000 }
/** The longest delay of a timer. */
const LONGEST_TIMER_MS = 0x7fff_ffff
const MOST_SESSIONS = 100
/** So many of the newest messages are compared by their whole content, older ones by samples of it. */
const NEWEST = 30
/** Characters of the longest line that either side sends. */
const LONGEST_LINE = 64 << 20
/** Lines in a row that are no answers, after which the child is taken for another program. */
const MOST_NOISE = 1_000
/** So many of a session's calls in a row that went out without an answer are worth a word. */
const LATE_CALLS = 10
/** The shortest pause before `wake`, so that a child that always asks for it keeps nobody busy. */
const SHORTEST_WAKE_MS = 10
/** Further back than this, a message is looked into at every so-manieth call only; its id and its parts count always. */
const RECENT = 200
const ROUNDS = 8

type Client = Parameters<Plugin>[0]["client"]
type Entry = Parameters<NonNullable<Hooks["experimental.chat.messages.transform"]>>[1]["messages"][number]
type Part = Entry["parts"][number]
type TextPart = Extract<Part, { type: "text" }>
type ToolPart = Extract<Part, { type: "tool" }>
type Json = Record<string, unknown>
type ToolSpec = { name: string; description: string; parameters: Json & { properties?: Json } }
type Op =
  | { op: "cut"; from: string; to: string }
  | { op: "keep"; message: string; parts: string[] }
  | { op: "output" | "add_to_output" | "replace"; message: string; part: string; text: string }
  | { op: "append"; message: string; text: string }
  | { op: "join"; message: string; to: string }
  | { op: "insert"; after: string; text: string }
type Effect =
  | { do: "create_session"; parent: string; title: string }
  | { do: "prompt"; session: string; text: string; agent?: string; like?: string; wait: boolean }
  | { do: "summarize" | "abort"; session: string }
  | { do: "wait"; ms: number }
type Outcome = { ok: Json } | { error: { message: string; aborted: boolean } }
type React = (answer: { effects?: Effect[]; wake?: number; trouble?: string } | undefined) => void
type Say = (line: string, variant: "warning" | "info") => void
type Print = { id: string; parts: number; light: number; full: number }
type Session = {
  /** The operations last answered. `run` and `prints` say which process has acknowledged which messages with them. */
  held?: { run: number; prints: Print[]; serial: number; ops: Op[] }
  /** The serial of the answer whose operations went into the last model call, whichever process gave it: serials grow
   * from one process to the next. -1 if it went out without any or without our system prompt; 0 if none has yet. */
  applied: number
  /** The request under way. One at a time, because the next one builds on its answer. */
  flight?: Promise<void> | undefined
  compacting?: boolean
  /** The summary under way covers the whole conversation, including messages that OpenCode keeps after it. */
  whole?: boolean
  /** Counts the turns' syncs. */
  round?: number
  recorded?: string
  /** The system texts last answered, by the head of the prompt they belong to. */
  texts: Map<string, string[]>
}

/** The program that `callstack init` recorded, outside of this file and of all that others made or may change. */
function program(): string {
  const said = process.env["XDG_STATE_HOME"] ?? ""
  const record = join(isAbsolute(said) ? said : join(homedir(), ".local", "state"), "callstack", "binary")
  const isMine = ({ uid }: Stats) => uid === 0 || uid === process.getuid?.()
  const isOwn = (path: string, open: number) =>
    isMine(lstatSync(path)) && isMine(statSync(path)) && (statSync(path).mode & open) === 0
  try {
    const recorded = isOwn(dirname(record), 0o022) && isOwn(record, 0o022) ? readFileSync(record, "utf8").trimEnd() : ""
    if (isAbsolute(recorded) && isOwn(dirname(recorded), 0o002) && isOwn(recorded, 0o002)) return recorded
  } catch {}
  return "callstack"
}

class Late extends Error {}
/** An answer that says that something went wrong, or that says nothing. */
class Amiss extends Error {}
class Gone extends Error {
  /** Whether a process that had served well ended before it could answer. */
  accident = false
}

const reason = (error: unknown) => (error instanceof Error ? error.message : String(error))

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Late(`it did not answer within ${ms / 1_000} s`)), ms)
  })
  return Promise.race([work, limit]).finally(() => clearTimeout(timer))
}

/** Keeps one child process running, and reports once when it is missing and once when it is back. */
class Host {
  /** Counts the processes: acknowledgements of one mean nothing to the next. */
  run = 0
  /** The running process has answered the greeting. */
  ready = false
  greeting: Promise<ToolSpec[]> = Promise.resolve([])
  /** Whether frame mode is on, as far as the running process has said. */
  frames = true
  #process: ChildProcess | undefined
  #waiting = new Map<number, { resolve(value: any): void; reject(error: Error): void }>()
  #last = 0
  #line = ""
  #watchdog: ReturnType<typeof setTimeout> | undefined
  #answers = 0
  #backoff = 0
  #notBefore = 0
  #retry: ReturnType<typeof setTimeout> | undefined
  #noise = 0
  #why = "it was not started"
  #announced = false
  #closed = false
  #binary = ""
  readonly #place: { directory: string; worktree: string }
  readonly #say: Say
  readonly #react: React

  constructor(place: { directory: string; worktree: string }, say: Say, react: React) {
    this.#place = place
    this.#say = say
    this.#react = react
  }

  get running(): boolean {
    return this.#process !== undefined
  }

  /** Starts a process unless one runs; `now` disregards the pause after failed starts. */
  ensure(now = false): void {
    if (this.#process) return
    if (this.#closed || (!now && Date.now() < this.#notBefore)) throw new Gone(this.#why)
    this.run++
    this.#binary = process.env["CALLSTACK_BIN"] || program()
    this.#line = ""
    this.#noise = 0
    this.#answers = 0
    try {
      this.#start()
    } catch (error) {
      this.#lost(this.#startFailure(error as NodeJS.ErrnoException))
      throw new Gone(this.#why)
    }
  }

  /** Writes before it returns, so requests reach the child in the order in which they were made. */
  request(method: string, params: Json): Promise<any> {
    return new Promise((resolve, reject) => {
      this.ensure()
      const id = ++this.#last
      this.#process?.stdin?.write(lineOf({ id, method, params }))
      this.#waiting.set(id, { resolve, reject })
      if (this.#waiting.size === 1) this.#watch()
    })
  }

  /** Worth no start of its own. */
  notify(method: string, params: Json): void {
    if (this.#process) this.#process?.stdin?.write(lineOf({ method, params }))
  }

  miss(why: string): void {
    if (this.#announced || this.#closed) return
    this.#announced = true
    this.#say(`callstack: ${why}; this session goes on without frames (run "callstack doctor")`, "warning")
  }

  /** The end of its input makes the child finish and end. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#retry)
    const child = this.#process
    if (!child) return
    child.stdin?.end()
    await within(CLOSE_MS, once(child, "exit")).catch(() => child.kill("SIGKILL"))
  }

  kill(): void {
    this.#process?.kill("SIGKILL")
  }

  #start(): void {
    const options: SpawnOptions = { cwd: this.#place.directory, stdio: ["pipe", "pipe", "ignore"], windowsHide: true }
    const child = spawn(this.#binary, ["host", "opencode"], options)
    this.#process = child
    const lost = (why: string) => void (child === this.#process && this.#lost(why))
    child.on("error", (error) => lost(this.#startFailure(error)))
    child.on("exit", (code, signal) => lost(`it ended (${signal ?? `exit code ${code}`})`))
    child.stdin?.on("error", () => {})
    child.stdout?.setEncoding("utf8").on("data", (text: string) => void (child === this.#process && this.#read(text)))
    child.unref()
    this.greeting = this.request("hello", { protocol: PROTOCOL, plugin: VERSION, ...this.#place }).then((answer) => {
      if (answer?.protocol !== PROTOCOL || !Array.isArray(answer.tools))
        throw new Gone(`it speaks protocol ${answer?.protocol}, the plugin ${PROTOCOL}: run "callstack init opencode"`)
      this.ready = this.#process === child
      this.frames = answer.frames !== false
      if (this.#announced) this.#say("callstack: it is available again", "info")
      this.#announced = false
      return answer.tools.filter(isTool)
    })
    this.greeting.catch((error) => lost(reason(error)))
  }

  #startFailure(error: NodeJS.ErrnoException): string {
    const isPath = /[\\/]/.test(this.#binary)
    if (error.code !== "ENOENT") return `${this.#binary} could not be started (${error.code ?? error.message})`
    if (!existsSync(this.#place.directory)) return `the folder ${this.#place.directory} is not there`
    return isPath ? `the binary was not found at ${this.#binary}` : `"${this.#binary}" was not found on the PATH`
  }

  #lost(why: string, hung = false): void {
    this.kill()
    this.#process = undefined
    this.#why = why
    this.ready = false
    clearTimeout(this.#watchdog)
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    // A child that has answered more than the greeting ended by accident; one that has not would end again.
    const accident = this.#answers > 1
    for (const { reject } of waiting) reject(Object.assign(new Gone(why), { accident: accident && !hung }))
    if (this.#closed) return
    this.#backoff = accident ? 0 : Math.min(Math.max(this.#backoff * 2, BACKOFF_MS.first), BACKOFF_MS.most)
    this.#notBefore = Date.now() + this.#backoff
    clearTimeout(this.#retry)
    this.#retry = setTimeout(() => attempt(async () => this.ensure(true)), Math.max(this.#backoff, BACKOFF_MS.first))
    this.#retry.unref()
  }

  #watch(): void {
    clearTimeout(this.#watchdog)
    if (this.#waiting.size === 0) return
    this.#watchdog = setTimeout(() => {
      this.#lost(`it did not answer for ${HANG_MS / 1_000} s`, true)
      this.miss(this.#why)
    }, HANG_MS)
    this.#watchdog.unref()
  }

  #read(text: string): void {
    const lines = text.split("\n")
    lines[0] = this.#line + lines[0]
    this.#line = lines.pop() ?? ""
    for (const line of lines) this.#answer(line)
    if (this.#line.length > LONGEST_LINE) this.#misled(`it sent a line of more than ${LONGEST_LINE >> 20} MB`)
    else if (this.#noise > MOST_NOISE) this.#misled("what it sends are no answers")
  }

  /** Ends a process that is not the child, by its output. */
  #misled(why: string): void {
    this.#line = ""
    this.#answers = 0
    this.#lost(why, true)
    this.miss(why)
  }

  #answer(line: string): void {
    let answer: any
    try {
      answer = JSON.parse(line)
    } catch {}
    const waiting = this.#waiting.get(answer?.id)
    this.#noise = waiting ? 0 : this.#noise + 1
    if (!waiting) return
    this.#waiting.delete(answer.id)
    this.#answers++
    this.#watch()
    if (answer.error) waiting.reject(new Amiss([answer.error.message, answer.error.hint].filter(Boolean).join(" ") || "without a word"))
    else {
      this.#react(answer.result)
      waiting.resolve(answer.result)
    }
  }
}

/** A line of the protocol. A message that is no JSON, such as one without end, does not keep the others back. */
function lineOf(request: { id?: number; method: string; params: Json }): string {
  let line: string
  try {
    line = JSON.stringify(request)
  } catch {
    const { messages } = request.params
    if (!Array.isArray(messages)) throw new Error("it can't be asked that: it is no JSON")
    line = JSON.stringify({ ...request, params: { ...request.params, messages: messages.map(writable) } })
  }
  if (line.length > LONGEST_LINE) throw new Amiss(`what it is to be told has more than ${LONGEST_LINE >> 20} MB`)
  return line + "\n"
}

function writable(entry: Entry): unknown {
  try {
    JSON.stringify(entry)
    return entry
  } catch (error) {
    const { id, role, sessionID } = entry.info
    const text = `OpenCode showed a message that is no JSON: ${reason(error)}`
    return { info: { id, role, sessionID }, parts: [{ id: `prt_${id}`, type: "unreadable", text }] }
  }
}

function attempt(work: () => Promise<unknown>): void {
  try {
    work().catch(() => {})
  } catch {}
}

const mix = (hash: number, value: number) => Math.imul(hash ^ value, 0x01000193)

function mixText(hash: number, text: string, step = 1): number {
  hash = mix(hash, text.length)
  for (let i = text.length - 1; i >= 0; i -= step) hash = mix(hash, text.charCodeAt(i))
  return hash
}

const sample = (hash: number, text: unknown) =>
  typeof text === "string" ? mixText(hash, text, (text.length >> 2) + 1) : mix(hash, -1)

function mixAll(hash: number, value: unknown): number {
  if (typeof value === "string") return mixText(hash, value)
  if (typeof value !== "object" || value === null) return mixText(hash, String(value))
  for (const key in value) hash = mixAll(mixText(hash, key), (value as Json)[key])
  return mix(hash, -2)
}

/** Of `info` only what a transcript needs: OpenCode rewrites the rest (summaries, costs) of messages sent long ago. */
function fingerprint({ info, parts }: Entry, whole: boolean): Print {
  let light = sample(mix(info.role.length, parts.length), info.id)
  if (info.role === "assistant") light = sample(sample(light, info.finish), info.error?.name)
  for (const part of parts) {
    light = sample(mix(light, part.type.length), part.id)
    if (part.type === "text" || part.type === "reasoning") light = sample(light, part.text)
    if (part.type !== "tool") continue
    const state: any = part.state
    light = mix(sample(sample(light, state.status), state.output ?? state.error), state.time?.compacted ?? 0)
  }
  let full = 0
  try {
    if (whole) full = mixAll(light, parts)
  } catch {} // Endless parts have no full print.
  return { id: info.id, parts: parts.length, light, full }
}

/** The fingerprints of a history. Old messages hardly ever change: they are read in turns, an eighth at a call. */
function fingerprints(messages: Entry[], before: Print[], round: number): Print[] {
  return messages.map((entry, i) => {
    const known = i < messages.length - RECENT && i % ROUNDS !== round % ROUNDS ? before[i] : undefined
    if (known?.id === entry.info.id && known.parts === entry.parts.length) return known
    return fingerprint(entry, i >= messages.length - NEWEST)
  })
}

/** The number of leading messages that are the same. */
function commonPrefix(before: Print[], now: Print[]): number {
  let same = 0
  for (; same < before.length && same < now.length; same++) {
    const a = before[same]!
    const b = now[same]!
    if (a.id !== b.id || a.light !== b.light || (a.full && b.full && a.full !== b.full)) break
  }
  return same
}

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)
const areStrings = (values: Json, ...names: string[]) => names.every((name) => typeof values[name] === "string")
const areAllStrings = (values: unknown): values is string[] =>
  Array.isArray(values) && values.every((value) => typeof value === "string")

function isTool(tool: unknown): tool is ToolSpec {
  if (!isObject(tool) || !areStrings(tool, "name", "description")) return false
  return isObject(tool["parameters"]) && /^[a-z]\w*$/i.test(String(tool["name"]))
}

function isOp(op: unknown): op is Op {
  if (!isObject(op)) return false
  if (op["op"] === "cut") return areStrings(op, "from", "to")
  if (op["op"] === "insert") return areStrings(op, "after", "text")
  if (op["op"] === "append") return areStrings(op, "message", "text")
  if (op["op"] === "join") return areStrings(op, "message", "to")
  if (op["op"] === "keep") return areStrings(op, "message") && areAllStrings(op["parts"])
  const ofPart = op["op"] === "output" || op["op"] === "add_to_output" || op["op"] === "replace"
  return ofPart && areStrings(op, "message", "part", "text")
}

function isEffect(effect: unknown): effect is Effect {
  if (!isObject(effect)) return false
  if (effect["do"] === "create_session") return areStrings(effect, "parent", "title")
  if (effect["do"] === "wait") return typeof effect["ms"] === "number" && effect["ms"] >= 0
  if (effect["do"] === "summarize" || effect["do"] === "abort") return areStrings(effect, "session")
  return effect["do"] === "prompt" && areStrings(effect, "session", "text") && typeof effect["wait"] === "boolean"
}

/** Operations that would take from a user's words, which no operation of ours does. */
class Harmful extends Error {}

/** The user's own words in a message, by part. */
const wordsIn = ({ info, parts }: Entry): string[] =>
  info.role === "user" ? ownTexts(parts).filter(({ text }) => text.trim()).map(({ id, text }) => `${id} ${text}`) : []

/** A place in the list while operations are applied. */
type Node = { entry: Entry; place: number; before: Node | undefined; next: Node | undefined }

/**
 * The input is never written to, so a failure half-way leaves it whole. Takes time in proportion to the messages and
 * the operations.
 */
function afterOperations(messages: Entry[], ops: Op[]): Entry[] {
  const nodes = new Map<string, Node>()
  const first: { next: Node | undefined } = { next: undefined }
  let last: Node | undefined
  messages.forEach((entry, place) => {
    const node: Node = { entry, place, before: last, next: undefined }
    if (last) last.next = node
    else first.next = node
    last = node
    if (!nodes.has(entry.info.id)) nodes.set(entry.info.id, node)
  })
  const taken = new Map<string, number>()
  const inserted = (id: string): string => {
    for (;;) {
      const count = taken.get(id) ?? 0
      taken.set(id, count + 1)
      const made = `${id}_callstack${count > 0 ? `_${count}` : ""}`
      if (!nodes.has(made)) return made
    }
  }
  for (const op of ops) {
    const node = nodes.get(op.op === "cut" ? op.from : op.op === "insert" ? op.after : op.message)
    if (!node) continue
    const { info, parts } = node.entry
    if (op.op === "cut") {
      let to = nodes.get(op.to)
      // An inserted message has the place of the one that it was inserted after.
      if (to && to.place === node.place) for (to = node; to && to.entry.info.id !== op.to; ) to = to.next
      if (!to || to.place < node.place) continue
      for (let gone: Node | undefined = node; gone; gone = gone === to ? undefined : gone.next) {
        if (wordsIn(gone.entry).length > 0) throw new Harmful(`it would cut the user's message ${gone.entry.info.id}`)
        if (nodes.get(gone.entry.info.id) === gone) nodes.delete(gone.entry.info.id)
      }
      if (node.before) node.before.next = to.next
      else first.next = to.next
      if (to.next) to.next.before = node.before
    } else if (op.op === "join") {
      const to = nodes.get(op.to)
      const answers = to && info.role === "assistant" && to.entry.info.role === "assistant"
      if (!answers || to.place >= node.place) continue
      to.entry = { info: to.entry.info, parts: [...to.entry.parts, ...parts] } as Entry
      nodes.delete(info.id)
      if (node.before) node.before.next = node.next
      if (node.next) node.next.before = node.before
    } else if (op.op === "insert") {
      let user: Node | undefined = node
      while (user && user.entry.info.role !== "user") user = user.before
      if (!user) continue
      const id = inserted(info.id)
      const entry = { info: { ...user.entry.info, id }, parts: [textPart(user.entry.info, id, `prt_${id}`, op.text)] }
      const made: Node = { entry, place: node.place, before: node, next: node.next }
      if (node.next) node.next.before = made
      node.next = made
      nodes.set(id, made)
    } else {
      const entry = { info, parts: edited(info, parts, op) } as Entry
      const left = new Set(wordsIn(entry))
      const kept = wordsIn(node.entry).every((words) => left.has(words))
      if (!kept) throw new Harmful(`it would change the user's message ${info.id}`)
      node.entry = entry
    }
  }
  const list: Entry[] = []
  for (let node = first.next; node; node = node.next) list.push(node.entry)
  return list
}

function edited(info: Entry["info"], parts: Part[], op: Exclude<Op, { op: "cut" | "insert" | "join" }>): Part[] {
  if (op.op === "keep") return parts.filter((part) => op.parts.includes(part.id))
  if (op.op === "append") return [...parts, textPart(info, info.id, `prt_${info.id}_${parts.length}`, op.text)]
  return parts.map((part) => {
    if (part.id !== op.part) return part
    if (op.op === "replace") return textPart(info, info.id, part.id, op.text)
    if (part.type !== "tool") return part
    if (op.op === "output") return completed(part, op.text)
    // A call that failed has no output that a text could be added to.
    if (part.state.status !== "completed") return part
    return { ...part, state: { ...part.state, output: `${part.state.output}\n\n${op.text}` } }
  })
}

function textPart({ sessionID }: Entry["info"], messageID: string, id: string, text: string): Part {
  return { id, messageID, sessionID, type: "text", text, synthetic: true }
}

function completed(part: ToolPart, output: string): Part {
  const { input, title = "", metadata = {}, time = {} } = part.state as any
  const { start = 0, end = start } = time
  return { ...part, state: { status: "completed", input, output, title, metadata, time: { start, end } } }
}

/**
 * No reasoning may be sent after a prefix other than its own. Without an answer from the child, steps from before
 * this process may have been written after its system prompt, and steps after a pop after a folded span.
 */
function withoutStaleReasoning(messages: Entry[], started: number): Entry[] {
  const pop = messages.findIndex(({ parts }) => parts.some(isPop))
  return messages.map(({ info, parts }, i) => {
    const stale = info.time.created < started || (pop >= 0 && i > pop)
    return { info, parts: stale ? parts.filter(({ type }) => type !== "reasoning") : parts }
  })
}

function isPop(part: Part): boolean {
  if (part.type !== "tool" || part.state.status !== "completed") return false
  return (part.state.metadata as any)?.callstack?.closed === true || part.tool === "stack_frame_pop"
}

/** Brings `session.held` up to date, even if the answer comes after the hook has continued. */
async function syncTurn(host: Host, session: Session, id: string, messages: Entry[], ms: number): Promise<void> {
  const deadline = performance.now() + ms
  while (session.flight) await session.flight
  if (performance.now() >= deadline) throw new Late("the request before this one is still under way")
  const flight = exchange(host, session, id, messages, deadline)
  session.flight = flight.catch(() => {}).finally(() => (session.flight = undefined))
  await flight
}

async function exchange(host: Host, session: Session, id: string, messages: Entry[], deadline: number): Promise<void> {
  host.ensure()
  const run = host.run
  session.round = (session.round ?? 0) + 1
  const base = session.held?.run === run ? session.held : undefined
  const prints = fingerprints(messages, base?.prints ?? [], session.round)
  let keep = base ? commonPrefix(base.prints, prints) : 0
  let ops = base?.ops ?? []
  const ask = () =>
    requestSync(host, session, id, { purpose: "turn", keep, messages: messages.slice(keep), ops: ops.length })
  let answer = await ask()
  if (answer?.need === "all") {
    if (base) base.run = 0
    // By now others may have changed the messages: the next call sends all.
    if (performance.now() >= deadline) return
    keep = 0
    ops = []
    answer = await ask()
  }
  const fits = Number.isInteger(answer?.keep) && answer.keep >= 0 && answer.keep <= ops.length
  if (!fits || !Number.isInteger(answer.serial) || !Array.isArray(answer.ops) || !answer.ops.every(isOp)) {
    if (base) base.run = 0
    throw new Amiss("it answered without operations")
  }
  session.held = { run, prints, serial: answer.serial, ops: [...ops.slice(0, answer.keep), ...answer.ops] }
}

function requestSync(host: Host, session: Session, id: string, params: Json): Promise<any> {
  return host.request("sync", { session: id, ...params, applied: session.applied, newest: session.held?.serial ?? 0 })
}

/** The slash commands that `callstack init opencode` installs. */
const COMMANDS = ["push", "pop", "plan", "frame-status"]
/** Distinguishes our templates of them from others of the same name. */
const OURS = "(callstack)"
/** The key under which a part of ours names the one that a message was made of. */
const COMMAND = "callstack.command"

const ownTexts = (parts: Part[]): TextPart[] =>
  parts.filter((part): part is TextPart => part.type === "text" && !part.synthetic && !part.ignored)

/** Takes the part that stands for a slash command out of its message. */
function takeCommand(parts: Part[]): { part: TextPart; command: Json } | undefined {
  const at = parts.findIndex((part) => part.type === "text" && part.metadata?.[COMMAND])
  if (at < 0) return undefined
  const part = parts.splice(at, 1)[0] as TextPart
  return { part, command: part.metadata?.[COMMAND] as Json }
}

const OF_SESSIONS = ["created", "updated", "idle", "compacted", "deleted", "error"]
const EVENTS = [...OF_SESSIONS.map((name) => `session.${name}`), "message.removed"]
const WRITERS = ["write", "edit", "multiedit", "patch", "apply_patch"]

function outline({ sessionID, messageID, error, info }: any): Json {
  const revert = info?.revert ? { messageID: info.revert.messageID, partID: info.revert.partID } : null
  return {
    sessionID: sessionID ?? info?.id,
    messageID,
    error: error && { name: error.name, message: error.data?.message },
    info: info && { id: info.id, parentID: info.parentID, title: info.title, revert },
  }
}

function filePaths(args: any, metadata: any): { args: Json; metadata: Json } {
  const pick = (file: any) => ({ filePath: file?.filePath, movePath: file?.movePath, type: file?.type })
  const files = metadata?.files?.map?.(pick)
  return { args: { filePath: args?.filePath }, metadata: { filepath: metadata?.filepath, files } }
}

/** Whether the message ends a turn, so that perhaps no later model call shows it. */
function isClosing(info: any): boolean {
  if (info?.role !== "assistant" || !info.time?.completed) return false
  return Boolean(info.error || (info.finish && info.finish !== "tool-calls" && info.finish !== "unknown"))
}

class Performer {
  readonly #client: Client
  #compactions = new Map<string, () => void>()

  constructor(client: Client) {
    this.#client = client
  }

  /** Carries an effect out, and reports its outcome. An abort also stops the session that works for it. */
  async perform(effect: Effect, abort?: AbortSignal): Promise<Outcome> {
    const stop = () => void (effect.do === "prompt" && attempt(() => this.#do({ do: "abort", session: effect.session })))
    abort?.addEventListener("abort", stop, { once: true })
    try {
      abort?.throwIfAborted()
      const value = await this.#do(effect)
      abort?.throwIfAborted()
      return { ok: value }
    } catch (error) {
      return { error: { message: reason(error), aborted: abort?.aborted === true } }
    } finally {
      abort?.removeEventListener("abort", stop)
    }
  }

  async #do(effect: Effect): Promise<Json> {
    const { session } = this.#client
    if (effect.do === "create_session") {
      const body = { parentID: effect.parent, title: effect.title }
      const { data } = await session.create({ body, throwOnError: true })
      return { session: data.id }
    }
    if (effect.do === "wait") {
      await new Promise((resolve) => setTimeout(resolve, effect.ms))
      return {}
    }
    const path = { id: effect.session }
    if (effect.do === "abort") await session.abort({ path, throwOnError: true })
    if (effect.do === "summarize") await this.#summarize(effect.session)
    if (effect.do !== "prompt") return {}
    const model = effect.like ? await this.#model(effect.like) : undefined
    const parts = [{ type: "text" as const, text: effect.text, synthetic: true }]
    const body = { parts, ...(effect.agent && { agent: effect.agent }), ...(model && { model }) }
    if (!effect.wait) return session.promptAsync({ path, body, throwOnError: true }).then(() => ({}))
    const { data } = await session.prompt({ path, body, throwOnError: true })
    if (data.info.error) throw new Error(errorText(data.info.error))
    return { text: data.parts.map((part) => (part.type === "text" ? part.text : "")).join("").trim() }
  }

  /**
   * Done once the compaction stands in the session: the caller may run in the very loop that has to make
   * it. With `auto` that loop continues after the summary.
   */
  async #summarize(session: string): Promise<void> {
    const begun = new Promise<void>((resolve) => this.#compactions.set(session, resolve))
    try {
      const body = { ...(await this.#model(session))!, auto: true }
      const made = this.#client.session.summarize({ path: { id: session }, throwOnError: true, body })
      await within(TOOL_MS, Promise.race([begun, made]))
    } finally {
      this.#compactions.delete(session)
    }
  }

  /** A compaction stands in a session and is about to be made. */
  compactionBegun(session: string): void {
    this.#compactions.get(session)?.()
  }

  /** The model that the session's agent used last. */
  async #model(session: string): Promise<{ providerID: string; modelID: string } | undefined> {
    const { data } = await this.#client.session.messages({ path: { id: session }, throwOnError: true })
    const last = data.map(({ info }) => info).findLast((info) => info.role === "assistant")
    return last?.role === "assistant" ? { providerID: last.providerID, modelID: last.modelID } : undefined
  }
}

function errorText({ name, data }: { name: string; data?: unknown }): string {
  const message = (data as { message?: unknown } | undefined)?.message
  return typeof message === "string" ? `${name}: ${message}` : name
}

export const Callstack: Plugin = async ({ client, directory, worktree }) => {
  /** The full-screen interface owns the terminal and runs plugins in a worker; there only the toast is seen. */
  const say: Say = (words, variant) => {
    // Nothing that a child says steers a terminal.
    const message = words.replace(/[\p{Cc}\p{Bidi_Control}]+/gu, " ")
    if (isMainThread) process.stderr.write(message + "\n")
    attempt(() => client.tui.showToast({ body: { message, variant, duration: 8_000 } }))
    const level = variant === "info" ? "info" : "warn"
    attempt(() => client.app.log({ body: { service: "callstack", level, message } }))
  }
  const performer = new Performer(client)
  let alarm: { at: number; timer: ReturnType<typeof setTimeout> } | undefined
  const wakeIn = (ms: number) => {
    const at = Date.now() + ms
    if (alarm && alarm.at <= at) return
    clearTimeout(alarm?.timer)
    const timer = setTimeout(() => {
      alarm = undefined
      attempt(() => host.request("wake", {}))
    }, Math.min(ms, LONGEST_TIMER_MS))
    timer.unref()
    alarm = { at, timer }
  }
  let trouble = ""
  const react: React = (answer) => {
    if (typeof answer?.trouble === "string" && answer.trouble !== trouble) {
      if (answer.trouble) say(`callstack: ${answer.trouble}`, "warning")
      trouble = answer.trouble
    }
    const effects = Array.isArray(answer?.effects) ? answer.effects.filter(isEffect) : []
    if (effects.length > 0)
      attempt(async () => {
        for (const effect of effects) await performer.perform(effect)
      })
    if (typeof answer?.wake === "number") wakeIn(Math.max(answer.wake, SHORTEST_WAKE_MS))
  }
  const host = new Host({ directory, worktree }, say, react)
  const kill = () => host.kill()
  process.once("exit", kill)
  let tools = TOOLS
  try {
    host.ensure()
    tools = await within(START_MS, host.greeting)
  } catch {}

  const started = Date.now()
  const sessions = new Map<string, Session>()
  const sessionOf = (id: string): Session => {
    const session = sessions.get(id) ?? { applied: 0, texts: new Map() }
    sessions.delete(id)
    sessions.set(id, session)
    if (sessions.size > MOST_SESSIONS) sessions.delete(sessions.keys().next().value!)
    return session
  }
  const records = new Set<Promise<void>>()
  const record = async (id: string, messageID: string) => {
    const { data } = await client.session.message({ path: { id, messageID } })
    if (data) host.notify("record", { session: id, messages: [{ info: data.info, parts: data.parts }] })
  }

  /** Returns the messages that OpenCode keeps word for word after a summary, and does not show to the summariser. */
  const keptAfter = async (id: string, head: Entry[]): Promise<Entry[]> => {
    const { data } = await within(START_MS, client.session.messages({ path: { id }, throwOnError: true }))
    const last = data.findIndex(({ info }) => info.id === head.at(-1)?.info.id)
    if (last < 0) return []
    const ofCompaction = ({ info, parts }: Entry) =>
      (info.role === "assistant" && info.summary) || parts.some(({ type }) => type === "compaction")
    return data.slice(last + 1).filter((entry) => !ofCompaction(entry))
  }

  const said = new Set<string>()
  const sayOnce = (about: string, message: string) => {
    if (!said.has(about)) say(`callstack: ${message} (run "callstack doctor")`, "warning")
    said.add(about)
  }
  // A late answer is not lost, since it comes with the next one; many in a row are reported.
  let late = 0
  const missed = (error: unknown) => {
    if (error instanceof Gone) host.miss(error.message)
    else if (error instanceof Late) {
      if (++late >= LATE_CALLS) sayOnce("late", "it has been too slow for a while; what it says late is used late")
    } else if (error instanceof Harmful) sayOnce("harmful", `what it answered is not done: ${error.message}`)
    else if (error instanceof Amiss)
      sayOnce("amiss", `something went wrong: ${reason(error)}; what is said meanwhile may be missing in frames and logs`)
  }
  const guarded = <A extends unknown[]>(hook: (...args: A) => Promise<void>) =>
    (...args: A) => hook(...args).catch(missed)

  const execute = async (name: string, args: Json, context: ToolContext & { callID?: string }) => {
    try {
      const { sessionID: session, messageID: message, callID: call, agent, abort } = context
      const caller = { name, session, message, call, agent }
      const aborted = new Promise<never>((_, reject) => {
        abort?.addEventListener("abort", () => reject(new Error("the call was cancelled")), { once: true })
      })
      aborted.catch(() => {})
      const ask = (again?: boolean) => {
        if (again) host.ensure(true)
        return within(TOOL_MS, Promise.race([host.request("tool", { ...caller, args, again }), aborted]))
      }
      // The next process finds the work of one that ended in the store.
      const retry = (error: unknown) => (error instanceof Gone && error.accident ? ask(true) : Promise.reject(error))
      let answer = await ask().catch(retry)
      while (answer?.next) {
        if (!isEffect(answer.next)) throw new Amiss("it asked for something that is not known here")
        const outcome = await performer.perform(answer.next, abort)
        const { token } = answer
        // Reported in any case: the child has to record an effect that was stopped, too.
        const send = async (again?: boolean) => {
          host.ensure(true)
          return within(TOOL_MS, host.request("continue", { ...caller, token, outcome, again }))
        }
        // The next process finds the unfinished work of the last one in the store.
        answer = await send().catch((error) => (error instanceof Gone ? send(true) : Promise.reject(error)))
      }
      const { output, title, metadata } = answer ?? {}
      if (typeof output !== "string") throw new Amiss("it answered without an output")
      return { output, title: title ?? "", metadata: metadata ?? {} }
    } catch (error) {
      missed(error)
      const sentence = `callstack is not available just now (${reason(error)}).`
      return { output: `${sentence} Go on without frames; the work is not affected.`, title: "", metadata: {} }
    }
  }
  /** Carries a slash command out; its message then holds the outcome. */
  const slash = async (params: Json, note: TextPart, parts: Part[]): Promise<any> => {
    await within(HOOK_MS, Promise.all(records)).catch(() => {})
    const own = ownTexts(parts)
    const text = own.map((part) => part.text).join("\n")
    const answer = await within(START_MS, host.request("command", { ...params, text }))
    if (!answer.ours) return answer
    const [first, ...rest] = own
    if (first && typeof (answer.shown ?? answer.words) === "string") {
      Object.assign(first, { text: answer.shown ?? answer.words }, answer.shown && { ignored: true })
      for (const part of rest) part.ignored = true
    }
    parts.push(Object.assign(note, { text: String(answer.note) }))
    if (answer.shown && isMainThread) process.stderr.write(answer.shown + "\n")
    return answer
  }
  const definition = ({ name, description, parameters }: ToolSpec) => {
    const run = (args: Json, context: ToolContext) => execute(name, args, context)
    return { description, args: parameters?.properties ?? {}, execute: run } as unknown as ToolDefinition
  }

  return {
    tool: Object.fromEntries(tools.map((spec) => [spec.name, definition(spec)])),

    // Without frames there is nothing that they could do.
    config: guarded(async (config) => {
      if (host.frames) return
      for (const name of COMMANDS) if (config.command?.[name]?.template?.includes(OURS)) delete config.command[name]
    }),

    // OpenCode takes every raw property to be required, until the whole schema is put in its place.
    "tool.definition": guarded(async ({ toolID }, output) => {
      const spec = tools.find(({ name }) => name === toolID)
      if (spec) (output as { jsonSchema?: Json }).jsonSchema = spec.parameters
    }),

    // Its text is known once it is a message: until then an empty part of ours is in its place.
    "command.execute.before": guarded(async ({ command, arguments: words }, { parts }) => {
      if (!COMMANDS.includes(command)) return
      const metadata = { [COMMAND]: { name: command, arguments: words } }
      parts.push({ type: "text", text: "", synthetic: true, metadata } as unknown as Part)
    }),

    "chat.message": guarded(async ({ sessionID, agent }, { message, parts }) => {
      const unlisted = () => Object.fromEntries(tools.map(({ name }) => [name, false]))
      const typed = takeCommand(parts)
      try {
        sessionOf(sessionID).compacting = false
        host.ensure(true)
        if (typed) {
          const answer = await slash({ session: sessionID, message: message.id, ...typed.command }, typed.part, parts)
          if (answer.frames === false) message.tools = { ...message.tools, ...unlisted() }
          if (answer.ours) return
        }
        const text = ownTexts(parts).map((part) => part.text).join("\n")
        const params = { session: sessionID, message: message.id, agent: agent ?? message.agent, text }
        const [{ frames }] = await within(HOOK_MS, Promise.all([host.request("message", params), host.greeting]))
        if (frames === false) message.tools = { ...message.tools, ...unlisted() }
      } catch (error) {
        missed(error)
        if (host.ready) return
        host.miss(reason(error))
        message.tools = { ...message.tools, ...unlisted() }
      }
    }),

    "experimental.chat.messages.transform": guarded(async (_, { messages }) => {
      const id = messages[0]?.info.sessionID
      if (!id) return
      const session = sessionOf(id)
      const compaction = session.compacting === true
      session.compacting = false
      let ops: Op[] | undefined
      try {
        if (compaction) {
          if (session.whole) for (const entry of await keptAfter(id, messages)) messages.push(entry)
          const params = { purpose: "compaction", keep: 0, messages, ops: 0 }
          const answer = await within(HOOK_MS, requestSync(host, session, id, params))
          if (Array.isArray(answer?.ops) && answer.ops.every(isOp)) ops = answer.ops
        } else {
          // In a session from before this process, an unfolded request would cost the whole prompt cache.
          const ms = !session.round && messages.some(({ info }) => info.time.created < started) ? START_MS : HOOK_MS
          await within(ms, syncTurn(host, session, id, messages, ms))
        }
        late = 0
      } catch (error) {
        missed(error)
      }
      ops ??= session.held?.ops
      let result: Entry[] | undefined
      try {
        result = ops && afterOperations(messages, ops)
      } catch (error) {
        missed(error)
        delete session.held
      }
      result ??= withoutStaleReasoning(messages, started)
      messages.length = 0
      for (const entry of result) messages.push(entry)
      if (!compaction) session.applied = session.held?.serial ?? -1
    }),

    "experimental.chat.system.transform": guarded(async ({ sessionID, model }, { system }) => {
      if (!sessionID) return
      const session = sessionOf(sessionID)
      const { texts } = session
      const head = system[0]?.slice(0, 200) ?? ""
      const about = { id: model.id, provider: model.providerID, context: model.limit?.context ?? null }
      const answer = host.request("system", { session: sessionID, model: about, head }).then((result) => {
        if (!areAllStrings(result?.texts)) throw new Amiss("it answered without texts")
        texts.set(head, result.texts)
        if (texts.size > 4) texts.delete(texts.keys().next().value!)
      })
      // While the child is late, the earlier text stays: a change would cost the whole prompt cache.
      await within(HOOK_MS, answer).finally(() => {
        const held = texts.get(head)
        if (held) system.push(...held)
        else session.applied = -1
      })
    }),

    "experimental.session.compacting": guarded(async ({ sessionID }, output) => {
      const session = sessionOf(sessionID)
      session.compacting = true
      session.whole = false
      const { context, prompt } = await within(HOOK_MS, host.request("compacting", { session: sessionID }))
      if (!areAllStrings(context ?? [])) throw new Amiss("it answered without a context")
      for (const text of context ?? []) output.context.push(text)
      if (typeof prompt !== "string") return
      output.prompt = prompt
      session.whole = true
    }),

    "tool.execute.after": guarded(async ({ tool, sessionID, callID, args }, output) => {
      if (!WRITERS.includes(tool)) return
      host.notify("after", { session: sessionID, call: callID, tool, ...filePaths(args, output?.metadata) })
    }),

    event: guarded(async ({ event }) => {
      const { type, properties } = event as { type: string; properties: any }
      if (type === "message.updated" && isClosing(properties.info)) {
        const { id, sessionID, finish, error } = properties.info
        const session = sessions.get(sessionID)
        const key = `${id} ${finish} ${error?.name}`
        // A fork copies messages before anybody works in it: they come with its first call, in their order.
        if (!session || session.recorded === key) return
        session.recorded = key
        const fetching: Promise<void> = record(sessionID, id).catch(() => {}).finally(() => records.delete(fetching))
        records.add(fetching)
      }
      if (type === "message.part.updated" && properties.part?.type === "compaction")
        performer.compactionBegun(properties.part.sessionID)
      if (!EVENTS.includes(type)) return
      // A session that falls silent ends its frames with its last words.
      if (type === "session.idle" || type === "session.compacted") await within(HOOK_MS, Promise.all(records)).catch(() => {})
      const fields = outline(properties)
      // Not worth a start of the child: after one, the first request contains all that it needs.
      if (host.running) attempt(() => host.request("event", { type, properties: fields }))
      const session = sessions.get(String(fields["sessionID"]))
      if (type === "session.compacted" && session) session.compacting = false
      if (type === "session.deleted") sessions.delete(String(fields["sessionID"]))
    }),

    dispose: async () => {
      process.off("exit", kill)
      clearTimeout(alarm?.timer)
      await within(HOOK_MS, Promise.all(records)).catch(() => {})
      await host.close()
    },
  }
}
