import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import type { Clock } from '@reeve/kit/clock.ts'
import { ok } from '@reeve/kit/result.ts'
import type { AskedPolicy, AskedSubject, Judgement, Subject } from '../policy/index.ts'
import { GuardThreads, openGuardThreads } from './guard-threads.ts'

const JOB: Subject = {
  kind: 'job',
  namespace: 'default',
  token: undefined,
  existingJob: undefined,
  variables: new Map(),
  job: { ID: 'web' },
}
const PLAN: AskedSubject = { kind: 'stored-plan', bytes: Uint8Array.of(), run: {} }
const PASSED: Judgement = { status: 'passed', output: [], findings: [] }
const ORIGIN = { tenant: 'a' }
const COUNTS = { additions: 0, changes: 0, destructions: 0, imports: 0, resources: 0 }

function asked(...codes: readonly string[]): readonly AskedPolicy[] {
  return codes.map((code) => ({
    policy: { name: 'p', kind: 'native', query: null, code },
    params: {},
  }))
}

/** Threads that write down who was asked; the time that a code takes is its text. */
function someThreads() {
  const calls: string[] = []
  const msOf = (policies: readonly AskedPolicy[]) =>
    policies.reduce((sum, { policy }) => sum + Number(policy.code), 0)
  const answer = (who: string, policies: readonly AskedPolicy[]) => {
    calls.push(who)
    return { said: policies.map(() => PASSED), ms: msOf(policies) }
  }
  const quick = {
    async askTogether(_subject: AskedSubject, policies: readonly AskedPolicy[]) {
      const { said, ms } = answer('quick', policies)
      return ms > 1_000 ? { said: 'too slow', ms: 1_000 } : { said, ms }
    },
    async tryDiagnose({ code }: { code: string }) {
      calls.push('quick')
      return Number(code) > 1_000 ? 'too slow' : []
    },
    stop: async () => void calls.push('stop quick'),
  }
  const patient = {
    ask: async (_subject: AskedSubject, policies: readonly AskedPolicy[]) =>
      answer('patient', policies).said,
    askTimed: async (_subject: AskedSubject, policies: readonly AskedPolicy[]) =>
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
  return { calls, patient, threads: new GuardThreads({ quick, patient }) }
}

/** Gives the answers that are waited for until there is this one. */
async function answered<T>(answers: (() => void)[], asking: Promise<T>): Promise<T> {
  const over = asking.then(() => 'over')
  const nextTurn = () => new Promise((resume) => setImmediate(resume))
  do answers.shift()?.()
  while ((await Promise.race([over, nextTurn()])) !== 'over')
  return await asking
}

describe('GuardThreads', () => {
  /** Each line: what the policies take, one question after the other, and who answers. */
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
      for (const ms of takes) await threads.ask(JOB, asked(ms), ORIGIN)
      assert.deepEqual(calls, who)
    })

  it('what becomes quick again is asked quickly again', async () => {
    const { calls, threads, patient } = someThreads()
    await threads.ask(JOB, asked('2000'), ORIGIN)
    patient.askTimed = async () => ({ said: [PASSED], ms: 1 })
    for (let i = 0; i < 7; i++) await threads.ask(JOB, asked('2000'), ORIGIN)
    calls.length = 0
    await threads.ask(JOB, asked('2000'), ORIGIN)
    assert.equal(calls[0], 'quick')
  })

  it('many at once go one after the other, and the rest follows the first', async () => {
    const { calls, threads } = someThreads()
    const slow = Array.from({ length: 5 }, () => threads.ask(JOB, asked('900'), ORIGIN))
    const quick = threads.ask(JOB, asked('1'), ORIGIN)
    await Promise.all([...slow, quick])
    assert.deepEqual(calls, ['quick', 'quick', 'patient', 'patient', 'patient', 'patient'])
  })

  it('a question that fails gives its turn to the next', async () => {
    const { threads, patient } = someThreads()
    await threads.ask(JOB, asked('2000'), ORIGIN)
    const { askTimed } = patient
    patient.askTimed = () => Promise.reject(new Error('stopped'))
    await assert.rejects(threads.ask(JOB, asked('2000'), ORIGIN), { message: 'stopped' })
    patient.askTimed = askTimed
    assert.deepEqual(await threads.ask(JOB, asked('2000'), ORIGIN), [PASSED])
  })

  it('plans are read by the patient one, and of a policy it is asked as of a question', async () => {
    const { calls, threads } = someThreads()
    await threads.ask(PLAN, asked('1'), ORIGIN)
    await threads.inspectPlan(Uint8Array.of(), ORIGIN)
    await threads.diagnose({ name: 'p', kind: 'native', query: null, code: '1' }, ORIGIN)
    await threads.diagnose({ name: 'p', kind: 'native', query: null, code: '2000' }, ORIGIN)
    assert.deepEqual(calls, ['patient', 'patient', 'quick', 'quick', 'patient'])
    await threads.stop()
    assert.deepEqual(calls.slice(5), ['stop quick', 'stop patient'])
  })

  it('asks nobody when there are no policies', async () => {
    const { calls, threads } = someThreads()
    assert.deepEqual([await threads.ask(JOB, [], ORIGIN), calls], [[], []])
  })

  it('of slow policies, no more wait than are answered in a minute', async () => {
    const { threads, patient } = someThreads()
    const answers: (() => void)[] = []
    patient.askTimed = () =>
      new Promise((settle) => answers.push(() => settle({ said: [PASSED], ms: 20_000 })))
    const first = threads.ask(JOB, asked('10000'), ORIGIN)
    await answered(answers, first)
    // The pace is 5,188 ms by now.
    const waiting = Array.from({ length: 11 }, () => threads.ask(JOB, asked('10000'), ORIGIN))
    await assert.rejects(threads.ask(JOB, asked('10000'), ORIGIN), {
      kind: 'overloaded',
      message: '11 questions wait for the same policies (limit 11 per tenant); retry later',
    })
    for (const one of waiting) assert.deepEqual(await answered(answers, one), [PASSED])
    assert.deepEqual(await answered(answers, threads.ask(JOB, asked('10000'), ORIGIN)), [PASSED])
  })
})

test('policies that take their time leave others their answers', async () => {
  // The quick thread's time is over as soon as it has begun; the patient one has all of it.
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
  const threads = openGuardThreads({ clock, version: '' })
  const loop = 'l = range(1000000)\nfor range(49) as a { if l contains -1 { break } }\nmain = true'
  let isAnswered = false
  const slow = threads.ask(JOB, asked(...Array.from({ length: 20 }, () => loop)), ORIGIN)
  void slow.then(() => (isAnswered = true)).catch(() => undefined)
  const [quick] = await threads.ask(JOB, asked('main = false'), ORIGIN)
  assert.deepEqual([quick?.status, isAnswered], ['failed', false])
  await threads.stop()
  await assert.rejects(slow, { kind: 'thread-stopped' })
})
