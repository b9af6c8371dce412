#!/usr/bin/env node
// Starts the program that the package for this machine holds.
"use strict"
const { spawn } = require("node:child_process")

const holder = `${require("../package.json").name}-${process.platform}-${process.arch}`

function find() {
  try {
    return require.resolve(`${holder}/bin/callstack`)
  } catch {
    console.error(`callstack: the package ${holder} is not installed.`)
    console.error("Install it beside this one: npm leaves it out with --omit=optional, and where only this file was named.")
    console.error("Where there is no such package, build from source with cargo.")
    return undefined
  }
}

const program = find()
if (!program) process.exit(1)

// A terminal sends these to the program itself; whoever signals this process means the program.
for (const signal of ["SIGINT", "SIGQUIT"]) process.on(signal, () => {})
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" })
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal))
child.on("error", (error) => {
  console.error(`callstack: ${program} can't be started: ${error.message}`)
  process.exit(1)
})
child.on("exit", (code, signal) => {
  if (!signal) process.exit(code)
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
})
