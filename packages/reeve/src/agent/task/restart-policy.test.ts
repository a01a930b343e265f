import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { nsFromMs } from '@reeve/kit/duration.ts'
import {
  decideRestart,
  INITIAL_TRACKER,
  isSuccessfulExit,
  shouldRestartOnSuccess,
  startWindow,
  type ExitCause,
  type RestartInput,
  type RestartTracker,
} from './restart-policy.ts'

const MINUTE = 60_000

function exited(exitCode: number, signal = 0): ExitCause {
  return {
    kind: 'exited',
    exit: { exitCode, signal, oomKilled: false, message: '', atMs: 0 },
  }
}

function question(fields: Partial<RestartInput> = {}): RestartInput {
  return {
    policy: {
      Attempts: 2,
      Interval: nsFromMs(30 * MINUTE),
      Delay: nsFromMs(15_000),
      Mode: 'fail',
    },
    tracker: { count: 0, windowStartMs: 0 },
    cause: exited(1),
    restartsOnSuccess: true,
    nowMs: 10_000,
    random: 0,
    ...fields,
  }
}

const policy = question().policy
const cases = [
  {
    name: 'a failure within policy restarts after the delay',
    question: {},
    kind: 'restart',
    delayMs: 15_000,
  },
  {
    name: 'up to a quarter of the delay is added',
    question: { random: 0.999_99 },
    kind: 'restart',
    delayMs: 18_750,
  },
  {
    name: 'the last allowed attempt',
    question: { tracker: { count: 1, windowStartMs: 0 } },
    kind: 'restart',
    delayMs: 15_000,
  },
  {
    name: 'one more than allowed fails',
    question: { tracker: { count: 2, windowStartMs: 0 } },
    kind: 'failed',
  },
  {
    name: 'mode delay waits for the rest of the window',
    question: { tracker: { count: 2, windowStartMs: 0 }, policy: { ...policy, Mode: 'delay' } },
    kind: 'restart',
    delayMs: 30 * MINUTE - 10_000,
  },
  {
    name: 'an end after the window counts as the first',
    question: { tracker: { count: 2, windowStartMs: 0 }, nowMs: 30 * MINUTE + 1 },
    kind: 'restart',
    delayMs: 15_000,
  },
  {
    name: 'a service restarts after success too',
    question: { cause: exited(0) },
    kind: 'restart',
    delayMs: 15_000,
  },
  {
    name: 'success of a batch task finishes it',
    question: { cause: exited(0), restartsOnSuccess: false },
    kind: 'finished',
  },
  {
    name: 'death by signal is no success',
    question: { cause: exited(0, 9), restartsOnSuccess: false },
    kind: 'restart',
    delayMs: 15_000,
  },
  { name: 'no attempts, failed', question: { policy: { ...policy, Attempts: 0 } }, kind: 'failed' },
  {
    name: 'no attempts, succeeded',
    question: { policy: { ...policy, Attempts: 0 }, cause: exited(0) },
    kind: 'finished',
  },
  {
    name: 'a start that can never succeed is not retried',
    question: { cause: { kind: 'not-started', recoverable: false } },
    kind: 'failed',
  },
  {
    name: 'a start that may succeed later is',
    question: { cause: { kind: 'not-started', recoverable: true } },
    kind: 'restart',
    delayMs: 15_000,
  },
  {
    name: 'a lost task counts like a failed one',
    question: { cause: { kind: 'lost' } },
    kind: 'restart',
    delayMs: 15_000,
  },
] as const
for (const c of cases) {
  test(`decideRestart: ${c.name}`, () => {
    const { decide } = decideRestart(question(c.question))
    assert.equal(decide.kind, c.kind)
    if (decide.kind === 'restart') assert.equal(decide.delayMs, 'delayMs' in c ? c.delayMs : 0)
  })
}

test('decideRestart: service defaults give two restarts within the window, then fail', () => {
  // Exits at 0, 15 and 30 seconds.
  let tracker: RestartTracker = startWindow(INITIAL_TRACKER, 0)
  const kinds = [0, 15_000, 30_000].map((nowMs) => {
    const outcome = decideRestart(question({ tracker, nowMs }))
    tracker = outcome.tracker
    return outcome.decide.kind
  })
  assert.deepEqual(kinds, ['restart', 'restart', 'failed'])
})

test('decideRestart: never more restarts in a window than attempts, whatever the ends', () => {
  const ends = fc.array(fc.integer({ min: 0, max: 10 * MINUTE }), { maxLength: 40 })
  fc.assert(
    fc.property(ends, fc.integer({ min: 1, max: 5 }), (gaps, Attempts) => {
      let tracker = INITIAL_TRACKER
      let nowMs = 0
      let inWindow = 0
      for (const gap of gaps) {
        nowMs += gap
        const before = tracker.windowStartMs
        const outcome = decideRestart(question({ tracker, nowMs, policy: { ...policy, Attempts } }))
        tracker = outcome.tracker
        if (tracker.windowStartMs !== before) inWindow = 0
        if (outcome.decide.kind === 'failed') return
        inWindow += 1
        assert.ok(inWindow <= Attempts)
      }
    }),
  )
})

const onSuccess = [
  { type: 'service', lifecycle: null, restarts: true },
  { type: 'system', lifecycle: null, restarts: true },
  { type: 'batch', lifecycle: null, restarts: false },
  { type: 'sysbatch', lifecycle: null, restarts: false },
  { type: 'service', lifecycle: { Hook: 'prestart', Sidecar: false }, restarts: false },
  { type: 'batch', lifecycle: { Hook: 'prestart', Sidecar: true }, restarts: true },
  { type: 'service', lifecycle: { Hook: 'poststart', Sidecar: false }, restarts: false },
  { type: 'service', lifecycle: { Hook: 'poststop', Sidecar: true }, restarts: false },
]
for (const c of onSuccess) {
  const hook = c.lifecycle === null ? 'main' : `${c.lifecycle.Hook} sidecar=${c.lifecycle.Sidecar}`
  test(`restartsOnSuccess: ${c.type} ${hook} is ${c.restarts}`, () => {
    assert.equal(shouldRestartOnSuccess(c.type, c.lifecycle), c.restarts)
  })
}

test('isSuccess: an exit with a driver message is a failure', () => {
  const exit = { exitCode: 0, signal: 0, oomKilled: false, message: '', atMs: 0 }
  assert.equal(isSuccessfulExit(exit), true)
  assert.equal(isSuccessfulExit({ ...exit, message: 'processes survived' }), false)
})
