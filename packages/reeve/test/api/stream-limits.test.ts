import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { test, type TestContext } from 'node:test'
import { until } from '../build/until.ts'
import { execClient, execPath } from './exec-client.ts'
import { aNodeWorld, shell } from './node-world.ts'

const LIMITS = {
  requestsPerSecond: 0,
  anonymousRequestsPerSecond: 0,
  blockingQueriesPerToken: 100,
  eventStreamsPerToken: 2,
  execSessionsPerToken: 2,
  logStreamsPerToken: 2,
  connectionsMax: 1_000,
}

async function aLimitedWorld(t: TestContext) {
  const world = await aNodeWorld(t, { aclEnabled: true, limits: LIMITS })
  const { SecretID: root } = await world.server.ok('bootstrapAcl')
  const body = { Name: 'other', Type: 'management' }
  const { SecretID: other } = await world.server.ok('createAclToken', { token: root, body })
  const { id } = await world.run([shell('echo line; exec sleep 300')], { token: root })
  return { ...world, id, root, other }
}

/** One connection that is kept, so that a test sees whether it is usable after a rejection. */
function oneConnection(t: TestContext, address: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  return async (path: string, token: string) => {
    const headers = { 'X-Service-Token': token }
    const request = httpRequest(`${address}${path}`, { agent, headers }).end()
    // The runtime's event carries one argument, which @types describes.
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    let text = ''
    for await (const chunk of response.setEncoding('utf8')) text += chunk
    return { status: response.statusCode, text, headers: response.headers, socket: request.socket }
  }
}

async function gauge(
  { server }: Awaited<ReturnType<typeof aLimitedWorld>>,
  name: string,
  label: string,
): Promise<number | undefined> {
  const { Gauges } = await server.ok('readMetrics')
  const isIt = (labels: Readonly<Record<string, string>>) => Object.values(labels).includes(label)
  return Gauges.find(({ Name, Labels }) => Name === name && isIt(Labels))?.Value
}

/** Streams over HTTP: the path, and the setting that the rejection names. */
const STREAMS = [
  {
    name: 'event streams',
    setting: 'event_streams_per_token',
    path: () => '/v1/event/stream?topic=Job',
  },
  {
    name: 'followed logs',
    setting: 'log_streams_per_token',
    path: (id: string) => `/v1/client/fs/logs/${id}?task=web&type=stdout&follow=true&plain=true`,
  },
  {
    name: 'followed files',
    setting: 'log_streams_per_token',
    path: (id: string) => `/v1/client/fs/stream/${id}?path=alloc/logs/web.stdout.0`,
  },
]
for (const { name, setting, path } of STREAMS)
  test(`stream limits: ${name} of a token are bounded`, async (t) => {
    const world = await aLimitedWorld(t)
    const { open, id, root, other, address, server } = world
    const streams = [await open(path(id), { token: root }), await open(path(id), { token: root })]
    assert.deepEqual(
      streams.map(({ statusCode }) => statusCode),
      [200, 200],
    )
    server.clock.advance(1_000)
    assert.equal(await gauge(world, 'service_limit_used', setting), 2)
    const get = oneConnection(t, address)
    const refused = await get(path(id), root)
    assert.equal(refused.status, 429)
    assert.match(refused.text, new RegExp(`^2 .* of this token are open \\(limits\\.${setting}\\)`))
    assert.equal(refused.headers['retry-after'], '1')
    const next = await get('/v1/status/leader', root)
    assert.equal(next.status, 200)
    assert.equal(next.socket, refused.socket, 'the connection is still usable')
    server.clock.advance(1_000)
    assert.equal(await gauge(world, 'service_requests_rejected_total', setting), 1)
    const others = await open(path(id), { token: other })
    assert.equal(others.statusCode, 200, 'another token is not concerned')
    others.destroy()
    for (const stream of streams) stream.destroy()
    const again = await until('a slot', async () => {
      const response = await open(path(id), { token: root })
      const isOpen = response.statusCode === 200
      response.destroy()
      return isOpen || undefined
    })
    assert.equal(again, true)
  })

test('stream limits: exec sessions of a token are bounded', async (t) => {
  const world = await aLimitedWorld(t)
  const { webSocket, id, root, other } = world
  const path = execPath(id, { task: 'web', command: ['/bin/cat'] })
  const dial = (token: string) => execClient(webSocket(path, { 'X-Service-Token': token }))
  const sessions = [dial(root), dial(root)]
  for (const session of sessions) {
    session.type('hello\n')
    await session.says('hello\n')
  }
  const [status, text] = await dial(root).closed
  assert.equal(status, 429)
  assert.match(text, /^2 exec sessions of this token are open \(limits\.exec_sessions_per_token\)/)
  const others = dial(other)
  others.type('hello\n')
  await others.says('hello\n')
  others.socket.close()
  const inFrame = execClient(webSocket(`${path}&ws_handshake=true`))
  inFrame.send({ version: 1, auth_token: root })
  const [code, reason] = await inFrame.closed
  assert.deepEqual([code, reason], [1008, text])
  sessions[0]?.send({ stdin: { close: true } })
  await sessions[0]?.closed
  const again = await until('a slot', async () => {
    const session = dial(root)
    session.send({ stdin: { close: true } })
    return (await session.closed)[0] === 1000 || undefined
  })
  assert.equal(again, true)
  sessions[1]?.socket.close()
})
