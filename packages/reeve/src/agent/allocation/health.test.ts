import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isoFromMs, nsFromMs, ZERO_TIME } from '@reeve/kit/duration.ts'
import { anAssignment, type AssignmentFields } from '../../../test/build/agent.ts'
import { taskEvent } from '../task/task-event.ts'
import { healthCriteriaOf, evaluateHealth, type TaskHealthInput } from './health-tracker.ts'
import type { Stage } from './lifecycle.ts'

const START_MS = Date.parse('2026-01-01T00:00:00Z')
const RULE = { deploymentId: 'd', minHealthyMs: 10_000, deadlineMs: 60_000 }

/** A task by its stage, and how many seconds after the start it began to run. */
function running(stage: Stage = 'main', atS = 0): TaskHealthInput {
  const StartedAt = isoFromMs(START_MS + atS * 1_000)
  return { name: stage, stage, state: { State: 'running', Failed: false, StartedAt, Paused: '' } }
}
function pending(stage: Stage = 'main'): TaskHealthInput {
  return {
    name: stage,
    stage,
    state: { State: 'pending', Failed: false, StartedAt: ZERO_TIME, Paused: '' },
  }
}
function dead(stage: Stage, Failed = false): TaskHealthInput {
  const StartedAt = isoFromMs(START_MS)
  return { name: stage, stage, state: { State: 'dead', Failed, StartedAt, Paused: '' } }
}

const cases: readonly {
  name: string
  tasks: readonly TaskHealthInput[]
  /** Seconds since the start. */
  at: number
  want: 'healthy' | 'unhealthy' | number
}[] = [
  { name: 'one that has yet to begin', tasks: [pending()], at: 0, want: 60 },
  { name: 'one that just began', tasks: [running()], at: 0, want: 10 },
  { name: 'one just before its time', tasks: [running()], at: 9.999, want: 10 },
  { name: 'one that ran long enough', tasks: [running()], at: 10, want: 'healthy' },
  { name: 'the last to begin counts', tasks: [running(), running('main', 5)], at: 10, want: 15 },
  { name: 'a restart begins it anew', tasks: [running('main', 8)], at: 10, want: 18 },
  { name: 'one between two runs', tasks: [running(), pending()], at: 30, want: 60 },
  { name: 'one that would be late', tasks: [running('main', 55)], at: 56, want: 60 },
  { name: 'one that is late', tasks: [running('main', 55)], at: 60, want: 'unhealthy' },
  { name: 'one that never began', tasks: [pending()], at: 60, want: 'unhealthy' },
  { name: 'well in the last moment', tasks: [running('main', 50)], at: 60, want: 'healthy' },
  { name: 'a failed task', tasks: [running(), dead('main', true)], at: 1, want: 'unhealthy' },
  { name: 'a main task that ended', tasks: [running(), dead('main')], at: 1, want: 'unhealthy' },
  {
    name: 'a sidecar that ended',
    tasks: [running(), dead('prestart-sidecar')],
    at: 1,
    want: 'unhealthy',
  },
  {
    name: 'a prestart task that is done',
    tasks: [dead('prestart'), running()],
    at: 10,
    want: 'healthy',
  },
  {
    name: 'a prestart task that failed',
    tasks: [dead('prestart', true), pending()],
    at: 1,
    want: 'unhealthy',
  },
  {
    name: 'a poststart task that is done',
    tasks: [running(), dead('poststart')],
    at: 10,
    want: 'healthy',
  },
  { name: 'a poststart task to come', tasks: [running(), pending('poststart')], at: 10, want: 60 },
  {
    name: 'a sidecar that runs',
    tasks: [running('poststart-sidecar', 4), running()],
    at: 10,
    want: 14,
  },
  {
    name: 'a poststop task never counts',
    tasks: [running(), pending('poststop')],
    at: 10,
    want: 'healthy',
  },
]
for (const { name, tasks, at, want } of cases)
  test(`health: ${name}`, () => {
    const nowMs = START_MS + at * 1_000
    const verdict = evaluateHealth(RULE, tasks, { nowMs, startedMs: START_MS })
    if (typeof want === 'string') assert.equal(verdict.kind, want)
    else assert.deepEqual(verdict, { kind: 'undecided', nextMs: START_MS + want * 1_000 })
  })

test('health: a missed deadline names the reason per task', () => {
  const tasks = [running('main', 55), pending('poststart'), dead('prestart')]
  const verdict = evaluateHealth(RULE, tasks, { nowMs: START_MS + 60_000, startedMs: START_MS })
  assert.deepEqual(verdict, {
    kind: 'unhealthy',
    reasons: [
      {
        task: 'main',
        reason: 'Task not running for min_healthy_time of 10s by healthy_deadline of 1m0s',
      },
      { task: 'poststart', reason: 'Task not running by healthy_deadline of 1m0s' },
    ],
  })
})

test('health: a late task reports the missing data of its templates', () => {
  const task = pending()
  const event = taskEvent('Template', START_MS, { Message: 'Missing: variable(app/db)' })
  const waiting = { ...task, state: { ...task.state, Events: [event] } }
  const verdict = evaluateHealth(RULE, [waiting], { nowMs: START_MS + 60_000, startedMs: START_MS })
  const reason = 'Task not running by healthy_deadline of 1m0s: Missing: variable(app/db)'
  assert.deepEqual(verdict, { kind: 'unhealthy', reasons: [{ task: 'main', reason }] })
})

const lateChecks = [
  {
    name: 'a status and a body',
    statusCode: 500,
    output: 'down\nmore',
    says: ' (status 500: down)',
  },
  { name: 'a page', statusCode: 404, output: '<!DOCTYPE HTML>', says: ' (status 404)' },
  { name: 'no response', output: 'connection refused', says: ' (connection refused)' },
  { name: 'nothing yet', output: '', says: '' },
]
for (const { name, says, ...found } of lateChecks)
  test(`health: a late check is reported with ${name}`, () => {
    const checks = {
      passingSinceMs: undefined,
      notPassing: [{ task: '', check: 'alive', ...found }],
    }
    const times = { nowMs: START_MS + 60_000, startedMs: START_MS, checks }
    const verdict = evaluateHealth({ ...RULE, requiresChecks: true }, [running('main', 1)], times)
    assert.deepEqual(verdict, {
      kind: 'unhealthy',
      reasons: [{ task: 'main', reason: `Services not healthy by deadline: alive${says}` }],
    })
  })

// Who is watched

const block = (HealthCheck: string, ms: number) => ({
  HealthCheck,
  MinHealthyTime: nsFromMs(ms),
  HealthyDeadline: nsFromMs(ms * 10),
})
const D1 = { DeploymentID: 'd1' }
const known = { Healthy: true, Timestamp: ZERO_TIME, Canary: false, ModifyIndex: 1 }
const blocks = { Update: block('checks', 100), Migrate: block('checks', 200) }
const watched: readonly { name: string; fields: AssignmentFields; want: number | undefined }[] = [
  { name: 'of a deployment: by its rules', fields: { allocation: D1, group: blocks }, want: 100 },
  { name: 'of none: by those of migrations', fields: { group: blocks }, want: 200 },
  {
    name: 'of a system job in a deployment: by its rules',
    fields: { allocation: D1, group: blocks, job: { Type: 'system' } },
    want: 100,
  },
  {
    name: 'of a batch job: not',
    fields: { group: blocks, job: { Type: 'batch' } },
    want: undefined,
  },
  {
    name: 'decided by a person: not',
    fields: { allocation: D1, group: { Update: block('manual', 100) } },
    want: undefined,
  },
  {
    name: 'of known health: not',
    fields: { allocation: { ...D1, DeploymentStatus: known }, group: blocks },
    want: undefined,
  },
  {
    name: 'a canary nobody has judged: by its rules',
    fields: {
      allocation: { ...D1, DeploymentStatus: { ...known, Healthy: null, Canary: true } },
      group: blocks,
    },
    want: 100,
  },
  {
    name: 'without any rules: not',
    fields: { allocation: D1, group: { Update: null } },
    want: undefined,
  },
]
for (const { name, fields, want } of watched)
  test(`health: an allocation ${name}`, () => {
    assert.equal(healthCriteriaOf(anAssignment(fields))?.minHealthyMs, want)
  })
