import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import type { Clock } from '@reeve/kit/clock.ts'
import { ok } from '@reeve/kit/result.ts'
import type { PolicyInvocation, EngineInput, PolicyResult, PolicyInput } from '../policy/index.ts'
import { EnforcementWorkers, createEnforcementWorkers } from './policy-workers.ts'

const JOB: PolicyInput = {
  kind: 'job',
  namespace: 'default',
  token: undefined,
  existingJob: undefined,
  variables: new Map(),
  job: { ID: 'web' },
}
const PLAN: EngineInput = { kind: 'stored-plan', bytes: Uint8Array.of(), run: {} }
const PASSED: PolicyResult = { status: 'passed', output: [], findings: [] }
const ORIGIN = { tenant: 'a' }
const COUNTS = { additions: 0, changes: 0, destructions: 0, imports: 0, resources: 0 }

function asked(...codes: readonly string[]): readonly PolicyInvocation[] {
  return codes.map((code) => ({
    policy: { name: 'p', kind: 'native', query: null, code },
    params: {},
  }))
}

/** Fake threads that record which one evaluated; the duration of a policy is its code. */
function someThreads() {
  const calls: string[] = []
  const msOf = (policies: readonly PolicyInvocation[]) =>
    policies.reduce((sum, { policy }) => sum + Number(policy.code), 0)
  const answer = (who: string, policies: readonly PolicyInvocation[]) => {
    calls.push(who)
    return { results: policies.map(() => PASSED), ms: msOf(policies) }
  }
  const quick = {
    async evaluateBatch(_subject: EngineInput, policies: readonly PolicyInvocation[]) {
      const { results, ms } = answer('quick', policies)
      return ms > 1_000 ? { results: 'too slow', ms: 1_000 } : { results, ms }
    },
    async tryDiagnose({ code }: { code: string }) {
      calls.push('quick')
      return Number(code) > 1_000 ? 'too slow' : []
    },
    stop: async () => void calls.push('stop quick'),
  }
  const patient = {
    evaluate: async (_subject: EngineInput, policies: readonly PolicyInvocation[]) =>
      answer('patient', policies).results,
    evaluateTimed: async (_subject: EngineInput, policies: readonly PolicyInvocation[]) =>
      answer('patient', policies),
    async diagnose() {
      calls.push('patient')
      return []
    },
    async inspectPlan() {
      calls.push('patient')
      return ok({ counts: COUNTS, hasChanges: false, bytes: Uint8Array.of() })
    },
    stop: async () => void calls.push('stop patient'),
  }
  return { calls, patient, threads: new EnforcementWorkers({ fast: quick, slow: patient }) }
}

/** Resolves pending evaluations until the given one has a result. */
async function answered<T>(answers: (() => void)[], asking: Promise<T>): Promise<T> {
  const over = asking.then(() => 'over')
  const nextTurn = () => new Promise((resume) => setImmediate(resume))
  do answers.shift()?.()
  while ((await Promise.race([over, nextTurn()])) !== 'over')
  return await asking
}

describe('GuardThreads', () => {
  /** Each line: durations of the policies per evaluation, and the thread that evaluates them. */
  const LINES: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    ['quick policies stay where they are', ['5', '5'], ['quick', 'quick']],
    ['one cold start makes nobody slow', ['390', '390', '390'], ['quick', 'quick', 'patient']],
    ['what was given up is asked again', ['10000'], ['quick', 'patient']],
    ['and not tried quickly the next time', ['2000', '2000'], ['quick', 'patient', 'patient']],
    ['what takes half a second moves on', ['500', '500'], ['quick', 'patient']],
    ['others are not touched by it', ['2000', '7'], ['quick', 'patient', 'quick']],
  ]
  for (const [what, takes, who] of LINES)
    it(what, async () => {
      const { calls, threads } = someThreads()
      for (const ms of takes) await threads.evaluate(JOB, asked(ms), ORIGIN)
      assert.deepEqual(calls, who)
    })

  it('uses the fast thread again when policies have become fast', async () => {
    const { calls, threads, patient } = someThreads()
    await threads.evaluate(JOB, asked('2000'), ORIGIN)
    patient.evaluateTimed = async () => ({ results: [PASSED], ms: 1 })
    for (let i = 0; i < 7; i++) await threads.evaluate(JOB, asked('2000'), ORIGIN)
    calls.length = 0
    await threads.evaluate(JOB, asked('2000'), ORIGIN)
    assert.equal(calls[0], 'quick')
  })

  it('evaluations of the same policies run one after the other', async () => {
    const { calls, threads } = someThreads()
    const slow = Array.from({ length: 5 }, () => threads.evaluate(JOB, asked('900'), ORIGIN))
    const quick = threads.evaluate(JOB, asked('1'), ORIGIN)
    await Promise.all([...slow, quick])
    assert.deepEqual(calls, ['quick', 'quick', 'patient', 'patient', 'patient', 'patient'])
  })

  it('a failed evaluation lets the next one run', async () => {
    const { threads, patient } = someThreads()
    await threads.evaluate(JOB, asked('2000'), ORIGIN)
    const { evaluateTimed } = patient
    patient.evaluateTimed = () => Promise.reject(new Error('stopped'))
    await assert.rejects(threads.evaluate(JOB, asked('2000'), ORIGIN), { message: 'stopped' })
    patient.evaluateTimed = evaluateTimed
    assert.deepEqual(await threads.evaluate(JOB, asked('2000'), ORIGIN), [PASSED])
  })

  it('validates plans on the slow thread; slow diagnostics move there', async () => {
    const { calls, threads } = someThreads()
    await threads.evaluate(PLAN, asked('1'), ORIGIN)
    await threads.inspectPlan(Uint8Array.of(), ORIGIN)
    await threads.diagnose({ name: 'p', kind: 'native', query: null, code: '1' }, ORIGIN)
    await threads.diagnose({ name: 'p', kind: 'native', query: null, code: '2000' }, ORIGIN)
    assert.deepEqual(calls, ['patient', 'patient', 'quick', 'quick', 'patient'])
    await threads.stop()
    assert.deepEqual(calls.slice(5), ['stop quick', 'stop patient'])
  })

  it('uses no thread without policies', async () => {
    const { calls, threads } = someThreads()
    assert.deepEqual([await threads.evaluate(JOB, [], ORIGIN), calls], [[], []])
  })

  it('rejects evaluations of slow policies that would wait more than a minute', async () => {
    const { threads, patient } = someThreads()
    const answers: (() => void)[] = []
    patient.evaluateTimed = () =>
      new Promise((settle) => answers.push(() => settle({ results: [PASSED], ms: 20_000 })))
    const first = threads.evaluate(JOB, asked('10000'), ORIGIN)
    await answered(answers, first)
    // The average is 5,188 ms by now.
    const waiting = Array.from({ length: 11 }, () => threads.evaluate(JOB, asked('10000'), ORIGIN))
    await assert.rejects(threads.evaluate(JOB, asked('10000'), ORIGIN), {
      kind: 'overloaded',
      message: '11 questions wait for the same policies (limit 11 per tenant); retry later',
    })
    for (const one of waiting) assert.deepEqual(await answered(answers, one), [PASSED])
    assert.deepEqual(await answered(answers, threads.evaluate(JOB, asked('10000'), ORIGIN)), [
      PASSED,
    ])
  })
})

test('slow policies do not delay others', async () => {
  // The limit of the fast thread is over as soon as it starts; that of the slow thread never is.
  const clock: Clock = {
    nowMs: () => 0,
    monotonicMs: () => 0,
    after(ms, wake) {
      if (ms <= 1_000 && isOver) queueMicrotask(wake)
      isOver = false
      return () => undefined
    },
  }
  let isOver = true
  const threads = createEnforcementWorkers({ clock, version: '' })
  const loop = 'l = range(1000000)\nfor range(49) as a { if l contains -1 { break } }\nmain = true'
  let isAnswered = false
  const slow = threads.evaluate(JOB, asked(...Array.from({ length: 20 }, () => loop)), ORIGIN)
  void slow.then(() => (isAnswered = true)).catch(() => undefined)
  const [quick] = await threads.evaluate(JOB, asked('main = false'), ORIGIN)
  assert.deepEqual([quick?.status, isAnswered], ['failed', false])
  await threads.stop()
  await assert.rejects(slow, { kind: 'thread-stopped' })
})
