/**
 * The plugin with a clock around every hook. Durations go to the file CALLSTACK_BENCH_OUT, one JSON array a line:
 * hook, session, milliseconds until the hook returned or its promise was settled, messages (for messages.transform).
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
      try {
        return await hook(input, output)
      } finally {
        lines.push(JSON.stringify([name, session, performance.now() - start, messages]) + "\n")
        if (input?.event?.type === "session.idle") flush()
      }
    }
  }
  return hooks
}
