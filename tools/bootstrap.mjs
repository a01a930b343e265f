/**
 * Entry of every npm script: installs what the command needs, then runs it on the pinned runtime.
 * Plain JavaScript for any Node from 20 on, because nothing is installed yet.
 */
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { install, InstallFailure } from './install.mjs'

/** Runs this file. */
const NODE_MAJOR_MIN = 20
/** Runs the TypeScript sources, and the program. */
const RUNTIME_MAJOR_MIN = 26
const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))
const PINNED = path.join(root, 'node_modules/node/bin/node')
/** Marks a machine on which the pinned runtime does not start; `bin/reeve` checks it. */
const UNUSABLE = path.join(root, 'node_modules/.cache/reeve/runtime-unusable')
const PROGRAM = 'packages/reeve/dist/reeve.js'
const SOURCES = 'packages/reeve/src/main/reeve.ts'

/**
 * The scripts to run in order; the first that fails ends the command. `dev`: needs the packages of
 * development. `built`: needs the program and the web UI. `here`: runs in the caller's directory,
 * so that paths in its arguments mean what they say there.
 */
const commands = {
  start: { built: true, here: true, run: (args) => [['agent', '--dev', ...args]] },
  reeve: { built: true, here: true, run: (args) => [args] },
  dev: { here: true, run: (args) => [[SOURCES, ...(args.length > 0 ? args : ['agent', '--dev'])]] },
  build: { run: (args) => [['tools/build.ts', '--force', ...args]] },
  test: { dev: true, built: true, run: (args) => [['tools/test.ts', ...args]] },
  check: { dev: true, run: (args) => [['tools/check.ts', ...args]] },
  tidy: { dev: true, run: (args) => [['tools/tidy.ts', ...args]] },
  arrows: { dev: true, run: (args) => [['tools/arrows.ts', ...args]] },
  reference: { dev: true, run: (args) => [['tools/reference.ts', ...args]] },
  bench: { dev: true, built: true, run: findBenches },
  sim: { dev: true, run: (args) => [['packages/reeve/sim/run.ts', ...args]] },
  faults: {
    dev: true,
    built: true,
    run: (args) =>
      ['cluster-faults', 'cluster-failover'].map((name) => [
        `packages/reeve/test/e2e/${name}.test.ts`,
        ...args,
      ]),
  },
  release: { dev: true, here: true, run: (args) => [['tools/release.ts', ...args]] },
  'release-check': { dev: true, here: true, run: (args) => [['tools/release-check.ts', ...args]] },
  'release-prepare': {
    dev: true,
    run: (args) => [['tools/release-prepare.ts', ...args]],
  },
  'release-figures': {
    dev: true,
    built: true,
    here: true,
    run: (args) => [['tools/release-figures.ts', ...args]],
  },
  proof: { dev: true, built: true, run: (args) => [['tools/proof.ts', ...args]] },
  format: { dev: true, run: (args) => [['node_modules/oxfmt/bin/oxfmt', ...args]] },
}

function findBenches(names) {
  const folder = 'packages/reeve/bench'
  const suffix = '.bench.ts'
  const known = fs
    .readdirSync(path.join(root, folder))
    .filter((file) => file.endsWith(suffix))
    .map((file) => file.slice(0, -suffix.length))
    .toSorted()
  const isFlag = (name) => name.startsWith('-')
  const flags = names.filter(isFlag)
  if (flags.includes('--help')) {
    process.stdout.write(`Usage: npm run bench -- [NAME …] [--quick]\nKnown: ${known.join(', ')}\n`)
    return []
  }
  const wanted = names.filter((name) => !isFlag(name))
  const unknown = wanted.find((name) => !known.includes(name))
  if (unknown !== undefined) fail(`There is no benchmark "${unknown}". Known: ${known.join(', ')}`)
  if (known.length === 0) fail(`There are no benchmarks in ${folder}.`)
  return (wanted.length > 0 ? wanted : known).map((name) => [
    `${folder}/${name}${suffix}`,
    ...flags,
  ])
}

function fail(message, code = 2) {
  process.stderr.write(`${message}\n`)
  process.exit(code)
}

/** Returns the pinned runtime if it starts, or else this Node if it is new enough. */
function findRuntime() {
  const { status, stderr, error } = spawnSync(PINNED, ['--version'], { encoding: 'utf8' })
  if (status === 0) {
    fs.rmSync(UNUSABLE, { force: true })
    return PINNED
  }
  const said = (stderr ?? '').trim()
  if (error === undefined) {
    fs.mkdirSync(path.dirname(UNUSABLE), { recursive: true })
    fs.writeFileSync(UNUSABLE, said)
  }
  if (Number.parseInt(process.versions.node, 10) >= RUNTIME_MAJOR_MIN) return process.execPath
  return fail(explainRuntime(said), 1)
}

/** Packages of the system by missing library. */
const PACKAGES = {
  'libatomic.so.1':
    'Debian, Ubuntu: apt-get install libatomic1; Fedora, RHEL: dnf install libatomic',
  'libstdc++.so.6':
    'Debian, Ubuntu: apt-get install libstdc++6; Fedora, RHEL: dnf install libstdc++',
}

function explainRuntime(said) {
  const or = `or install Node ${RUNTIME_MAJOR_MIN} or newer, which is used instead.`
  const library = /loading shared libraries: ([^:\s]+)/.exec(said)?.[1]
  if (library === undefined)
    return (
      `The runtime that Reeve brings does not start (${said || `${PINNED} is missing`}). ` +
      `Run "npm rebuild node", ${or}`
    )
  const hint = PACKAGES[library] ?? 'your distribution has a package for it'
  return (
    `The runtime that Reeve brings needs ${library}, which this machine lacks. ` +
    `Install it (${hint}), ${or}`
  )
}

async function main([name, ...args]) {
  if (Number.parseInt(process.versions.node, 10) < NODE_MAJOR_MIN)
    fail(
      `Reeve needs Node ${NODE_MAJOR_MIN} or newer to install itself; this is ${process.version}.`,
    )
  if (!Object.hasOwn(commands, name ?? ''))
    fail(`Usage: node tools/bootstrap.mjs <${Object.keys(commands).join('|')}> [arguments]`)
  const command = commands[name]
  await install(root, { dev: command.dev === true })
  const runtime = findRuntime()
  const cwd = command.here ? callerDirectory(name) : root
  if (name === 'test') await runOrEnd(runtime, ['tools/machine.ts'], root)
  if (command.built) {
    await runOrEnd(runtime, ['tools/build.ts'], root)
    // Tests and benchmarks start this build; without it, the sources.
    if (command.dev) process.env.REEVE_TEST_PROGRAM = path.join(root, PROGRAM)
  }
  const isProgram = name === 'start' || name === 'reeve'
  for (const [script, ...rest] of command.run(args))
    if (!isProgram) await runOrEnd(runtime, [path.join(root, script), ...rest], cwd)
    // bin/reeve knows the flags of the pinned runtime.
    else if (runtime === PINNED)
      await runOrEnd(path.join(root, 'bin/reeve'), [script, ...rest], cwd)
    else await runOrEnd(runtime, [path.join(root, PROGRAM), script, ...rest], cwd)
}

/** npm runs scripts in the root; `bin/reeve` may itself be run by some script of npm. */
function callerDirectory(name) {
  return name === 'reeve' ? process.cwd() : (process.env.INIT_CWD ?? process.cwd())
}

/** Runs a program, forwards signals to it and exits with its status. */
async function runOrEnd(file, args, cwd) {
  const child = spawn(
    file,
    args.filter((arg) => arg !== undefined),
    { stdio: 'inherit', cwd },
  )
  const hasTerminal = process.stdin.isTTY === true || process.stderr.isTTY === true
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(signal, () => {
      // A terminal sends Ctrl-C to the whole group: a second one would read as "stop at once".
      if (signal !== 'SIGINT' || !hasTerminal) child.kill(signal)
    })
  const { code, signal } = await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (endCode, endSignal) => resolve({ code: endCode, signal: endSignal }))
  })
  for (const one of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(one)
  if (signal !== null) {
    process.exitCode = 128 + os.constants.signals[signal]
    process.kill(process.pid, signal)
  } else if (code !== 0) process.exit(code)
}

try {
  await main(process.argv.slice(2))
} catch (error) {
  if (!(error instanceof InstallFailure)) throw error
  fail(error.message, 1)
}
