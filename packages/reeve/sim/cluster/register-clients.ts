import type { Input, Job } from '@reeve/contract'
import { namespacedKey, type Store } from '../../src/state/index.ts'
import { registerJob } from '../../src/workload/index.ts'
import { checkHistory, checkIndexOrder } from '../../test/linearizability/check-history.ts'
import { HistoryRecorder, type Told } from '../../test/linearizability/history.ts'
import type { Draws } from '../draws.ts'
import type { Leader } from '../leader.ts'
import { CALLER, findRejection, REGISTER_PREFIX, SIMULATED_ORIGIN } from '../operations.ts'
import { Violation } from '../trace.ts'
import { ask } from './ask.ts'
import type { ClusterView } from './cluster-view.ts'
import type { SimServer } from './sim-server.ts'

const CLIENTS = 3
const REGISTERS = 2
const PAUSE_MS_MAX = 1_500
/** Minimum rate of a server's clock relative to the world's. */
const RATE_MIN = 0.96

/**
 * Clients that read and write a few jobs through any server, with compare-and-set writes. Their
 * results are recorded and checked at the end.
 */
export class RegisterClients {
  readonly #cluster: ClusterView
  readonly #recorder = new HistoryRecorder()
  #values = 0
  #isStopped = false

  constructor(cluster: ClusterView) {
    this.#cluster = cluster
  }

  start(): void {
    for (let n = 1; n <= CLIENTS; n++) void this.#run(`client ${n}`)
  }

  stop(): void {
    this.#isStopped = true
  }

  check(): void {
    const { histories } = this.#recorder
    for (const [register, history] of histories) {
      const verdict = checkHistory(history)
      if (verdict.kind !== 'linearizable')
        throw new Violation(
          'registers are linearizable',
          `${register}, ${history.length} operations: ${verdict.kind === 'undecided' ? verdict.kind : verdict.why}`,
        )
    }
    const wrong = checkIndexOrder(histories)
    if (wrong !== undefined) throw new Violation('indexes follow time', wrong)
  }

  async #run(client: string): Promise<void> {
    const { world } = this.#cluster
    const draws = world.draws(client)
    const known = new Map<string, number>()
    let lastIndex = 0
    while (!this.#isStopped && !world.isOver()) {
      await new Promise<void>((resolve) => {
        world.clock.after(draws.between(0, PAUSE_MS_MAX), resolve)
      })
      const register = `${REGISTER_PREFIX}${draws.between(1, REGISTERS)}`
      const kind = draws.choose('read', 'write', 'write', 'stale')
      if (kind === 'stale') await this.#readStale(draws)
      else {
        const expected = kind === 'write' ? (known.get(register) ?? 0) : undefined
        const told = await this.#step(draws, { client, register, expected })
        // After a conflict the client reads before it retries.
        if ('index' in told) known.set(register, told.index)
        if (told.kind === 'written') {
          if (told.index <= lastIndex)
            world.blame(
              new Violation('no client sees the index go back', `${told.index} after ${lastIndex}`),
            )
          lastIndex = told.index
        }
      }
    }
  }

  #step(draws: Draws, { client, register, expected }: RegisterStep): Promise<Told> {
    const cluster = this.#cluster
    const entry = draws.pick(cluster.servers)
    const step =
      expected === undefined
        ? ({ kind: 'read' } as const)
        : ({ kind: 'write', value: `v${++this.#values}`, expected } as const)
    return this.#recorder.record({ client, register, step }, async () => {
      if (entry === undefined) return { kind: 'unknown' }
      if (step.kind === 'write')
        return await ask(cluster, draws, {
          entry,
          method: 'PUT',
          url: '/v1/jobs',
          work: (leader) => write(leader, register, step),
        })
      const url = `/v1/job/${register}${draws.chance(0.5) ? '?consistent' : ''}`
      return await ask(cluster, draws, {
        entry,
        method: 'GET',
        url,
        work: ({ store }) => read(store, register),
      })
    })
  }

  /** A stale read must return a prefix of the log, as recent as it claims. */
  async #readStale(draws: Draws): Promise<void> {
    const cluster = this.#cluster
    const entry = draws.pick(cluster.servers)
    if (entry === undefined) return
    await ask(cluster, draws, {
      entry,
      method: 'GET',
      url: '/v1/jobs?stale',
      work: async ({ store }, server) => checkFreshness(cluster, server, store),
    }).catch(() => undefined)
  }
}

interface RegisterStep {
  readonly client: string
  readonly register: string
  /** The index that a write expects; undefined for a read. */
  readonly expected: number | undefined
}

function checkFreshness(cluster: ClusterView, server: SimServer, store: Store): void {
  const { world } = cluster
  const freshness = server.opened?.gate.staleness()
  if (freshness === undefined) return
  const { lastContactMs } = freshness
  // Servers measure with their own clocks, in whole milliseconds.
  const seenMs = world.clock.elapsedMs - (lastContactMs + 1) / RATE_MIN
  const wanted = cluster.lengthAt(seenMs)
  if (store.index < wanted)
    world.blame(
      new Violation(
        'a stale read is as old as it says',
        `${server.name} shows ${store.index}, last contact ${lastContactMs} ms ago, when the log had ${wanted}`,
      ),
    )
}

async function write(
  { context }: Leader,
  register: string,
  { value, expected }: { readonly value: string; readonly expected: number },
): Promise<Told> {
  if (findRejection(context, 'registerJob') !== undefined) return { kind: 'unknown' }
  const body = { Job: registerJobOf(register, value), EnforceIndex: true, JobModifyIndex: expected }
  const request = {
    body,
    pathJobId: undefined,
    queryNamespace: 'default',
    queryRegion: '',
    origin: SIMULATED_ORIGIN,
  }
  const written = await registerJob(context, CALLER, request)
  if (written.ok) return { kind: 'written', index: written.value.index }
  // As in `http/v1/mount.ts`: even a refusal must not reveal state that is not durable.
  await context.store.settled()
  return written.error.code === 'index-conflict' ? { kind: 'conflict' } : { kind: 'unknown' }
}

async function read(store: Store, register: string): Promise<Told> {
  const told = (): Told => {
    const job = store.tables.jobs.find(namespacedKey('default', register))
    if (job === undefined) return { kind: 'absent' }
    return { kind: 'found', value: job.Meta?.['value'] ?? '', index: job.JobModifyIndex }
  }
  const before = told()
  // As in `http/v1/mount.ts`: a write that could not be made durable is rolled back.
  return await store.settled().then(() => before, told)
}

/** A job that is accepted and runs nothing. */
function registerJobOf(id: string, value: string): Input<Job> {
  const Tasks = [{ Name: 't', Driver: 'mock', Config: {} }]
  return { ID: id, Type: 'service', Meta: { value }, TaskGroups: [{ Name: 'g', Count: 0, Tasks }] }
}
