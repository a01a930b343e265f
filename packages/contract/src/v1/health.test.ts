import assert from 'node:assert/strict'
import test from 'node:test'
import {
  allocationHealth,
  failureOf,
  failuresOf,
  failuresOfJob,
  jobHealth,
  type JobHealth,
  type JobHealthFacts,
} from './health.ts'
import type { AllocationStub } from './allocation.ts'

const NONE = { Queued: 0, Complete: 0, Failed: 0, Running: 0, Starting: 0, Lost: 0, Unknown: 0 }

interface Case {
  readonly name: string
  readonly counts?: Partial<typeof NONE>
  readonly facts?: Partial<JobHealthFacts>
  readonly job?: Partial<JobHealthFacts['job']>
  readonly health: JobHealth
}

const cases: readonly Case[] = [
  { name: 'all running', counts: { Running: 2 }, health: 'running' },
  { name: 'one missing', counts: { Running: 1 }, health: 'degraded' },
  { name: 'starting', counts: { Starting: 2 }, health: 'pending' },
  { name: 'nothing placed yet', health: 'pending' },
  { name: 'no capacity', counts: { Running: 1, Queued: 1 }, health: 'blocked' },
  { name: 'all failed', counts: { Failed: 2 }, health: 'failing' },
  { name: 'all lost', counts: { Lost: 2 }, health: 'failing' },
  { name: 'a replacement starts', counts: { Failed: 2, Starting: 1 }, health: 'degraded' },
  { name: 'a replacement has no capacity', counts: { Failed: 1, Queued: 1 }, health: 'blocked' },
  { name: 'disconnected', counts: { Running: 2, Unknown: 1 }, health: 'degraded' },
  { name: 'stopped', job: { Stop: true, Status: 'dead' }, health: 'stopped' },
  {
    name: 'deploying',
    counts: { Running: 1, Starting: 1 },
    facts: { isDeploying: true },
    health: 'deploying',
  },
  {
    name: 'a failing check',
    counts: { Running: 2 },
    facts: { hasFailingChecks: true },
    health: 'degraded',
  },
  {
    name: 'a failing check while deploying',
    counts: { Running: 2 },
    facts: { isDeploying: true, hasFailingChecks: true },
    health: 'deploying',
  },
  {
    name: 'a deployment whose allocations all failed',
    counts: { Failed: 2 },
    facts: { isDeploying: true },
    health: 'failing',
  },
  {
    name: 'all restart after a failure',
    counts: { Starting: 2 },
    facts: { isDeploying: true, restarting: 2 },
    health: 'failing',
  },
  {
    name: 'one restarts after a failure, one starts',
    counts: { Starting: 2 },
    facts: { restarting: 1 },
    health: 'degraded',
  },
  {
    name: 'one keeps restarting',
    counts: { Running: 2 },
    facts: { isUnstable: true },
    health: 'degraded',
  },
  {
    name: 'batch complete',
    counts: { Complete: 2 },
    job: { Type: 'batch', Status: 'dead' },
    health: 'complete',
  },
  {
    name: 'batch complete after a retry',
    counts: { Complete: 2, Failed: 1 },
    job: { Type: 'batch', Status: 'dead' },
    health: 'complete',
  },
  {
    name: 'batch failed',
    counts: { Complete: 1, Failed: 1 },
    job: { Type: 'batch', Status: 'dead' },
    health: 'failing',
  },
  {
    name: 'batch half done',
    counts: { Complete: 1, Running: 1 },
    job: { Type: 'batch' },
    health: 'running',
  },
  { name: 'periodic parent', facts: { isParent: true }, health: 'scheduled' },
  {
    name: 'parent with a running child',
    facts: { isParent: true, children: { Pending: 0, Running: 1, Dead: 4 } },
    health: 'running',
  },
]
for (const { name, counts, facts, job, health } of cases)
  test(`jobHealth: ${name}: ${health}`, () => {
    const found = jobHealth({
      job: { Stop: false, Status: 'running', Type: 'service', ...job },
      isParent: false,
      wanted: 2,
      counts: { ...NONE, ...counts },
      children: null,
      isDeploying: false,
      hasFailingChecks: false,
      restarting: 0,
      isUnstable: false,
      ...facts,
    })
    assert.equal(found, health)
  })

interface GivenEvent {
  readonly Type: string
  readonly ExitCode?: number
  readonly Signal?: number
  readonly DisplayMessage?: string
  readonly RestartReason?: string
  readonly FailsTask?: boolean
  readonly Details?: Readonly<Record<string, string>>
}

/** An allocation with the members that a failure depends on. */
function anAllocation(
  id: string,
  status: string,
  given: readonly GivenEvent[],
  { restarts = 0, state: State = 'dead' } = {},
) {
  const Events = given.map((event, at) => ({
    Time: at + 1,
    ExitCode: 0,
    Signal: 0,
    Message: '',
    RestartReason: '',
    DisplayMessage: '',
    FailsTask: false,
    Details: {},
    ...event,
  }))
  const state = { State, Failed: true, Restarts: restarts, Events }
  // `failureOf` reads no other members.
  return {
    ID: id,
    ClientStatus: status,
    ClientDescription: '',
    ModifyTime: 1,
    DeploymentStatus: null,
    TaskStates: { web: state },
  } as unknown as AllocationStub
}

/** Soon after the events. */
const NOW_MS = 1

const EXIT = { Type: 'Terminated', ExitCode: 3, DisplayMessage: 'Exit Code: 3' }

const kinds = [
  { name: 'an exit code', events: [EXIT], kind: 'exit', code: 3 },
  {
    name: 'out of memory',
    events: [{ ...EXIT, Details: { oom_killed: 'true' } }],
    kind: 'oom',
    code: 3,
  },
  { name: 'a driver', events: [{ Type: 'Driver Failure' }], kind: 'driver', code: null },
  {
    name: 'an artifact',
    events: [{ Type: 'Failed Artifact Download' }],
    kind: 'artifact',
    code: null,
  },
  {
    name: 'a template',
    events: [{ Type: 'Template', FailsTask: true }],
    kind: 'template',
    code: null,
  },
  {
    name: 'a check',
    events: [{ Type: 'Started' }, { Type: 'Alloc Unhealthy' }],
    kind: 'check',
    code: null,
  },
  {
    name: 'an exit code before the missed deadline of the deployment',
    events: [
      { Type: 'Started' },
      EXIT,
      { Type: 'Alloc Unhealthy', DisplayMessage: 'Task not running by healthy_deadline of 6s' },
    ],
    kind: 'exit',
    code: 3,
  },
  {
    name: 'the newest cause',
    events: [EXIT, { Type: 'Driver Failure' }],
    kind: 'driver',
    code: null,
  },
]
for (const { name, events, kind, code } of kinds)
  test(`failureOf: ${name}`, () => {
    const failure = failureOf(anAllocation('a', 'failed', events), NOW_MS)
    assert.deepEqual([failure?.Kind, failure?.ExitCode], [kind, code])
  })

test('failureOf: nothing is wrong with an allocation that runs or has completed', () => {
  assert.equal(failureOf(anAllocation('a', 'running', [{ Type: 'Started' }]), NOW_MS), undefined)
  assert.equal(
    failureOf(anAllocation('a', 'complete', [{ Type: 'Terminated' }]), NOW_MS),
    undefined,
  )
})

test('failureOf: a task that ran until a check failed was ended by that check', () => {
  const reason = 'healthcheck: check "http" unhealthy'
  const signaled = { Type: 'Restart Signaled', RestartReason: reason }
  const ended = { Type: 'Terminated', Signal: 15 }
  const events = [{ Type: 'Started' }, signaled, ended]
  const failure = failureOf(anAllocation('a', 'pending', events, { restarts: 1 }), NOW_MS)
  assert.deepEqual([failure?.Kind, failure?.Text], ['check', 'check "http" unhealthy'])
  const asked = { ...signaled, RestartReason: 'User requested task to restart' }
  const restarted = anAllocation('a', 'pending', [{ Type: 'Started' }, asked, ended], {
    restarts: 1,
  })
  assert.equal(failureOf(restarted, NOW_MS), undefined)
})

test('failureOf: a task that runs counts as failing after three restarts in ten minutes', () => {
  const running = (restarts: number) => {
    const events = [{ Type: 'Started' }, EXIT, { Type: 'Started' }]
    return anAllocation('a', 'running', events, { restarts, state: 'running' })
  }
  assert.equal(failureOf(running(2), NOW_MS), undefined)
  assert.equal(failureOf(running(3), NOW_MS)?.Text, 'exited with code 3')
  assert.equal(failureOf(running(3), NOW_MS + 600_001), undefined)
})

const MISSING = { Type: 'Template', DisplayMessage: 'Missing: variable(app/db)' }

test('failureOf: a task whose template waits for data says for what', () => {
  const late = [MISSING, { Type: 'Alloc Unhealthy', DisplayMessage: 'Task not running' }]
  const unhealthy = {
    ...anAllocation('a', 'pending', late, { state: 'pending' }),
    DeploymentStatus: { Healthy: false },
  }
  const wanted = ['template', 'waiting for variable(app/db)', 'web']
  // `failureOf` reads no other members.
  const failure = failureOf(unhealthy as unknown as AllocationStub, NOW_MS)
  assert.deepEqual([failure?.Kind, failure?.Text, failure?.Task], wanted)

  const waiting = anAllocation('a', 'pending', [MISSING], { state: 'pending' })
  assert.equal(failureOf(waiting, NOW_MS), undefined)
  assert.equal(failureOf(waiting, NOW_MS + 30_001)?.Text, wanted[1])

  const started = anAllocation('a', 'running', [MISSING, { Type: 'Started' }], { state: 'running' })
  assert.equal(failureOf(started, NOW_MS + 30_001), undefined)
})

test('failureOf: a task that waits for its restart has failed', () => {
  assert.equal(
    failureOf(anAllocation('a', 'pending', [EXIT], { restarts: 1 }), NOW_MS)?.Kind,
    'exit',
  )
})

test('failuresOf: equal failures are counted, the most frequent first', () => {
  const failures = failuresOf(
    [
      anAllocation('a', 'failed', [{ Type: 'Driver Failure' }]),
      anAllocation('b', 'failed', [EXIT]),
      anAllocation('c', 'failed', [EXIT]),
      anAllocation('d', 'lost', []),
    ],
    NOW_MS,
  )
  assert.deepEqual(
    failures.map(({ Kind, Count }) => [Kind, Count]),
    [
      ['exit', 2],
      ['driver', 1],
      ['lost', 1],
    ],
  )
})

const JOB = { Stop: false, Version: 1, SubmitTime: 1_000 }

/** Metrics of a group whose second allocation was not tried. */
const METRICS = {
  NodesEvaluated: 3,
  NodesFiltered: 1,
  NodesInPool: 3,
  NodePool: 'default',
  NodesAvailable: { dc1: 3 },
  ClassFiltered: null,
  ConstraintFiltered: { 'missing drivers': 1 },
  NodesExhausted: 2,
  ClassExhausted: null,
  DimensionExhausted: { memory: 2 },
  QuotaExhausted: null,
  ResourcesExhausted: null,
  Scores: null,
  ScoreMetaData: null,
  AllocationTime: 0,
  CoalescedFailures: 1,
}

test('failuresOfJob: a blocked evaluation names the groups without capacity', () => {
  const blocked = { Status: 'blocked', FailedTGAllocs: { web: METRICS }, ModifyTime: 7 } as const
  const [failure, ...more] = failuresOfJob(JOB, { allocations: [], evaluations: [blocked] }, NOW_MS)
  assert.deepEqual(more, [])
  assert.equal(
    failure?.Text,
    'group "web": 2 allocations could not be placed: not met: missing drivers (1 node); ' +
      'not enough: memory (2 nodes)',
  )
  assert.deepEqual(
    [failure.Kind, failure.Count, failure.Time, failure.AllocID],
    ['unplaced', 2, 7, ''],
  )
  const complete = { ...blocked, Status: 'complete' } as const
  assert.deepEqual(failuresOfJob(JOB, { allocations: [], evaluations: [complete] }, NOW_MS), [])
})

test('failuresOfJob: without nodes an unplaced group names the pool', () => {
  const metrics = { ...METRICS, NodesInPool: 0, NodesAvailable: { dc1: 0 } }
  const evaluations = [
    { Status: 'blocked', FailedTGAllocs: { web: metrics }, ModifyTime: 7 } as const,
  ]
  const [failure] = failuresOfJob(JOB, { allocations: [], evaluations }, NOW_MS)
  assert.match(failure?.Text ?? '', /: no node is ready in pool "default" and the datacenters/)
})

test('failuresOfJob: a denied submission counts until a later one is accepted', () => {
  const outcome = {
    PolicySet: 'guards',
    PolicySetID: 's',
    Policy: 'limits',
    PolicyID: 'p',
    Level: 'hard-mandatory',
    Status: 'failed',
    Effect: 'denies',
    Overridable: false,
    Description: null,
    Findings: [{ Rule: null, Line: null, Column: null, Message: 'count is 9, must be at most 3' }],
    FindingsOmitted: 0,
  } as const
  const denied = {
    Result: 'denied',
    Operation: 'register',
    Time: 2_000,
    Outcomes: [outcome],
  } as const
  const failuresAt = (nowMs: number, job: Partial<typeof JOB> = {}) =>
    failuresOfJob({ ...JOB, ...job }, { allocations: [], verdicts: [denied] }, nowMs)
  assert.deepEqual(
    failuresAt(NOW_MS).map(({ Kind, Text }) => [Kind, Text]),
    [['denied', 'policy "limits" denied the last submission: count is 9, must be at most 3']],
  )
  assert.equal(failuresAt(NOW_MS, { Stop: true }).length, 1)
  assert.deepEqual(failuresAt(NOW_MS, { SubmitTime: 3_000 }), [])
  assert.deepEqual(failuresAt(NOW_MS + 86_400_001), [])
  const overridden = { ...denied, Result: 'overridden', Time: 2_500 } as const
  assert.deepEqual(
    failuresOfJob(JOB, { allocations: [], verdicts: [denied, overridden] }, NOW_MS),
    [],
  )
})

const healthy = { Healthy: true }
const unhealthy = { Healthy: false }

const allocationCases = [
  { name: 'starts', status: 'pending', want: 'pending' },
  { name: 'runs', status: 'running', want: 'running' },
  { name: 'passed its checks', status: 'running', deployment: healthy, want: 'healthy' },
  {
    name: 'never ran while its deployment waited',
    status: 'pending',
    deployment: unhealthy,
    want: 'unhealthy',
  },
  { name: 'failed its checks', status: 'running', deployment: unhealthy, want: 'unhealthy' },
  {
    name: 'restarts after a failure',
    status: 'running',
    events: [EXIT],
    restarts: 1,
    want: 'failing',
  },
  { name: 'is stopping', status: 'running', desired: 'stop', want: 'stopping' },
  { name: 'ended by itself', status: 'complete', want: 'complete' },
  { name: 'was stopped', status: 'complete', desired: 'stop', want: 'stopped' },
  { name: 'was replaced', status: 'complete', desired: 'stop', next: 'b', want: 'replaced' },
  { name: 'failed', status: 'failed', events: [EXIT], want: 'failed' },
  { name: 'is lost', status: 'lost', desired: 'stop', want: 'lost' },
  { name: 'is on a disconnected node', status: 'unknown', want: 'unknown' },
]
for (const { name, status, events = [], restarts = 0, want, ...given } of allocationCases)
  test(`allocationHealth: one that ${name}: ${want}`, () => {
    const { desired = 'run', next = '', deployment = null } = given
    const allocation = {
      ...anAllocation('a', status, events, { restarts }),
      DesiredStatus: desired,
      NextAllocation: next,
      DeploymentStatus: deployment,
    }
    // `allocationHealth` reads no other members.
    assert.equal(allocationHealth(allocation as unknown as AllocationStub, NOW_MS), want)
  })
