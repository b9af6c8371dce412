// Writes the npm packages into a folder: `node package.js FOLDER VERSION BINARY MAN`. The main one has a launcher and
// the manual pages, the other one the program for this machine. npm installs the one that fits.
"use strict"
const fs = require("node:fs")
const path = require("node:path")

const NAME = "callstack-cli"
/** What there is a package for, as npm names systems and processors. */
const MACHINES = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"]

const [folder, version, binary, man] = process.argv.slice(2)
const root = path.join(__dirname, "../..")
const machine = `${process.platform}-${process.arch}`
if (!MACHINES.includes(machine)) throw new Error(`there is no package for ${machine}`)

const common = { version, license: "MIT OR Apache-2.0" }

function write(name, manifest, files) {
  const to = path.join(folder, name)
  fs.rmSync(to, { recursive: true, force: true })
  for (const licence of ["LICENSE-MIT", "LICENSE-APACHE"]) files.push([path.join(root, licence), licence])
  for (const [from, inside, mode] of files) {
    const file = path.join(to, inside)
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.copyFileSync(from, file)
    fs.chmodSync(file, mode ?? 0o644)
  }
  const text = JSON.stringify({ name, ...manifest, ...common }, null, 2)
  fs.writeFileSync(path.join(to, "package.json"), text + "\n")
}

const pages = fs.readdirSync(man).sort().map((page) => `man/${page}`)
write(
  NAME,
  {
    description: "A call stack for AI coding agents: finished work leaves what the model is sent, and stays on your disk",
    keywords: ["agent", "context", "llm", "opencode"],
    bin: { callstack: "bin/callstack.js" },
    man: pages,
    engines: { node: ">=18" },
    optionalDependencies: Object.fromEntries(MACHINES.map((it) => [`${NAME}-${it}`, version])),
  },
  [
    [path.join(__dirname, "callstack.js"), "bin/callstack.js", 0o755],
    [path.join(root, "README.md"), "README.md"],
    ...pages.map((page) => [path.join(man, path.basename(page)), page]),
  ],
)
write(
  `${NAME}-${machine}`,
  {
    description: `The program of ${NAME} for ${machine}`,
    os: [process.platform],
    cpu: [process.arch],
    // It is linked against the C library that it was built with.
    ...(process.platform === "linux" ? { libc: ["glibc"] } : {}),
    preferUnplugged: true,
  },
  [[binary, "bin/callstack", 0o755]],
)
