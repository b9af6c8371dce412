/**
 * The child process `callstack host opencode-tui`, which prints the state of a session whenever it changes, one JSON
 * object a line, and carries out a person's actions.
 */
import { spawn, type ChildProcess } from "node:child_process"
import { lstatSync, readFileSync, statSync, type Stats } from "node:fs"
import { homedir } from "node:os"
import { dirname, isAbsolute, join } from "node:path"

const PROTOCOL = 1
/** A child that does not answer a request for so long hangs. */
const HANG_MS = 5_000
/** The pause between two questions whether the child is there still. */
const PING_MS = 10_000
const BACKOFF_MS = { first: 1_000, most: 30_000 }
/** Characters of the longest line that the child sends. */
const LONGEST_LINE = 64 << 20

export type Json = Record<string, unknown>
export type Row = {
  handle: string
  depth: number
  sign?: string
  status?: string
  title: string
  badge: string
  active?: boolean
  session?: string
}
export type State = {
  session: string
  /** Whether its rows are the whole tree. */
  all?: boolean
  trouble?: string
  rows: Row[]
  stack: { handle: string; title: string }[]
  criteria?: string
  window?: { used: number; limit?: number; told: string; parts: { kind: string; tokens: number }[] }
  saved?: string
}
export type Action = {
  title: string
  operation: string
  arguments: Json
  asks?: { argument: string; question: string; optional: boolean }
}
export type Described = { handle: string; text: string; session?: string; actions: Action[] }
type Timer = ReturnType<typeof setTimeout>

/** The recorded program, found as the plugin of the server finds it. */
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

export const reason = (error: unknown) => (error instanceof Error ? error.message : String(error))

/** Does something that OpenCode may have in another form, or not at all. */
export function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}

/** Keeps one child process running, and reports when it is missing. */
export class BackEnd {
  #child: ChildProcess | undefined
  #waiting = new Map<number, { resolve(value: any): void; reject(error: Error): void; timer: Timer }>()
  #last = 0
  #line = ""
  #backoff = 0
  #retry: Timer | undefined
  #closed = false
  #watched: Json | undefined
  #directory = ""
  readonly #ping: Timer
  readonly #show: (state: State) => void
  readonly #miss: (why: string) => void

  constructor(show: (state: State) => void, miss: (why: string) => void) {
    this.#show = show
    this.#miss = miss
    this.#ping = setInterval(() => this.#idly("ping"), PING_MS)
  }

  /** Shows a session of the project in a folder from now on. */
  watch(directory: string, watched: Json): void {
    if (directory !== this.#directory) this.#end()
    this.#directory = directory
    this.#watched = watched
    if (this.#child) this.#ask("watch", watched)
    else if (!this.#retry) this.#start()
  }

  /** Has the child look whether something has changed. */
  look(): void {
    this.#idly("look")
  }

  request(method: string, params: Json, limit = HANG_MS): Promise<any> {
    return new Promise((resolve, reject) => {
      if (!this.#child) return reject(new Error("callstack does not run"))
      const id = ++this.#last
      const timer = setTimeout(() => this.#lost(`it did not answer for ${limit / 1_000} s`), limit)
      this.#waiting.set(id, { resolve, reject, timer })
      this.#child.stdin?.write(JSON.stringify({ id, method, params }) + "\n")
    })
  }

  close(): void {
    this.#closed = true
    clearInterval(this.#ping)
    clearTimeout(this.#retry)
    this.#end()
  }

  #idly(method: string): void {
    if (this.#child && this.#waiting.size === 0) this.#ask(method, {})
  }

  #ask(method: string, params: Json): void {
    this.request(method, params).catch(() => {})
  }

  #start(): void {
    this.#retry = undefined
    if (this.#closed || !this.#watched) return
    const binary = process.env["CALLSTACK_BIN"] || program()
    try {
      const child = spawn(binary, ["host", "opencode-tui"], {
        cwd: this.#directory,
        stdio: ["pipe", "pipe", "ignore"],
        windowsHide: true,
      })
      this.#child = child
      this.#line = ""
      const lost = (why: string) => void (child === this.#child && this.#lost(why))
      child.on("error", (error) => lost(`${binary} could not be started (${reason(error)})`))
      child.on("exit", (code, signal) => lost(`it ended (${signal ?? `exit code ${code}`})`))
      child.stdin?.on("error", () => {})
      child.stdout?.setEncoding("utf8").on("data", (text: string) => void (child === this.#child && this.#read(text)))
      child.unref()
    } catch (error) {
      return this.#lost(`${binary} could not be started (${reason(error)})`)
    }
    this.#ask("watch", this.#watched)
  }

  #end(): void {
    const child = this.#child
    this.#child = undefined
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { reject, timer } of waiting) {
      clearTimeout(timer)
      reject(new Error("callstack does not run"))
    }
    // The end of its input makes a child end; one that hangs does not read it.
    attempt(() => child?.stdin?.end())
    attempt(() => child?.kill("SIGKILL"))
  }

  #lost(why: string): void {
    this.#end()
    if (this.#closed) return
    this.#miss(why)
    this.#backoff = Math.min(Math.max(this.#backoff * 2, BACKOFF_MS.first), BACKOFF_MS.most)
    clearTimeout(this.#retry)
    this.#retry = setTimeout(() => this.#start(), this.#backoff)
    this.#retry.unref?.()
  }

  #read(text: string): void {
    const lines = text.split("\n")
    lines[0] = this.#line + lines[0]
    this.#line = lines.pop() ?? ""
    for (const line of lines) this.#answer(line)
    if (this.#line.length > LONGEST_LINE) this.#lost("what it sends is no answer")
  }

  #answer(line: string): void {
    const message: any = attempt(() => JSON.parse(line))
    if (message?.state !== undefined) {
      if (message.protocol !== PROTOCOL)
        return this.#lost(`it speaks protocol ${message.protocol}, the plugin ${PROTOCOL}: run "callstack init opencode"`)
      if (!isState(message.state)) return this.#lost("what it sends can't be shown")
      this.#backoff = 0
      return this.#show(message.state)
    }
    const waiting = this.#waiting.get(message?.id)
    if (!waiting) return
    this.#waiting.delete(message.id)
    clearTimeout(waiting.timer)
    if (message.error) waiting.reject(new Error([message.error.message, message.error.hint].filter(Boolean).join(". ")))
    else waiting.resolve(message.result)
  }
}

const isText = (value: unknown) => typeof value === "string"
const isTextOrNone = (value: unknown) => value === undefined || value === null || isText(value)
const isList = (value: unknown, isItem: (item: any) => boolean) => Array.isArray(value) && value.every(isItem)

function isRow(row: any): boolean {
  const { handle, depth, sign, status, title, badge, session } = row ?? {}
  return [handle, title, badge].every(isText) && [sign, status, session].every(isTextOrNone) && Number.isInteger(depth)
}

function isWindow(window: any): boolean {
  const isPart = (part: any) => isText(part?.kind) && Number.isFinite(part.tokens)
  return !window || (isText(window.told) && Number.isFinite(window.used) && isList(window.parts, isPart))
}

/** Whether a state can be drawn. */
function isState(state: any): state is State {
  const isOnStack = (frame: any) => isText(frame?.handle) && isText(frame.title)
  const { session, trouble, criteria, saved } = state ?? {}
  const texts = isText(session) && [trouble, criteria, saved].every(isTextOrNone)
  return texts && isList(state.rows, isRow) && isList(state.stack, isOnStack) && isWindow(state.window)
}

export function isDescribed(frame: any): frame is Described {
  const isAction = (action: any) => isText(action?.title) && isText(action.operation)
  return isText(frame?.handle) && isText(frame.text) && isTextOrNone(frame.session) && isList(frame.actions, isAction)
}
