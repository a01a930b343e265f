import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Input, Job } from '@reeve/contract'
import { aGroup } from '../build/index.ts'
import { aGuardedServer } from './guarded.ts'

/** Denies more than two instances. */
const NATIVE = {
  kind: 'native',
  code: 'main = rule { job.task_groups[0].count <= 2 }',
} as const

function count(Count: number): Input<Job> {
  return { TaskGroups: [aGroup({ Count })] }
}

test('policies read no variables in the namespaces of another organization', async () => {
  const code = `import "service_var"
main = rule { service_var.get("service/native/code@theirs").code is "open sesame" }`
  const { it, server, register, as, guard } = await aGuardedServer()
  const named = { namespace_name: 'theirs' }
  await server.ok('writeNamespace', as({ params: named, body: { Name: 'theirs' } }))
  const variable = { params: { path: 'service/native/code' }, query: { namespace: 'theirs' } }
  const Items = { code: 'open sesame' }
  await server.ok('writeVariable', as({ ...variable, body: { Items } }))
  await guard({ code })
  await server.ok('registerJob', register(count(1)))
  await it.organization('another')
  const project = await it.project('another', { name: 'theirs' })
  await it.done('addProjectNamespaces', {
    params: { project_id: project.id },
    body: { data: [{ type: 'namespaces', id: 'theirs' }] },
  })
  const [status, text] = await server.refusal('registerJob', register(count(2)))
  assert.equal(status, 403)
  assert.match(text, /get\("service\/native\/code@theirs"\)\.code is undefined/)
  await server.close()
})

test('a namespace that is given to another organization leaves the sets that named it', async () => {
  const { it, server, register, as, policy, set } = await aGuardedServer()
  const named = { namespace_name: 'shop' }
  await server.ok('writeNamespace', as({ params: named, body: { Name: 'shop' } }))
  const id = await set([await policy(NATIVE)], { namespaces: ['shop', 'default'] })
  const inShop = register({ ...count(3), Namespace: 'shop' })
  assert.equal((await server.refusal('registerJob', inShop))[0], 403)
  await it.organization('another')
  const project = await it.project('another', { name: 'shop' })
  await it.done('addProjectNamespaces', {
    params: { project_id: project.id },
    body: { data: [{ type: 'namespaces', id: 'shop' }] },
  })
  await server.ok('registerJob', inShop)
  assert.equal((await server.refusal('registerJob', register(count(3))))[0], 403)
  const { data } = await it.ok('readPolicySet', { params: { policy_set_id: id } })
  assert.deepEqual(data.relationships.namespaces?.data, [{ type: 'namespaces', id: 'default' }])
  await server.close()
})
