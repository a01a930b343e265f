import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ok } from '@reeve/kit/result.ts'
import type { PolicyResult, PolicyDefinition, PolicyInput } from '../policy/index.ts'
import { PolicyWorkers } from './policy-workers.ts'

const JOB: PolicyInput = {
  kind: 'job',
  namespace: 'default',
  token: undefined,
  existingJob: undefined,
  variables: new Map(),
  job: { ID: 'web' },
}
const POLICY: PolicyDefinition = { name: 'p', kind: 'native', query: null, code: 'main = true' }
const ASKED = [{ policy: POLICY, params: {} }]
const PASSED: PolicyResult = { status: 'passed', output: [], findings: [] }
const ORIGIN = { tenant: 'a' }
const COUNTS = { additions: 0, changes: 0, destructions: 0, imports: 0, resources: 0 }

/** Responds immediately. */
function aQuickAsker() {
  return {
    isStopped: false,
    evaluate: async () => [PASSED],
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

/** Never responds. */
function aStuckAsker() {
  const never = () => new Promise<never>(() => undefined)
  return { ...aQuickAsker(), evaluate: never, diagnose: never, inspectPlan: never }
}

test('enforcement is not delayed by a slow preview', async () => {
  const threads = new PolicyWorkers({ guard: aQuickAsker(), trial: aStuckAsker() })
  const answered: string[] = []
  void threads
    .evaluate(JOB, ASKED, { tenant: 'a', purpose: 'trial' })
    .then(() => answered.push('trial'))
  void threads
    .diagnose(POLICY, { tenant: 'a', purpose: 'trial' })
    .then(() => answered.push('trial'))
  assert.deepEqual(await threads.evaluate(JOB, ASKED, ORIGIN), [PASSED])
  assert.deepEqual(await threads.diagnose(POLICY, ORIGIN), [])
  assert.equal((await threads.inspectPlan(Uint8Array.of(), ORIGIN)).ok, true)
  assert.deepEqual(answered, [])
})

test('a preview is not delayed by slow enforcement', async () => {
  const threads = new PolicyWorkers({ guard: aStuckAsker(), trial: aQuickAsker() })
  assert.deepEqual(await threads.evaluate(JOB, ASKED, { tenant: 'a', purpose: 'trial' }), [PASSED])
  assert.deepEqual(await threads.diagnose(POLICY, { tenant: 'a', purpose: 'trial' }), [])
})

test('stop terminates both threads', async () => {
  const guard = aQuickAsker()
  const trial = aQuickAsker()
  await new PolicyWorkers({ guard, trial }).stop()
  assert.deepEqual([guard.isStopped, trial.isStopped], [true, true])
})
