import assert from 'node:assert/strict'
import test from 'node:test'
import type { ReschedulePolicy } from '@reeve/contract'
import { anAllocation } from '../../../test/build/allocation.ts'
import { isoFromMs, nsFromMs } from '@reeve/kit/duration.ts'
import type { AllocationRow } from '../../model/index.ts'
import { decideReschedule, nextDelayNs, penaltyNodeIds, nextTracker } from './reschedule.ts'

const SECOND = nsFromMs(1_000)
const HOUR = 3_600 * SECOND
const START = 1_700_000_000_000

const exponential: ReschedulePolicy = {
  Attempts: 0,
  Interval: 0,
  Delay: 30 * SECOND,
  DelayFunction: 'exponential',
  MaxDelay: HOUR,
  Unlimited: true,
}
const fibonacci = { ...exponential, DelayFunction: 'fibonacci', MaxDelay: 600 * SECOND }
const constant: ReschedulePolicy = {
  Attempts: 1,
  Interval: 24 * HOUR,
  Delay: 5 * SECOND,
  DelayFunction: 'constant',
  MaxDelay: 0,
  Unlimited: false,
}

function failedAt(ms: number, fields: Partial<AllocationRow> = {}): AllocationRow {
  return anAllocation({
    ClientStatus: 'failed',
    TaskStates: { main: { State: 'dead', Failed: true, FinishedAt: isoFromMs(ms) } },
    ...fields,
  })
}

/** The delays of allocations that fail as soon as they are placed, each after the one before. */
function delays(policy: ReschedulePolicy, count: number): readonly number[] {
  let row = failedAt(START)
  let now = START
  return Array.from({ length: count }, () => {
    const delay = nextDelayNs(row, policy)
    now += delay / 1e6
    row = failedAt(now, { RescheduleTracker: nextTracker(row, policy, now) })
    return delay / SECOND
  })
}

const vectors = [
  { policy: exponential, want: [30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600] },
  { policy: fibonacci, want: [30, 30, 60, 90, 150, 240, 390, 600, 600] },
  { policy: { ...constant, Attempts: 9 }, want: [5, 5, 5] },
]
for (const { policy, want } of vectors)
  test(`reschedule delays: ${policy.DelayFunction}`, () => {
    assert.deepEqual(delays(policy, want.length), want)
  })

test('reschedule delays: reset after running longer than the maximum', () => {
  const events = [3_600, 3_600].map((delay, i) => ({
    RescheduleTime: nsFromMs(START + i),
    PrevAllocID: '',
    PrevNodeID: '',
    Delay: delay * SECOND,
  }))
  const tracker = { Events: events, LastReschedule: 'ok' }
  const soon = failedAt(START + 1_000, { RescheduleTracker: tracker })
  assert.equal(nextDelayNs(soon, exponential), HOUR)
  const late = failedAt(START + 2 * 3_600_000, { RescheduleTracker: tracker })
  assert.equal(nextDelayNs(late, exponential), 30 * SECOND)
})

const event = {
  RescheduleTime: nsFromMs(START - 60_000),
  PrevAllocID: 'p',
  PrevNodeID: 'n',
  Delay: 0,
}
const tried = { RescheduleTracker: { Events: [event], LastReschedule: 'ok' } }
const decisions: readonly {
  name: string
  row: AllocationRow
  policy: ReschedulePolicy | null
  nowMs?: number
  want: ReturnType<typeof decideReschedule>
}[] = [
  {
    name: 'before its delay it waits',
    row: failedAt(START),
    policy: exponential,
    want: { when: 'later', dueMs: START + 30_000 },
  },
  {
    name: 'after its delay it is placed',
    row: failedAt(START),
    policy: exponential,
    nowMs: START + 30_000,
    want: { when: 'now' },
  },
  {
    name: 'a second early is early enough',
    row: failedAt(START),
    policy: exponential,
    nowMs: START + 29_000,
    want: { when: 'now' },
  },
  {
    name: 'its own follow-up places it',
    row: failedAt(START, { FollowupEvalID: 'this' }),
    policy: exponential,
    want: { when: 'now' },
  },
  {
    name: 'a failure that lies ahead of the clock waits for its delay once',
    row: failedAt(START + 3_600_000),
    policy: exponential,
    want: { when: 'later', dueMs: START + 30_000 },
  },
  {
    name: 'a failure that lies ahead waits for the follow-up that is to come',
    row: failedAt(START + 3_600_000, { FollowupEvalID: 'to come' }),
    policy: exponential,
    want: { when: 'later', dueMs: START + 30_000 },
  },
  {
    name: 'a failure that lies ahead does not wait again when its follow-up is over',
    row: failedAt(START + 3_600_000, { FollowupEvalID: 'over' }),
    policy: exponential,
    want: { when: 'now' },
  },
  {
    name: 'attempts within the interval are counted',
    row: failedAt(START, tried),
    policy: constant,
    want: { when: 'never' },
  },
  {
    name: 'attempts before the interval are forgotten',
    row: failedAt(START, tried),
    policy: { ...constant, Interval: 30 * SECOND },
    want: { when: 'later', dueMs: START + 5_000 },
  },
  {
    name: 'without a policy never',
    row: failedAt(START),
    policy: null,
    want: { when: 'never' },
  },
  {
    name: 'with a policy that is off never',
    row: failedAt(START),
    policy: { ...constant, Attempts: 0 },
    want: { when: 'never' },
  },
  {
    name: 'forced, whatever the policy says',
    row: failedAt(START, { ...tried, DesiredTransition: { ForceReschedule: true } }),
    policy: constant,
    want: { when: 'now' },
  },
  {
    name: 'one whose tasks never began failed when it was written',
    row: anAllocation({ ClientStatus: 'failed', ModifyTime: nsFromMs(START) }),
    policy: constant,
    want: { when: 'later', dueMs: START + 5_000 },
  },
]
for (const { name, row, policy, nowMs, want } of decisions)
  test(`reschedule: ${name}`, () => {
    const context = {
      policy,
      nowMs: nowMs ?? START,
      evaluationIds: new Set(['this']),
      isPendingEvaluation: (id: string) => id !== 'over',
    }
    assert.deepEqual(decideReschedule(row, context), want)
  })

test('reschedule: unlimited policy keeps the last five attempts', () => {
  let row = failedAt(START)
  for (let i = 0; i < 9; i++)
    row = failedAt(START, { RescheduleTracker: nextTracker(row, exponential, START + i) })
  assert.equal(row.RescheduleTracker?.Events.length, 6)
})

test('reschedule: records the nodes of failures', () => {
  assert.deepEqual([...penaltyNodeIds(failedAt(START, { NodeID: 'm', ...tried }))], ['m', 'n'])
})
