import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JobNodeLoss } from '@reeve/contract'
import { aJob, anAllocation, anId, NOW_MS } from '../../test/build/index.ts'
import { isoFromMs, msFromNs, nsFromMs } from '@reeve/kit/duration.ts'
import { LIMITS, type AllocationRow } from '../model/index.ts'
import {
  decideNodeLoss,
  hasStartedHarmlessly,
  withNodeLoss,
  wasStarting,
  type LostNode,
  type StartingJob,
} from './node-loss.ts'

const NODE: LostNode = {
  id: anId('node', 9),
  lastContactMs: NOW_MS - 20_000,
  heartbeatDueMs: NOW_MS - 15_000,
  detectionMs: 20_000,
}
const INDEX = 100

/** An earlier loss with the job: node, age and commit index. */
interface Earlier {
  readonly node?: number
  readonly agoMs?: number
  readonly index?: number
}

interface Suspected {
  readonly id: string
  /** Index of the commit that placed its allocation on the lost node. */
  readonly placed?: number
  readonly losses?: readonly Earlier[]
  readonly harmless?: number
}

function anEarlierLoss({ node = 1, agoMs = 60_000, index = 50 }: Earlier): JobNodeLoss {
  const timeMs = NOW_MS - agoMs
  return {
    NodeID: anId('node', node),
    AllocID: anId('alloc', 50),
    Time: nsFromMs(timeMs),
    RetryTime: nsFromMs(timeMs + 30_000),
    ProbeUntil: nsFromMs(timeMs + 80_000),
    CreateIndex: index,
  }
}

function aStartingJob(suspected: Suspected, position: number): StartingJob {
  const { id, placed = 60, losses = [], harmless = 0 } = suspected
  const job = { ...aJob({ ID: id }), Version: 3, NodeLosses: losses.map(anEarlierLoss) }
  const fields = { ClientStatus: 'pending', NodeID: NODE.id, CreateIndex: placed } as const
  return {
    job,
    allocations: [{ ...anAllocation({ job, ...fields }), ID: anId('alloc', position + 1) }],
    harmlessNodes: (max) => Math.min(max, harmless),
  }
}

function decide(suspects: readonly Suspected[], unexplained = 0) {
  return decideNodeLoss({
    node: NODE,
    starting: suspects.map(aStartingJob),
    unexplainedLosses: () => unexplained,
    nowMs: NOW_MS,
    index: INDEX,
  })
}

const once = [{}]
const innocents = ['b', 'c', 'd'].map((id) => ({ id }))
const { nodeLossWindowMs, harmlessNodesPerLoss } = LIMITS

const cases: readonly {
  readonly name: string
  readonly suspects: readonly Suspected[]
  readonly unexplained?: number
  /** Ids of delayed jobs; the quarantined ones are marked. */
  readonly want: readonly string[]
}[] = [
  { name: 'a node with nothing starting on it concerns no job', suspects: [], want: [] },
  { name: 'the first loss only delays', suspects: [{ id: 'a' }], want: ['a'] },
  {
    name: 'the second node quarantines',
    suspects: [{ id: 'a', losses: once }],
    want: ['a quarantined'],
  },
  {
    name: 'jobs that start beside it for the first time are only delayed',
    suspects: [{ id: 'a', losses: once }, ...innocents],
    want: ['a quarantined', 'b', 'c', 'd'],
  },
  {
    name: 'nodes that fail together quarantine nobody: both allocations were placed before',
    suspects: ['a', 'b', 'c'].map((id) => ({ id, placed: 40, losses: once })),
    want: ['a', 'b', 'c'],
  },
  {
    name: 'a single job on nodes that fail together is not quarantined either',
    suspects: [{ id: 'a', placed: 50, losses: once }],
    want: ['a'],
  },
  {
    name: 'several jobs that explain both losses are delayed until one of them is left',
    suspects: ['a', 'b'].map((id) => ({ id, losses: once })),
    want: ['a', 'b'],
  },
  {
    name: 'the same node twice is a bad node',
    suspects: [{ id: 'a', losses: [{ node: 9 }] }],
    want: ['a'],
  },
  {
    name: 'a loss at the edge of the window counts',
    suspects: [{ id: 'a', losses: [{ agoMs: nodeLossWindowMs }] }],
    want: ['a quarantined'],
  },
  {
    name: 'a loss before the window does not',
    suspects: [{ id: 'a', losses: [{ agoMs: nodeLossWindowMs + 1 }] }],
    want: ['a'],
  },
  {
    name: 'as many nodes lost with nothing starting on them mean another cause',
    suspects: [{ id: 'a', losses: once }],
    unexplained: 2,
    want: ['a'],
  },
  {
    name: 'fewer of them do not',
    suspects: [{ id: 'a', losses: once }],
    unexplained: 1,
    want: ['a quarantined'],
  },
  {
    name: 'a version that started without harm on enough nodes is not even delayed',
    suspects: [{ id: 'a', harmless: harmlessNodesPerLoss }],
    want: [],
  },
  {
    name: 'one node less, and it is',
    suspects: [{ id: 'a', harmless: harmlessNodesPerLoss - 1 }],
    want: ['a'],
  },
  {
    name: 'a second loss needs as many again to be outweighed',
    suspects: [{ id: 'a', losses: once, harmless: 2 * harmlessNodesPerLoss - 1 }],
    want: ['a quarantined'],
  },
  {
    name: 'with those it is outweighed',
    suspects: [{ id: 'a', losses: once, harmless: 2 * harmlessNodesPerLoss }],
    want: [],
  },
]
for (const { name, suspects, unexplained, want } of cases)
  test(`node loss: ${name}`, () => {
    const found = decide(suspects, unexplained).map(
      ({ job, quarantine }) => `${job.ID}${quarantine === undefined ? '' : ' quarantined'}`,
    )
    assert.deepEqual(found.toSorted(), want)
  })

test('node loss: quarantine names version and nodes', () => {
  const [only] = decide([{ id: 'a', losses: [{ node: 1 }] }])
  const nodes = [anId('node', 1), NODE.id]
  assert.deepEqual(only?.quarantine, {
    Reason: `2 nodes were lost while allocations of version 3 were starting on them: ${nodes.join(', ')}`,
    NodeIDs: nodes,
    Time: nsFromMs(NOW_MS),
    Version: 3,
    CreateIndex: INDEX,
  })
})

function delaysOf(suspects: readonly Suspected[]): readonly number[] {
  return decide(suspects).map(({ loss }) => (msFromNs(loss.RetryTime) - NOW_MS) / 1_000)
}

test('node loss: each loss doubles the delay up to the maximum', () => {
  const after = (count: number, placed?: number) => {
    const losses = Array.from({ length: count }, () => ({}))
    return delaysOf([{ id: 'a', losses, ...(placed === undefined ? {} : { placed }) }])[0]
  }
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((count) => after(count)),
    [30, 60, 120, 240, 300],
  )
  assert.equal(after(4, 40), 30, 'not for nodes that fail together')
})

test('node loss: jobs of one node are placed in separate batches', () => {
  const ids = ['a', 'b', 'c', 'd', 'e']
  assert.deepEqual(delaysOf(ids.map((id) => ({ id }))), [30, 60, 90, 120, 30])
})

test('node loss: probing lasts longer than detecting a loss', () => {
  const [only] = decide([{ id: 'a' }])
  const probeMs = msFromNs(only?.loss.ProbeUntil ?? 0) - msFromNs(only?.loss.RetryTime ?? 0)
  assert.equal(probeMs, NODE.detectionMs + LIMITS.harmlessRunMsMin)
})

test('node loss: job keeps its latest losses, one per node', () => {
  const losses = Array.from({ length: LIMITS.jobNodeLossesMax }, (_, at) => ({ node: at + 1 }))
  const [only] = decide([{ id: 'a', placed: 1, losses: [...losses.slice(1), { node: 9 }] }])
  assert.ok(only)
  const kept = withNodeLoss(only, NOW_MS).NodeLosses ?? []
  assert.deepEqual(
    kept.map(({ NodeID }) => NodeID),
    [...losses.slice(1).map(({ node }) => anId('node', node)), NODE.id],
  )
  const more = decide([{ id: 'a', placed: 1, losses }])[0]
  assert.ok(more)
  assert.equal(withNodeLoss(more, NOW_MS).NodeLosses?.length, LIMITS.jobNodeLossesMax)
})

const started = (ms: number): Partial<AllocationRow> => ({
  ClientStatus: 'running',
  TaskStates: { main: { State: 'running', StartedAt: isoFromMs(ms) } },
})
const starts: readonly {
  readonly name: string
  readonly row: Partial<AllocationRow>
  readonly want: boolean
}[] = [
  { name: 'a pending one', row: { ClientStatus: 'pending' }, want: true },
  {
    name: 'one that began to run just before the last contact',
    row: started(NODE.lastContactMs - LIMITS.startingRunMsMax + 1),
    want: true,
  },
  {
    name: 'one that has run for longer',
    row: started(NODE.lastContactMs - LIMITS.startingRunMsMax),
    want: false,
  },
  { name: 'one that has ended', row: { ClientStatus: 'complete' }, want: false },
  {
    name: 'one that should stop',
    row: { ClientStatus: 'pending', DesiredStatus: 'stop' },
    want: false,
  },
  {
    name: 'one that was placed before the next heartbeat was due',
    row: { ClientStatus: 'pending', CreateTime: nsFromMs(NODE.heartbeatDueMs - 1) },
    want: true,
  },
  {
    name: 'one that was placed when the node was gone already',
    row: { ClientStatus: 'pending', CreateTime: nsFromMs(NODE.heartbeatDueMs) },
    want: false,
  },
]
for (const { name, row, want } of starts)
  test(`node loss: ${name} ${want ? 'was' : 'was not'} starting`, () =>
    assert.equal(wasStarting(anAllocation(row), NODE), want))

test('node loss: start is harmless after some run time or completion', () => {
  const edgeMs = NOW_MS - LIMITS.harmlessRunMsMin
  const found = [
    started(edgeMs),
    started(edgeMs + 1),
    { ClientStatus: 'complete' },
    { ClientStatus: 'failed' },
    { ClientStatus: 'pending' },
  ] as const
  assert.deepEqual(
    found.map((row) => hasStartedHarmlessly(anAllocation(row), NOW_MS)),
    [true, false, true, false, false],
  )
})
