import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { v2 } from '@reeve/contract'
import { aRunWorld, BUCKETS, ENCRYPTED, type RunWorld } from './run-world.ts'

/**
 * The show-case of the product: policies deny an unencrypted bucket in a plan and an oversized job
 * in a namespace, in either language. An `opa` set of the project does both, as a rule about
 * something that is not there says nothing. A `native` policy that imports a plan fails closed on a
 * job, so there each subject has a set of its own.
 */
const NATIVE_PLAN = `import "plan/v2" as plan

buckets = filter plan.resource_changes as _, rc { rc.type is "storage_bucket" }

encrypted = rule {
  all buckets as _, bucket { bucket.change.after.input.encrypted is true }
}

main = rule { encrypted }
`
const NATIVE_JOB = `small = rule {
  all job.task_groups as _, group { group.count <= 3 }
}

main = rule { small }
`
const OPA_BOTH = `package storage

deny contains message if {
  some change in input.plan.resource_changes
  not change.change.after.input.encrypted
  message := sprintf("%s is not encrypted", [change.address])
}

deny contains message if {
  some group in input.job.TaskGroups
  group.Count > 3
  message := sprintf("group %s has %d instances, more than 3", [group.Name, group.Count])
}
`

/** A workspace and the namespace `web`, both of one project. */
async function aProject(world: RunWorld): Promise<{ type: 'projects'; id: string }> {
  const { it } = world
  const { data } = await it.ok('readWorkspace', { params: { workspace_id: world.workspaceId } })
  const project = data.relationships.project.data
  await it.server.ok('writeNamespace', { token: it.root, body: { Name: 'web' } })
  await it.done('addProjectNamespaces', {
    params: { project_id: project.id },
    body: { data: [{ type: 'namespaces', id: 'web' }] },
  })
  return project
}

const GUARDS = {
  native: async (world: RunWorld) => {
    await aProject(world)
    const workspaces = { data: [{ type: 'workspaces', id: world.workspaceId }] }
    await world.set('native', {
      name: 'guardrails-of-plans',
      attributes: { global: false },
      relationships: { workspaces },
      policies: [{ name: 'guardrail-plan', code: NATIVE_PLAN }],
    })
    await world.set('native', {
      name: 'guardrails',
      attributes: { global: false },
      relationships: { namespaces: { data: [{ type: 'namespaces', id: 'web' }] } },
      policies: [{ name: 'guardrail', code: NATIVE_JOB }],
    })
  },
  opa: async (world: RunWorld) => {
    const project = await aProject(world)
    await world.set('opa', {
      name: 'guardrails',
      attributes: { global: false, overridable: true },
      relationships: { projects: { data: [project] } },
      policies: [{ name: 'guardrail', code: OPA_BOTH }],
    })
  },
}

for (const kind of ['native', 'opa'] as const)
  describe(`${kind} policies guard plans and jobs`, () => {
    let world: RunWorld
    before(async () => {
      world = await aRunWorld()
      await GUARDS[kind](world)
    })
    after(() => world.close())

    const register = (count: number, more: object = {}) => ({
      token: world.it.root,
      body: {
        Job: {
          ID: 'shop',
          Namespace: 'web',
          Datacenters: ['*'],
          TaskGroups: [{ Name: 'shop', Count: count, Tasks: [{ Name: 't', Driver: 'mock' }] }],
        },
        ...more,
      },
    })

    test('an unencrypted bucket is denied, explained, overridden and the override recorded', async () => {
      const { it } = world
      const run = await world.judged({}, BUCKETS)
      assert.equal(run.attributes.status, 'policy_override')
      assert.match(JSON.stringify(await explained(world, run)), /encrypted/)
      const comment = 'moved next week'
      const record =
        kind === 'native'
          ? await it.ok('overridePolicyCheck', {
              params: { policy_check_id: (await world.check(run)).id },
              body: { comment },
            })
          : await it.ok('overrideTaskStage', {
              params: { task_stage_id: (await world.stage(run)).id },
              body: { comment },
            })
      assert.deepEqual(
        [record.data.attributes.override?.username, record.data.attributes.override?.comment],
        ['administrator', comment],
      )
      const { data } = await world.read(run.id)
      assert.equal(data.attributes.actions['is-confirmable'], true)
    })

    test('an encrypted one passes', async () => {
      const run = await world.judged({}, ENCRYPTED)
      assert.equal(run.attributes.actions['is-confirmable'], true)
    })

    test('an oversized job is denied, explained, overridden and the override recorded', async () => {
      const { server } = world.it
      const [status, text] = await server.refusal('registerJob', register(9))
      assert.equal(status, 403)
      assert.match(text, /policy "guardrail" .*"guardrails"/)
      assert.match(text, /count|instances/i)
      const override = { PolicyOverride: true, PolicyOverrideComment: 'sale' }
      await server.ok('registerJob', register(9, override))
      const verdicts = await server.ok('listPolicyVerdicts', {
        token: world.it.root,
        query: { namespace: 'web' },
      })
      assert.deepEqual(verdicts.map(({ Result }) => Result).toSorted(), ['denied', 'overridden'])
      assert.ok(verdicts.some(({ Comment }) => Comment === 'sale'))
    })

    test('a small one passes', async () => {
      await world.it.server.ok('registerJob', register(2))
    })
  })

/** What the policies said of a run. */
async function explained(world: RunWorld, run: v2.Run): Promise<readonly v2.PolicyFinding[]> {
  if (run.relationships['policy-checks'].data.length > 0) {
    const { native } = (await world.check(run)).attributes.result ?? assert.fail('no result')
    // Documented with the result of a check.
    const sets = (native as { 'policy-sets': v2.PolicySetVerdict[] })['policy-sets']
    return sets.flatMap(({ outcomes }) => outcomes).flatMap(({ findings }) => findings)
  }
  const { id } = await world.stage(run)
  const { data } = await world.it.ok('listPolicyEvaluations', { params: { task_stage_id: id } })
  const outcomes = await world.it.ok('listPolicySetOutcomes', {
    params: { policy_evaluation_id: data[0]?.id ?? '' },
  })
  return outcomes.data
    .flatMap(({ attributes }) => attributes.outcomes)
    .flatMap(({ findings }) => findings)
}
