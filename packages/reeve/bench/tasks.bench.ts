/**
 * The task helper alone: tasks per second through the launcher, raw and isolated, memory of a
 * sleeping task, and log throughput. Isolated rows need root. `--quick` for a short run. The ratio
 * compares with starting the same command directly from Node with equal concurrency.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  isolated,
  isRoot,
  Launcher,
  noHelper,
  type Handle,
  type Spec,
} from '../test/native/launcher.ts'
import { isQuick, timed } from './measure.ts'

const TASKS = isQuick ? 100 : 1_000
const IN_FLIGHT = 8
const SLEEPERS = isQuick ? 50 : 300
const LOG_BYTES = (isQuick ? 64 : 512) * 1024 * 1024

type MakeSpec = (launcher: Launcher, id: string) => Spec

const kinds: readonly { readonly name: string; readonly spec: MakeSpec }[] = [
  { name: 'raw', spec: (launcher, id) => ({ id, command: '/bin/true', logs: launcher.logs(id) }) },
  {
    name: 'isolated',
    spec: (launcher, id) => ({
      ...isolated(launcher, ''),
      id,
      command: '/bin/true',
      args: [],
      logs: launcher.logs(id),
    }),
  },
  {
    name: 'isolated, 4 cgroups',
    spec: (launcher, id) => ({
      ...isolated(launcher, ''),
      id,
      command: '/bin/true',
      args: [],
      logs: launcher.logs(id),
      ...limits(id),
    }),
  },
]

function limits(id: string): Spec {
  const of = (controller: string) =>
    join('/sys/fs/cgroup', controller, `reeve-bench-${process.pid}-${id}`)
  return {
    cgroups: [
      { path: of('memory'), write: [['memory.limit_in_bytes', '134217728']] },
      { path: of('cpu'), write: [['cpu.shares', '100']] },
      { path: of('pids'), write: [['pids.max', '4096']] },
      { path: of('unified') },
    ],
    killCgroup: of('unified'),
    oomFile: join(of('memory'), 'memory.oom_control'),
  }
}

/** Starts `count` tasks with bounded concurrency; a task is done when its exit is known. */
async function runAll(
  count: number,
  run: (id: string) => Promise<void>,
): Promise<readonly number[]> {
  const tookMs: number[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++)
      tookMs.push(await timed(() => run(`b${index}`)))
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker))
  return tookMs.toSorted((a, b) => a - b)
}

async function runBare(): Promise<void> {
  await once(spawn('/bin/true', { stdio: 'ignore' }), 'exit')
}

async function runOne(launcher: Launcher, spec: Spec): Promise<void> {
  const answer = await launcher.run(spec)
  if (!answer.ok) throw new Error(answer.message ?? 'not started')
  await launcher.ended(Number(answer['shimPid']))
  // Proof: written by `limits` above.
  const groups = (spec['cgroups'] ?? []) as readonly { readonly path: string }[]
  if (groups.length > 0)
    await launcher.ask({ op: 'removeCgroups', paths: groups.map(({ path }) => path) })
}

async function benchStarts(): Promise<void> {
  const barePerSecond = await benchStart('bare', runBare, undefined)
  for (const { name, spec } of kinds) {
    if (name !== 'raw' && !isRoot) continue
    const launcher = new Launcher()
    await runAll(20, (id) => runOne(launcher, spec(launcher, `warm${id}`)))
    await benchStart(name, (id) => runOne(launcher, spec(launcher, id)), barePerSecond)
    await launcher.close()
  }
}

/** Returns the rate per second. */
async function benchStart(
  name: string,
  run: (id: string) => Promise<void>,
  barePerSecond: number | undefined,
): Promise<number> {
  let sorted: readonly number[] = []
  const totalMs = await timed(async () => {
    sorted = await runAll(TASKS, run)
  })
  const perSecond = TASKS / (totalMs / 1000)
  const at = (share: number) => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(1)
  const ratio = (perSecond / (barePerSecond ?? perSecond)).toFixed(2)
  console.log(
    `${name.padEnd(20)} ${perSecond.toFixed(0)} tasks/s, ratio ${ratio}, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`,
  )
  return perSecond
}

/** Proportional set size in KB: shared pages count by their share. */
function memoryOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  return Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0)
}

async function benchMemory(): Promise<void> {
  for (const name of isRoot ? ['raw', 'isolated'] : ['raw']) {
    const launcher = new Launcher()
    const handles: Handle[] = []
    const startMs = await timed(async () => {
      for (let index = 0; index < SLEEPERS; index++) {
        const base = name === 'raw' ? {} : isolated(launcher, '')
        handles.push(
          await launcher.start({
            ...base,
            id: `s${index}`,
            command: 'sleep',
            args: ['600'],
            logs: launcher.logs(`s${index}`),
          }),
        )
      }
    })
    const helpers = handles.map(
      ({ shimPid, pid, taskPid }) => memoryOf(shimPid) + (pid === taskPid ? 0 : memoryOf(pid)),
    )
    const mean = helpers.reduce((sum, kb) => sum + kb, 0) / helpers.length
    console.log(
      `${name.padEnd(20)} ${mean.toFixed(0)} KB PSS of helpers per sleeping task (${SLEEPERS} started one by one in ${startMs.toFixed(0)} ms)`,
    )
    await launcher.close()
  }
}

async function benchLogs(): Promise<void> {
  const launcher = new Launcher()
  const spec = {
    id: 'logs',
    command: 'head',
    args: ['-c', String(LOG_BYTES), '/dev/zero'],
    logs: launcher.logs('logs', { maxBytes: 10 << 20, maxFiles: 5 }),
  }
  const ms = await timed(() => runOne(launcher, spec))
  const left = readdirSync(join(launcher.dir, 'logs')).filter((name) =>
    name.startsWith('logs.stdout'),
  ).length
  console.log(
    `logs                 ${(LOG_BYTES / 1e6 / (ms / 1000)).toFixed(0)} MB/s into files of 10 MiB (${left} kept)`,
  )
  await launcher.close()
}

if (noHelper !== false) console.log(noHelper)
else {
  await benchStarts()
  await benchMemory()
  await benchLogs()
}
