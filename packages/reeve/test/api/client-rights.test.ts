import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { NAMESPACE_CAPABILITIES, type AclToken } from '@reeve/contract'
import { LIMITS } from '../../src/model/index.ts'
import { execClient, execPath } from './exec-client.ts'
import { aNodeWorld, shell, type NodeWorld } from './node-world.ts'

async function tokens(world: NodeWorld) {
  const { server } = world
  const root = (await server.ok('bootstrapAcl')).SecretID
  let count = 0
  const clientIn = async (namespace: string, capabilities: readonly string[]): Promise<string> => {
    const policy_name = `policy-${++count}`
    const list = capabilities.map((one) => `"${one}"`).join(', ')
    const Rules = `namespace "${namespace}" { capabilities = [${list}] }`
    const body = { Name: policy_name, Rules }
    await server.ok('writeAclPolicy', { token: root, params: { policy_name }, body })
    const made = await server.ok('createAclToken', {
      token: root,
      body: { Type: 'client', Policies: [policy_name] },
    })
    return made.SecretID
  }
  const client = (...capabilities: readonly string[]) => clientIn('default', capabilities)
  /** Every capability, in another namespace. */
  const elsewhere = () =>
    clientIn(
      'other',
      NAMESPACE_CAPABILITIES.filter((one) => one !== 'deny'),
    )
  return { root, client, elsewhere }
}

test('rights: each route of a node needs its own', async (t) => {
  const world = await aNodeWorld(t, { aclEnabled: true })
  const { root, client, elsewhere } = await tokens(world)
  const { id } = await world.run([shell('echo hello; sleep 300')], { token: root })
  const stranger = await elsewhere()
  const fs = '/v1/client/fs'
  const alloc = `/v1/client/allocation/${id}`
  const cases: readonly (readonly [string, string, readonly string[]])[] = [
    ['GET', `${fs}/ls/${id}`, ['read-fs']],
    ['GET', `${fs}/stat/${id}?path=alloc`, ['read-fs']],
    ['GET', `${fs}/cat/${id}?path=alloc/logs/web.stdout.0`, ['read-fs']],
    ['GET', `${fs}/readat/${id}?path=alloc/logs/web.stdout.0&offset=0`, ['read-fs']],
    ['GET', `${fs}/stream/${id}?path=alloc/logs/web.stdout.0&follow=false`, ['read-fs']],
    ['GET', `${fs}/logs/${id}?task=web&type=stdout`, ['read-fs', 'read-logs']],
    ['GET', '/v1/job/job-1/logs', ['read-fs', 'read-logs']],
    ['GET', `${alloc}/stats`, ['read-job']],
    ['GET', `${alloc}/checks`, ['read-job']],
    ['POST', `${alloc}/signal`, ['alloc-lifecycle']],
    ['POST', `${alloc}/restart`, ['alloc-lifecycle']],
    ['GET', `${alloc}/pause?task=web`, ['read-job']],
    ['POST', `${alloc}/pause`, ['submit-job', 'pause-allocation']],
    ['POST', `${alloc}/gc`, ['submit-job', 'gc-allocation']],
  ]
  const every = [...new Set(cases.flatMap(([, , needs]) => needs)), 'alloc-exec']
  const body = { Signal: 'SIGNOT', TaskName: 'other', ScheduleState: 'run' }
  for (const [method, path, needs] of cases) {
    const without = await client(...every.filter((one) => !needs.includes(one)))
    for (const token of [without, 'unknown', '']) {
      const got = await world.get(path, { method, token, body })
      assert.deepEqual([got.status, got.text], [403, 'Permission denied'], `${path} ${token}`)
    }
    for (const one of needs) {
      const got = await world.get(path, { method, token: await client(one), body })
      assert.ok(got.status === 200 || got.status === 400, `${path} with ${one}: ${got.text}`)
    }
    const got = await world.get(path, { method, token: stranger, body })
    assert.ok(got.status === 403 || got.status === 404, `${path} from elsewhere: ${got.text}`)
  }
})

test('rights: exec needs its capability, raw_exec a second one, and the token comes either way', async (t) => {
  const world = await aNodeWorld(t, { aclEnabled: true })
  const { root, client, elsewhere } = await tokens(world)
  const raw = await world.run([shell('sleep 300')], { token: root })
  const mock = await world.run(
    [{ Driver: 'mock', Config: { exec_command: [{ run_for: '1ms' }] } }],
    {
      token: root,
    },
  )
  const exec = await client('alloc-exec')
  const both = await client('alloc-exec', 'alloc-node-exec')
  const nodeOnly = await client('alloc-node-exec')
  const denied = [1008, 'Permission denied'] as const
  const done = [1000, ''] as const
  const cases = [
    [raw.id, '', denied],
    [raw.id, 'unknown', denied],
    [raw.id, nodeOnly, denied],
    [raw.id, await elsewhere(), denied],
    [raw.id, exec, denied],
    [raw.id, both, done],
    [raw.id, root, done],
    [mock.id, nodeOnly, denied],
    [mock.id, exec, done],
  ] as const
  const query = { task: 'web', command: ['/bin/true'] }
  for (const [id, token, wanted] of cases) {
    const byHeader = execClient(world.webSocket(execPath(id, query), { 'X-Service-Token': token }))
    assert.deepEqual(await byHeader.closed, wanted, 'by header')
    const byFrame = execClient(world.webSocket(execPath(id, { ...query, ws_handshake: 'true' })))
    byFrame.send({ version: 1, auth_token: token })
    assert.deepEqual(await byFrame.closed, wanted, 'by frame')
  }
  await assertRecorded(world, {
    root,
    sessions: [raw.id, raw.id, mock.id].flatMap((id) => [id, id]),
    refused: [raw.id, raw.id, raw.id, mock.id].flatMap((id) => [id, id]),
  })
})

interface Recorded {
  readonly root: string
  /** The allocations of the sessions that began, and of those refused to a known caller. */
  readonly sessions: readonly string[]
  readonly refused: readonly string[]
}

async function assertRecorded(
  { server }: NodeWorld,
  { root, sessions, refused }: Recorded,
): Promise<void> {
  const query = { action: 'execAllocation' }
  const records = await server.ok('listAuditRecords', { token: root, query })
  const found = (status: number): readonly string[] =>
    records.filter(({ Status }) => Status === status).flatMap(({ Resources }) => Resources[0] ?? [])
  assert.deepEqual(found(101).toSorted(), sessions.toSorted())
  assert.deepEqual(found(403).toSorted(), refused.toSorted())
  assert.equal(records.length, sessions.length + refused.length)
  const session = records.find(({ Status }) => Status === 101) ?? assert.fail()
  const { Actor, Address, Method, Namespace, Resources, Route, Command } = session
  assert.deepEqual([Actor.Type, Actor.ID.length], ['client', 36])
  assert.deepEqual([Address, Method, Namespace], ['127.0.0.1', 'GET', 'default'])
  assert.deepEqual(Resources, [sessions.at(-1), 'job-2', 'web'])
  assert.equal(Route, '/v1/client/allocation/:alloc_id/exec')
  assert.deepEqual(Command, ['/bin/true'])
}

test('rights: a handshake that is wrong closes the channel', async (t) => {
  const world = await aNodeWorld(t, { aclEnabled: true })
  const { root } = await tokens(world)
  const { id } = await world.run([shell('sleep 300')], { token: root })
  const path = execPath(id, { task: 'web', command: ['/bin/true'], ws_handshake: 'true' })
  const headers = { 'X-Service-Token': root }
  const cases = [
    [{ version: 2, auth_token: root }, {}, 'unexpected handshake value: 2'],
    [{ auth_token: root }, {}, 'unexpected handshake value: 0'],
    [{ version: 1, auth_token: 'x' }, headers, 'handshake auth token mismatched auth header token'],
    [{ version: 'x' }, {}, 'json: cannot unmarshal the field version into a number'],
    [[], {}, 'json: cannot unmarshal the handshake into an object'],
  ] as const
  for (const [frame, sent, reason] of cases) {
    const client = execClient(world.webSocket(path, sent))
    client.send(frame)
    assert.deepEqual(await client.closed, [1008, reason])
  }
  const matching = execClient(world.webSocket(path, headers))
  matching.send({ version: 1, auth_token: root })
  assert.deepEqual(await matching.closed, [1000, ''])
  const { execHandshakeTimeoutMs: limitMs } = LIMITS
  const [slow, silent] = [execClient(world.webSocket(path)), execClient(world.webSocket(path))]
  for (const { socket } of [slow, silent])
    await new Promise((resolve) => socket.on('open', resolve))
  world.server.clock.advance(limitMs - 1)
  slow.send({ version: 1, auth_token: root })
  assert.deepEqual(await slow.closed, [1000, ''])
  world.server.clock.advance(1)
  assert.deepEqual(await silent.closed, [1008, 'no handshake within 10 s'])
})

test('rights: a stream can be dialled only by who was asked for it', async (t) => {
  const world = await aNodeWorld(t)
  const id = '00000000-0000-4000-8000-00000000ffff'
  const stranger = execClient(
    world.webSocket(`/v1/internal/stream/${id}`, { authorization: 'Bearer x' }),
  )
  assert.deepEqual(await stranger.closed, [403, 'no request is waiting for this stream'])
})

/** A token that may do one thing for a minute, by a policy of its own. */
async function holder({ server }: NodeWorld, token: string, may: string): Promise<AclToken> {
  const Rules = `namespace "default" { capabilities = ["${may}"] }`
  await server.ok('writeAclPolicy', {
    token,
    params: { policy_name: 'may-go-on' },
    body: { Name: 'may-go-on', Rules },
  })
  return await server.ok('createAclToken', {
    token,
    body: { Type: 'client', Policies: ['may-go-on'], ExpirationTTL: '60s' },
  })
}

interface OpenSession {
  readonly world: NodeWorld
  readonly root: string
  readonly AccessorID: string
}
const LOSSES: readonly (readonly [string, (open: OpenSession) => Promise<unknown>, string])[] = [
  [
    'its token is deleted',
    ({ world, root, AccessorID }) =>
      world.server.ok('deleteAclToken', { token: root, params: { accessor_id: AccessorID } }),
    'Permission denied',
  ],
  [
    'its token expires',
    async ({ world }) => {
      world.server.clock.advance(60_000)
      await Promise.resolve()
    },
    'ACL token expired',
  ],
  [
    'its policy is taken away',
    ({ world, root }) =>
      world.server.ok('writeAclPolicy', {
        token: root,
        params: { policy_name: 'may-go-on' },
        body: { Name: 'may-go-on', Rules: 'namespace "default" { capabilities = ["read-job"] }' },
      }),
    'Permission denied',
  ],
]
for (const [name, lose, reason] of LOSSES) {
  test(`rights: an exec session ends when ${name}, and so does its command`, async (t) => {
    const world = await aNodeWorld(t, { aclEnabled: true })
    const { root, client } = await tokens(world)
    const { id } = await world.run([{ Driver: 'mock', Config: {} }], { token: root })
    const made = await holder(world, root, 'alloc-exec')
    const headers = { 'X-Service-Token': made.SecretID }
    const path = execPath(id, { task: 'web', command: ['sh'] })
    const session = execClient(world.webSocket(path, headers))
    session.type('hello')
    await session.says('hello')
    // Somebody else's token, and a policy that has nothing to do with it.
    await client('read-job')
    session.type('again')
    await session.says('again')
    await lose({ world, root, AccessorID: made.AccessorID })
    assert.deepEqual(await session.closed, [1008, reason])
    const [command] = world.driver.running.flatMap((task) => task.execSessions)
    assert.equal(await command?.exited, 129)
  })
}

const FOLLOWED: readonly (readonly [string, (id: string) => string])[] = [
  ['read-logs', (id) => `/v1/client/fs/logs/${id}?task=web&type=stdout&follow=true`],
  ['read-fs', (id) => `/v1/client/fs/stream/${id}?path=alloc/logs/web.stdout.0`],
  ['read-logs', () => '/v1/job/job-1/logs?follow=true'],
]
for (const [name, lose] of LOSSES) {
  test(`rights: what is followed breaks off when ${name}`, async (t) => {
    const world = await aNodeWorld(t, { aclEnabled: true })
    const { root, client } = await tokens(world)
    const task = shell('while :; do echo hello; sleep 0.05; done')
    const { id } = await world.run([task], { token: root })
    for (const [may, path] of FOLLOWED) {
      const { AccessorID, SecretID } = await holder(world, root, may)
      const response = await world.open(path(id), { token: SecretID })
      await once(response, 'data')
      // Somebody else's token, and a policy that has nothing to do with it.
      await client('read-job')
      await once(response, 'data')
      const broken = once(response, 'error')
      await lose({ world, root, AccessorID })
      const [error] = await broken
      assert.equal(error.code, 'ECONNRESET', path(id))
    }
  })
}
