import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditRecord } from '@reeve/contract'
import { AuditRetentionLoop } from '../../src/control/index.ts'
import { put } from '../../src/state/index.ts'
import { registerNode } from '../../src/workload/index.ts'
import { aJob, anEvaluation, anId, aNode } from '../build/index.ts'
import { aHello } from '../build/node-peer.ts'
import { createTestServer, type TestServer } from './harness.ts'
import { aSecuredServer, type SecuredServer } from './secured.ts'

const DAY_MS = 86_400_000

async function records(
  { server, root, as }: SecuredServer,
  query: Readonly<Record<string, string | number>> = {},
): Promise<readonly AuditRecord[]> {
  return await server.ok('listAuditRecords', as(root, { query }))
}

async function registerJob({ server, root, as }: SecuredServer, id: string): Promise<void> {
  await server.ok('registerJob', as(root, { body: { Job: { ...aJob(), ID: id, Name: id } } }))
}

test('audit: a write is recorded with who, when, from where and what', async () => {
  const it = await aSecuredServer()
  const { server, root, as } = it
  const headers = { 'x-request-id': 'mine-1' }
  await server.ok('registerJob', as(root, { headers, body: { Job: aJob({ ID: 'web' }) } }))
  const [record] = await records(it)
  assert.ok(record)
  const { ID, ...rest } = record
  assert.match(ID, /^\d{15}-\d{14}-\d{4}$/)
  assert.deepEqual(rest, {
    Time: new Date(server.clock.nowMs()).toISOString(),
    Actor: {
      Type: 'management',
      ID: root.AccessorID,
      Name: root.Name,
      TokenID: root.AccessorID,
    },
    Address: '127.0.0.1',
    RequestID: 'mine-1',
    Method: 'POST',
    Route: '/v1/jobs',
    Action: 'registerJob',
    Namespace: 'default',
    OrganizationID: '',
    Resources: ['web'],
    Status: 200,
  })
})

test('audit: a job that is registered again as it was is named as well', async () => {
  const it = await aSecuredServer()
  await registerJob(it, 'web')
  await registerJob(it, 'web')
  const named = (await records(it, { action: 'registerJob' })).map(({ Resources }) => Resources)
  assert.deepEqual(named, [['web'], ['web']])
})

test('audit: a record is in the commit of its write', async () => {
  const it = await aSecuredServer()
  await registerJob(it, 'web')
  const { store } = it.server.context
  const { jobs, audit_records } = store.tables
  const [key = ''] = audit_records.keys(undefined, true)
  assert.equal(audit_records.createIndexOf(key), jobs.createIndexOf('default!web'))
})

test('audit: what commits nothing is no write', async () => {
  const it = await aSecuredServer()
  const { server, root, as } = it
  await server.ok(
    'planJob',
    as(root, { params: { job_id: 'web' }, body: { Job: aJob({ ID: 'web' }) } }),
  )
  await server.ok('listJobs', as(root))
  assert.deepEqual(
    (await records(it)).map(({ Action }) => Action),
    ['bootstrapAcl'],
  )
})

test('audit: a write that is refused to a known caller is recorded', async () => {
  const it = await aSecuredServer()
  const { server, as } = it
  const reader = await it.client('namespace "default" { policy = "read" }')
  await server.refusal('registerJob', as(reader, { body: { Job: aJob({ ID: 'web' }) } }))
  const [denied] = await records(it, { actor: reader.AccessorID })
  assert.deepEqual(
    [denied?.Action, denied?.Status, denied?.Actor.Type],
    ['registerJob', 403, 'client'],
  )
})

test('audit: what a stranger is refused is not recorded', async () => {
  const it = await aSecuredServer()
  const before = (await records(it)).length
  await it.server.refusal('registerJob', { body: { Job: aJob() } })
  await it.server.refusal('registerJob', { body: { Job: aJob() }, token: 'guessed' })
  assert.equal((await records(it)).length, before)
})

test('audit: refusals are written a little later, many in one commit', async () => {
  const it = await aSecuredServer()
  const { server, as } = it
  const reader = await it.client('namespace "default" { policy = "read" }')
  const { store } = server.context
  const before = store.index
  for (let i = 0; i < 20; i++)
    await server.refusal('registerJob', as(reader, { body: { Job: aJob() } }))
  assert.equal(store.index, before)
  server.clock.advance(100)
  assert.equal(store.index, before + 1)
  assert.equal((await records(it, { actor: reader.AccessorID })).length, 20)
})

test('audit: a refusal stands before what was written after it', async () => {
  const it = await aSecuredServer()
  const { server, as, root } = it
  const reader = await it.client('namespace "default" { policy = "read" }')
  server.clock.advance(1_000)
  const sinceMs = server.clock.nowMs()
  await server.refusal('registerJob', as(reader, { body: { Job: aJob() } }))
  server.clock.advance(10)
  await server.ok('registerJob', as(root, { body: { Job: aJob() } }))
  server.clock.advance(100)
  const since = new Date(sinceMs).toISOString()
  const found = await records(it, { since })
  assert.deepEqual(
    found.map(({ Status, Time }) => [Status, Date.parse(Time) - sinceMs]),
    [
      [200, 10],
      [403, 0],
    ],
  )
  assert.equal((await records(it, { since, until: new Date(sinceMs + 1).toISOString() })).length, 1)
})

test('audit: refusals beyond what is held are not kept', async () => {
  const it = await aSecuredServer()
  const { server, as } = it
  const reader = await it.client('namespace "default" { policy = "read" }')
  const before = server.context.store.tables.audit_records.size
  for (let i = 0; i < 1_010; i++)
    await server.send('PUT', '/v1/namespace', as(reader, { body: {} }))
  server.clock.advance(100)
  assert.equal(server.context.store.tables.audit_records.size, before + 1_000)
})

test('audit: nothing of a secret is in it', async () => {
  const it = await aSecuredServer()
  const { server, root, as } = it
  const made = await server.ok(
    'createAclToken',
    as(root, { body: { Type: 'client', Policies: ['p'] } }),
  )
  const params = { path: 'app/db' }
  const Items = { password: 'hunter2' }
  await server.ok('writeVariable', as(root, { params, body: { Path: 'app/db', Items } }))
  const text = JSON.stringify(await records(it))
  for (const secret of [made.SecretID, root.SecretID, 'hunter2'])
    assert.equal(text.includes(secret), false)
  const [written] = await records(it, { action: 'writeVariable' })
  assert.deepEqual(written?.Resources, ['app/db'])
})

test('audit: pages follow one another, the newest first', async () => {
  const it = await aSecuredServer()
  for (let i = 0; i < 5; i++) await registerJob(it, `job-${i}`)
  const seen: string[] = []
  let next: string | undefined
  do {
    const query = { per_page: 2, action: 'registerJob', ...(next && { next_token: next }) }
    const reply = await it.server.call('listAuditRecords', it.as(it.root, { query }))
    // The answer was held against the contract.
    for (const { Resources } of reply.body as readonly AuditRecord[]) seen.push(...Resources)
    next = reply.nextToken
  } while (next !== undefined)
  assert.deepEqual(seen, ['job-4', 'job-3', 'job-2', 'job-1', 'job-0'])
})

test('audit: filters by resource, action and time', async () => {
  const it = await aSecuredServer()
  const { clock } = it.server
  await registerJob(it, 'old')
  clock.advance(DAY_MS)
  const middle = new Date(clock.nowMs()).toISOString()
  await registerJob(it, 'new')
  const found = async (query: Readonly<Record<string, string>>) =>
    (await records(it, query)).flatMap(({ Resources }) => Resources)
  assert.deepEqual(await found({ resource: 'old' }), ['old'])
  assert.deepEqual(await found({ resource: 'ol' }), [])
  assert.deepEqual(await found({ action: 'registerJob', since: middle }), ['new'])
  assert.deepEqual(await found({ action: 'registerJob', until: middle }), ['old'])
  assert.deepEqual(await found({ actor: 'nobody' }), [])
})

const REFUSED = [
  { name: 'a time that is none', query: { since: 'yesterday' }, text: /^since: not a time/ },
  { name: 'a page that is too large', query: { per_page: 100_000_000 }, text: /^per_page must/ },
]

for (const { name, query, text } of REFUSED)
  test(`audit: ${name} is refused`, async () => {
    const it = await aSecuredServer()
    const [status, said] = await it.server.refusal('listAuditRecords', it.as(it.root, { query }))
    assert.equal(status, 400)
    assert.match(said, text)
  })

test('audit: only management reads it', async () => {
  const it = await aSecuredServer()
  const client = await it.client('namespace "*" { policy = "write" }')
  assert.deepEqual(await it.server.refusal('listAuditRecords', it.as(client)), [
    403,
    'Permission denied',
  ])
})

test('audit: it is there after a restart', async () => {
  const it = await aSecuredServer()
  await registerJob(it, 'web')
  const before = await records(it)
  const { disk } = it.server.engine
  await it.server.close()
  const server: TestServer = await createTestServer({ disk })
  assert.deepEqual(await server.ok('listAuditRecords', it.as(it.root)), before)
})

test('audit: records go when they are too old, and the oldest when there are too many', async () => {
  const it = await aSecuredServer()
  const { store, clock } = it.server.context
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  const loop = (recordsMax: number) =>
    new AuditRetentionLoop({ store, clock, log, limits: { ageMsMax: 30 * DAY_MS, recordsMax } })
  await registerJob(it, 'first')
  it.server.clock.advance(20 * DAY_MS)
  await registerJob(it, 'second')
  it.server.clock.advance(11 * DAY_MS)
  await registerJob(it, 'third')
  const left = async () => (await records(it)).flatMap(({ Resources }) => Resources)
  await loop(1_000).runOnce()
  assert.deepEqual(await left(), ['third', 'second'])
  await loop(1).runOnce()
  assert.deepEqual(await left(), ['third'])
})

test('audit: with ACLs off a write says so', async () => {
  const server = await createTestServer({ aclEnabled: false })
  await server.ok('registerJob', { body: { Job: aJob({ ID: 'web' }) } })
  const [record] = await server.ok('listAuditRecords')
  assert.deepEqual(record?.Actor, { Type: 'disabled', ID: '', Name: '', TokenID: '' })
})

test('audit: a request that makes several commits leaves one record', async () => {
  const it = await aSecuredServer()
  const { server, root, as } = it
  const { store } = server.context
  const rows = Array.from({ length: 3 }, (_, place) => [
    put('nodes', { ...aNode({ ID: anId('node', place), Status: 'down' }), SecretHash: '' }),
    put('evaluations', anEvaluation(aJob(), { ID: anId('eval', place), Status: 'complete' })),
  ])
  await store.commit({ by: 'system', cause: undefined, changes: () => rows.flat() }).durable
  const before = store.index
  await server.ok('collectGarbage', as(root))
  assert.ok(store.index - before > 1, 'the collection takes more than one commit')
  assert.equal((await records(it, { action: 'collectGarbage' })).length, 1)
})

test('audit: what the server does by itself leaves no record', async () => {
  const it = await aSecuredServer()
  const { server } = it
  const before = server.context.store.tables.audit_records.size
  assert.ok((await registerNode(server.context, aHello({ joinToken: 'join' }))).ok)
  assert.equal(server.context.store.tables.audit_records.size, before)
})
