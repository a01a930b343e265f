import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { InProcessEngine } from './in-process-engine.ts'
import type { PolicyResult, EngineOptions } from './engine.ts'
import type { PolicyInput } from './policy-input.ts'

const OPTIONS: EngineOptions = {
  version: '1.0.0',
  time: { nowNs: 0n, zone: 'UTC', offsetSeconds: () => 0 },
  isCancelled: () => false,
  random: () => 0.5,
  offsetAt: () => 0,
}

const JOB: PolicyInput = {
  kind: 'job',
  job: { ID: 'web', Priority: 50 },
  existingJob: undefined,
  namespace: 'default',
  token: undefined,
  variables: new Map(),
}

const PLAN: PolicyInput = { kind: 'plan', plan: { format_version: '1.2' }, run: {} }

function judge(subject: PolicyInput, code: string): PolicyResult {
  const policy = { name: 'p', kind: 'native', query: null, code } as const
  const [judgement] = new InProcessEngine().evaluate(subject, [{ policy, params: {} }], OPTIONS)
  assert.ok(judgement !== undefined)
  return judgement
}

function skipped(concern: PolicyInput['kind']): PolicyResult {
  return { status: 'passed', output: [], findings: [], skipped: `it is about a ${concern}` }
}

describe('input kind of a native policy', () => {
  const ABOUT_PLANS = [
    'import "plan/v2" as plan\nmain = false',
    'import "tfrun" as run\nmain = false',
    'import "plan/v2" as p\nfor [1] as job { print(job) }\nmain = false',
    'import "plan/v2" as p\nmain = rule { all [1] as namespace { namespace > 1 } }',
    'import "plan/v2" as p\nf = func(job) { return job }\nmain = f(1) is 2',
  ]
  for (const code of ABOUT_PLANS)
    it(`plans: ${JSON.stringify(code)}`, () => {
      assert.deepEqual(judge(JOB, code), skipped('plan'))
      assert.equal(judge(PLAN, code).status, 'failed')
    })

  const ABOUT_JOBS = [
    'main = job.priority < 10',
    'main = job_exists',
    'main = namespace is "prod"',
    'main = service_acl_token is defined',
    'import "service_var"\nmain = service_var.get("a") is defined',
  ]
  for (const code of ABOUT_JOBS)
    it(`jobs: ${JSON.stringify(code)}`, () => {
      assert.deepEqual(judge(PLAN, code), skipped('job'))
      assert.equal(judge(JOB, code).status, 'failed')
    })

  it('undefined if it reads neither', () => {
    const code = 'job = 1\nmain = job is 2'
    assert.deepEqual([judge(JOB, code).status, judge(PLAN, code).status], ['failed', 'failed'])
  })

  it('undefined if it reads both', () => {
    const code = 'import "run"\nmain = job.id is run.id'
    assert.deepEqual([judge(JOB, code).status, judge(PLAN, code).status], ['errored', 'errored'])
  })
})
