import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aGroup } from '../build/index.ts'
import { aGuardedServer, type GuardedServer } from './guarded.ts'
import { aBody } from './v2/harness.ts'

const SMALL = { code: 'main = rule { job.task_groups[0].count <= 2 }', level: 'soft-mandatory' }
const LARGE = { ID: 'web', TaskGroups: [aGroup({ Count: 3 })] }
const REFUSED =
  'the override needs a comment (PolicyOverrideComment): the organization of policy set "limits" ' +
  'requires one'

async function demanding(): Promise<GuardedServer> {
  const guarded = await aGuardedServer()
  await guarded.guard(SMALL, { name: 'limits' })
  await guarded.it.ok('updateOrganization', {
    params: { organization_name: 'acme' },
    body: aBody('organizations', { 'require-override-comment': true }),
  })
  return guarded
}

test('an organization that requires a comment of overrides requires it for jobs too', async () => {
  const { server, register } = await demanding()
  for (const comment of [undefined, null, ' \n']) {
    const request = { PolicyOverride: true, PolicyOverrideComment: comment }
    assert.deepEqual(await server.refusal('registerJob', register(LARGE, request)), [400, REFUSED])
  }
  assert.equal(server.context.store.tables.policy_verdicts.size, 0)
  const request = { PolicyOverride: true, PolicyOverrideComment: 'a fair' }
  await server.ok('registerJob', register(LARGE, request))
  assert.equal(server.context.store.tables.policy_verdicts.size, 1)
  await server.close()
})

test('no comment is required where nothing is passed over', async () => {
  const { server, register } = await demanding()
  const small = { ...LARGE, TaskGroups: [aGroup({ Count: 1 })] }
  await server.ok('registerJob', register(small, { PolicyOverride: true }))
  // A denial is one, with or without.
  assert.equal((await server.refusal('registerJob', register(LARGE)))[0], 403)
  await server.close()
})

test('scale and revert require the comment too', async () => {
  const { server, register, as } = await demanding()
  const job = { params: { job_id: 'web' } }
  const known = { PolicyOverride: true, PolicyOverrideComment: 'a fair' }
  await server.ok('registerJob', register(LARGE, known))
  await server.ok('registerJob', register({ ...LARGE, TaskGroups: [aGroup({ Count: 1 })] }))
  const scale = { Count: 4, Target: { Group: 'app' }, Message: 'm', PolicyOverride: true }
  assert.deepEqual(await server.refusal('scaleJob', as({ ...job, body: scale })), [400, REFUSED])
  const revert = { JobID: 'web', JobVersion: 0, PolicyOverride: true }
  assert.deepEqual(await server.refusal('revertJob', as({ ...job, body: revert })), [400, REFUSED])
  await server.ok('revertJob', as({ ...job, body: { ...revert, ...known } }))
  await server.close()
})

test('plan warns that a comment is required', async () => {
  const { server, as } = await demanding()
  const plan = async (request: object): Promise<string> => {
    const call = { params: { job_id: 'web' }, body: { Job: LARGE, ...request } }
    return (await server.ok('planJob', as(call))).Warnings
  }
  assert.ok((await plan({ PolicyOverride: true })).includes(`would be refused: ${REFUSED}`))
  const known = { PolicyOverride: true, PolicyOverrideComment: 'a fair' }
  for (const request of [known, {}]) assert.equal((await plan(request)).includes(REFUSED), false)
  await server.close()
})
