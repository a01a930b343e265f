import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TaskState } from '@reeve/contract'
import { anAllocation, aJob } from '../../../test/build/index.ts'
import type { AllocationRow } from './allocation-row.ts'
import { allocationStub } from './allocation-view.ts'
import { nextAttempt, type NextAttemptInput } from './failed-allocation.ts'

const job = aJob()
const group = job.TaskGroups[0]

interface Case extends Partial<Omit<NextAttemptInput, 'allocation'>> {
  readonly name: string
  readonly row?: Partial<AllocationRow>
  readonly kind: string
  readonly text: RegExp
}

const RESTARTING = {
  State: 'pending',
  Restarts: 2,
  Events: [{ Type: 'Restarting', Time: 7, StartDelay: 3 }],
} satisfies Partial<Omit<TaskState, 'Events'>> & { Events: object[] }

const cases: readonly Case[] = [
  {
    name: 'a replacement',
    row: { NextAllocation: 'other' },
    kind: 'replaced',
    text: /replaced by a new allocation/,
  },
  { name: 'a stopped job', job: { ...job, Stop: true }, kind: 'none', text: /stopped/ },
  { name: 'a purged job', job: undefined, kind: 'none', text: /no longer registered/ },
  {
    name: 'a restart in place',
    row: { ClientStatus: 'pending', TaskStates: { main: RESTARTING } },
    kind: 'restart',
    text: /^Restart 2 on the same node/,
  },
  {
    name: 'a follow-up evaluation',
    followUp: { Status: 'pending', WaitUntil: '2026-01-01T00:00:00Z' },
    kind: 'reschedule',
    text: /^Reschedule attempt 1/,
  },
  {
    name: 'no capacity',
    openEvaluations: [{ Status: 'blocked' }],
    kind: 'waiting',
    text: /capacity/,
  },
  {
    name: 'the scheduler',
    openEvaluations: [{ Status: 'pending' }],
    kind: 'waiting',
    text: /evaluated/,
  },
  {
    name: 'an active deployment',
    deployment: { Status: 'running' },
    kind: 'waiting',
    text: /deployment decides/,
  },
  {
    name: 'a failed deployment',
    deployment: { Status: 'failed' },
    kind: 'none',
    text: /deployment failed/,
  },
  {
    name: 'a group without a policy',
    group: { Name: 'app', Tasks: [], ReschedulePolicy: null },
    kind: 'none',
    text: /no attempts/,
  },
]
for (const { name, row, kind, text, ...facts } of cases)
  test(`nextAttempt: ${name}`, () => {
    const allocation = allocationStub({ ...anAllocation({ job }), ClientStatus: 'failed', ...row })
    const found = nextAttempt({
      allocation,
      task: 'main',
      job,
      group,
      followUp: undefined,
      deployment: undefined,
      openEvaluations: [],
      ...facts,
    })
    assert.deepEqual([found.Kind, text.test(found.Text)], [kind, true], found.Text)
    if (kind === 'restart') assert.equal(found.Time, 10)
  })
