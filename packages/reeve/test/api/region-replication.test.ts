import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { AclToken } from '@reeve/contract'
import { until } from '../build/until.ts'
import { aGroup } from '../build/index.ts'
import type { RegionClient } from '../../src/regions/index.ts'
import { put, SYSTEM } from '../../src/state/index.ts'
import { deleteNamespace, writeToken } from '../../src/workload/index.ts'
import { aRegionWorld, bootstrap, replicate, type TestRegion } from './region-world.ts'

interface Copied {
  readonly us: TestRegion
  readonly eu: TestRegion
  readonly root: AclToken
}

/** `eu` copies from `us`, and has begun to. */
async function twoRegions(t: TestContext): Promise<Copied> {
  const { us, eu } = await aRegionWorld(t, ['us', 'eu'])
  const root = await bootstrap(us)
  replicate(t, eu, root.SecretID)
  await copied('the bootstrap token', () => find(eu, root.AccessorID))
  return { us, eu, root }
}

const find = ({ server }: TestRegion, accessor: string) =>
  server.context.store.tables.acl_tokens.find(accessor)

const copied = until

function send(token: AclToken, method: string, body?: object) {
  return { method, token: token.SecretID, ...(body && { body: JSON.stringify(body) }) }
}

async function json<T>(answer: Response): Promise<T> {
  assert.equal(answer.status, 200, `${answer.status} ${await answer.clone().text()}`)
  // The caller knows the route.
  return (await answer.json()) as T
}

test('authority: bootstrap in any region is carried out in the authoritative one', async (t) => {
  const { us, eu } = await aRegionWorld(t, ['us', 'eu'])
  const token = await json<AclToken>(await eu.fetch('/v1/acl/bootstrap', { method: 'POST' }))
  assert.equal(token.Global, true)
  assert.ok(find(us, token.AccessorID))
  assert.equal(find(eu, token.AccessorID), undefined)
})

test('authority: a global token made in another region is copied to all', async (t) => {
  const { us, eu, root } = await twoRegions(t)
  const body = { Name: 'everywhere', Type: 'management', Global: true }
  const made = await json<AclToken>(await eu.fetch('/v1/acl/token', send(root, 'POST', body)))
  assert.ok(find(us, made.AccessorID))
  await copied('the token', () => find(eu, made.AccessorID))
  // It opens doors there, and shows its secret to whoever may see it.
  const own = await json<AclToken>(await eu.fetch('/v1/acl/token/self', send(made, 'GET')))
  assert.equal(own.SecretID, made.SecretID)
  assert.equal(own.CreateTime, made.CreateTime)
})

test('authority: a local token stays where it was made', async (t) => {
  const { us, eu, root } = await twoRegions(t)
  const body = { Type: 'management' }
  const made = await json<AclToken>(await eu.fetch('/v1/acl/token', send(root, 'POST', body)))
  assert.ok(find(eu, made.AccessorID))
  assert.equal(find(us, made.AccessorID), undefined)
  assert.equal((await us.fetch('/v1/jobs', send(made, 'GET'))).status, 403)
  // Deleting global ones leaves it alone.
  const listed = await json<AclToken[]>(
    await eu.fetch('/v1/acl/tokens?global=true', send(root, 'GET')),
  )
  assert.deepEqual(
    listed.map((one) => one.AccessorID),
    [root.AccessorID],
  )
})

test('authority: a token cannot be switched between local and global', async (t) => {
  const { eu, root } = await twoRegions(t)
  const local = await json<AclToken>(
    await eu.fetch('/v1/acl/token', send(root, 'POST', { Type: 'management' })),
  )
  for (const { token, Global } of [
    { token: local, Global: true },
    { token: root, Global: false },
  ]) {
    const body = { AccessorID: token.AccessorID, Type: 'management', Global }
    const answer = await eu.fetch(`/v1/acl/token/${token.AccessorID}`, send(root, 'PUT', body))
    assert.equal(answer.status, 400)
    assert.match(await answer.text(), /cannot toggle global mode/)
  }
})

test('authority: changes and deletions of tokens arrive', async (t) => {
  const { eu, root } = await twoRegions(t)
  const body = { Name: 'one', Type: 'client', Policies: ['p'], Global: true }
  const made = await json<AclToken>(await eu.fetch('/v1/acl/token', send(root, 'POST', body)))
  const path = `/v1/acl/token/${made.AccessorID}`
  const renamed = { ...body, AccessorID: made.AccessorID, Name: 'two' }
  await json(await eu.fetch(path, send(root, 'PUT', renamed)))
  await copied('the new name', () => find(eu, made.AccessorID)?.Name === 'two' || undefined)
  assert.equal((await eu.fetch(path, send(root, 'DELETE'))).status, 200)
  await copied('the end', () => find(eu, made.AccessorID) === undefined || undefined)
  assert.equal((await eu.fetch('/v1/jobs', send(made, 'GET'))).status, 403)
})

test('authority: policies and roles are written there and copied, deletions too', async (t) => {
  const { us, eu, root } = await twoRegions(t)
  const { acl_policies, acl_roles } = eu.server.context.store.tables
  const policy = { Name: 'readers', Rules: 'namespace "default" { policy = "read" }' }
  const write = await eu.fetch('/v1/acl/policy/readers', send(root, 'POST', policy))
  assert.equal(write.status, 200)
  assert.ok(us.server.context.store.tables.acl_policies.has('readers'))
  await copied('the policy', () => acl_policies.find('readers'))
  const role = await json<{ ID: string }>(
    await eu.fetch(
      '/v1/acl/role',
      send(root, 'POST', { Name: 'r', Policies: [{ Name: 'readers' }] }),
    ),
  )
  await copied('the role', () => acl_roles.find(role.ID))
  const token = await json<AclToken>(
    await us.fetch(
      '/v1/acl/token',
      send(root, 'POST', { Type: 'client', Roles: [{ Name: 'r' }], Global: true }),
    ),
  )
  await copied('the token', () => find(eu, token.AccessorID))
  assert.equal((await eu.fetch('/v1/jobs', send(token, 'GET'))).status, 200)
  await eu.fetch('/v1/acl/policy/readers', send(root, 'DELETE'))
  await copied('its end', () => !acl_policies.has('readers') || undefined)
  assert.equal((await eu.fetch('/v1/jobs', send(token, 'GET'))).status, 403)
  await eu.fetch(`/v1/acl/role/${role.ID}`, send(root, 'DELETE'))
  await copied('its end', () => !acl_roles.has(role.ID) || undefined)
})

test('authority: namespaces and node pools are copied, deletions too', async (t) => {
  const { eu, root } = await twoRegions(t)
  const { namespaces, node_pools } = eu.server.context.store.tables
  await eu.fetch('/v1/namespace', send(root, 'POST', { Name: 'web', Meta: { a: 'b' } }))
  await eu.fetch('/v1/node/pools', send(root, 'POST', { Name: 'gpu' }))
  await copied('the namespace', () => namespaces.find('web'))
  await copied('the pool', () => node_pools.find('gpu'))
  assert.equal(namespaces.find('web')?.Meta?.['a'], 'b')
  await eu.fetch('/v1/node/pool/gpu', send(root, 'DELETE'))
  await eu.fetch('/v1/namespace/web', send(root, 'DELETE'))
  await copied('the end of the pool', () => !node_pools.has('gpu') || undefined)
  await copied('the end of the namespace', () => !namespaces.has('web') || undefined)
})

test('authority: what another region uses is not deleted, and where it is gone it stays', async (t) => {
  const { us, eu } = await aRegionWorld(t, ['us', 'eu'])
  const root = await bootstrap(us)
  const status = replicate(t, eu, root.SecretID)
  await copied('the token', () => find(eu, root.AccessorID))
  const { namespaces } = eu.server.context.store.tables
  await eu.fetch('/v1/namespace', send(root, 'POST', { Name: 'web' }))
  await copied('the namespace', () => namespaces.find('web'))
  const job = { Job: { ID: 'a', TaskGroups: [aGroup()] } }
  await json(await eu.fetch('/v1/jobs?namespace=web', send(root, 'POST', job)))
  const refused = await us.fetch('/v1/namespace/web', send(root, 'DELETE'))
  assert.equal(refused.status, 409)
  assert.match(await refused.text(), /namespace "web" has non-terminal jobs in regions: \[eu\]/)
  // As when the region could not be asked.
  assert.ok((await deleteNamespace(us.server.context, SYSTEM, 'web')).ok)
  await copied('that it is kept', () => status.stats()['namespaces_kept'])
  assert.ok(namespaces.has('web'))
})

test('authority: what was copied goes on serving while the region is away', async (t) => {
  const { us, eu } = await aRegionWorld(t, ['us', 'eu'])
  const root = await bootstrap(us)
  const status = replicate(t, eu, root.SecretID)
  await copied('the token', () => find(eu, root.AccessorID))
  await us.server.close()
  assert.equal((await eu.fetch('/v1/jobs', send(root, 'GET'))).status, 200)
  const write = await eu.fetch('/v1/acl/policy/p', send(root, 'POST', { Rules: '' }))
  assert.equal(write.status, 503)
  assert.match(await write.text(), /^the authoritative region "us" did not answer .*; try again\.$/)
  const made = await eu.fetch(
    '/v1/acl/token',
    send(root, 'POST', { Type: 'management', Global: true }),
  )
  assert.equal(made.status, 503)
  await copied('the error', () => status.stats()['tokens_error'])
  eu.server.clock.advance(60_000)
  assert.ok(status.lagMs >= 60_000)
})

test('authority: whoever copies anew changes nothing that is right', async (t) => {
  const { eu, root } = await twoRegions(t)
  const { store } = eu.server.context
  await copied('the rest', async () => (await store.whenDurable(), true))
  const before = store.index
  const status = replicate(t, eu, root.SecretID)
  const all = ['policies', 'roles', 'tokens', 'namespaces', 'node_pools']
  await copied(
    'a whole round',
    () => all.every((name) => Number(status.stats()[`${name}_index`]) > 0) || undefined,
  )
  assert.equal(store.index, before)
})

test('authority: while nothing changes, no list is sent again', async (t) => {
  const { us, eu } = await aRegionWorld(t, ['us', 'eu'])
  const root = await bootstrap(us)
  const answers: { readonly url: string; readonly size: number }[] = []
  const client: Pick<RegionClient, 'request'> = {
    async request(region, call) {
      const answer = await eu.client.request(region, call)
      if (call.url.startsWith('/v1/acl/tokens?'))
        answers.push({ url: call.url, size: listedIn(answer.text) })
      return answer
    },
  }
  for (let count = 0; count < 5; count++)
    await writeToken(us.server.context, SYSTEM, { Type: 'management', Global: true })
  replicate(t, { ...eu, client }, root.SecretID)
  await copied(
    'the tokens',
    () => eu.server.context.store.tables.acl_tokens.size === 6 || undefined,
  )
  await copied('three questions for news', () => {
    // The time is over that they wait.
    us.server.clock.advance(6_000)
    return answers.length >= 4 || undefined
  })
  assert.deepEqual(
    answers.slice(0, 4).map(({ size }) => size),
    [6, 1, 1, 1],
  )
  await writeToken(us.server.context, SYSTEM, { Type: 'management', Global: true })
  await copied('the news', () => eu.server.context.store.tables.acl_tokens.size === 7 || undefined)
})

function listedIn(text: string): number {
  const listed: unknown = JSON.parse(text)
  return Array.isArray(listed) ? listed.length : 0
}

test('authority: copies of a region that has its own are replaced, its local tokens are not', async (t) => {
  const { us, eu } = await aRegionWorld(t, ['us', 'eu'])
  const root = await bootstrap(us)
  const { context } = eu.server
  const stray = await writeToken(context, SYSTEM, { Type: 'management', Global: true })
  const local = await writeToken(context, SYSTEM, { Type: 'management' })
  assert.ok(stray.ok && local.ok)
  replicate(t, eu, root.SecretID)
  await copied('the end', () => !find(eu, stray.value.token.AccessorID) || undefined)
  assert.ok(find(eu, local.value.token.AccessorID))
})

test('authority: regions that take each other for it say so', async (t) => {
  const { us, eu } = await aRegionWorld(t, ['us', 'eu'], {
    aclEnabled: false,
    authoritative: 'asia',
  })
  void us
  const headers = { 'x-service-region-hop': 'authority' }
  const answer = await eu.fetch('/v1/namespace', { method: 'POST', body: '{"Name":"a"}', headers })
  assert.equal(answer.status, 421)
  assert.match(await answer.text(), /^the regions disagree: "eu" was asked/)
})

test('authority: without ACLs no token is needed', async (t) => {
  const { us, eu } = await aRegionWorld(t, ['us', 'eu'], { aclEnabled: false })
  replicate(t, eu, '')
  await us.server.ok('writeNamespace', { body: { Name: 'web' } })
  await copied('the namespace', () => eu.server.context.store.tables.namespaces.find('web'))
})

const weak = [
  { name: 'no replication token', secretOf: () => '', why: 'is not set' },
  {
    name: 'a token that may see little',
    secretOf: ({ SecretID }: AclToken) => SecretID,
    why: 'is not that of a management token',
  },
]
for (const { name, secretOf, why } of weak)
  test(`authority: with ${name} nothing is taken for gone`, async (t) => {
    const { us, eu } = await aRegionWorld(t, ['us', 'eu'])
    const root = await bootstrap(us)
    const client = { Type: 'client', Policies: ['p'], Global: true }
    const token = await json<AclToken>(await us.fetch('/v1/acl/token', send(root, 'POST', client)))
    const { store } = eu.server.context
    const row = { Rules: '', Description: '', JobACL: null, Hash: '', CreateIndex: 0 }
    const policy = put('acl_policies', { ...row, Name: 'own', ModifyIndex: 0 })
    await store.commit({ by: 'system', cause: undefined, changes: () => [policy] }).durable
    const status = replicate(t, eu, secretOf(token))
    const error = await copied('the error', () => status.stats()['policies_error'])
    assert.equal(error, `acl.replication_token ${why}`)
    await copied('the error', () => status.stats()['node_pools_error'])
    assert.ok(store.tables.acl_policies.has('own'))
  })

test('authority: a replication token that nobody knows is told of', async (t) => {
  const { us, eu } = await aRegionWorld(t, ['us', 'eu'])
  await bootstrap(us)
  const status = replicate(t, eu, 'b7b5e2c0-0000-4000-8000-000000000000')
  const error = await copied('the error', () => status.stats()['tokens_error'])
  assert.equal(error, 'acl.replication_token is not known in region "us"')
})
