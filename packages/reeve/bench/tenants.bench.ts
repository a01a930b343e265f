/**
 * Tenant isolation: a victim reads, lists, registers, follows events and a log, alone and during
 * attacks by another token on the same server.
 *
 *   npm run bench -- tenants [--quick] [--only=plan,parse] [--list] [--json=FILE] [--priority]
 *
 * docs/contributing/tenant-isolation.md explains the tables.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, constants, loadavg, setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fixed, printTable } from './measure.ts'
import { startBareServer } from './program.ts'
import type { Attack } from './tenants/attack.ts'
import { attacks, CONTROL } from './tenants/attacks/index.ts'
import { IsolationRun } from './tenants/isolation-run.ts'
import { printProgress, printReport, type Row } from './tenants/report.ts'

/** The first signal ends the run after the current attack, a second one at once. */
const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => (interrupted.signal.aborted ? process.exit(1) : interrupted.abort()))

if (process.argv.includes('--priority')) await raisePriority()
if (process.argv.includes('--list')) listAttacks()
else await run(selected())

/** Inherited by all children; the attacker lowers its own priority again. */
async function raisePriority(): Promise<void> {
  const priority = constants.priority.PRIORITY_ABOVE_NORMAL
  setPriority(priority)
  // With autogroups, a priority only counts within its session.
  await writeFile('/proc/self/autogroup', String(priority)).catch(() => undefined)
}

function listAttacks(): void {
  const rows = attacks.map(({ name, summary, isAnonymous }) => [
    name,
    isAnonymous === true ? 'no token' : '',
    ` ${summary}`,
  ])
  printTable(['attack', '', ''], rows)
}

function flag(name: string): string | undefined {
  const found = process.argv.find((argument) => argument.startsWith(`--${name}=`))
  return found?.slice(name.length + 3)
}

/** The control always runs, because the others are compared with it. */
function selected(): readonly Attack[] {
  const only = flag('only')?.split(',')
  if (only === undefined) return attacks
  const unknown = only.find((name) => !attacks.some((attack) => attack.name === name))
  if (unknown !== undefined) throw new Error(`There is no attack "${unknown}"; see --list.`)
  return attacks.filter(({ name }) => name === CONTROL || only.includes(name))
}

/** Other load on the machine increases every latency, alone and during attacks. */
function warnOfLoad(): void {
  const [load = 0] = loadavg()
  if (load <= availableParallelism()) return
  process.stdout.write(`load average ${fixed(load)}: quote no latency of this run\n`)
}

async function run(chosen: readonly Attack[]): Promise<void> {
  warnOfLoad()
  const home = await mkdtemp(join(tmpdir(), 'reeve-bench-'))
  const bare = await startBareServer()
  const bench = await IsolationRun.start(home, bare.port)
  const rows: Row[] = []
  try {
    for (const attack of chosen) {
      if (interrupted.signal.aborted) break
      const row = await bench.measure(attack, rows[0]?.observed.victim)
      rows.push(row)
      printProgress(row)
    }
  } finally {
    process.stdout.write(`\nload average ${loadavg().map(fixed).join(' ')}\n`)
    printReport(rows)
    const file = flag('json')
    if (file !== undefined) await writeFile(file, JSON.stringify(rows, undefined, 1))
    await bench.stop()
    await bare.stop()
    await rm(home, { recursive: true, force: true })
  }
}
