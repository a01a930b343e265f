/** Creates the data directory of a cluster of a given size for a server to start on. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Job } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { systemClock as clock } from '../src/main/system.ts'
import { allocationName, newSummary, applyStatusChanges, type NodeRow } from '../src/model/index.ts'
import { put, Store, type Change } from '../src/state/index.ts'
import { openEmbeddedEngine } from '../src/storage/index.ts'
import { aJob, anAllocation, anEvaluation, aNode } from '../test/build/index.ts'
import { writeSealingKey } from './program.ts'

export interface ClusterSize {
  readonly nodes: number
  /** Number of jobs with one allocation each. */
  readonly jobs: number
  /** Number of allocations of an additional job with the id `LARGE_JOB`. */
  readonly large: number
}

export const LARGE_JOB = 'large'
const ROWS_PER_COMMIT = 2_000

/** Writes the initial rows of a server in the directory. */
export async function fillCluster(directory: string, size: ClusterSize): Promise<void> {
  const folder = join(directory, 'server', 'storage')
  await mkdir(folder, { recursive: true })
  const store = await Store.open({ engine: await openEmbeddedEngine(folder), clock })
  for (const changes of inBatches(changesOf(size)))
    await store.commit({ by: 'system', cause: 'PlanResult', changes: () => changes }).durable
  await store.close()
  await writeSealingKey(directory)
}

function* inBatches(changes: Iterable<Change>): Generator<readonly Change[]> {
  let batch: Change[] = []
  for (const change of changes) {
    batch.push(change)
    if (batch.length < ROWS_PER_COMMIT) continue
    yield batch
    batch = []
  }
  yield batch
}

function* changesOf(size: ClusterSize): Generator<Change> {
  const nowMs = clock.nowMs()
  for (let at = 0; at < size.nodes; at++) yield put('nodes', aNodeRow(at, nowMs))
  yield* jobRows(serviceJob(LARGE_JOB, size.large, nowMs), { at: size.jobs, size, nowMs })
  for (let at = 0; at < size.jobs; at++)
    yield* jobRows(serviceJob(`service-${at}`, 1, nowMs), { at, size, nowMs })
}

function serviceJob(id: string, count: number, nowMs: number): Job {
  const task = {
    Name: 'main',
    Driver: 'raw_exec',
    Config: { command: '/bin/sleep', args: ['60'] },
    Resources: { CPU: 100, MemoryMB: 128 + 64 * (count % 3) },
  }
  const job = aJob({ ID: id, groups: [{ Name: 'app', Count: count, Tasks: [task] }] })
  return { ...job, Status: 'running', SubmitTime: nsFromMs(nowMs) }
}

interface Place {
  /** Number of the job's first allocation. */
  readonly at: number
  readonly size: ClusterSize
  readonly nowMs: number
}

/** The rows of a job that was registered, evaluated and placed. */
function* jobRows(job: Job, { at, size, nowMs }: Place): Generator<Change> {
  yield put('jobs', job)
  yield put('job_versions', job)
  const count = job.TaskGroups[0]?.Count ?? 0
  const statuses = Array.from({ length: count }, (_, i) => statusOf(at + i))
  const changes = statuses.map((after) => ({ group: 'app', before: undefined, after }))
  yield put('job_summaries', applyStatusChanges(newSummary(job), changes))
  const EvalID = idOf('evaluation', at)
  const evaluation = anEvaluation(job, { ID: EvalID, Status: 'complete' })
  const time = nsFromMs(nowMs)
  yield put('evaluations', { ...evaluation, CreateTime: time, ModifyTime: time })
  for (const [i, ClientStatus] of statuses.entries()) {
    const node = (at + i) % size.nodes
    yield put(
      'allocations',
      anAllocation({
        job,
        ClientStatus,
        EvalID,
        ID: idOf('allocation', at + i),
        Name: allocationName(job.ID, 'app', i),
        NodeID: idOf('node', node),
        NodeName: `worker-${node}`,
        TaskStates: { main: { State: 'running', StartedAt: new Date(nowMs).toISOString() } },
        CreateTime: time,
        ModifyTime: time,
      }),
    )
  }
}

/** Most run; the others appear on pages too. */
function statusOf(at: number): 'running' | 'pending' {
  return at % 50 === 7 ? 'pending' : 'running'
}

/** Nodes of different sizes. */
function aNodeRow(at: number, nowMs: number): NodeRow {
  const { SecretID: _secret, ...node } = aNode({
    ID: idOf('node', at),
    Name: `worker-${at}`,
    Datacenter: `dc${1 + (at % 3)}`,
    StatusUpdatedAt: Math.floor(nowMs / 1_000),
  })
  const { NodeResources } = node
  if (NodeResources === null) throw new Error('the builder gives every node resources')
  const MemoryMB = 8_192 * (1 + (at % 4))
  return { ...node, NodeResources: { ...NodeResources, Memory: { MemoryMB } }, SecretHash: '' }
}

const KINDS = ['allocation', 'evaluation', 'node'] as const

/** Unordered ids like real ones; equal numbers give equal ids. */
export function idOf(kind: (typeof KINDS)[number], at: number): string {
  const number = at * KINDS.length + KINDS.indexOf(kind)
  // Multiplication by an odd number is a bijection on 32 bits: ids are unique.
  const mixed = (Math.imul(number, 2_654_435_761) >>> 0).toString(16).padStart(8, '0')
  return `${mixed}-0000-4000-8000-${number.toString(16).padStart(12, '0')}`
}
