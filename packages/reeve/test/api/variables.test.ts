import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LIMITS } from '../../src/model/index.ts'
import { VariableLockLoop } from '../../src/control/index.ts'
import { MemoryDisk } from '../../src/storage/index.ts'
import { aListening, payloadOf } from './event-reader.ts'
import {
  createTestServer,
  itemsOf,
  untilParked,
  type CallOptions,
  type TestServer,
} from './harness.ts'
import { aSecuredServer } from './secured.ts'

const DENIED = [403, 'Permission denied']

function at(path: string, Items?: object, query: CallOptions['query'] = {}): CallOptions {
  return { params: { path }, query, body: Items === undefined ? {} : { Items } }
}

function pathOf(item: object): unknown {
  return Reflect.get(item, 'Path')
}

async function open(): Promise<TestServer> {
  return createTestServer({ aclEnabled: false })
}

test('variables: what is written is read again, by any path with slashes', async () => {
  const server = await open()
  const written = await server.ok('writeVariable', at('app/db', { user: 'u', password: 'p' }))
  assert.deepEqual(written, await server.ok('readVariable', at('app/db')))
  const { CreateTime, ModifyTime, ...rest } = written
  assert.equal(CreateTime, ModifyTime)
  assert.deepEqual(rest, {
    Namespace: 'default',
    Path: 'app/db',
    CreateIndex: 2,
    ModifyIndex: 2,
    Items: { user: 'u', password: 'p' },
  })
  const raw = await server.send('GET', '/v1/var/app/db')
  assert.equal(raw.status, 200)
})

test('variables: values are neither in the log nor in the rows nor in events', async () => {
  const disk = new MemoryDisk()
  const server = await createTestServer({ aclEnabled: false, disk })
  await server.ok('writeVariable', at('app/db', { password: 'hunter2-very-plain' }))
  const { body } = await server.call('listVariables')
  assert.equal(JSON.stringify(body).includes('hunter2'), false)
  const stored = server.context.store.tables.variables.rowJsonOf('default!app/db')
  assert.equal(stored?.includes('hunter2'), false)
  for await (const commit of server.context.store.log.read(1))
    assert.equal(JSON.stringify(commit).includes('hunter2'), false)
  await server.close()
  const again = await createTestServer({ aclEnabled: false, disk })
  const { Items } = await again.ok('readVariable', at('app/db'))
  assert.deepEqual(Items, { password: 'hunter2-very-plain' })
})

const refused = [
  { name: 'no items', path: 'a', body: {}, text: 'variable missing required Items object' },
  { name: 'no body', path: 'a', body: undefined, text: 'Request body is empty' },
  { name: 'empty items', path: 'a', body: { Items: {} }, text: 'empty variables are invalid' },
  {
    name: 'a reserved path',
    path: 'service/other',
    body: { Items: { a: '1' } },
    text: 'only paths at "service/jobs" and below are valid paths under the top-level "service" directory',
  },
  {
    name: 'a path of other characters',
    path: 'a.b',
    body: { Items: { a: '1' } },
    text: 'invalid path "a.b": it must match ^[a-zA-Z0-9\\-_~/]{1,128}$',
  },
  {
    name: 'another path in the body',
    path: 'a',
    body: { Path: 'b', Items: { a: '1' } },
    text: 'variable path "b" does not match the path of the request',
  },
  {
    name: 'an unknown namespace',
    path: 'a',
    body: { Namespace: 'nowhere', Items: { a: '1' } },
    text: 'variable is in nonexistent namespace "nowhere"',
  },
  {
    name: 'more than 64 KiB',
    path: 'a',
    body: { Items: { a: 'x'.repeat(LIMITS.variableItemsBytesMax) } },
    text: 'variables are limited to 64KiB in total size',
  },
  {
    name: 'two operations on a lock',
    path: 'a',
    query: { 'lock-acquire': '', 'lock-release': '' },
    body: { Items: { a: '1' } },
    text: 'only one lock operation can be requested at once',
  },
  {
    name: 'a lock of a second',
    path: 'a',
    query: { 'lock-acquire': '' },
    body: { Lock: { TTL: '1s' } },
    text: 'the TTL of a lock must be a duration between 10s and 24h0m0s',
  },
  {
    name: 'an index that is no number',
    path: 'a',
    query: { cas: 'x' },
    body: { Items: { a: '1' } },
    text: 'can not parse cas: strconv.ParseUint: parsing "x": invalid syntax',
  },
]
for (const { name, path, query = {}, body, text } of refused)
  test(`write variable: ${name} is refused`, async () => {
    const server = await open()
    const before = server.context.store.index
    const call = { params: { path }, query, body }
    assert.deepEqual(await server.refusal('writeVariable', call), [400, text])
    assert.equal(server.context.store.index, before)
  })

test('write variable: exactly 64 KiB are taken, and paths of workloads are writable', async () => {
  const server = await open()
  const value = 'x'.repeat(LIMITS.variableItemsBytesMax - 1)
  await server.ok('writeVariable', at('service/jobs/web/app', { a: value }))
})

test('write variable: check-and-set writes only what the caller knows', async () => {
  const server = await open()
  const first = await server.ok('writeVariable', at('a', { n: '1' }, { cas: 0 }))
  const again = await server.call('writeVariable', at('a', { n: '2' }, { cas: 0 }))
  assert.equal(again.status, 409)
  assert.deepEqual(again.body, first)
  await server.ok('writeVariable', at('a', { n: '2' }, { cas: first.ModifyIndex }))
  const late = await server.call('deleteVariable', at('a', undefined, { cas: first.ModifyIndex }))
  assert.equal(late.status, 409)
  const absent = await server.call('writeVariable', at('b', { n: '1' }, { cas: 9 }))
  assert.equal(absent.status, 409)
  assert.deepEqual(absent.body, {
    Namespace: 'default',
    Path: 'b',
    CreateIndex: 0,
    CreateTime: 0,
    ModifyIndex: 0,
    ModifyTime: 0,
  })
})

test('delete variable: answers 204, also for what is not there', async () => {
  const server = await open()
  await server.ok('writeVariable', at('a', { n: '1' }))
  assert.equal((await server.call('deleteVariable', at('a'))).status, 204)
  assert.equal((await server.call('deleteVariable', at('a'))).status, 204)
  assert.deepEqual(await server.refusal('readVariable', at('a')), [404, 'variable not found'])
})

test('list variables: by namespace and path, with prefix, filter, pages and all namespaces', async () => {
  const server = await open()
  await server.ok('writeNamespace', { body: { Name: 'other' } })
  for (const path of ['b/2', 'a/1', 'a/2']) await server.ok('writeVariable', at(path, { n: '1' }))
  await server.ok('writeVariable', at('a/9', { n: '1' }, { namespace: 'other' }))
  const paths = async (query: NonNullable<CallOptions['query']>) => {
    const reply = await server.call('listVariables', { query })
    const rows = itemsOf(reply).map(pathOf)
    return [rows, reply.nextToken]
  }
  assert.deepEqual(await paths({}), [['a/1', 'a/2', 'b/2'], undefined])
  assert.deepEqual(await paths({ prefix: 'a' }), [['a/1', 'a/2'], undefined])
  assert.deepEqual(await paths({ namespace: '*', prefix: 'a' }), [['a/1', 'a/2', 'a/9'], undefined])
  assert.deepEqual(await paths({ per_page: 1 }), [['a/1'], 'default.a/2'])
  assert.deepEqual(await paths({ per_page: 1, next_token: 'default.a/2' }), [
    ['a/2'],
    'default.b/2',
  ])
  assert.deepEqual(await paths({ filter: 'Path matches "2$"' }), [['a/2', 'b/2'], undefined])
})

test('read variable: a blocking query waits for the variable, there or not', async () => {
  const server = await open()
  const { index } = await server.call('readVariable', at('a'))
  const waiting = server.ok('readVariable', at('a', undefined, { index, wait: '1m' }))
  await untilParked()
  await server.ok('writeVariable', at('a', { n: '1' }))
  assert.deepEqual((await waiting).Items, { n: '1' })
})

// Rights

const RULES = `namespace "default" { variables {
  path "app/*" { capabilities = ["read", "write"] }
  path "app/secret" { capabilities = ["write"] }
  path "shared" { capabilities = ["list"] }
} }`

test('variables: rules by path decide what is seen, read, written and destroyed', async () => {
  const { server, root, as, client } = await aSecuredServer()
  const token = await client(RULES)
  const call = (path: string, items?: object) => as(token, at(path, items))
  for (const path of ['app/one', 'app/secret', 'shared', 'hidden'])
    await server.ok('writeVariable', as(root, at(path, { n: '1' })))
  const list = itemsOf(await server.call('listVariables', as(token)))
  assert.deepEqual(list.map(pathOf), ['app/one', 'shared'])
  await server.ok('readVariable', call('app/one'))
  await server.ok('writeVariable', call('app/new', { n: '2' }))
  for (const path of ['app/secret', 'shared', 'hidden'])
    assert.deepEqual(await server.refusal('readVariable', call(path)), DENIED)
  assert.deepEqual(await server.refusal('writeVariable', call('shared', { n: '2' })), DENIED)
  assert.deepEqual(await server.refusal('deleteVariable', call('app/one')), DENIED)
  const matches = await server.ok('search', as(token, { body: { Prefix: '', Context: 'vars' } }))
  assert.deepEqual(matches.Matches['vars'], ['app/new', 'app/one', 'shared'])
})

test('variables: a conflict shows values only to who may read them', async () => {
  const { server, root, as, client } = await aSecuredServer()
  const token = await client(RULES)
  await server.ok('writeVariable', as(root, at('app/secret', { n: '1' })))
  const reply = await server.call(
    'writeVariable',
    as(token, at('app/secret', { n: '2' }, { cas: 0 })),
  )
  assert.equal(reply.status, 409)
  assert.equal(reply.text.includes('Items'), false)
})

test('variables: a namespace with variables is not deleted', async () => {
  const server = await open()
  await server.ok('writeNamespace', { body: { Name: 'other' } })
  await server.ok('writeVariable', at('a', { n: '1' }, { namespace: 'other' }))
  const [status, text] = await server.refusal('deleteNamespace', {
    params: { namespace_name: 'other' },
  })
  assert.equal(status, 409)
  assert.match(text, /has variables in regions/)
})

// Events

test('variables: every change is an event without values, seen by who may list the path', async (t) => {
  const { server, root, as, client } = await aSecuredServer()
  const token = await client(RULES)
  await server.ok('writeVariable', as(root, at('app/one', { n: 'plain-text' })))
  await server.ok('writeVariable', as(root, at('hidden', { n: '1' })))
  assert.equal((await server.call('deleteVariable', as(root, at('app/one')))).status, 204)
  const { open: stream } = await aListening(t, server)
  const reader = await stream({ topics: ['Variable'], token: token.SecretID })
  const events = await reader.take(2)
  assert.deepEqual(
    events.map((event) => [event.Type, event.Key, payloadOf(event, 'Variable').Deleted]),
    [
      ['VariableUpdated', 'app/one', false],
      ['VariableUpdated', 'app/one', true],
    ],
  )
  assert.equal(JSON.stringify(events).includes('plain-text'), false)
  assert.equal(JSON.stringify(events).includes('Sealed'), false)
})

// Locks

function lockCall(operation: string, path: string, Lock: object): CallOptions {
  return { params: { path }, query: { [`lock-${operation}`]: '' }, body: { Lock } }
}

test('lock: whoever takes it writes alone until it gives it up', async () => {
  const server = await open()
  const { Lock } = await server.ok('writeVariable', lockCall('acquire', 'leader', { TTL: '20s' }))
  assert.ok(Lock !== undefined)
  assert.deepEqual([Lock.TTL, Lock.LockDelay], ['20s', '15s'])
  for (const [route, call] of [
    ['writeVariable', lockCall('acquire', 'leader', {})],
    ['writeVariable', at('leader', { n: '1' })],
    ['writeVariable', lockCall('renew', 'leader', { ID: 'other' })],
    ['writeVariable', lockCall('release', 'leader', {})],
    ['deleteVariable', at('leader')],
  ] as const)
    assert.equal((await server.call(route, call)).status, 409)
  const mine = { params: { path: 'leader' }, body: { Lock: { ID: Lock.ID }, Items: { n: '1' } } }
  const written = await server.ok('writeVariable', mine)
  assert.deepEqual([written.Items, written.Lock?.ID], [{ n: '1' }, Lock.ID])
  const released = await server.ok('writeVariable', lockCall('release', 'leader', { ID: Lock.ID }))
  assert.equal(released.Lock, undefined)
  assert.equal(released.Items, undefined)
  const kept = await server.ok('readVariable', at('leader'))
  assert.deepEqual(kept.Items, { n: '1' })
  await server.ok('writeVariable', lockCall('acquire', 'leader', {}))
})

test('lock: one that is kept goes on without changing the index of the variable', async () => {
  const server = await open()
  const loop = lockLoop(server)
  const taken = await server.ok('writeVariable', lockCall('acquire', 'a', { TTL: '10s' }))
  for (let i = 0; i < 5; i++) {
    server.clock.advance(9_000)
    loop.releaseExpired()
    await server.ok('writeVariable', lockCall('renew', 'a', { ID: taken.Lock?.ID }))
  }
  const kept = await server.ok('readVariable', at('a'))
  assert.deepEqual([kept.ModifyIndex, kept.Lock?.ID], [taken.ModifyIndex, taken.Lock?.ID])
})

test('lock: one that is not kept ends, and rests for its delay before somebody takes it', async () => {
  const server = await open()
  const loop = lockLoop(server)
  const times = { TTL: '10s', LockDelay: '30s' }
  const { Lock } = await server.ok('writeVariable', lockCall('acquire', 'a', times))
  server.clock.advance(10_000)
  const renewed = await server.call('writeVariable', lockCall('renew', 'a', { ID: Lock?.ID }))
  assert.equal(renewed.status, 409)
  loop.releaseExpired()
  assert.equal((await server.ok('readVariable', at('a'))).Lock, undefined)
  server.clock.advance(29_000)
  loop.releaseExpired()
  assert.equal((await server.call('writeVariable', lockCall('acquire', 'a', {}))).status, 409)
  await server.ok('writeVariable', at('a', { n: 'a write needs no lock' }))
  server.clock.advance(1_000)
  loop.releaseExpired()
  assert.equal(server.context.store.tables.variable_locks.size, 0)
  await server.ok('writeVariable', lockCall('acquire', 'a', {}))
})

test('lock: a server that starts gives every holder its whole time once more', async () => {
  const server = await open()
  const { Lock } = await server.ok('writeVariable', lockCall('acquire', 'a', { TTL: '10s' }))
  server.clock.advance(60_000)
  const loop = lockLoop(server)
  loop.start()
  server.clock.advance(9_000)
  await server.ok('writeVariable', lockCall('renew', 'a', { ID: Lock?.ID }))
  server.clock.advance(11_000)
  assert.equal((await server.ok('readVariable', at('a'))).Lock, undefined)
  loop.stop()
})

test('lock: of what is not there only taking makes sense', async () => {
  const server = await open()
  for (const operation of ['renew', 'release'])
    assert.deepEqual(await server.refusal('writeVariable', lockCall(operation, 'a', { ID: 'x' })), [
      404,
      'variable not found',
    ])
})

test('lock: its id is shown only to those who may write', async () => {
  const { server, root, as, client } = await aSecuredServer()
  const token = await client(
    'namespace "default" { variables { path "*" { capabilities = ["read"] } } }',
  )
  await server.ok('writeVariable', as(root, lockCall('acquire', 'a', {})))
  const { Lock } = await server.ok('readVariable', as(token, at('a')))
  assert.equal(Lock?.ID, '')
})

function lockLoop(server: TestServer): VariableLockLoop {
  const silent = () => undefined
  const log = { info: silent, warn: silent, error: silent }
  return new VariableLockLoop({ ...server.context, log, checkClock: silent })
}
