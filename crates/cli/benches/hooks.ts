/**
 * The plugin with a clock around every hook. Durations go to the file CALLSTACK_BENCH_OUT, one JSON array a line:
 * hook, session, milliseconds until the hook's promise was settled, messages (for messages.transform), milliseconds
 * until it first gave the thread away.
 */
import { appendFileSync } from "node:fs"
import { Callstack } from "../callstack/callstack.ts"

const lines: string[] = []
const flush = () => void appendFileSync(process.env["CALLSTACK_BENCH_OUT"]!, lines.splice(0).join(""))

export const Timed = async (context: any) => {
  const hooks: any = await Callstack(context)
  for (const [name, hook] of Object.entries<any>(hooks)) {
    if (typeof hook !== "function" || name === "dispose") continue
    hooks[name] = async (input: any, output: any) => {
      const messages = output?.messages?.length
      const session = input?.sessionID ?? output?.messages?.[0]?.info.sessionID ?? input?.event?.properties?.sessionID
      const start = performance.now()
      let own = 0
      try {
        const settled = hook(input, output)
        own = performance.now() - start
        return await settled
      } finally {
        lines.push(JSON.stringify([name, session, performance.now() - start, messages, own]) + "\n")
        if (input?.event?.type === "session.idle") flush()
      }
    }
  }
  return hooks
}
