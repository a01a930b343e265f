import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const RULES = `
namespace "default" {
  capabilities = ["submit-job"]
  variables { path "app/*" { capabilities = ["read"] } }
}
node { policy = "read" }
operator { capabilities = ["snapshot-save"] }
node_pool "gpu*" { policy = "read" }
`

const ANSWERS = [
  { query: { capability: 'submit-job' }, allowed: true },
  { query: { capability: 'namespace:submit-job' }, allowed: true },
  { query: { capability: 'submit-job', namespace: '*' }, allowed: true },
  { query: { capability: 'submit-job', namespace: 'other' }, allowed: false },
  { query: { capability: 'read-logs' }, allowed: false },
  { query: { capability: 'node:read' }, allowed: true },
  { query: { capability: 'node:write' }, allowed: false },
  { query: { capability: 'agent:read' }, allowed: false },
  { query: { capability: 'operator:snapshot-save' }, allowed: true },
  { query: { capability: 'operator:write' }, allowed: false },
  { query: { capability: 'node_pool:read', name: 'gpu-1' }, allowed: true },
  { query: { capability: 'node_pool:read', name: 'other' }, allowed: false },
  { query: { capability: 'variables:read', name: 'app/db' }, allowed: true },
  { query: { capability: 'variables:write', name: 'app/db' }, allowed: false },
  { query: { capability: 'host_volume:mount-readonly', name: 'data' }, allowed: false },
  { query: { capability: 'management' }, allowed: false },
]

test('acl can: answers by the grants of the token', async () => {
  const { server, as, client, root } = await aSecuredServer()
  const token = await client(RULES)
  for (const { query, allowed } of ANSWERS) {
    const { Allowed, AclEnabled } = await server.ok('checkAccess', as(token, { query }))
    assert.deepEqual([Allowed, AclEnabled], [allowed, true], JSON.stringify(query))
    const ofRoot = await server.ok('checkAccess', as(root, { query }))
    assert.equal(ofRoot.Allowed, true, JSON.stringify(query))
    const anonymous = await server.ok('checkAccess', { query })
    assert.equal(anonymous.Allowed, false, JSON.stringify(query))
  }
})

test('acl can: without ACLs everything is allowed', async () => {
  const server = await createTestServer({ aclEnabled: false })
  const answer = await server.ok('checkAccess', { query: { capability: 'management' } })
  assert.deepEqual([answer.Allowed, answer.AclEnabled], [true, false])
})

const MISTAKES = [
  { query: {}, text: 'missing capability' },
  {
    query: { capability: 'node_pool:read' },
    text: 'a capability of the kind node_pool needs a name',
  },
  {
    query: { capability: 'variables:read', namespace: '*', name: 'app/db' },
    text: 'a capability of the kind variables needs one namespace, not *',
  },
  { query: { capability: 'node:list' }, text: 'unknown capability "list"; use one of read, write' },
  {
    query: { capability: 'pod:read' },
    text: 'unknown kind "pod"; use one of namespace, node, agent, operator, node_pool, host_volume, variables',
  },
]

for (const { query, text } of MISTAKES)
  test(`acl can: ${text.split(';')[0]} is rejected`, async () => {
    const server = await createTestServer({ aclEnabled: false })
    assert.deepEqual(await server.refusal('checkAccess', { query }), [400, text])
  })

test('acl can: deny is no capability', async () => {
  const server = await createTestServer({ aclEnabled: false })
  const [status, text] = await server.refusal('checkAccess', { query: { capability: 'deny' } })
  assert.equal(status, 400)
  assert.match(text, /^unknown capability "deny"; use one of list-jobs, /)
})
