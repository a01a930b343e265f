// tidy-allow vendor: the stand-in for the tool has its name and prints its fields
/**
 * Infrastructure runs: plans of many workspaces of one organization at once, on one node, with the
 * limit of concurrent phases. A stand-in for the tool costs nothing, so the figures are those of
 * queue, scheduler, runner and log; `--tool` uses the real one of the PATH.
 * `node packages/reeve/bench/runs.bench.ts [--quick] [--tool]`
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { aTar } from '../test/build/archive.ts'
import { fixed, isQuick, printTable, summary, whole } from './measure.ts'
import { readCpuSeconds, tasksCpuSeconds } from './process-costs.ts'
import { startProgram, type RunningProgram } from './program.ts'

const WORKSPACES = isQuick ? 10 : 200
const LIMIT = 10
const POLL_MS = 100
const GIVE_UP_MS = 60 * 60_000
const FINAL: ReadonlySet<string> = new Set(['planned_and_finished', 'errored', 'canceled'])

const TOOL = `#!/bin/sh
case "$1 $2" in
"version -json") echo '{"terraform_version":"9.9.9"}' ;;
version*) echo "Stand-in v9.9.9" ;;
plan*) echo "Planning"; echo plan > reeve.tfplan; exit 2 ;;
"show -json") echo '{"format_version":"1.2","resource_changes":[]}' ;;
providers*) echo '{"format_version":"1.0"}' ;;
esac
`

await bench()

async function bench(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-bench-runs-'))
  const program = await start(folder)
  try {
    const api = apiOf(program, await tokenIn(folder))
    const data = { type: 'organizations', attributes: { name: 'acme', email: 'a@example.com' } }
    await api('POST', '/organizations', { data })
    const numbers = Array.from({ length: WORKSPACES }, (_, at) => at)
    const ready: (() => Promise<Run>)[] = []
    for (const at of numbers) ready.push(await newWorkspace(api, `bench-${at}`))
    await report(program, api, ready)
  } finally {
    await program.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function start(folder: string): Promise<RunningProgram> {
  const bin = join(folder, 'bin')
  await mkdir(bin)
  const isReal = process.argv.includes('--tool')
  if (!isReal) {
    await writeFile(join(bin, 'terraform'), TOOL)
    await chmod(join(bin, 'terraform'), 0o755)
  }
  return await startProgram({
    directory: join(folder, 'data'),
    environment: { PATH: `${bin}:${process.env['PATH'] ?? ''}` },
  })
}

async function tokenIn(folder: string): Promise<string> {
  return (await readFile(join(folder, 'data/server/governance-token'), 'utf8')).trim()
}

interface Resource {
  readonly id: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly relationships: Readonly<Record<string, { readonly data: { readonly id: string } }>>
}

type Api = (method: string, path: string, body?: object | Buffer) => Promise<Resource>

function apiOf({ address }: RunningProgram, token: string): Api {
  return async (method, path, body) => {
    const isBinary = Buffer.isBuffer(body)
    const response = await fetch(path.startsWith('http') ? path : `${address}/api/v2${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': isBinary ? 'application/octet-stream' : 'application/vnd.api+json',
      },
      ...(body === undefined ? {} : { body: isBinary ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return response.headers.get('content-type')?.includes('json') === true
      ? JSON.parse(text).data
      : {}
  }
}

interface Run {
  readonly id: string
  readonly planId: string
  readonly askedMs: number
}

/** A workspace with a configuration; the result queues a plan of it. */
async function newWorkspace(api: Api, name: string): Promise<() => Promise<Run>> {
  const data = { type: 'workspaces', attributes: { name } }
  const workspace = await api('POST', '/organizations/acme/workspaces', { data })
  const version = await api('POST', `/workspaces/${workspace.id}/configuration-versions`, {
    data: { type: 'configuration-versions', attributes: { 'auto-queue-runs': false } },
  })
  const files = aTar([{ path: 'main.tf', text: 'resource "terraform_data" "x" {}\n' }])
  await api('PUT', String(version.attributes['upload-url']), gzipSync(files))
  return async () => {
    const askedMs = performance.now()
    const run = await api('POST', '/runs', {
      data: {
        type: 'runs',
        attributes: { 'plan-only': true },
        relationships: {
          workspace: { data: { type: 'workspaces', id: workspace.id } },
          'configuration-version': { data: { type: 'configuration-versions', id: version.id } },
        },
      },
    })
    return { id: run.id, planId: run.relationships['plan']?.data.id ?? '', askedMs }
  }
}

async function report(
  program: RunningProgram,
  api: Api,
  ready: readonly (() => Promise<Run>)[],
): Promise<void> {
  const [first] = ready
  if (first === undefined) return
  // A node that is idle: what a person waits for who plans alone.
  const alone: number[] = []
  for (let turn = 0; turn < 5; turn++) alone.push(await firstLineMs(program, api, await first()))
  const before = await cpuOf(program)
  const startMs = performance.now()
  const runs = await Promise.all(ready.map((queue) => queue()))
  const ends = await followAll(api, runs)
  const lastMs = Math.max(...ends.map(({ endedMs }) => endedMs)) - startMs
  const after = await cpuOf(program)
  const perRun = (name: keyof CpuSeconds): string => {
    const [from, to] = [before[name], after[name]]
    return from === undefined || to === undefined ? 'unknown' : fixed((to - from) / WORKSPACES)
  }
  const lost = ends.filter(({ status }) => status !== 'planned_and_finished').length
  process.stdout.write(`${WORKSPACES} workspaces of one organization, limit ${LIMIT}, one node\n`)
  const { p50, max } = summary(alone, 1)
  printTable(
    ['', 'figure'],
    [
      ['runs per minute', fixed((WORKSPACES / lastMs) * 60_000)],
      ['all runs, s', fixed(lastMs / 1_000)],
      ['request to first log line alone, p50 ms', whole(p50)],
      ['request to first log line alone, max ms', whole(max)],
      ['CPU of server and agent per run, s', perRun('program')],
      ['CPU of the job per run (runner and tool), s', perRun('tasks')],
      ['runs that did not end well', whole(lost)],
    ],
  )
}

interface CpuSeconds {
  /** Server and agent, which are one process. */
  readonly program: number
  /** Runner and tool, with all other tasks on this machine; undefined without control groups. */
  readonly tasks: number | undefined
}

async function cpuOf({ pid }: RunningProgram): Promise<CpuSeconds> {
  const program = await readCpuSeconds(`/proc/${pid}/stat`)
  return { program, tasks: await tasksCpuSeconds() }
}

/** Time from the request to the first bytes of the log after its mark. */
async function firstLineMs(program: RunningProgram, api: Api, run: Run): Promise<number> {
  const plan = await api('GET', `/plans/${run.planId}`)
  const { pathname } = new URL(String(plan.attributes['log-read-url']))
  for (;;) {
    const log = await fetch(`${program.address}${pathname}?offset=1&limit=1000`)
    if ((await log.text()) !== '') break
    if (performance.now() - run.askedMs > GIVE_UP_MS) throw new Error('the log has no line')
    await wait(POLL_MS / 10)
  }
  const tookMs = performance.now() - run.askedMs
  await followAll(api, [run])
  return tookMs
}

interface RunEnd {
  readonly status: unknown
  readonly endedMs: number
}

async function followAll(api: Api, runs: readonly Run[]): Promise<readonly RunEnd[]> {
  const ends = new Map<string, RunEnd>()
  while (ends.size < runs.length) {
    for (const { id, askedMs } of runs) {
      if (ends.has(id)) continue
      const { attributes } = await api('GET', `/runs/${id}`)
      const { status } = attributes
      if (performance.now() - askedMs > GIVE_UP_MS)
        throw new Error(`run ${id} is ${String(status)}`)
      // Later ones are younger, and wait behind this one.
      if (!FINAL.has(String(status))) break
      ends.set(id, { status, endedMs: performance.now() })
    }
    await wait(POLL_MS)
  }
  return runs.flatMap(({ id }) => ends.get(id) ?? [])
}
