/** @jsxImportSource @opentui/solid */
/**
 * callstack in OpenCode's full-screen interface: draws the state that its child process prints, and passes on what a
 * person wants done. Every rule lives in the child. Nothing here waits while OpenCode starts, nothing is thrown at it,
 * and every drawing stands in a boundary of its own.
 */
import { createEffect, createMemo, createRoot, createSignal, ErrorBoundary, For, onCleanup, Show } from "solid-js"
import type { TuiPluginApi, TuiPluginModule } from "@opencode-ai/plugin/tui"
import { attempt, BackEnd, isDescribed, reason } from "./callstack/back-end.ts"
import type { Action, Described, Json, Row, State } from "./callstack/back-end.ts"
import { columns, cut, fit, wrapped } from "./callstack/text.ts"

/** An operation may wait for a model that writes the results of a frame. */
const RUN_MS = 180_000
/** Columns of the sidebar that are left while it scrolls. */
const SIDEBAR = 36
/** Levels of the tree that are indented. */
const LEVELS = 6
/** Lines of the criteria of the open frame. */
const CRITERIA = 3
const ROUTE = "callstack"
const KEYS = "esc back  ↑↓ choose  ↵ read  a act  g go to its session  b go back from it"

type Place = { name: string; params?: Record<string, unknown> }

const COLOURS: Record<string, string> = {
  planned: "info",
  in_progress: "warning",
  completed: "success",
  failed: "error",
  blocked: "secondary",
  invalidated: "textMuted",
}
const PARTS: Record<string, string> = {
  system: "textMuted",
  pins: "secondary",
  summary: "secondary",
  results: "success",
  user: "info",
  live: "warning",
  notes: "secondary",
}

function start(api: TuiPluginApi): void {
  const [state, setState] = createSignal<State>()
  const [tree, setTree] = createSignal<State>()
  const [trouble, setTrouble] = createSignal<string>()
  const [sidebars, setSidebars] = createSignal(0)
  const [size, setSize] = createSignal(measured())
  /** Sessions that were left for that of a frame. */
  const left: Place[] = []

  const backEnd = new BackEnd(
    (state) => {
      setTrouble(undefined)
      if (state.all) setTree(state)
      else setState(state)
    },
    (why) => setTrouble(`callstack: ${why} (run "callstack doctor")`),
  )

  function measured(): { width: number; height: number } {
    const { width, height } = attempt(() => api.renderer) ?? {}
    return { width: Number(width) || 80, height: Number(height) || 24 }
  }
  const colour = (name: string): any => (api.theme.current as any)[name] ?? api.theme.current.text
  /** The state, if it is that of the session. */
  const of = (session: string) => (state()?.session === session ? state() : undefined)
  const here = (): Place => api.route.current as Place
  const shown = (): string | undefined => {
    const place = here()
    const origin = place.name === ROUTE ? (place.params?.["back"] as Place | undefined) : place
    return origin?.name === "session" ? (origin.params?.["sessionID"] as string | undefined) : undefined
  }
  const say = (variant: "info" | "success" | "warning" | "error", message: string) =>
    attempt(() => api.ui.toast({ variant, message, duration: variant === "error" ? 8_000 : 4_000 }))

  const Safe = (p: any) => (
    <box>
      <ErrorBoundary fallback={(error: unknown) => <text fg={colour("error")}>{`callstack: ${reason(error)}`}</text>}>
        {p.children}
      </ErrorBoundary>
    </box>
  )

  const Line = (p: { row: Row; width: number; on?: boolean; press?: () => void }) => {
    const lead = () => "  ".repeat(Math.min(p.row.depth, LEVELS))
    const name = () => (p.row.handle ? ` ${p.row.handle} ` : "")
    const room = () => p.width - columns(lead() + (p.row.sign ?? "") + name()) - columns(p.row.badge) - 1
    return (
      <text
        wrapMode="none"
        fg={colour("text")}
        bg={p.on ? colour("backgroundElement") : undefined}
        onMouseUp={() => p.press?.()}
      >
        <span style={{ fg: colour(COLOURS[p.row.status ?? ""] ?? "textMuted") }}>{lead() + (p.row.sign ?? "")}</span>
        <span style={{ fg: colour("textMuted") }}>{name()}</span>
        <span style={{ fg: colour("text"), bold: p.row.active === true }}>{fit(p.row.title, room())}</span>
        <span style={{ fg: colour("textMuted") }}>{` ${p.row.badge}`}</span>
      </text>
    )
  }

  const Bar = (p: { window: NonNullable<State["window"]>; width: number }) => {
    const whole = () => Math.max(p.window.limit ?? 0, p.window.used, 1)
    const cells = createMemo(() => {
      let [tokens, drawn] = [0, 0]
      return p.window.parts.map(({ kind, tokens: own }) => {
        tokens += own
        const until = Math.min(p.width, Math.round((tokens / whole()) * p.width))
        const count = until - drawn
        drawn = until
        return { kind, count }
      })
    })
    const rest = () => p.width - cells().reduce((sum, { count }) => sum + count, 0)
    return (
      <text wrapMode="none">
        <For each={cells()}>
          {(cell) => <span style={{ fg: colour(PARTS[cell.kind] ?? "secondary") }}>{"█".repeat(cell.count)}</span>}
        </For>
        <span style={{ fg: colour("textMuted") }}>{"░".repeat(Math.max(0, rest()))}</span>
      </text>
    )
  }

  /** The text below the rows: the criteria of the open frame, the window, the saving. */
  const Figures = (p: { state: State; width: number }) => (
    <box>
      <For each={wrapped(p.state.criteria ?? "", p.width, CRITERIA)}>
        {(line) => (
          <text wrapMode="none" fg={colour("textMuted")}>
            {line}
          </text>
        )}
      </For>
      <Show when={p.state.window}>
        {(window: any) => (
          <box>
            <text fg={colour("text")}>{cut(`next request: ${window().told}`, p.width)}</text>
            <Bar window={window()} width={p.width} />
          </box>
        )}
      </Show>
      <Show when={p.state.saved}>
        <text fg={colour("textMuted")}>{cut(p.state.saved ?? "", p.width)}</text>
      </Show>
    </box>
  )

  const Trouble = (p: { state: State | undefined }) => (
    <Show when={trouble() ?? p.state?.trouble}>
      {(why: any) => (
        <text fg={colour("warning")} wrapMode="word">
          {why()}
        </text>
      )}
    </Show>
  )

  const Sidebar = (p: { session: string }) => {
    setSidebars((count) => count + 1)
    onCleanup(() => setSidebars((count) => count - 1))
    return (
      <Safe>
        <text fg={colour("text")} onMouseUp={open}>
          <b>Frames</b>
        </text>
        <Trouble state={of(p.session)} />
        <Show when={of(p.session)}>
          {(state: any) => (
            <box>
              <Show when={state().rows.length === 0 && !state().trouble}>
                <text fg={colour("textMuted")}>none yet</text>
              </Show>
              <For each={state().rows as Row[]}>{(row) => <Line row={row} width={SIDEBAR} press={open} />}</For>
              <Figures state={state()} width={SIDEBAR} />
            </box>
          )}
        </Show>
      </Safe>
    )
  }

  /** One line where no sidebar is: the open frames. */
  const Strip = () => {
    const text = () => {
      const session = here().name === "session" && sidebars() === 0 ? shown() : undefined
      const state = session === undefined ? undefined : of(session)
      if (session === undefined) return ""
      const why = trouble() ?? state?.trouble
      if (why) return why
      if (!state || state.stack.length === 0) return ""
      const path = state.stack.map(({ handle, title }) => `${handle} ${title}`)
      const figures = state.window ? ` · ${state.window.told}` : ""
      const room = size().width - 4 - columns(figures)
      while (path.length > 1 && columns(`▶ … › ${path.join(" › ")}`) > room) path.shift()
      const begin = path.length < state.stack.length ? "… › " : ""
      return cut(`▶ ${begin}${path.join(" › ")}`, room) + figures
    }
    return (
      <Safe>
        <Show when={text()}>
          <text wrapMode="none" fg={colour(trouble() ? "warning" : "textMuted")} onMouseUp={open}>
            {cut(`  ${text()}`, size().width - 2)}
          </text>
        </Show>
      </Safe>
    )
  }

  function close(): void {
    const back = here().params?.["back"] as Place | undefined
    api.route.navigate(back?.name ?? "home", back?.params)
  }

  /** Whether OpenCode asks something, of a subagent's too, which a screen of ours would hide. */
  function asked(): boolean {
    const sessions = new Set([shown(), ...[tree(), state()].flatMap((it) => it?.rows.map((row) => row.session) ?? [])])
    const { permission, question } = api.state.session
    return [...sessions].some((session) =>
      session ? [permission, question].some((list) => (attempt(() => list(session)) ?? []).length > 0) : false,
    )
  }

  function open(): void {
    attempt(() => api.ui.dialog.clear())
    const back = here()
    if (back.name === ROUTE) return
    if (shown() === undefined) return void say("info", "Begin or open a session first: its frames are shown over it")
    if (attempt(asked)) return void say("warning", "Answer OpenCode's question first")
    api.route.navigate(ROUTE, { back })
  }

  function goBack(): void {
    const place = left.pop()
    if (place) api.route.navigate(place.name, place.params)
    else say("info", "There is no session to go back to")
  }

  function goTo(session: string | null | undefined): void {
    if (!session) return void say("warning", "No session has worked on this frame")
    if (!attempt(() => api.state.session.get(session)))
      return void api.client.session
        .get({ sessionID: session })
        .then((found: any) => (found?.data ? arrive(session) : say("warning", "OpenCode has no such session")))
        .catch(() => say("warning", "OpenCode has no such session"))
    arrive(session)
  }

  function arrive(session: string): void {
    const from = shown()
    if (from !== undefined && from !== session) left.push({ name: "session", params: { sessionID: from } })
    api.route.navigate("session", { sessionID: session })
  }

  function perform(action: Action, given: Json, then: () => void): void {
    const params = { operation: action.operation, arguments: { ...action.arguments, ...given } }
    backEnd
      .request("run", params, RUN_MS)
      .then((answer) => {
        say("success", String(answer?.title ?? "done"))
        then()
      })
      .catch((error) => say("error", reason(error)))
  }

  function choose(frame: Described, then: () => void): void {
    const { DialogSelect, DialogPrompt } = api.ui
    const run = (action: Action) => {
      const { asks } = action
      if (!asks) {
        api.ui.dialog.clear()
        return perform(action, {}, then)
      }
      const confirm = (text: string) => {
        if (!text.trim() && !asks.optional) return
        api.ui.dialog.clear()
        perform(action, text.trim() ? { [asks.argument]: text } : {}, then)
      }
      api.ui.dialog.replace(() => (
        <Safe>
          <DialogPrompt title={action.title} placeholder={asks.question} onConfirm={confirm} />
        </Safe>
      ))
    }
    const options = frame.actions.map((action) => ({ title: action.title, value: action }))
    api.ui.dialog.replace(() => (
      <Safe>
        <DialogSelect title={`Frame ${frame.handle}`} options={options} onSelect={(option: any) => run(option.value)} />
      </Safe>
    ))
  }

  const Tree = () => {
    const [chosen, setChosen] = createSignal<string>()
    const [frame, setFrame] = createSignal<Described>()
    const [scroll, setScroll] = createSignal(0)
    // Until the whole tree is there, the sidebar's part of it is shown.
    const drawn = () => (tree()?.session === shown() ? tree() : of(shown() ?? ""))
    const rows = () => drawn()?.rows ?? []
    const at = () => {
      const named = rows().findIndex((row) => row.handle === chosen())
      return named >= 0 ? named : Math.max(0, rows().findIndex((row) => row.active))
    }
    const row = () => rows()[at()]
    const height = () => Math.max(3, size().height - 7)
    const first = () => Math.max(0, Math.min(at() - (height() >> 1), rows().length - height()))
    const visible = () => rows().slice(first(), first() + height())
    const lines = () => (frame()?.text ?? "").split("\n")
    const text = () => lines().slice(scroll(), scroll() + height())
    const move = (by: number) => {
      if (frame()) setScroll(Math.max(0, Math.min(scroll() + by, lines().length - height())))
      else setChosen(rows()[Math.max(0, Math.min(at() + by, rows().length - 1))]?.handle)
    }
    const described = (then: (frame: Described) => void) => {
      const handle = frame()?.handle ?? row()?.handle
      if (!handle) return
      backEnd
        .request("frame", { frame: handle })
        .then((answer) => (isDescribed(answer) ? then(answer) : say("error", "callstack's answer can't be read")))
        .catch((error) => say("error", reason(error)))
    }
    const look = () =>
      described((answer) => {
        setScroll(0)
        setFrame(answer)
      })
    const leave = () => (frame() ? setFrame(undefined) : close())
    const bound: [string, () => unknown][] = [
      ["escape", leave],
      ["q", leave],
      ["up", () => move(-1)],
      ["k", () => move(-1)],
      ["down", () => move(1)],
      ["j", () => move(1)],
      ["pageup", () => move(-height())],
      ["pagedown", () => move(height())],
      ["home", () => move(-Infinity)],
      ["end", () => move(Infinity)],
      ["return", look],
      ["g", () => goTo(frame()?.session ?? row()?.session)],
      ["b", goBack],
      // An action on a frame that is shown changes its page.
      ["a", () => described((answer) => choose(answer, () => frame() && look()))],
    ]
    const bindings = bound.map(([key, work]) => ({ key, cmd: () => void attempt(work) }))
    const dispose = attempt(() => api.keymap.registerLayer({ mode: "base", priority: 10, bindings } as any))
    onCleanup(() => attempt(() => (dispose as any)?.()))
    return (
      <box paddingLeft={2} paddingRight={2} paddingTop={1}>
        <Safe>
          <text fg={colour("text")}>
            <b>{frame() ? `Frame ${frame()?.handle}` : "Frames"}</b>
          </text>
          <Trouble state={drawn()} />
          <Show
            when={frame()}
            fallback={
              <box height={height()}>
                <Show when={drawn() && rows().length === 0 && !drawn()?.trouble}>
                  <text fg={colour("textMuted")}>none yet</text>
                </Show>
                <For each={visible()}>
                  {(row) => (
                    <Line
                      row={row}
                      width={size().width - 4}
                      on={row.handle === rows()[at()]?.handle}
                      press={() => setChosen(row.handle)}
                    />
                  )}
                </For>
              </box>
            }
          >
            <box height={height()}>
              <For each={text()}>
                {(line) => (
                  <text wrapMode="none" fg={colour("text")}>
                    {cut(line, size().width - 4) || " "}
                  </text>
                )}
              </For>
            </box>
          </Show>
          <text fg={colour("textMuted")} wrapMode="none">
            {cut(frame() ? "esc back  ↑↓ scroll  a act  g go to its session" : KEYS, size().width - 4)}
          </text>
          <Show when={drawn()?.window}>
            {(window: any) => (
              <text fg={colour("textMuted")}>{cut(`next request: ${window().told}`, size().width - 4)}</text>
            )}
          </Show>
        </Safe>
      </box>
    )
  }

  attempt(() =>
    api.slots.register({
      order: 50,
      slots: {
        sidebar_content: (_: any, p: any) => <Sidebar session={p.session_id} />,
        app_bottom: () => <Strip />,
      },
    } as any),
  )
  attempt(() => api.route.register([{ name: ROUTE, render: () => <Tree /> }]))
  const commands = [
    { name: "callstack.open", title: "Open the tree of frames", slashName: "frames", run: open },
    { name: "callstack.back", title: "Go back from a frame's session", run: goBack },
  ]
  const listed = attempt(() => {
    const shared = { category: "Callstack", namespace: "palette" }
    api.keymap.registerLayer({ commands: commands.map((command) => ({ ...command, ...shared })) } as any)
    api.keymap.registerLayer({
      mode: "base",
      bindings: [{ key: "<leader>k", cmd: "callstack.open", desc: "Open the tree of frames" }],
    } as any)
    return true
  })
  // Releases before the keymap list commands in another way.
  if (!listed)
    attempt(() =>
      api.command?.register(() =>
        commands.map(({ name, title, run }) => ({ title, value: name, category: "Callstack", onSelect: () => run() })),
      ),
    )

  createRoot((dispose) => {
    createEffect(() => {
      const [session, all] = [attempt(shown), attempt(here)?.name === ROUTE]
      if (session === undefined) return
      const directory = attempt(() => (api.state.session.get(session) as any)?.directory)
      backEnd.watch(directory || api.state.path.directory, { session, all })
    })
    createEffect(() => {
      if (attempt(here)?.name === ROUTE && attempt(asked)) attempt(close)
    })
    attempt(() => api.lifecycle.onDispose(dispose))
  })
  for (const type of ["permission.asked", "question.asked"])
    attempt(() => api.event.on(type as any, () => void (here().name === ROUTE && attempt(close))))
  // The figures of a request come with a message, not with an event of callstack's own.
  attempt(() => api.event.on("session.idle", () => backEnd.look()))
  attempt(() => api.event.on("message.updated", (event: any) => event?.properties?.info?.time?.completed && backEnd.look()))
  attempt(() => (api.renderer as any).on("resize", () => setSize(measured())))
  attempt(() => api.lifecycle.onDispose(() => backEnd.close()))
}

const plugin: TuiPluginModule & { id: string } = {
  id: "callstack",
  tui: async (api) => {
    start(api)
  },
}
export default plugin
