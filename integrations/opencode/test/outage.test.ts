import assert from "node:assert/strict"
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { assistant, defaults, ended, staged, text, texts, TOOLS, tool, user, type Stage } from "./harness.js"

const S = "ses_1"
const names = TOOLS.map(({ name }) => name)
const hidden = Object.fromEntries(names.map((name) => [name, false]))
const history = [user(S, "msg_1", "first"), assistant(S, "msg_2", [tool("read", "x"), text("y")])]

/** Begins turns until one has the tools: a process takes longer than a turn waits to start on a busy machine. */
async function toolsAreBack(stage: Stage): Promise<void> {
  while ((await stage.turn(S)) !== undefined);
}

/** Runs the work with the sentences that a user of `opencode run` sees. */
async function overheard(work: (lines: string[]) => Promise<void>): Promise<void> {
  const lines: string[] = []
  const write = process.stderr.write
  process.stderr.write = ((line: string) => lines.push(line.trim()) > 0) as typeof process.stderr.write
  try {
    await work(lines)
  } finally {
    process.stderr.write = write
  }
}

test("a binary that is not there: no tools, nothing changed, one line", () =>
  overheard(async (lines) => {
    await staged(
      async (stage) => {
        assert.deepEqual(Object.keys(stage.hooks["tool"]), [])
        for (let turn = 0; turn < 2; turn++) {
          assert.deepEqual(await stage.turn(S), {})
          assert.deepEqual(await stage.transform(history), history)
          assert.deepEqual(await stage.system(S), ["You are"])
        }
        assert.deepEqual(lines, [
          'callstack: the binary was not found at /nowhere/callstack; this session goes on without frames (run "callstack doctor")',
        ])
        assert.deepEqual(stage.toasts, lines)
      },
      () => (process.env["CALLSTACK_BIN"] = "/nowhere/callstack"),
    )()
  }))

test("a name that is not on the path, and a file that is no program, are told apart", () =>
  overheard(async (lines) => {
    for (const binary of ["callstack-of-no-machine", new URL("../../harness.ts", import.meta.url).pathname]) {
      await staged(async (stage) => void (await stage.turn(S)), () => (process.env["CALLSTACK_BIN"] = binary))()
    }
    assert.match(lines[0]!, /"callstack-of-no-machine" was not found on the PATH;/)
    assert.match(lines[1]!, /harness\.ts could not be started \(EACCES\);/)
    assert.equal(lines.length, 2)
  }))

test("the program is the one that init has recorded in the user's state folder, else the one on the path", () =>
  overheard(async (lines) => {
    const state = mkdtempSync(join(tmpdir(), "callstack-state-"))
    mkdirSync(join(state, "callstack"))
    const record = (program: string | undefined) => {
      process.env["XDG_STATE_HOME"] = state
      if (program) writeFileSync(join(state, "callstack", "binary"), program + "\n")
      delete process.env["CALLSTACK_BIN"]
    }
    try {
      const recorded = () => record(process.env["CALLSTACK_BIN"])
      await staged(async (stage) => void (await stage.child(0)), recorded)()
      assert.deepEqual(lines, [])
      for (const gone of ["/nowhere/callstack", "bin/callstack", ""]) {
        await staged(async (stage) => void (await stage.turn(S)), () => record(gone))()
      }
      // Another user could have written it.
      const file = join(state, "callstack", "binary")
      for (const [path, mode] of [[file, 0o622], [join(state, "callstack"), 0o777]] as const) {
        const open = () => {
          recorded()
          chmodSync(path, mode)
        }
        await staged(async (stage) => void (await stage.turn(S)), open)()
        chmodSync(path, mode & 0o755)
      }
      // And so the program itself, or what is there in its place.
      const folder = join(state, "bin")
      mkdirSync(folder)
      writeFileSync(join(folder, "callstack"), "", { mode: 0o755 })
      chmodSync(folder, 0o777)
      await staged(async (stage) => void (await stage.turn(S)), () => record(join(folder, "callstack")))()
      assert.equal(lines.length, 6)
      for (const line of lines) assert.match(line, /"callstack" was not found on the PATH;/)
    } finally {
      delete process.env["XDG_STATE_HOME"]
      rmSync(state, { recursive: true })
    }
  }))

test("a crash hides the tools for the turn that begins with it, and the next turn has them back", () =>
  overheard(async (lines) => {
    await staged(async (stage) => {
      assert.equal(await stage.turn(S), undefined)
      delete stage.answers["message"]
      const crashing = stage.turn(S)
      const child = await stage.child(0)
      await child.next("message")
      await child.next("message")
      await child.crash()
      assert.deepEqual(await crashing, hidden)
      stage.answers["message"] = defaults["message"]!
      await toolsAreBack(stage)
      assert.match(lines[0]!, /^callstack: it ended \(exit code 3\); this session goes on without frames/)
      assert.deepEqual(lines.slice(1), ["callstack: it is available again"])
    })()
  }))

test("the death of an idle child is mended by the next hook, and nobody hears of it", () =>
  overheard(async (lines) => {
    await staged(async (stage) => {
      stage.answers["system"] = () => ({ texts: ["guidance"] })
      assert.deepEqual(await stage.system(S), ["You are", "guidance"])
      const child = await stage.child(0)
      process.kill(child.pid, "SIGKILL")
      await ended(child.pid)
      stage.answers["system"] = () => ({ texts: ["from the new one"] })
      await stage.system(S)
      const heir = await stage.child(1)
      await heir.next("system")
      while ((await stage.system(S))[1] === "guidance");
      assert.deepEqual(await stage.system(S), ["You are", "from the new one"])
      assert.deepEqual(lines, [])
    })()
  }))

test("what stood in the system prompt stays there while the child is late or dead", () =>
  overheard(async () => {
    await staged(async (stage) => {
      stage.answers["system"] = ({ params }) => ({ texts: params["head"] === "title" ? [] : ["guidance"] })
      assert.deepEqual(await stage.system(S), ["You are", "guidance"])
      assert.deepEqual(await stage.system(S, "title"), ["title"])
      delete stage.answers["system"]
      assert.deepEqual(await stage.system(S), ["You are", "guidance"])
      assert.deepEqual(await stage.system(S, "title"), ["title"])
      assert.deepEqual(await stage.system("ses_2"), ["You are"])
    })()
  }))

test("a call whose process ends before it has answered is made again, once", () =>
  overheard(async (lines) => {
    await staged(async (stage) => {
      await stage.turn(S)
      const child = await stage.child(0)
      const call = stage.tool("stack_frame_push", { title: "t" }, "call_1")
      const first = await child.next("tool")
      assert.equal(first.params["again"], undefined)
      await child.crash()
      const heir = await stage.child(1)
      const second = await heir.next("tool")
      assert.deepEqual(second.params, { ...first.params, again: true })
      heir.answer(second, { output: "pushed", title: "t", metadata: {} })
      assert.equal((await call)["output"], "pushed")
      assert.deepEqual(lines, [])
      const fatal = stage.tool("stack_frame_push", { title: "t" }, "call_2")
      await heir.next("tool")
      await heir.crash()
      const last = await stage.child(2)
      await last.next("tool")
      await last.crash()
      assert.match((await fatal)["output"], /^callstack is not available just now \(it ended/)
    })()
  }))

test("a child that hangs is killed after five seconds and followed by another", () =>
  overheard(async (lines) => {
    await staged(async (stage) => {
      await stage.turn(S)
      const child = await stage.child(0)
      await stage.transform(history)
      process.kill(child.pid, "SIGSTOP")
      const started = performance.now()
      assert.deepEqual(await stage.transform(history), history)
      assert.ok(performance.now() - started < 1_000)
      const answer = await stage.tool("stack_frame_pop", {})
      assert.equal(
        answer["output"],
        "callstack is not available just now (it did not answer for 5 s). Go on without frames; the work is not affected.",
      )
      await ended(child.pid)
      await toolsAreBack(stage)
      assert.match(lines[0]!, /it did not answer for 5 s;/)
      assert.equal(lines.length, 2)
    })()
  }))

test("one that does not greet is started again after ever longer pauses, by a turn at once", () =>
  overheard(async (lines) => {
    await staged(
      async (stage) => {
        assert.deepEqual(await stage.turn(S), {})
        const first = await stage.child(1)
        first.refuse(await first.next("hello"), "the store is of a newer version", "update callstack")
        await ended(first.pid)
        const begun = stage.children.length
        await stage.transform(history)
        await stage.system(S)
        assert.equal(stage.children.length, begun)
        const again = stage.turn(S)
        const second = await stage.child(begun)
        second.answer(await second.next("hello"), { protocol: 2, tools: [] })
        assert.deepEqual(await again, {})
        assert.match(lines[0]!, /^callstack: it did not answer within 0.25 s;/)
        assert.equal(lines.length, 1)
      },
      (stage) => void delete stage.answers["hello"],
    )()
  }))

test(
  "garbage, half lines, lines in one piece and lines of a megabyte",
  staged(async (stage) => {
    const child = await stage.child(0)
    delete stage.answers["sync"]
    const long = "é".repeat(1 << 20)
    const call = stage.transform(history)
    const request = await child.next("sync")
    child.raw('\n\nnot json\n{"half":\nnull\n[]\n42\n{"id":99999,"result":{}}\n{"result":{}}\n')
    const line = JSON.stringify({ id: request.id, result: { serial: 1, keep: 0, ops: [{ op: "append", message: "msg_1", text: long }] } })
    child.raw(line.slice(0, 10))
    child.raw(line.slice(10, 70_000))
    child.raw(line.slice(70_000) + '\n{"id":77777,"res')
    assert.deepEqual(texts((await call)[0]), ["first", long])
    child.raw('ult":0}\n')
    assert.deepEqual(await stage.system(S), ["You are"])
    assert.equal(stage.children.length, 1)
  }),
)

test("the end of the plugin is the end of its process, even of a stopped one", async () => {
  for (const signal of ["SIGCONT", "SIGSTOP"] as const) {
    let pid = 0
    await staged(async (stage) => {
      await stage.turn(S)
      pid = (await stage.child(0)).pid
      process.kill(pid, signal)
    })()
    await ended(pid)
    assert.ok(!existsSync(`/proc/${pid}`))
  }
})
