import assert from 'node:assert/strict'
import test from 'node:test'
import {
  AGENT_VERSION_ATTRIBUTE,
  Allocation,
  AllocationRecord,
  AllocationStub,
  NodeStub,
  type TaskEvent,
  type TaskState,
} from '@reeve/contract'
import fc from 'fast-check'
import { Value } from 'typebox/value'
import { anAllocation } from '../../../test/build/allocation.ts'
import { aJob } from '../../../test/build/job.ts'
import { aNode } from '../../../test/build/node.ts'
import { ZERO_TIME } from '@reeve/kit/duration.ts'
import { nodeStub } from '../node/node.ts'
import {
  allocationIndex,
  allocationName,
  compactTaskStates,
  decodeTopScores,
  encodeTopScores,
  expandMetrics,
  expandTaskStates,
  isClientTerminal,
  isServerTerminal,
  isTerminal,
} from './allocation-row.ts'
import { allocationRecord, allocationStub, allocationView } from './allocation-view.ts'

const EVENT: TaskEvent = {
  Type: 'Started',
  Time: 5,
  DisplayMessage: 'Task started by client',
  Message: '',
  Details: {},
  FailsTask: false,
  RestartReason: '',
  SetupError: '',
  DriverError: '',
  DriverMessage: '',
  ExitCode: 0,
  Signal: 0,
  KillTimeout: 0,
  KillError: '',
  KillReason: '',
  StartDelay: 0,
  DownloadError: '',
  ValidationError: '',
  DiskLimit: 0,
  FailedSibling: '',
  SecretStoreError: '',
  TaskSignal: '',
  TaskSignalReason: '',
  GenericSource: '',
}
const STATE: TaskState = {
  State: 'running',
  Failed: false,
  Restarts: 1,
  LastRestart: ZERO_TIME,
  StartedAt: '2026-01-01T00:00:00Z',
  FinishedAt: ZERO_TIME,
  Events: [EVENT],
  TaskHandle: null,
  Paused: '',
}

test('allocation view: minimal row yields all contract fields', () => {
  const row = anAllocation()
  const job = aJob()
  assert.deepEqual(
    [
      ...Value.Errors(
        Allocation,
        allocationView(row, () => job),
      ),
    ],
    [],
  )
  assert.deepEqual([...Value.Errors(AllocationRecord, allocationRecord(row))], [])
  assert.deepEqual([...Value.Errors(AllocationStub, allocationStub(row))], [])
  assert.equal(allocationView(row, () => job).Job, job)
  assert.equal(allocationView(row, () => undefined).Job, null)
})

test('allocation view: derives fields that are not stored', () => {
  const record = allocationRecord(anAllocation())
  const totals = { CPU: 100, MemoryMB: 300, DiskMB: 0, Networks: null }
  assert.deepEqual(record.Resources, { ...totals, DiskMB: 300 })
  assert.deepEqual(record.TaskResources, { main: totals })
  assert.deepEqual(record.SharedResources, { CPU: 0, MemoryMB: 0, DiskMB: 300, Networks: null })
  assert.equal(record.PreviousAllocation, '')
  assert.deepEqual(record.DesiredTransition, {
    Migrate: null,
    Reschedule: null,
    ForceReschedule: null,
    NoShutdownDelay: null,
    MigrateDisablePlacement: null,
  })
})

test('allocation stub: optional resources and task states', () => {
  const row = anAllocation({ TaskStates: compactTaskStates({ main: STATE }) })
  assert.equal('AllocatedResources' in allocationStub(row), false)
  assert.ok(allocationStub(row, { resources: true }).AllocatedResources)
  assert.deepEqual(allocationStub(row).TaskStates, { main: STATE })
  assert.equal(allocationStub(row, { taskStates: false }).TaskStates, null)
})

test('task states: zero values are stored compactly', () => {
  assert.deepEqual(compactTaskStates({ main: STATE }), {
    main: {
      State: 'running',
      Restarts: 1,
      StartedAt: '2026-01-01T00:00:00Z',
      Events: [{ Type: 'Started', Time: 5, DisplayMessage: 'Task started by client' }],
    },
  })
  assert.equal(compactTaskStates(null), null)
  assert.equal(expandTaskStates(undefined), null)
})

test('task states: compact form is lossless', () => {
  const events = fc.record({
    ExitCode: fc.integer(),
    FailsTask: fc.boolean(),
    Message: fc.string(),
    Details: fc.dictionary(fc.string(), fc.string(), { noNullPrototype: true }),
  })
  const states = fc.record({
    State: fc.constantFrom('pending' as const, 'running' as const, 'dead' as const),
    Restarts: fc.nat(),
    Events: fc.array(events.map((event) => ({ ...EVENT, ...event }))),
  })
  fc.assert(
    fc.property(fc.dictionary(fc.string(), states, { noNullPrototype: true }), (some) => {
      const full = Object.fromEntries(
        Object.entries(some).map(([name, state]) => [name, { ...STATE, ...state }]),
      )
      assert.deepEqual(expandTaskStates(compactTaskStates(full)), full)
    }),
    { seed: 1 },
  )
})

test('metrics: simple score is stored as a number', () => {
  const shown = expandMetrics({ NodesEvaluated: 2, Best: [['n1', 0.5]] })
  assert.equal(shown.NodesEvaluated, 2)
  assert.equal(shown.NodesFiltered, 0)
  assert.equal(shown.ConstraintFiltered, null)
  assert.deepEqual(shown.ScoreMetaData, [
    {
      NodeID: 'n1',
      Scores: {
        binpack: 0.5,
        'job-anti-affinity': 0,
        'node-reschedule-penalty': 0,
        'node-affinity': 0,
      },
      NormScore: 0.5,
    },
  ])
  assert.deepEqual(shown.Scores, {
    'n1.binpack': 0.5,
    'n1.job-anti-affinity': 0,
    'n1.node-reschedule-penalty': 0,
    'n1.node-affinity': 0,
    'n1.normalized-score': 0.5,
  })
})

test('metrics: score with components', () => {
  const shown = expandMetrics({ Best: [['n1', 0.1, { binpack: 0.5, 'job-anti-affinity': -0.3 }]] })
  assert.equal(shown.ScoreMetaData?.[0]?.Scores['job-anti-affinity'], -0.3)
  assert.equal(shown.ScoreMetaData?.[0]?.Scores['binpack'], 0.5)
  assert.equal(expandMetrics({}).ScoreMetaData, null)
})

const storedScores = [
  { name: 'none', best: [] },
  {
    name: 'by their fit alone',
    best: [
      ['n1', 0.5],
      ['n2', 0.25],
    ],
  },
  {
    name: 'negative, tiny and whole ones',
    best: [
      ['n1', -0.3],
      ['n2', 1e-7],
      ['n3', 1],
    ],
  },
  {
    name: 'with their parts',
    best: [
      ['n1', 0.1, { binpack: 0.5, 'node-affinity': -1 }],
      ['n2', 0],
    ],
  },
  { name: 'of a node that the text cannot name', best: [['a node, or two', 0.5]] },
] as const
for (const { name, best } of storedScores)
  test(`metrics: scores are decoded as encoded: ${name}`, () => {
    assert.deepEqual(decodeTopScores({ Best: encodeTopScores(best) }), best)
  })

const terminal = [
  { desired: 'run', client: 'running', byServer: false, byClient: false },
  { desired: 'run', client: 'unknown', byServer: false, byClient: false },
  { desired: 'run', client: 'failed', byServer: false, byClient: true },
  { desired: 'run', client: 'complete', byServer: false, byClient: true },
  { desired: 'run', client: 'lost', byServer: false, byClient: true },
  { desired: 'stop', client: 'running', byServer: true, byClient: false },
  { desired: 'evict', client: 'pending', byServer: true, byClient: false },
] as const
for (const { desired, client, byServer, byClient } of terminal)
  test(`terminal: ${desired} and ${client}`, () => {
    const row = anAllocation({ DesiredStatus: desired, ClientStatus: client })
    assert.equal(isServerTerminal(row), byServer)
    assert.equal(isClientTerminal(row), byClient)
    assert.equal(isTerminal(row), byServer || byClient)
  })

test('allocation name: index can be parsed', () => {
  assert.equal(allocationName('a/b', 'g[1]', 12), 'a/b.g[1][12]')
  assert.equal(allocationIndex('a/b.g[1][12]'), 12)
  assert.equal(allocationIndex('no index'), -1)
})

test('node stub: contract fields; others on demand', () => {
  const node = aNode({
    HTTPAddr: '[::1]:4646',
    Attributes: { 'os.name': 'debian', [AGENT_VERSION_ATTRIBUTE]: '1.2.3', secret: 'x' },
  })
  assert.deepEqual([...Value.Errors(NodeStub, nodeStub(node))], [])
  assert.equal(nodeStub(node).Address, '::1')
  assert.equal(nodeStub(node).Version, '1.2.3')
  assert.equal('Attributes' in nodeStub(node), false)
  const full = nodeStub(node, { os: true, resources: true })
  assert.deepEqual(full.Attributes, { 'os.name': 'debian' })
  assert.equal(full.NodeResources, node.NodeResources)
})
