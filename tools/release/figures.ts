/** Figures of an installed release beside those of the checkout, taken in turns in one run. */
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { REPOSITORY_ROOT as root } from '../source/finding.ts'
import { waitFor, withAgent, withTempFolder, writeJob, type RunningAgent } from './checks/agent.ts'

/** Starts in turns: the load of the machine falls on both. */
const STARTS = 25
const AGENT_STARTS = 5

export interface Ratio {
  readonly name: string
  readonly releaseMs: number
  readonly checkoutMs: number
  readonly ratio: number
}

export interface Measured {
  readonly name: string
  readonly unit: string
  readonly release: number
  /** Undefined where a checkout has no such thing. */
  readonly checkout: number | undefined
}

const COMMANDS = [['version'], ['job', 'status', '--help']] as const

const CHECKOUT = join(root, 'bin/reeve')

/**
 * The processor time of commands that need no server, against the checkout's last build: unlike the
 * wall time it hardly depends on the load of the machine.
 */
export function startUpRatios(installation: string): readonly Ratio[] {
  const release = join(installation, 'bin/reeve')
  return COMMANDS.map((args) => {
    const times = new Map<string, number[]>([
      [release, []],
      [CHECKOUT, []],
    ])
    // The first start of each reads its files from the disk.
    for (let turn = 0; turn <= STARTS; turn += 1)
      for (const [program, taken] of times) {
        const ms = timeOf(program, args)
        if (turn > 0) taken.push(ms)
      }
    const releaseMs = mean(times.get(release) ?? [])
    const checkoutMs = mean(times.get(CHECKOUT) ?? [])
    return { name: args.join(' '), releaseMs, checkoutMs, ratio: releaseMs / checkoutMs }
  })
}

const TICK_MS = 10

/** Processor time of all children of this process that have ended, in milliseconds. */
function childrenMs(): number {
  const [, fields = ''] = fs.readFileSync('/proc/self/stat', 'utf8').split(') ')
  const numbers = fields.split(' ').map(Number)
  // After the name: the state is field 3 of the line, times of children are 16 and 17.
  return ((numbers[13] ?? 0) + (numbers[14] ?? 0)) * TICK_MS
}

function timeOf(program: string, args: readonly string[]): number {
  const startedMs = childrenMs()
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}: ${stderr}`)
  return childrenMs() - startedMs
}

/** Of times that the kernel counts in steps of 10 ms. */
function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

/** All figures of a release: `archive` is its tarball and `installation` the same unpacked. */
export async function measureRelease(
  archive: string,
  installation: string,
): Promise<readonly Measured[]> {
  const starts = startUpRatios(installation).map(({ name, releaseMs, checkoutMs }): Measured => ({
    name: `reeve ${name}, processor time`,
    unit: 'ms',
    release: releaseMs,
    checkout: checkoutMs,
  }))
  const programs = { release: join(installation, 'bin/reeve'), checkout: CHECKOUT }
  const taken: Record<keyof typeof programs, AgentFigures[]> = { release: [], checkout: [] }
  for (let turn = 0; turn < AGENT_STARTS; turn += 1) {
    taken.release.push(await measureAgents(programs.release))
    taken.checkout.push(await measureAgents(programs.checkout))
  }
  const each = (name: string, unit: string, of: (one: AgentFigures) => number): Measured => ({
    name,
    unit,
    release: median(taken.release.map(of)),
    checkout: median(taken.checkout.map(of)),
  })
  return [
    { name: 'download', unit: 'MB', release: sizeOf(archive) / 1e6, checkout: undefined },
    {
      name: 'installed',
      unit: 'MB',
      release: sizeOf(installation) / 1e6,
      checkout: checkoutSize() / 1e6,
    },
    ...starts,
    each('agent --dev until the first healthy answer', 'ms', (one) => one.readyMs),
    each('agent --dev until the first job runs', 'ms', (one) => one.runningMs),
    each('idle memory of agent --dev (server and node)', 'MB', (one) => one.bothMB),
    each('idle memory of a server', 'MB', (one) => one.serverMB),
    each('idle memory of a node', 'MB', (one) => one.nodeMB),
  ]
}

interface AgentFigures {
  readonly readyMs: number
  readonly runningMs: number
  readonly bothMB: number
  readonly serverMB: number
  readonly nodeMB: number
}

const RUNNING_MS_MAX = 60_000

async function measureAgents(program: string): Promise<AgentFigures> {
  const both = await withTempFolder(
    async (folder) =>
      await withAgent({ program: [program], args: ['--dev'] }, async (agent) => {
        const bothMB = await idleMemory(agent)
        const startedMs = performance.now()
        agent.cli('job', 'run', '--detach', writeJob(folder, 'first'))
        await waitFor(() => isRunning(agent), 'the first job to run', RUNNING_MS_MAX)
        const runningMs = agent.readyMs + performance.now() - startedMs
        agent.cli('job', 'stop', '--purge', 'first')
        return { readyMs: agent.readyMs, runningMs, bothMB }
      }),
  )
  return { ...both, ...(await measureApart(program)) }
}

async function isRunning(agent: RunningAgent): Promise<boolean> {
  // Proof: the document of the API describes the list of allocations.
  const found = (await agent.get('/v1/job/first/allocations')) as { ClientStatus: string }[]
  return found.some(({ ClientStatus }) => ClientStatus === 'running')
}

async function hasNode(agent: RunningAgent): Promise<boolean> {
  return JSON.stringify(await agent.get('/v1/nodes')).includes('"Status":"ready"')
}

/** A server and a node as processes of their own. */
async function measureApart(program: string): Promise<Pick<AgentFigures, 'serverMB' | 'nodeMB'>> {
  return await withTempFolder(async (folder) => {
    const server = ['--server', '--data-dir', join(folder, 'server')]
    return await withAgent({ program: [program], args: server }, async (agent) => {
      const address = agent.address.replace('http://', '')
      const token = fs.readFileSync(join(folder, 'server/server/join-token'), 'utf8').trim()
      const node = ['--client', '--data-dir', join(folder, 'node'), '--join', address]
      const env = { REEVE_JOIN_TOKEN: token }
      return await withAgent(
        { program: [program], args: node, env, isNode: true },
        async (client) => {
          await waitFor(() => hasNode(agent), 'the node to be ready', RUNNING_MS_MAX)
          return { nodeMB: await idleMemory(client), serverMB: await idleMemory(agent) }
        },
      )
    })
  })
}

/** Until the garbage of the start has been collected. */
const IDLE_MS = 5_000

async function idleMemory({ pid }: RunningAgent): Promise<number> {
  await pause(IDLE_MS)
  const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8')
  return (Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1_024) / 1e6
}

function sizeOf(path: string): number {
  const found = fs.lstatSync(path)
  if (!found.isDirectory()) return found.size
  return fs.readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0)
}

/** The files and packages that a clone needs on each machine. */
function checkoutSize(): number {
  return fs
    .readdirSync(root)
    .filter((name) => name !== '.git')
    .reduce((sum, name) => sum + sizeOf(join(root, name)), 0)
}

/** A table for people. */
export function figuresTable(figures: readonly Measured[]): string {
  const shown = (value: number | undefined, unit: string): string =>
    value === undefined ? '–' : `${value.toFixed(unit === 'MB' ? 1 : 0)} ${unit}`
  const rows = figures.map(({ name, unit, release, checkout }) => {
    const ratio = checkout === undefined ? '–' : (release / checkout).toFixed(2)
    return `| ${name} | ${shown(release, unit)} | ${shown(checkout, unit)} | ${ratio} |`
  })
  return `| | Release | Checkout | Ratio |\n|---|---|---|---|\n${rows.join('\n')}\n`
}
