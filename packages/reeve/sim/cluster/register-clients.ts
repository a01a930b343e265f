import type { Input, Job } from '@reeve/contract'
import { namespacedKey, type Store } from '../../src/state/index.ts'
import { registerJob } from '../../src/workload/index.ts'
import { checkHistory, checkIndexOrder } from '../../test/linearizability/check-history.ts'
import { HistoryRecorder, type Told } from '../../test/linearizability/history.ts'
import type { RandomStream } from '../random-stream.ts'
import type { SimLeader } from '../sim-leader.ts'
import { CALLER, findRejection, REGISTER_PREFIX, SIMULATED_ORIGIN } from '../operations.ts'
import { Violation } from '../trace.ts'
import { sendRequest } from './sim-request.ts'
import type { SimCluster } from './sim-cluster.ts'
import type { SimServer } from './sim-server.ts'

const CLIENT_COUNT = 3
const REGISTER_COUNT = 2
const MAX_PAUSE_MS = 1_500
/** Minimum rate of a server's clock relative to the world's. */
const MIN_CLOCK_RATE = 0.96

/**
 * Clients that read and write a few jobs through any server, with compare-and-set writes. Their
 * results are recorded and checked at the end.
 */
export class RegisterClients {
  readonly #cluster: SimCluster
  readonly #recorder = new HistoryRecorder()
  #valueCount = 0
  #isStopped = false

  constructor(cluster: SimCluster) {
    this.#cluster = cluster
  }

  start(): void {
    for (let n = 1; n <= CLIENT_COUNT; n++) void this.#run(`client ${n}`)
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
    const problem = checkIndexOrder(histories)
    if (problem !== undefined) throw new Violation('indexes follow time', problem)
  }

  async #run(client: string): Promise<void> {
    const { world } = this.#cluster
    const random = world.randomStream(client)
    const knownIndexes = new Map<string, number>()
    let lastIndex = 0
    while (!this.#isStopped && !world.hasFailed()) {
      await new Promise<void>((resolve) => {
        world.clock.after(random.between(0, MAX_PAUSE_MS), resolve)
      })
      const register = `${REGISTER_PREFIX}${random.between(1, REGISTER_COUNT)}`
      const kind = random.choose('read', 'write', 'write', 'stale')
      if (kind === 'stale') await this.#readStale(random)
      else {
        const expected = kind === 'write' ? (knownIndexes.get(register) ?? 0) : undefined
        const result = await this.#runOperation(random, { client, register, expected })
        // After a conflict the client reads before it retries.
        if ('index' in result) knownIndexes.set(register, result.index)
        if (result.kind === 'written') {
          if (result.index <= lastIndex)
            world.reportViolation(
              new Violation(
                'no client sees the index decrease',
                `${result.index} after ${lastIndex}`,
              ),
            )
          lastIndex = result.index
        }
      }
    }
  }

  #runOperation(
    random: RandomStream,
    { client, register, expected }: RegisterOperation,
  ): Promise<Told> {
    const cluster = this.#cluster
    const entry = random.pick(cluster.servers)
    const step =
      expected === undefined
        ? ({ kind: 'read' } as const)
        : ({ kind: 'write', value: `v${++this.#valueCount}`, expected } as const)
    return this.#recorder.record({ client, register, step }, async () => {
      if (entry === undefined) return { kind: 'unknown' }
      if (step.kind === 'write')
        return await sendRequest(cluster, random, {
          entry,
          method: 'PUT',
          url: '/v1/jobs',
          handler: (leader) => write(leader, register, step),
        })
      const url = `/v1/job/${register}${random.chance(0.5) ? '?consistent' : ''}`
      return await sendRequest(cluster, random, {
        entry,
        method: 'GET',
        url,
        handler: ({ store }) => read(store, register),
      })
    })
  }

  /** A stale read must return a prefix of the log, as recent as it claims. */
  async #readStale(random: RandomStream): Promise<void> {
    const cluster = this.#cluster
    const entry = random.pick(cluster.servers)
    if (entry === undefined) return
    await sendRequest(cluster, random, {
      entry,
      method: 'GET',
      url: '/v1/jobs?stale',
      handler: async ({ store }, server) => checkStaleness(cluster, server, store),
    }).catch(() => undefined)
  }
}

interface RegisterOperation {
  readonly client: string
  readonly register: string
  /** The index that a write expects; undefined for a read. */
  readonly expected: number | undefined
}

function checkStaleness(cluster: SimCluster, server: SimServer, store: Store): void {
  const { world } = cluster
  const staleness = server.openServer?.gate.staleness()
  if (staleness === undefined) return
  const { lastContactMs } = staleness
  // Servers measure with their own clocks, in whole milliseconds.
  const contactMs = world.clock.elapsedMs - (lastContactMs + 1) / MIN_CLOCK_RATE
  const expectedIndex = cluster.logLengthAt(contactMs)
  if (store.index < expectedIndex)
    world.reportViolation(
      new Violation(
        'a stale read is as recent as LastContact',
        `${server.name} shows ${store.index}, last contact ${lastContactMs} ms ago, when the log had ${expectedIndex}`,
      ),
    )
}

async function write(
  { context }: SimLeader,
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
  await context.store.whenDurable()
  return written.error.code === 'index-conflict' ? { kind: 'conflict' } : { kind: 'unknown' }
}

async function read(store: Store, register: string): Promise<Told> {
  const currentResult = (): Told => {
    const job = store.tables.jobs.find(namespacedKey('default', register))
    if (job === undefined) return { kind: 'absent' }
    return { kind: 'found', value: job.Meta?.['value'] ?? '', index: job.JobModifyIndex }
  }
  const resultBefore = currentResult()
  // As in `http/v1/mount.ts`: a write that could not be made durable is rolled back.
  return await store.whenDurable().then(() => resultBefore, currentResult)
}

/** A job that is accepted and runs nothing. */
function registerJobOf(id: string, value: string): Input<Job> {
  const Tasks = [{ Name: 't', Driver: 'mock', Config: {} }]
  return { ID: id, Type: 'service', Meta: { value }, TaskGroups: [{ Name: 'g', Count: 0, Tasks }] }
}
