#!/usr/bin/env node
// Stands in for `callstack host opencode`: a pipe between its stdio and the test, which plays the child.
import { connect } from "node:net"

const socket = connect(Number(process.env.FAKE_HOST_PORT), "127.0.0.1")
socket.write(JSON.stringify({ pid: process.pid }) + "\n")
process.stdin.pipe(socket)
socket.pipe(process.stdout)
socket.on("close", () => process.exit(3))
process.stdin.on("end", () => socket.end(() => process.exit(0)))
