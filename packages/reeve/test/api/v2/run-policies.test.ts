import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { v2 } from '@reeve/contract'
import { RunWorker } from '../../../src/governance/index.ts'
import { Fault, OVERLOADED } from '@reeve/kit/fault.ts'
import { aBody, NOT_FOUND } from './harness.ts'
import {
  aRunWorld,
  BUCKETS,
  ENCRYPTED,
  NATIVE_ENCRYPTED,
  NO_CHANGES,
  OPA_ENCRYPTED,
  PASSWORD,
  type RunWorld,
} from './run-world.ts'

const PASSES = 'main = rule { true }'
const FAILS = 'main = rule { false }'

describe('native policies on runs', () => {
  let world: RunWorld
  before(async () => {
    world = await aRunWorld()
    await world.set('native', {
      name: 'storage',
      policies: [{ name: 'encrypted', code: NATIVE_ENCRYPTED }],
    })
    await world.set('native', {
      name: 'hygiene',
      policies: [
        { name: 'prints', level: 'advisory', code: `print("seen")\n${FAILS}` },
        { name: 'quiet', level: 'hard-mandatory', code: PASSES },
      ],
    })
  })
  after(() => world.close())

  test('E1: one check for the run counts the policies of all sets', async () => {
    const run = await world.judged({}, ENCRYPTED)
    assert.equal(run.attributes.status, 'policy_checked')
    const { attributes } = await world.check(run)
    assert.equal(attributes.status, 'passed')
    const { native, 'duration-ms': _, ...counters } = attributes.result ?? assert.fail('no result')
    assert.deepEqual(counters, {
      result: true,
      passed: 2,
      'total-failed': 1,
      'hard-failed': 0,
      'soft-failed': 0,
      'advisory-failed': 1,
    })
    // Sets by name, policies by name.
    const sets = (native as { 'policy-sets': v2.PolicySetVerdict[] })['policy-sets']
    assert.deepEqual(
      sets.map((set) => [set['policy-set-name'], set.outcomes.map((one) => one.policy_name)]),
      [
        ['hygiene', ['prints', 'quiet']],
        ['storage', ['encrypted']],
      ],
    )
  })

  test('E2: a check that is not there is not found', async () => {
    const params = { policy_check_id: 'nonexisting' }
    assert.deepEqual(await world.it.refusal('readPolicyCheck', { params }), NOT_FOUND)
    assert.deepEqual(await world.it.refusal('overridePolicyCheck', { params }), NOT_FOUND)
  })

  test('E3: a soft failure pauses the run; the override is recorded and the result kept', async () => {
    const run = await world.judged()
    assert.equal(run.attributes.status, 'policy_override')
    const failed = await world.check(run)
    assert.equal(failed.attributes.status, 'soft_failed')
    assert.equal(failed.attributes.actions['is-overridable'], true)
    const { data } = await world.it.ok('overridePolicyCheck', {
      params: { policy_check_id: failed.id },
      body: { comment: 'agreed with security' },
    })
    assert.equal(data.attributes.status, 'overridden')
    assert.deepEqual(data.attributes.result, failed.attributes.result)
    assert.equal(data.attributes.result?.result, false)
    assert.equal(data.attributes.override?.comment, 'agreed with security')
    assert.equal(data.attributes.override?.username, 'administrator')
    assert.equal((await world.read(run.id)).data.attributes.status, 'policy_checked')
    assert.equal((await world.it.call('applyRun', { params: { run_id: run.id } })).status, 202)
  })

  test('E4: there is nothing to override in a check that passed', async () => {
    const run = await world.judged({}, ENCRYPTED)
    const { id } = await world.check(run)
    const [status, text] = await world.it.refusal('overridePolicyCheck', {
      params: { policy_check_id: id },
    })
    assert.deepEqual(
      [status, text],
      [409, 'conflict: The policy check is passed: there is nothing to override'],
    )
  })

  test('E5: the output of a check is its log', async () => {
    const run = await world.judged()
    const { links } = await world.check(run)
    const headers = { authorization: `Bearer ${world.it.root}` }
    const { status, text } = await world.it.server.send('GET', links.output, { headers })
    assert.equal(status, 200)
    assert.match(text, /FAILED {2}prints \(advisory\)/)
    assert.match(text, /\| seen/)
    assert.match(text, /FAILED {2}encrypted \(soft-mandatory\)/)
    assert.match(text, /PASSED {2}quiet \(hard-mandatory\)/)
    assert.match(text, /\n\n3 policies evaluated: 1 passed, 2 failed, 0 errored, 0 skipped\n$/)
  })

  test('a speculative run does not pause', async () => {
    const run = await world.judged({ 'plan-only': true })
    assert.equal(run.attributes.status, 'policy_soft_failed')
    const { id, attributes } = await world.check(run)
    assert.deepEqual(attributes.actions, { 'is-overridable': false })
    const call = { params: { policy_check_id: id } }
    assert.deepEqual(await world.it.refusal('overridePolicyCheck', call), [
      409,
      'conflict: The policy check is soft_failed: its run is plan-only, and nothing follows that ' +
        'an override could allow',
    ])
  })

  test('a plan without changes is overridden only where it may be applied', async () => {
    const set = { name: 'strict', policies: [{ name: 'strict', code: FAILS }] }
    const id = await world.set('native', set)
    const run = await world.judged({}, NO_CHANGES)
    assert.equal(run.attributes.status, 'policy_soft_failed')
    const call = { params: { policy_check_id: (await world.check(run)).id } }
    assert.deepEqual(await world.it.refusal('overridePolicyCheck', call), [
      409,
      'conflict: The policy check is soft_failed: its plan has no changes, which takes a run with ' +
        'allow-empty-apply',
    ])
    const open = await world.judged({ 'allow-empty-apply': true }, NO_CHANGES)
    assert.equal(open.attributes.status, 'policy_override')
    await world.it.done('deletePolicySet', { params: { policy_set_id: id } })
  })

  test('an override needs the right to it, a comment if that is wanted, and keeps who it was', async () => {
    const { it } = world
    const run = await world.judged()
    const params = { policy_check_id: (await world.check(run)).id }
    const writers = await it.team('acme', 'writers', { 'manage-workspaces': true })
    assert.deepEqual(
      await it.refusal('overridePolicyCheck', { params, as: writers.token }),
      NOT_FOUND,
    )
    const judges = await it.team('acme', 'judges', { 'manage-policy-overrides': true })
    const require = (is: boolean) =>
      it.ok('updateOrganization', {
        params: { organization_name: 'acme' },
        body: aBody('organizations', { 'require-override-comment': is }),
      })
    await require(true)
    const [silent] = await it.refusal('overridePolicyCheck', { params, as: judges.token })
    assert.equal(silent, 422)
    await it.ok('overridePolicyCheck', { params, as: judges.token, body: { comment: 'seen' } })
    await require(false)
    await it.done('deleteTeam', { params: { team_id: judges.id } })
    const { override } = (await it.ok('readPolicyCheck', { params })).data.attributes
    assert.equal(override?.username, judges.id.replace('team-', 'api-team_'))
  })

  test('a discarded run cannot be overridden any more', async () => {
    const run = await world.judged()
    const check = await world.check(run)
    await world.it.call('discardRun', { params: { run_id: run.id } })
    const call = { params: { policy_check_id: check.id } }
    assert.deepEqual(await world.it.refusal('overridePolicyCheck', call), [
      409,
      'conflict: The policy check is soft_failed: its run is discarded',
    ])
    assert.deepEqual((await world.check(run)).attributes.actions, { 'is-overridable': false })
  })

  test('C67 what applies is frozen when the plan arrives, whatever becomes of it meanwhile', async () => {
    const { it } = world
    const id = await world.set('native', {
      name: 'frozen',
      policies: [{ name: 'frozen', level: 'hard-mandatory', code: FAILS }],
    })
    const run = await world.newRun()
    await world.upload(run, ENCRYPTED)
    const [member] = (await it.ok('readPolicySet', { params: { policy_set_id: id } })).data
      .relationships.policies.data
    await it.done('deletePolicySet', { params: { policy_set_id: id } })
    await it.done('deletePolicy', { params: { policy_id: member?.id ?? '' } })
    await world.loop.evaluatePending()
    assert.equal((await world.check(run)).attributes.status, 'hard_failed')
    assert.equal((await world.read(run.id)).data.attributes.status, 'errored')
    const { policy_codes: codes } = it.server.context.store.tables
    assert.equal(codes.countByIndex('owner', run.relationships.plan.data.id), 0)
  })
})

describe('levels of native policies', () => {
  let world: RunWorld
  before(async () => {
    world = await aRunWorld()
  })
  after(() => world.close())

  // Each fails, has no value, or does not even compile: all the same.
  const codes = { false: FAILS, undefined: 'main = rule { nowhere }', broken: 'no policy {' }
  const levels = [
    { level: 'hard-mandatory', check: 'hard_failed', end: 'errored' },
    { level: 'soft-mandatory', check: 'soft_failed', end: 'policy_override' },
    { level: 'advisory', check: 'passed', end: 'policy_checked' },
  ] as const
  for (const { level, check, end } of levels)
    for (const [what, code] of Object.entries(codes))
      test(`${level}, ${what}: the check is ${check} and the run ${end}`, async () => {
        const name = `${level}-${what}`
        const policies = [{ name, level, code }]
        const setId = await world.set('native', { name, policies })
        const run = await world.judged()
        const { attributes } = await world.check(run)
        assert.deepEqual([attributes.status, run.attributes.status], [check, end])
        await world.it.done('deletePolicySet', { params: { policy_set_id: setId } })
      })

  test('in an evaluation both mandatory levels are one, opened by an overridable set', async () => {
    const setId = await world.set('native', {
      name: 'agents',
      attributes: { 'agent-enabled': true, overridable: true },
      policies: [{ name: 'hard', level: 'hard-mandatory', code: FAILS }],
    })
    const run = await world.judged()
    assert.equal(run.attributes.status, 'policy_override')
    assert.deepEqual(run.relationships['policy-checks'].data, [])
    assert.equal((await world.stage(run)).attributes.status, 'awaiting_override')
    await world.it.done('deletePolicySet', { params: { policy_set_id: setId } })
  })

  test('a set without policies passes', async () => {
    const setId = await world.set('native', { name: 'empty' })
    const run = await world.judged()
    assert.deepEqual((await world.check(run)).attributes.result?.passed, 0)
    assert.equal(run.attributes.status, 'policy_checked')
    await world.it.done('deletePolicySet', { params: { policy_set_id: setId } })
  })

  test('policies see the run and the parameters of their set', async () => {
    const code = `import "run"
param team
main = rule { run.workspace.name is "net" and run.message is "hello" and team is "blue" }`
    const setId = await world.set('native', { name: 'asks', policies: [{ name: 'asks', code }] })
    await world.it.created('createPolicySetParameter', {
      params: { policy_set_id: setId },
      body: aBody('vars', { key: 'team', value: 'blue', category: 'policy-set', sensitive: true }),
    })
    const run = await world.judged({ message: 'hello' })
    assert.equal(run.attributes.status, 'policy_checked')
    await world.it.done('deletePolicySet', { params: { policy_set_id: setId } })
  })
})

describe('opa policies on runs', () => {
  let world: RunWorld
  before(async () => {
    world = await aRunWorld()
    await world.set('opa', {
      name: 'storage',
      attributes: { overridable: true, description: 'buckets' },
      policies: [{ name: 'encrypted', code: OPA_ENCRYPTED }],
    })
    await world.set('native', {
      name: 'after',
      policies: [{ name: 'soft', code: NATIVE_ENCRYPTED }],
    })
  })
  after(() => world.close())

  const evaluation = async (run: v2.Run): Promise<v2.PolicyEvaluation> => {
    const stage = await world.stage(run)
    const params = { task_stage_id: stage.id }
    const { data } = await world.it.ok('listPolicyEvaluations', { params })
    assert.equal(data.length, 1)
    return data[0] ?? assert.fail('no evaluation')
  }
  const outcomes = async (id: string, query: Record<string, string> = {}) =>
    (await world.it.ok('listPolicySetOutcomes', { params: { policy_evaluation_id: id }, query }))
      .data

  test('E6: a stage lists its evaluation; one that is not there is not found', async () => {
    const run = await world.judged({}, ENCRYPTED)
    assert.equal(run.attributes.status, 'policy_checked')
    const { attributes } = await evaluation(run)
    assert.deepEqual(
      [attributes.status, attributes['policy-kind'], attributes['result-count'].passed],
      ['passed', 'opa', 1],
    )
    const params = { task_stage_id: 'nonexisting' }
    assert.deepEqual(await world.it.refusal('listPolicyEvaluations', { params }), NOT_FOUND)
  })

  test('E7: outcomes are filtered as wholes, and read one by one', async () => {
    const { id } = await evaluation(await world.judged())
    assert.deepEqual(await outcomes(id, { 'filter[0][status]': 'passed' }), [])
    assert.deepEqual(await outcomes(id, { 'filter[0][enforcement_level]': 'advisory' }), [])
    const both = { 'filter[0][status]': 'failed', 'filter[0][enforcementLevel]': 'advisory' }
    assert.deepEqual(await outcomes(id, both), [])
    const either = { 'filter[0][status]': 'passed', 'filter[1][enforcementLevel]': 'mandatory' }
    assert.equal((await outcomes(id, either)).length, 1)
    const [found] = await outcomes(id, { 'filter[0][status]': 'failed' })
    assert.equal(found?.attributes['policy-set-name'], 'storage')
    const params = { policy_set_outcome_id: found?.id ?? '' }
    const { data } = await world.it.ok('readPolicySetOutcome', { params })
    assert.deepEqual(data, found)
    const absent = { params: { policy_set_outcome_id: 'nonexisting' } }
    assert.deepEqual(await world.it.refusal('readPolicySetOutcome', absent), NOT_FOUND)
    const wrong = { params: { policy_evaluation_id: id }, query: { 'filter[0][status]': 'x' } }
    assert.equal((await world.it.refusal('listPolicySetOutcomes', wrong))[0], 400)
  })

  test('E8: an outcome holds what the query gave and where it comes from', async () => {
    const { id } = await evaluation(await world.judged())
    const [found] = await outcomes(id)
    const [outcome] = found?.attributes.outcomes ?? []
    assert.deepEqual(outcome?.output, ['storage_bucket.bucket is not encrypted'])
    assert.deepEqual(outcome?.findings, [
      {
        rule: 'deny',
        line: 2,
        column: 1,
        message: 'storage_bucket.bucket is not encrypted',
      },
    ])
  })

  test('the stage waits for an override, then it is the turn of the check', async () => {
    const { it } = world
    const run = await world.judged()
    assert.equal(run.attributes.status, 'policy_override')
    const stage = await world.stage(run)
    assert.equal(stage.attributes.status, 'awaiting_override')
    const waiting = await world.check(run)
    assert.deepEqual([waiting.attributes.status, waiting.attributes.result], ['pending', null])
    const early = { params: { policy_check_id: waiting.id } }
    assert.equal((await it.refusal('overridePolicyCheck', early))[0], 409)
    const params = { task_stage_id: stage.id }
    const { data } = await it.ok('overrideTaskStage', { params, body: { comment: 'once' } })
    assert.deepEqual(
      [data.attributes.status, data.attributes.override?.comment],
      ['passed', 'once'],
    )
    assert.equal((await it.refusal('overrideTaskStage', { params }))[0], 409)
    assert.equal((await evaluation(run)).attributes.status, 'overridden')
    assert.equal((await world.check(run)).attributes.status, 'soft_failed')
    assert.equal((await world.read(run.id)).data.attributes.status, 'policy_override')
    await it.ok('overridePolicyCheck', early)
    const { data: free, included } = await world.read(run.id, {
      include: 'task_stages,policy_checks',
    })
    assert.equal(free.attributes.status, 'policy_checked')
    assert.deepEqual(included?.map(({ type }) => type).toSorted(), ['policy-checks', 'task-stages'])
  })

  test('a speculative run tells of the failure and does not pause', async () => {
    const run = await world.judged({ 'plan-only': true })
    const stage = await world.stage(run)
    assert.equal(stage.attributes.status, 'failed')
    assert.equal(run.attributes.status, 'policy_soft_failed')
    const call = { params: { task_stage_id: stage.id } }
    const [, said] = await world.it.refusal('overrideTaskStage', call)
    assert.match(said ?? '', /: its run is plan-only,/)
  })

  test('a plan without changes passes', async () => {
    const run = await world.judged({}, NO_CHANGES)
    assert.equal(run.attributes.status, 'planned_and_finished')
  })
})

test('a mandatory opa policy ends the run, and the check is not reached', async () => {
  const world = await aRunWorld()
  await world.set('opa', { name: 'storage', policies: [{ name: 'one', code: OPA_ENCRYPTED }] })
  await world.set('native', { name: 'after', policies: [{ name: 'two', code: PASSES }] })
  const run = await world.judged()
  assert.equal(run.attributes.status, 'errored')
  const stage = await world.stage(run)
  assert.equal(stage.attributes.status, 'failed')
  const call = { params: { task_stage_id: stage.id } }
  const [, said] = await world.it.refusal('overrideTaskStage', call)
  assert.match(said ?? '', /nothing to override/)
  assert.equal((await world.check(run)).attributes.status, 'unreachable')
  await world.close()
})

test('policies see sensitive values, and what they repeat of them is masked', async () => {
  const world = await aRunWorld()
  const code = `package storage
deny contains message if {
  some change in input.plan.resource_changes
  message := sprintf("the password is %s", [change.change.after.input.password])
}`
  await world.set('opa', { name: 'leaky', policies: [{ name: 'leaky', code }] })
  const run = await world.judged()
  const stage = await world.stage(run)
  const { included } = await world.it.ok('readTaskStage', {
    params: { task_stage_id: stage.id },
    query: { include: 'policy_evaluations' },
  })
  const { data } = await world.it.ok('listPolicySetOutcomes', {
    params: { policy_evaluation_id: included?.[0]?.id ?? '' },
  })
  const text = JSON.stringify(data)
  assert.match(text, /the password is \(sensitive value\)/)
  assert.equal(text.includes(PASSWORD), false)
  await world.close()
})

test('a server that starts goes on with the runs that the last one left', async () => {
  const world = await aRunWorld()
  await world.set('native', { name: 'one', policies: [{ name: 'one', code: FAILS }] })
  const run = await world.newRun()
  await world.upload(run, BUCKETS)
  const waiting = world.read(run.id, { wait: 60 })
  world.loop.start()
  assert.equal((await waiting).data.attributes.status, 'policy_override')
  // And it hears of the next one.
  const next = await world.newRun()
  const heard = world.read(next.id, { wait: 60 })
  await world.upload(next, BUCKETS)
  assert.equal((await heard).data.attributes.status, 'policy_override')
  await world.close()
})

test('a run waits where too many ask policies at once', async () => {
  const world = await aRunWorld()
  await world.set('native', { name: 'one', policies: [{ name: 'one', code: PASSES }] })
  const run = await world.newRun()
  await world.upload(run, BUCKETS)
  const { context } = world.it.server
  const wakes: (() => void)[] = []
  let isBusy = true
  const loop = new RunWorker({
    context: {
      ...context,
      clock: {
        nowMs: () => context.clock.nowMs(),
        monotonicMs: () => context.clock.nowMs(),
        after: (_ms, wake) => (wakes.push(wake), () => undefined),
      },
      policyEngine: {
        evaluate: (...asked) =>
          isBusy
            ? Promise.reject(new Fault(OVERLOADED, 'too many'))
            : context.policyEngine.evaluate(...asked),
        diagnose: () => Promise.resolve([]),
      },
    },
    log: { warn: () => undefined },
  })
  await loop.evaluatePending()
  assert.equal((await world.read(run.id)).data.attributes.status, 'post_plan_running')
  isBusy = false
  wakes[0]?.()
  await loop.evaluatePending()
  assert.equal((await world.read(run.id)).data.attributes.status, 'policy_checked')
  await loop.stop()
  await world.close()
})

test('a run whose policies cannot be asked ends, and says so', async () => {
  const world = await aRunWorld()
  await world.set('native', { name: 'one', policies: [{ name: 'one', code: PASSES }] })
  const run = await world.newRun()
  await world.upload(run, BUCKETS)
  const warnings: string[] = []
  const policyAsker = {
    evaluate: () => Promise.reject(new Error('the thread does not start')),
    diagnose: () => Promise.resolve([]),
  }
  const loop = new RunWorker({
    context: { ...world.it.server.context, policyEngine: policyAsker },
    log: { warn: (_fields, message) => void warnings.push(message) },
  })
  await loop.evaluatePending()
  assert.deepEqual(warnings, ['policy evaluation failed'])
  assert.equal((await world.read(run.id)).data.attributes.status, 'errored')
  const { status, result } = (await world.check(run)).attributes
  assert.deepEqual([status, result], ['errored', null])
  await world.close()
})
