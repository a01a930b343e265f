/**
 * Simulated clusters with faults. `npm run sim -- --seed 7 --verbose` repeats one seed, `--seeds
 * 1..2000` runs many, `--minutes 5` runs seeds from `--seed` on for that time, `--cluster` uses
 * three servers on one database, `--losses` a database that loses commits, `--clocks` clocks that
 * jump, `--cluster --clocks` jumping clocks with three servers only. See
 * docs/contributing/simulation.md.
 */
import { parseArgs } from 'node:util'
import { errorMessage } from '@reeve/kit/fault.ts'
import { simulateLoss } from './cluster/loss-world.ts'
import { Experiment } from '../test/build/experiment.ts'
import {
  clockOptionsOf,
  clusterOptionsOf,
  defaultOptionsOf,
  simulate,
  type SimulationOptions,
  type SimulationResult,
  smallOptionsOf,
} from './simulation.ts'

const USAGE = `Usage: npm run sim -- [--seed N [--minutes M] | --seeds A..B] [--steps M] [--nodes K] [--small] [--cluster [--clocks] | --losses | --clocks] [--twice] [--verbose]`
const PROGRESS_EVERY = 100

const OPTIONS = {
  seed: { type: 'string' },
  seeds: { type: 'string' },
  minutes: { type: 'string' },
  steps: { type: 'string' },
  nodes: { type: 'string' },
  verbose: { type: 'boolean', default: false },
  twice: { type: 'boolean', default: false },
  small: { type: 'boolean', default: false },
  cluster: { type: 'boolean', default: false },
  losses: { type: 'boolean', default: false },
  clocks: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

const values = parseOptions(process.argv.slice(2))
if (values.help) {
  print(USAGE)
  process.exit(0)
}

const [from, to] = parseRange(values.seed ?? values.seeds ?? '1..200')
const experiment = Experiment.fromArguments()
const failures: SimulationResult[] = []
const totals = {
  seeds: 0,
  commits: 0,
  crashes: 0,
  allocations: 0,
  failedDeployments: 0,
  virtualMs: 0,
}
const startedMs = performance.now()

for (let seed = from; experiment.hasTime(seed - from, to - from + 1); seed++) {
  const result = await runSeed(seed)
  totals.seeds += 1
  totals.commits += result.commits
  totals.crashes += result.crashes
  totals.allocations += result.allocations
  totals.failedDeployments += result.failedDeployments
  totals.virtualMs += result.virtualMs
  experiment.count('worlds')
  experiment.count('faults', result.faults)
  experiment.count(values.losses ? 'lost commits, all reported' : 'server crashes', result.crashes)
  experiment.count('commits', result.commits)
  if (result.violation !== undefined) {
    failures.push(result)
    report(result)
  }
  if (totals.seeds % PROGRESS_EVERY === 0) print(progress())
}
print(progress())
if (failures.length > 0) print(`failed seeds: ${failures.map(({ seed }) => seed).join(' ')}`)
process.exitCode = failures.length > 0 ? 1 : 0

/** Runs every tenth world twice: both runs must give identical commits. */
async function runSeed(seed: number): Promise<SimulationResult> {
  if (values.losses) return await simulateLoss({ seed, print: values.verbose ? print : undefined })
  const options = {
    ...optionsForSeed(seed),
    ...(values.steps === undefined ? {} : { steps: parseNumber(values.steps) }),
    ...(values.nodes === undefined ? {} : { nodes: parseNumber(values.nodes) }),
  }
  const first = await simulate({ ...options, print: values.verbose ? print : undefined })
  if (!values.twice && seed % 10 !== 0) return first
  const second = await simulate(options)
  if (first.commitHash === second.commitHash) return first
  print(`seed ${seed}: the same seed gave other commits`)
  return { ...first, violation: first.violation ?? differentCommits(first, second) }
}

function optionsForSeed(seed: number): SimulationOptions {
  if (values.cluster) return { ...clusterOptionsOf(seed), onlyClockFaults: values.clocks }
  if (values.clocks) return clockOptionsOf(seed)
  return values.small ? smallOptionsOf(seed) : defaultOptionsOf(seed)
}

function differentCommits(first: SimulationResult, second: SimulationResult) {
  return Object.assign(new Error('same seed, same commits'), {
    invariant: 'same seed, same commits',
    first: first.commits,
    second: second.commits,
  })
}

function report({ seed, violation, tail }: SimulationResult): void {
  if (!values.verbose) for (const line of tail) print(line)
  print(`seed ${seed} FAILED: ${violation?.message}`)
  const kinds = ['small', 'cluster', 'losses', 'clocks'] as const
  const flags = kinds.map((kind) => (values[kind] ? ` --${kind}` : '')).join('')
  print(`again: npm run sim -- --seed ${seed}${flags} --verbose\n`)
}

function progress(): string {
  const seconds = (performance.now() - startedMs) / 1_000
  const hours = totals.virtualMs / 3_600_000
  return `${totals.seeds} seeds, ${failures.length} failed, ${totals.commits} commits, ${totals.crashes} crashes, ${totals.failedDeployments} failed deployments, ${hours.toFixed(1)} h lived in ${seconds.toFixed(1)} s`
}

function parseOptions(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS }).values
  } catch (thrown) {
    return exitWithUsage(errorMessage(thrown))
  }
}

function exitWithUsage(reason: string): never {
  process.stderr.write(`${reason}\n${USAGE}\n`)
  process.exit(2)
}

function parseRange(text: string): readonly [number, number] {
  const [first = '', last = first] = text.split('..')
  return [parseNumber(first), parseNumber(last)]
}

function parseNumber(text: string): number {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number >= 0) return number
  return exitWithUsage(`"${text}" is not a whole number.`)
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
