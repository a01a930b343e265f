import assert from 'node:assert/strict'
import test from 'node:test'
import type { AllocationStub, Deployment } from '@reeve/contract'
import type { CliHost } from '../host.ts'
import {
  DeploymentLines,
  type DeploymentProgress,
  hasEnded,
  lastMessage,
  waitsForPromotion,
} from './deployment-text.ts'
import { LiveRegion } from './deployment-monitor.ts'

function aScreen(columns: number, rows: number) {
  const written: string[] = []
  const host: Pick<CliHost, 'out' | 'columns' | 'rows'> = {
    out: (text) => void written.push(text),
    columns: () => columns,
    rows: () => rows,
  }
  return { screen: new LiveRegion(host), written }
}

test('Screen: paints over what it painted, and only when something is different', () => {
  const { screen, written } = aScreen(20, 10)
  screen.redraw('one\ntwo\n')
  screen.redraw('one\ntwo\n')
  screen.redraw('three\n')
  screen.end('the end\n')
  assert.deepEqual(written, [
    '\u001b[?25lone\u001b[K\ntwo\u001b[K\n\u001b[J',
    '\u001b[2A\rthree\u001b[K\n\u001b[J',
    '\u001b[1A\r\u001b[J',
    '\u001b[?25h',
    'the end\n',
  ])
})

test('Screen: what would wrap or scroll is cut, as it could not be painted over', () => {
  const { screen, written } = aScreen(6, 3)
  screen.redraw('a long line\ntwo\nthree\n')
  assert.deepEqual(written, ['\u001b[?25la lon…\u001b[K\ntwo\u001b[K\n\u001b[J'])
})

/** As much of an allocation as is looked at. */
function anAllocation(fields: Partial<AllocationStub> = {}): AllocationStub {
  const base = {
    ID: '6ba7b810-9dad-11d1-80b4-00c04fd430c8',
    Name: 'web.app[0]',
    NodeName: 'one',
    TaskGroup: 'app',
    DesiredStatus: 'run',
    NextAllocation: '',
    ClientStatus: 'running',
    ClientDescription: '',
    DeploymentStatus: null,
    TaskStates: null,
    CreateIndex: 5,
  }
  // The code under test reads no other field.
  return { ...base, ...fields } as AllocationStub
}

function aDeployment(
  group: Partial<Deployment['TaskGroups'][string]>,
  status = 'running',
): Deployment {
  const state = {
    DesiredTotal: 2,
    HealthyAllocs: 0,
    DesiredCanaries: 0,
    Promoted: false,
    AutoPromote: false,
    ...group,
  }
  const base = {
    ID: '11111111-9dad-11d1-80b4-00c04fd430c8',
    Status: status,
    StatusDescription: 'Going on',
  }
  // Likewise.
  return { ...base, TaskGroups: { app: state } } as unknown as Deployment
}

const NOW_MS = 1

test('RolloutLines: prints only changes to a pipe', () => {
  const lines = new DeploymentLines()
  const state = {
    jobId: 'web',
    evaluation: undefined,
    deployment: aDeployment({}),
    allocations: [anAllocation()],
  }
  assert.deepEqual(lines.changedLines(state, NOW_MS), [
    'Deployment 11111111 is running: Going on.',
    'Allocation 6ba7b810 (web.app[0] on one) is running.',
    'Group "app": 0 of 2 healthy.',
  ])
  assert.deepEqual(lines.changedLines(state, NOW_MS), [])
  const health = { Healthy: true, Canary: true, Timestamp: '', ModifyIndex: 6 }
  const next = { ...state, allocations: [anAllocation({ DeploymentStatus: health })] }
  assert.deepEqual(lines.changedLines(next, NOW_MS), [
    'Allocation 6ba7b810 (web.app[0] on one) is healthy (canary).',
  ])
})

test('RolloutLines: the end of a deployment is printed last', () => {
  const deployment = aDeployment({ HealthyAllocs: 2 }, 'successful')
  const allocations = [anAllocation()]
  const state = { jobId: 'web', evaluation: undefined, deployment, allocations }
  assert.equal(
    new DeploymentLines().changedLines(state, NOW_MS).at(-1),
    'Deployment 11111111 is successful: Going on.',
  )
})

test('RolloutLines: failures are printed once while it runs', () => {
  const lines = new DeploymentLines()
  const told = (ExitCode: number, Healthy: boolean | null = null) => {
    const ended = { Type: 'Terminated', Time: 1, ExitCode, Signal: 0 }
    const event = { ...ended, Message: '', DisplayMessage: 'It ended', Details: {} }
    // Only these fields are read.
    const TaskStates = { main: { Events: [event] } } as unknown as AllocationStub['TaskStates']
    const DeploymentStatus = { Healthy, Canary: false, Timestamp: '', ModifyIndex: 6 }
    const allocations = [anAllocation({ TaskStates, DeploymentStatus })]
    const state = { jobId: 'web', evaluation: undefined, deployment: undefined, allocations }
    return lines.changedLines(state, NOW_MS).filter((line) => line.includes('task'))
  }
  assert.deepEqual(told(0), [], 'it ended as it should')
  assert.deepEqual(told(1, true), [], 'it is healthy by now')
  assert.deepEqual(told(1), ['Allocation 6ba7b810, task "main": It ended'])
  assert.deepEqual(told(1), [])
})

test('RolloutLines: data that a task waited for are not reported once it has started', () => {
  const waiting = { Type: 'Template', Time: 1, DisplayMessage: 'Missing: variable(a)' }
  const started = { Type: 'Started', Time: 2, DisplayMessage: 'Task started by client' }
  const told = (Events: readonly object[]) => {
    // Only these fields are read.
    const TaskStates = { main: { Events } } as unknown as AllocationStub['TaskStates']
    const allocations = [anAllocation({ TaskStates })]
    const state = { jobId: 'web', evaluation: undefined, deployment: undefined, allocations }
    const lines = new DeploymentLines().changedLines(state, NOW_MS)
    return lines.filter((line) => line.includes('Missing'))
  }
  assert.equal(told([waiting]).length, 1)
  assert.deepEqual(told([waiting, started]), [])
})

test('RolloutLines: a failing check is reported until the allocation is healthy', () => {
  const one = { ID: 'a', ServiceName: 'web', AllocID: anAllocation().ID, Address: '', Port: 1 }
  const Checks = { Passing: 0, Failing: 1, Pending: 0, Output: 'db: refused\nmore' }
  // Only these fields are read.
  const services = [{ ...one, Checks }] as unknown as NonNullable<DeploymentProgress['services']>
  const told = (Healthy: boolean | null) => {
    const DeploymentStatus = { Healthy, Canary: false, Timestamp: '', ModifyIndex: 6 }
    const allocations = [anAllocation({ DeploymentStatus })]
    const known = { jobId: 'web', evaluation: undefined, deployment: undefined, allocations }
    const lines = new DeploymentLines().changedLines({ ...known, services }, NOW_MS)
    return lines.filter((line) => line.includes('check'))
  }
  assert.deepEqual(told(null), ['Allocation 6ba7b810, service "web": a check fails: db: refused'])
  assert.deepEqual(told(true), [])
})

const CANARY = { Canary: true, Timestamp: '', ModifyIndex: 6 }

const promotions = [
  {
    name: 'healthy canaries wait for a person',
    group: { DesiredCanaries: 1 },
    healthy: true,
    waits: true,
  },
  {
    name: 'canaries whose health is not known do not',
    group: { DesiredCanaries: 1 },
    healthy: null,
    waits: false,
  },
  {
    name: 'promoted ones do not',
    group: { DesiredCanaries: 1, Promoted: true },
    healthy: true,
    waits: false,
  },
  {
    name: 'those that promote themselves do not',
    group: { DesiredCanaries: 1, AutoPromote: true },
    healthy: true,
    waits: false,
  },
  { name: 'too few do not', group: { DesiredCanaries: 2 }, healthy: true, waits: false },
  { name: 'without canaries there is nothing to promote', group: {}, healthy: true, waits: false },
]

for (const { name, group, healthy, waits } of promotions)
  test(`waitsForPromotion: ${name}`, () => {
    const allocation = anAllocation({ DeploymentStatus: { ...CANARY, Healthy: healthy } })
    assert.equal(waitsForPromotion(aDeployment(group), [allocation]), waits)
  })

test('hasEnded: a blocked or paused deployment has not ended', () => {
  assert.deepEqual(
    (['successful', 'failed', 'cancelled', 'running', 'paused', 'blocked'] as const).map((Status) =>
      hasEnded({ Status }),
    ),
    [true, true, true, false, false, false],
  )
})

test('lastMessage: prefers the failure to the reaction to it', () => {
  const event = (Type: string, Time: number, DisplayMessage: string) => ({
    Type,
    Time,
    DisplayMessage,
  })
  const Events = [
    event('Started', 1, 'Task started by client'),
    event('Terminated', 2, 'Exit Code: 3'),
    event('Not Restarting', 3, 'Policy allows no restarts'),
  ]
  // Only these fields are read.
  const TaskStates = { main: { Events } } as unknown as AllocationStub['TaskStates']
  assert.equal(lastMessage(anAllocation({ TaskStates })), 'task "main": Exit Code: 3')
  assert.equal(lastMessage(anAllocation({ ClientDescription: 'lost' })), 'lost')
})
