import assert from 'node:assert/strict'
import { test } from 'node:test'
import type {
  PolicyInvocation,
  EvaluationOrigin,
  EvaluationPurpose,
  PolicyEngine,
} from '../../../src/policy/index.ts'
import { aBody } from './harness.ts'
import { aRunWorld, BUCKETS } from './run-world.ts'

/** Lets everything pass, and keeps what it was asked for. */
class PurposeAsker implements PolicyEngine {
  readonly purposes: EvaluationPurpose[] = []

  async evaluate(
    _subject: unknown,
    policies: readonly PolicyInvocation[],
    origin: EvaluationOrigin,
  ) {
    this.#take(origin)
    return policies.map(() => ({ status: 'passed', output: [], findings: [] }) as const)
  }

  async diagnose(_policy: unknown, origin: EvaluationOrigin) {
    this.#take(origin)
    return []
  }

  #take({ tenant, purpose = 'guard' }: EvaluationOrigin): void {
    assert.match(tenant, /^organization org-/, 'every question has its organization')
    this.purposes.push(purpose)
  }

  taken(): readonly EvaluationPurpose[] {
    return this.purposes.splice(0)
  }
}

test('only what nothing hangs on is asked as a trial', async () => {
  const asker = new PurposeAsker()
  const world = await aRunWorld({ policyAsker: asker })
  const { it } = world
  const code = 'main = true'
  const set = await world.set('native', { name: 'one', policies: [{ name: 'one', code }] })
  assert.deepEqual(asker.taken(), ['guard'], 'an upload')
  const other = await world.policy({ name: 'other', code })
  asker.taken()

  const run = await world.judged()
  assert.deepEqual(asker.taken(), ['guard'], 'a run')

  await it.ok('evaluateWorkspacePolicies', {
    params: { workspace_id: world.workspaceId },
    body: aBody('policy-dry-runs', { plan: JSON.parse(BUCKETS) }),
  })
  assert.deepEqual(asker.taken(), ['trial'], 'a plan of nobody')
  await it.ok('evaluatePolicySet', {
    params: { policy_set_id: set },
    body: aBody('policy-dry-runs', undefined, { run: { data: { type: 'runs', id: run.id } } }),
  })
  assert.deepEqual(asker.taken(), ['trial'], 'a run again')

  const params = { policy_id: other }
  const input = { job: { ID: 'web' } }
  await it.ok('tryPolicy', { params, body: aBody('policy-trials', { input }) })
  assert.deepEqual(asker.taken(), ['trial', 'trial'], 'an input')
  await it.ok('replayPolicy', { params, body: aBody('policy-replays', { subjects: ['runs'] }) })
  assert.deepEqual(asker.taken(), ['trial'], 'what has happened')
  await world.close()
})
