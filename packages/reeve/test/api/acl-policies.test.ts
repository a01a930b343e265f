import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatMultiError } from '@reeve/kit/multi-error.ts'
import { createTestServer, untilParked } from './harness.ts'
import { aSecuredServer, type SecuredServer } from './secured.ts'

const DENIED = [403, 'Permission denied']
const READ_DEFAULT = 'namespace "default" { policy = "read" }'

function policyCall(name: string, fields: object = {}) {
  return { params: { policy_name: name }, body: { Name: name, ...fields } }
}

async function write({ server, root, as }: SecuredServer, name: string, fields: object = {}) {
  return server.call('writeAclPolicy', as(root, policyCall(name, fields)))
}

function invalid(...problems: readonly string[]): string {
  return `policy 0 invalid: ${formatMultiError(problems)}`
}

// Write

test('write policy: answers an empty body with the index', async () => {
  const reply = await write(await aSecuredServer(), 'readers', { Rules: READ_DEFAULT })
  assert.deepEqual([reply.status, reply.text, reply.index], [200, '', 3])
})

test('write policy: writing again replaces it and keeps its index of creation', async () => {
  const secured = await aSecuredServer()
  const { server, root, as } = secured
  await write(secured, 'readers', { Description: 'first', Rules: READ_DEFAULT })
  await write(secured, 'readers', { Rules: 'node { policy = "read" }' })
  const policy = await server.ok('readAclPolicy', as(root, policyCall('readers')))
  assert.deepEqual(
    [policy.Description, policy.Rules, policy.CreateIndex, policy.ModifyIndex],
    ['', 'node { policy = "read" }', 3, 4],
  )
})

test('write policy: a change reaches the tokens that have it at once', async () => {
  const secured = await aSecuredServer()
  const { server, as, token } = secured
  await write(secured, 'p', { Rules: READ_DEFAULT })
  const made = await token({ Policies: ['p'] })
  const reading = as(made, { params: { namespace_name: 'default' } })
  await server.ok('readNamespace', reading)
  await write(secured, 'p', { Rules: 'namespace "default" { policy = "deny" }' })
  assert.deepEqual(await server.refusal('readNamespace', reading), DENIED)
})

test('write policy: rules may be JSON, or nothing', async () => {
  const secured = await aSecuredServer()
  const Rules = JSON.stringify({ agent: { policy: 'read' } })
  assert.equal((await write(secured, 'json', { Rules })).status, 200)
  assert.equal((await write(secured, 'empty', { Rules: '' })).status, 200)
})

const INVALID = [
  { name: 'a name with a slash', policy: 'a/b', fields: {}, text: invalid("invalid name 'a/b'") },
  {
    name: 'a name of 129 characters',
    policy: 'n'.repeat(129),
    fields: {},
    text: invalid(`invalid name '${'n'.repeat(129)}'`),
  },
  {
    name: 'rules that do not parse',
    policy: 'p',
    fields: { Rules: 'foo {}' },
    text: invalid('failed to parse rules: Invalid or duplicate policy keys: foo'),
  },
  {
    name: 'a long description',
    policy: 'p',
    fields: { Description: 'd'.repeat(257) },
    text: invalid('description longer than 256'),
  },
  {
    name: 'a workload without its namespace',
    policy: 'p',
    fields: { JobACL: { JobID: 'j' } },
    text: invalid('namespace must be set to set job ID'),
  },
  {
    name: 'a group without its job',
    policy: 'p',
    fields: { JobACL: { Namespace: 'default', Group: 'g' } },
    text: invalid('job ID must be set to set group'),
  },
  {
    name: 'a task without its group',
    policy: 'p',
    fields: { JobACL: { Namespace: 'default', JobID: 'j', Task: 't' } },
    text: invalid('group must be set to set task'),
  },
  {
    name: 'another name than in the path',
    policy: 'p',
    fields: { Name: 'q' },
    text: 'ACL policy name does not match request path',
  },
]

test('write policy: the path is name enough', async () => {
  const { server, root, as } = await aSecuredServer()
  const params = { policy_name: 'p' }
  await server.ok('writeAclPolicy', as(root, { params, body: { Rules: READ_DEFAULT } }))
  assert.equal((await server.ok('readAclPolicy', as(root, { params }))).Name, 'p')
})

for (const { name, policy, fields, text } of INVALID)
  test(`write policy: ${name} is refused`, async () => {
    const secured = await aSecuredServer()
    const reply = await write(secured, policy, fields)
    assert.deepEqual([reply.status, reply.text], [400, text])
    assert.equal(secured.server.context.store.tables.acl_policies.size, 0)
  })

test('write policy: a body is needed', async () => {
  const { server, root, as } = await aSecuredServer()
  assert.deepEqual(
    await server.refusal('writeAclPolicy', as(root, { params: { policy_name: 'p' } })),
    [400, 'Request body is empty'],
  )
})

test('write policy: emits the policy', async () => {
  const secured = await aSecuredServer()
  await write(secured, 'p')
  for await (const commit of secured.server.context.store.log.read(3))
    assert.deepEqual(
      commit.events.map(({ Topic, Type, Key }) => [Topic, Type, Key]),
      [['ACLPolicy', 'ACLPolicyUpserted', 'p']],
    )
})

// Read

test('read policy: with its rules as submitted and as understood', async () => {
  const secured = await aSecuredServer()
  const { server, root, as } = secured
  const JobACL = { Namespace: 'default', JobID: 'j', Group: '', Task: '' }
  await write(secured, 'p', { Description: 'd', Rules: 'node { policy = "read" }\n', JobACL })
  const reply = await server.call('readAclPolicy', as(root, policyCall('p')))
  const { Hash, ...policy } = await server.ok('readAclPolicy', as(root, policyCall('p')))
  assert.equal(Buffer.from(Hash, 'base64').length, 32)
  assert.deepEqual(policy, {
    Name: 'p',
    Description: 'd',
    Rules: 'node { policy = "read" }\n',
    RulesJSON: {
      Namespaces: null,
      NodePools: null,
      HostVolumes: null,
      Agent: null,
      Node: { Policy: 'read' },
      Operator: null,
      Quota: null,
      Plugin: null,
    },
    JobACL,
    CreateIndex: 3,
    ModifyIndex: 3,
  })
  assert.equal(reply.index, 3)
})

test('read policy: shorthands are shown expanded', async () => {
  const secured = await aSecuredServer()
  const { server, root, as } = secured
  const Rules = 'namespace "a" { policy = "scale" capabilities = ["read-logs"] }'
  await write(secured, 'p', { Rules })
  const { RulesJSON } = await server.ok('readAclPolicy', as(root, policyCall('p')))
  assert.deepEqual(RulesJSON.Namespaces?.[0]?.Capabilities.toSorted(), [
    'list-scaling-policies',
    'read-job',
    'read-job-scaling',
    'read-logs',
    'read-scaling-policy',
    'scale-job',
    'submit-recommendation',
  ])
})

test('read policy: an unknown one is told to management only', async () => {
  const { server, root, as, token } = await aSecuredServer()
  assert.deepEqual(await server.refusal('readAclPolicy', as(root, policyCall('p'))), [
    404,
    'ACL policy not found',
  ])
  assert.deepEqual(
    await server.refusal('readAclPolicy', as(await token(), policyCall('p'))),
    DENIED,
  )
})

test('read policy: a token may read its own, itself or by a role, and no other', async () => {
  const secured = await aSecuredServer()
  const { server, root, as, token } = secured
  for (const name of ['direct', 'by-role', 'other']) await write(secured, name)
  const body = { Name: 'r', Policies: [{ Name: 'by-role' }] }
  await server.ok('createAclRole', as(root, { body }))
  const made = await token({ Policies: ['direct', 'gone'], Roles: [{ Name: 'r' }] })
  await server.ok('readAclPolicy', as(made, policyCall('direct')))
  await server.ok('readAclPolicy', as(made, policyCall('by-role')))
  assert.deepEqual(await server.refusal('readAclPolicy', as(made, policyCall('other'))), DENIED)
  assert.equal((await server.refusal('readAclPolicy', as(made, policyCall('gone'))))[0], 404)
})

test('read policy: the anonymous one is readable by all', async () => {
  const secured = await aSecuredServer()
  const { server, as, token } = secured
  await write(secured, 'anonymous', { Rules: READ_DEFAULT })
  await server.ok('readAclPolicy', policyCall('anonymous'))
  await server.ok('readAclPolicy', as(await token(), policyCall('anonymous')))
})

test('read policy: blocks until the policy changes', async () => {
  const secured = await aSecuredServer()
  const { server, root, as } = secured
  await write(secured, 'p')
  const waiting = server.call(
    'readAclPolicy',
    as(root, { ...policyCall('p'), query: { index: 3 } }),
  )
  await untilParked()
  await write(secured, 'other')
  await write(secured, 'p', { Description: 'new' })
  assert.equal((await waiting).index, 5)
})

// Anonymous

test('anonymous policy: applies to requests without a token only', async () => {
  const secured = await aSecuredServer()
  const { server, as, token } = secured
  const reading = { params: { namespace_name: 'default' } }
  assert.deepEqual(await server.refusal('readNamespace', reading), DENIED)
  await write(secured, 'anonymous', { Rules: READ_DEFAULT })
  await server.ok('readNamespace', reading)
  assert.deepEqual(await server.refusal('readNamespace', as(await token(), reading)), DENIED)
  const unknown = { ...reading, token: '11111111-2222-4333-8444-555555555555' }
  assert.deepEqual(await server.refusal('readNamespace', unknown), DENIED)
})

// List

test('list policies: management sees all by name, without their rules', async () => {
  const secured = await aSecuredServer()
  const { server, root, as } = secured
  for (const name of ['beta', 'alpha', 'alpha-2']) await write(secured, name, { Description: name })
  const reply = await server.call('listAclPolicies', as(root))
  assert.equal(reply.index, 5)
  const list = await server.ok('listAclPolicies', as(root))
  assert.deepEqual(
    list.map(({ Hash: _hash, ...stub }) => stub),
    [
      { Name: 'alpha', Description: 'alpha', JobACL: null, CreateIndex: 4, ModifyIndex: 4 },
      { Name: 'alpha-2', Description: 'alpha-2', JobACL: null, CreateIndex: 5, ModifyIndex: 5 },
      { Name: 'beta', Description: 'beta', JobACL: null, CreateIndex: 3, ModifyIndex: 3 },
    ],
  )
})

test('list policies: a prefix selects by name', async () => {
  const secured = await aSecuredServer()
  const { server, root, as } = secured
  for (const name of ['beta', 'alpha', 'alpha-2', 'Alpha']) await write(secured, name)
  const list = await server.ok('listAclPolicies', as(root, { query: { prefix: 'alpha' } }))
  assert.deepEqual(
    list.map((policy) => policy.Name),
    ['alpha', 'alpha-2'],
  )
})

test('list policies: others see those of their token', async () => {
  const secured = await aSecuredServer()
  const { server, root, as, token } = secured
  for (const name of ['direct', 'by-role', 'other', 'anonymous']) await write(secured, name)
  await server.ok(
    'createAclRole',
    as(root, { body: { Name: 'r', Policies: [{ Name: 'by-role' }] } }),
  )
  const made = await token({ Policies: ['direct'], Roles: [{ Name: 'r' }] })
  const names = (list: readonly { readonly Name: string }[]) => list.map((one) => one.Name)
  assert.deepEqual(names(await server.ok('listAclPolicies', as(made))), ['by-role', 'direct'])
  assert.deepEqual(names(await server.ok('listOwnAclPolicies', as(made))), ['by-role', 'direct'])
  assert.deepEqual(names(await server.ok('listAclPolicies')), ['anonymous'])
  assert.deepEqual(names(await server.ok('listOwnAclPolicies')), ['anonymous'])
  assert.deepEqual(names(await server.ok('listOwnAclPolicies', as(root))), [])
})

test('list policies: an empty list has an index to wait with', async () => {
  const { server, root, as } = await aSecuredServer()
  const reply = await server.call('listAclPolicies', as(root))
  assert.deepEqual([reply.text, reply.index], ['[]', 1])
})

test('list policies: blocks until one changes', async () => {
  const secured = await aSecuredServer()
  const { server, root, as } = secured
  const waiting = server.call('listAclPolicies', as(root, { query: { index: 1 } }))
  await untilParked()
  await write(secured, 'p')
  assert.equal((await waiting).index, 3)
})

// Delete

test('delete policy: its rights end at once', async () => {
  const secured = await aSecuredServer()
  const { server, root, as, token } = secured
  await write(secured, 'p', { Rules: READ_DEFAULT })
  const made = await token({ Policies: ['p'] })
  const reply = await server.call('deleteAclPolicy', as(root, policyCall('p')))
  assert.deepEqual([reply.status, reply.text, reply.index], [200, '', 5])
  const reading = as(made, { params: { namespace_name: 'default' } })
  assert.deepEqual(await server.refusal('readNamespace', reading), DENIED)
})

test('delete policy: an unknown name succeeds and writes nothing', async () => {
  const { server, root, as } = await aSecuredServer()
  const reply = await server.call('deleteAclPolicy', as(root, policyCall('gone')))
  assert.deepEqual([reply.status, reply.index], [200, 2])
})

// Who may

for (const route of ['writeAclPolicy', 'deleteAclPolicy'] as const)
  test(`${route}: needs management`, async () => {
    const { server, as, client } = await aSecuredServer()
    const strong = await client('namespace "*" { policy = "write" }\noperator { policy = "write" }')
    assert.deepEqual(await server.refusal(route, as(strong, policyCall('p'))), DENIED)
    assert.deepEqual(await server.refusal(route, policyCall('p')), DENIED)
  })

const ROUTES = [
  'listAclPolicies',
  'listOwnAclPolicies',
  'readAclPolicy',
  'writeAclPolicy',
  'deleteAclPolicy',
] as const

for (const route of ROUTES)
  test(`${route}: with ACLs off it says so`, async () => {
    const server = await createTestServer({ aclEnabled: false })
    assert.deepEqual(await server.refusal(route, policyCall('p')), [400, 'ACL support disabled'])
  })
