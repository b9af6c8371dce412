import { once } from "node:events"
import { createServer, type Server, type Socket } from "node:net"
import { fileURLToPath } from "node:url"
import { Callstack } from "../callstack.js"

export type Json = Record<string, any>
export type Request = { id?: number; method: string; params: Json }
type Behaviour = (request: Request) => unknown

/** The answers to methods; a method that is not here waits until the test answers it. */
export type Answers = Record<string, Behaviour>

export const TOOLS = [
  {
    name: "stack_frame_push",
    description: "Push",
    parameters: {
      type: "object",
      properties: { title: { type: "string" }, criteria: { type: "string" } },
      required: ["title"],
    },
  },
  {
    name: "stack_frame_pop",
    description: "Pop",
    parameters: { type: "object", properties: { results: { type: "string" } }, required: ["results"] },
  },
]

export const greeting = { protocol: 1, version: "0", tools: TOOLS }

export const defaults: Answers = {
  hello: () => greeting,
  message: () => ({}),
  sync: ({ params }) => ({ serial: 1, keep: params["ops"], ops: [] }),
  system: () => ({ texts: [] }),
  compacting: () => ({ context: [] }),
  event: () => ({}),
  wake: () => ({}),
}

/** One process that the plugin has started, seen from the other end of its pipes. */
export class Child {
  pid = 0
  gone = false
  readonly all: Request[] = []
  #unseen: Request[] = []
  #wake = () => {}
  readonly #socket: Socket

  constructor(socket: Socket, answers: Answers) {
    this.#socket = socket
    let rest = ""
    socket.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n")
      rest = lines.pop() ?? ""
      for (const line of lines) {
        const request = JSON.parse(line)
        if (request.pid) this.pid = request.pid
        else {
          this.all.push(request)
          this.#unseen.push(request)
          const answer = answers[request.method]
          if (answer && request.id !== undefined) this.answer(request, answer(request))
        }
      }
      this.#wake()
    })
    socket.on("error", () => {})
    socket.on("close", () => {
      this.gone = true
      this.#wake()
    })
  }

  async until<T>(condition: () => T | undefined | false): Promise<T> {
    for (;;) {
      const result = condition()
      if (result) return result
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }

  /** The next request of the method which no earlier call of `next` has returned. */
  next(method: string): Promise<Request> {
    return this.until(() => {
      const at = this.#unseen.findIndex((request) => request.method === method)
      return at >= 0 && this.#unseen.splice(at, 1)[0]
    })
  }

  answer(request: Request, result: unknown): void {
    this.raw(JSON.stringify({ id: request.id, result }) + "\n")
  }

  refuse(request: Request, message: string, hint: string | null = null): void {
    this.raw(JSON.stringify({ id: request.id, error: { kind: "store", message, hint } }) + "\n")
  }

  raw(text: string): void {
    this.#socket.write(text)
  }

  /** Ends the process as a crash would. */
  async crash(): Promise<void> {
    this.#socket.destroy()
    await this.until(() => this.gone)
    await ended(this.pid)
  }
}

/** Waits until no process has the id; a zombie would count as one. */
export async function ended(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0)
    } catch {
      return
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

export class Stage {
  readonly children: Child[] = []
  readonly toasts: string[] = []
  readonly messages = new Map<string, Json>()
  /** The requests to OpenCode, in order, and its answers; a prompt that is waited for may take its time. */
  readonly done: Json[] = []
  prompted: (body: Json) => Promise<Json> = async () => assistant("ses_child", "msg_child", [text("done")])
  answers: Answers = { ...defaults }
  hooks!: Json
  #server!: Server
  #wake = () => {}

  static async listening(): Promise<Stage> {
    const stage = new Stage()
    stage.#server = createServer((socket) => {
      stage.children.push(new Child(socket, stage.answers))
      stage.#wake()
    })
    stage.#server.listen(0, "127.0.0.1")
    await once(stage.#server, "listening")
    process.env["CALLSTACK_BIN"] = fileURLToPath(new URL("../../fake-host.mjs", import.meta.url))
    process.env["FAKE_HOST_PORT"] = String((stage.#server.address() as { port: number }).port)
    return stage
  }

  /** Loads the plugin as OpenCode would. */
  async load(): Promise<void> {
    const client = {
      tui: { showToast: async ({ body }: Json) => void this.toasts.push(body.message) },
      app: { log: async () => {} },
      session: {
        message: async ({ path }: Json) => ({ data: this.messages.get(path.messageID) }),
        messages: async () => ({ data: [{ info: { role: "assistant", providerID: "p", modelID: "m" }, parts: [] }] }),
        create: async ({ body }: Json) => (this.done.push({ create: body }), { data: { id: "ses_child" } }),
        abort: async ({ path }: Json) => (this.done.push({ abort: path.id }), { data: true }),
        summarize: async ({ path, body }: Json) => (this.done.push({ summarize: path.id, body }), { data: true }),
        promptAsync: async ({ path, body }: Json) => void this.done.push({ promptAsync: path.id, body }),
        prompt: async ({ path, body }: Json) => {
          this.done.push({ prompt: path.id, body })
          return { data: await this.prompted(body) }
        },
      },
    }
    const folder = process.cwd()
    this.hooks = await Callstack({ client, directory: folder, worktree: folder } as any)
  }

  async child(n: number): Promise<Child> {
    while (this.children.length <= n) await new Promise<void>((resolve) => (this.#wake = resolve))
    return this.children[n]!
  }

  async end(): Promise<void> {
    await this.hooks?.["dispose"]()
    this.#server.close()
  }

  async transform(messages: Json[]): Promise<Json[]> {
    const output = { messages: structuredClone(messages) }
    await this.hooks["experimental.chat.messages.transform"]({}, output)
    return output.messages
  }

  async system(session: string, head = "You are"): Promise<string[]> {
    const output = { system: [head] }
    const model = { id: "m", providerID: "p", limit: { context: 1000, output: 10 } }
    await this.hooks["experimental.chat.system.transform"]({ sessionID: session, model }, output)
    return output.system
  }

  /** A user turn begins; returns the tools that the message switches off. */
  async turn(session: string, parts: Json[] = [{ type: "text", text: "go" }]): Promise<Json | undefined> {
    const output = { message: user(session, "msg_turn", "").info, parts }
    await this.hooks["chat.message"]({ sessionID: session }, output)
    return output.message.tools
  }

  async tool(name: string, args: Json, call = "call_1", abort = new AbortController().signal): Promise<Json> {
    const context = { sessionID: "ses_1", messageID: "msg_1", callID: call, agent: "build", abort }
    return this.hooks["tool"][name].execute(args, context)
  }
}

/** A test's own stage with the plugin loaded, which is removed in any case. */
export function staged(work: (stage: Stage) => Promise<void>, prepare: (stage: Stage) => void = () => {}) {
  return async () => {
    const stage = await Stage.listening()
    prepare(stage)
    try {
      await stage.load()
      await work(stage)
    } finally {
      await stage.end()
    }
  }
}

export function user(session: string, id: string, text: string): Json {
  return {
    info: { id, sessionID: session, role: "user", time: { created: 1 }, agent: "build", model: {} },
    parts: [{ id: `prt_${id}`, messageID: id, sessionID: session, type: "text", text }],
  }
}

export function assistant(session: string, id: string, parts: Json[]): Json {
  return {
    info: { id, sessionID: session, role: "assistant", time: { created: 1, completed: 2 }, finish: "tool-calls" },
    parts: parts.map((part, i) => ({ id: `prt_${id}_${i}`, messageID: id, sessionID: session, ...part })),
  }
}

export function tool(name: string, output: string, metadata: Json = {}): Json {
  const state = { status: "completed", input: { a: 1 }, output, title: name, metadata, time: { start: 1, end: 2 } }
  return { type: "tool", tool: name, callID: `call_${name}`, state }
}

export const reasoning = (text: string): Json => ({ type: "reasoning", text, time: { start: 1, end: 2 } })
export const text = (text: string): Json => ({ type: "text", text })
export const texts = (message: Json | undefined): string[] =>
  (message?.["parts"] ?? []).filter((part: Json) => part["type"] === "text").map((part: Json) => part["text"])

/** The notice for the user, once, where an answer reports a failure. */
export const amiss = (why: string): string =>
  `callstack: something went wrong: ${why}; what is said meanwhile may be missing in frames and logs (run "callstack doctor")`
