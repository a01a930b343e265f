import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ok } from '@reeve/kit/result.ts'
import type { Judgement, PolicyText, Subject } from '../policy/index.ts'
import { PolicyThreads } from './policy-threads.ts'

const JOB: Subject = {
  kind: 'job',
  namespace: 'default',
  token: undefined,
  existingJob: undefined,
  variables: new Map(),
  job: { ID: 'web' },
}
const POLICY: PolicyText = { name: 'p', kind: 'native', query: null, code: 'main = true' }
const ASKED = [{ policy: POLICY, params: {} }]
const PASSED: Judgement = { status: 'passed', output: [], findings: [] }
const ORIGIN = { tenant: 'a' }
const COUNTS = { additions: 0, changes: 0, destructions: 0, imports: 0, resources: 0 }

/** Answers at once. */
function aQuickAsker() {
  return {
    isStopped: false,
    ask: async () => [PASSED],
    diagnose: async () => [],
    inspectPlan: async () => ok({ counts: COUNTS, hasChanges: false, bytes: Uint8Array.of() }),
    redactPlan: async () => ok(Uint8Array.of()),
    inspectInput: async () => ok(null),
    readSetArchive: async () => ok({ policies: [], params: {} }),
    async stop() {
      this.isStopped = true
    },
  }
}

/** Never answers. */
function aStuckAsker() {
  const never = () => new Promise<never>(() => undefined)
  return { ...aQuickAsker(), ask: never, diagnose: never, inspectPlan: never }
}

test('what guards is answered while a trial takes its time', async () => {
  const threads = new PolicyThreads({ guard: aQuickAsker(), trial: aStuckAsker() })
  const answered: string[] = []
  void threads.ask(JOB, ASKED, { tenant: 'a', purpose: 'trial' }).then(() => answered.push('trial'))
  void threads
    .diagnose(POLICY, { tenant: 'a', purpose: 'trial' })
    .then(() => answered.push('trial'))
  assert.deepEqual(await threads.ask(JOB, ASKED, ORIGIN), [PASSED])
  assert.deepEqual(await threads.diagnose(POLICY, ORIGIN), [])
  assert.equal((await threads.inspectPlan(Uint8Array.of(), ORIGIN)).ok, true)
  assert.deepEqual(answered, [])
})

test('a trial is answered while what guards takes its time', async () => {
  const threads = new PolicyThreads({ guard: aStuckAsker(), trial: aQuickAsker() })
  assert.deepEqual(await threads.ask(JOB, ASKED, { tenant: 'a', purpose: 'trial' }), [PASSED])
  assert.deepEqual(await threads.diagnose(POLICY, { tenant: 'a', purpose: 'trial' }), [])
})

test('both threads are ended', async () => {
  const guard = aQuickAsker()
  const trial = aQuickAsker()
  await new PolicyThreads({ guard, trial }).stop()
  assert.deepEqual([guard.isStopped, trial.isStopped], [true, true])
})
