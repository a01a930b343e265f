/**
 * What every npm script runs first: sets the checkout up when needed, then runs the command on the
 * pinned runtime. Plain JavaScript for any Node from 20 on, because nothing is installed yet.
 */
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const NODE_MAJOR_MIN = 20
const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))

/** Each command gives the argument lists to run in order; the first that fails ends it. */
const commands = {
  start: (args) => [['bin/reeve', 'agent', '--dev', ...args]],
  test: (args) => [['tools/test.mjs', ...args]],
  check: (args) => [['tools/check.mjs', ...args]],
  tidy: (args) => [['tools/tidy.ts', ...args]],
  arrows: (args) => [['tools/arrows.ts', ...args]],
  bench: (args) => findBenches(args),
  sim: (args) => [['packages/reeve/sim/run.ts', ...args]],
  faults: (args) =>
    ['cluster-faults', 'cluster-failover'].map((name) => [
      `packages/reeve/test/e2e/${name}.test.ts`,
      ...args,
    ]),
  proof: (args) => [['tools/proof.ts', ...args]],
  format: (args) => [['node_modules/oxfmt/bin/oxfmt', ...args]],
}

function findBenches(names) {
  const folder = 'packages/reeve/bench'
  const suffix = '.bench.ts'
  const known = readdirSync(path.join(root, folder))
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

function needsPostgres(name, args) {
  if (name === 'faults' || name === 'proof') return true
  return name === 'test' && args.every((filter) => /postgres|storage|cluster/.test(filter))
}

function fail(message) {
  process.stderr.write(`${message}\n`)
  process.exit(2)
}

async function main([name, ...args]) {
  if (Number.parseInt(process.versions.node, 10) < NODE_MAJOR_MIN)
    fail(
      `Reeve needs Node ${NODE_MAJOR_MIN} or newer to set itself up; this is ${process.version}.`,
    )
  if (!Object.hasOwn(commands, name ?? ''))
    fail(`Usage: node tools/bootstrap.mjs <${Object.keys(commands).join('|')}> [arguments]`)

  const { setUp } = await import('./setup/run.mjs')
  if (!(await setUp(root))) process.exit(1)
  if (name === 'test' && args.every((filter) => /docker|podman/.test(filter))) {
    const { setUpContainers } = await import('./setup/containers.mjs')
    await setUpContainers(root)
  }
  if (needsPostgres(name, args)) {
    const { setUpPostgres } = await import('./setup/postgres.mjs')
    await setUpPostgres(root)
  }
  if (name === 'test' && args.every((filter) => /web|browser/.test(filter))) {
    const { setUpBrowser } = await import('./setup/web-browser.mjs')
    await setUpBrowser(root)
  }

  const { default: child } = await import('./setup/child.cjs')
  const { ALLOCATOR_SETTINGS, findRuntime, programFlags, MISSING_RUNTIME } =
    await import('./setup/runtime.cjs')
  const runtime = findRuntime(root) ?? fail(MISSING_RUNTIME)
  for (const [script, ...rest] of commands[name](args)) {
    const file = path.join(root, script)
    const flags = name === 'start' ? programFlags(root, runtime) : []
    const settings = name === 'start' ? ALLOCATOR_SETTINGS : {}
    const outcome = await child.runChild(runtime, [...flags, file, ...rest], {
      // `start` keeps the caller's folder, so that the paths in its flags mean what they say there.
      cwd: name === 'start' ? (process.env.INIT_CWD ?? process.cwd()) : root,
      env: { ...settings, ...process.env },
    })
    if (outcome.code !== 0) return child.endLike(outcome)
  }
}

await main(process.argv.slice(2))
