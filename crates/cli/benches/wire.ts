/**
 * Tools that answer as recorded. The file CALLSTACK_BENCH_RECORDED names the tools, defined as OpenCode's own are, and
 * what each call was answered, by the call's id.
 */
import { readFileSync } from "node:fs"

export const Recorded = async () => {
  const { tools, answers } = JSON.parse(readFileSync(process.env["CALLSTACK_BENCH_RECORDED"]!, "utf8"))
  const execute = async (_: unknown, context: any) => {
    const { output, failed, exit } = answers[context.callID]
    if (failed) throw new Error(output)
    return { title: "", output, metadata: exit === undefined ? {} : { exit } }
  }
  const stub = ([name, { description }]: [string, any]) => [name, { description, args: {}, execute }]
  return {
    tool: Object.fromEntries(Object.entries<any>(tools).map(stub)),
    "tool.definition": async ({ toolID }: any, output: any) => {
      if (tools[toolID]) output.jsonSchema = tools[toolID].parameters
    },
  }
}
