import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { test, type TestContext } from 'node:test'
import { createLog } from '../../src/main/log.ts'
import { anId } from '../build/index.ts'
import { until } from '../build/until.ts'
import { createTestServer } from './harness.ts'
import { aNodeWorld } from './node-world.ts'
import { aSecuredServer } from './secured.ts'

function aLog() {
  return createLog({ level: 'warn', json: true }, () => undefined)
}

/** A server and a node with logs of their own. */
async function aLoggedWorld(t: TestContext) {
  const [own, ofNode] = [aLog(), aLog()]
  const agentInfo = { feed: own.feed, nodeId: () => undefined }
  const world = await aNodeWorld(t, { agentInfo, feed: ofNode.feed })
  return { ...world, own, ofNode }
}

/** Collects what a response brings. */
function collected(response: IncomingMessage): { text: string } {
  const got = { text: '' }
  response.setEncoding('utf8').on('data', (text: string) => (got.text += text))
  response.on('error', () => undefined)
  return got
}

test('monitor: the log of the server as lines for people, from the level that is asked for', async (t) => {
  const { open, own } = await aLoggedWorld(t)
  const response = await open('/v1/agent/monitor?plain=true&log_level=debug')
  assert.equal(response.statusCode, 200)
  assert.equal(response.headers['content-type'], 'text/plain; charset=utf-8')
  const got = collected(response)
  own.debug({ node: 'n1' }, 'first')
  own.error({}, 'second')
  await until('two lines', () => got.text.split('\n').length === 3 || undefined)
  assert.match(got.text, /DEBUG first node=n1\n.*ERROR second\n$/)
  response.destroy()
})

test('monitor: frames of JSON lines, and heartbeats while nothing is logged', async (t) => {
  const { open, own, server } = await aLoggedWorld(t)
  const response = await open('/v1/agent/monitor?log_json=true')
  assert.equal(response.headers['content-type'], 'application/json')
  const got = collected(response)
  own.info({}, 'hello')
  await until('a frame', () => got.text.includes('}') || undefined)
  const { Data } = JSON.parse(got.text)
  assert.equal(JSON.parse(Buffer.from(Data, 'base64').toString()).message, 'hello')
  const before = got.text
  server.clock.advance(1_000)
  await until('a heartbeat', () => got.text.length > before.length || undefined)
  assert.equal(got.text, `${before}{}`)
  response.destroy()
})

test('monitor: the log of a node, and no line of the server', async (t) => {
  const { open, agent, own, ofNode } = await aLoggedWorld(t)
  const response = await open(`/v1/agent/monitor?plain=true&node_id=${agent.nodeId}`)
  assert.equal(response.statusCode, 200)
  const got = collected(response)
  own.error({}, 'of the server')
  ofNode.info({}, 'of the node')
  await until('a line', () => got.text.includes('\n') || undefined)
  assert.match(got.text, /^\S+ INFO {2}of the node\n$/)
  response.destroy()
})

test('monitor: a reader that leaves is followed no longer', async (t) => {
  const followers = new Set<unknown>()
  const feed = {
    follow: (selection: unknown) => {
      followers.add(selection)
      return () => void followers.delete(selection)
    },
    droppedLine: () => '',
  }
  const { open } = await aNodeWorld(t, { agentInfo: { feed } })
  const response = await open('/v1/agent/monitor')
  assert.equal(followers.size, 1)
  response.destroy()
  await once(response, 'close')
  await until('nobody follows', () => followers.size === 0 || undefined)
})

test('monitor: the stream ends when the server stops', async (t) => {
  const { open, own, server } = await aLoggedWorld(t)
  const response = await open('/v1/agent/monitor?plain=true')
  const got = collected(response)
  own.info({}, 'last words')
  await until('a line', () => got.text.includes('\n') || undefined)
  const ended = once(response, 'end')
  await server.close()
  await ended
})

test('monitor: readers of one token are limited', async (t) => {
  const { open, get, server } = await aLoggedWorld(t)
  const responses: IncomingMessage[] = []
  for (let count = 0; count < 16; count += 1) responses.push(await open('/v1/agent/monitor'))
  const { status, text } = await get('/v1/agent/monitor')
  assert.deepEqual(
    [status, text],
    [
      429,
      'this token already follows the log 16 times (limit serverLogFollowersMax); ' +
        'close one of the streams',
    ],
  )
  const { Gauges, Counters } = await server.ok('readMetrics')
  const values = [...Gauges, ...Counters]
    .filter(({ Labels }) => Object.values(Labels).includes('server_log_followers_max'))
    .map(({ Name, ...metric }) => [Name, 'Value' in metric ? metric.Value : metric.Count])
  assert.deepEqual(values, [
    ['service_limit', 16],
    ['service_limit_used', 16],
    ['service_requests_rejected_total', 1],
  ])
  for (const response of responses) response.destroy()
})

const UNKNOWN = anId('node', 9)
const REFUSED = [
  {
    name: 'a level that does not exist',
    query: { log_level: 'loud' },
    error: [400, 'Unknown log level: loud; use one of debug, info, warn, error'],
  },
  {
    name: 'a node and a server',
    query: { node_id: UNKNOWN, server_id: 'test' },
    error: [400, 'Cannot target node and server simultaneously'],
  },
  {
    name: 'a node that does not exist',
    query: { node_id: UNKNOWN },
    error: [404, `Unknown node "${UNKNOWN}"`],
  },
  {
    name: 'a server that does not exist',
    query: { server_id: 'mars' },
    error: [404, 'server "mars" is unknown or not alive; `reeve server members` lists the servers'],
  },
]

for (const { name, query, error } of REFUSED)
  test(`monitor and host: ${name} is rejected`, async () => {
    const server = await createTestServer({ aclEnabled: false })
    assert.deepEqual(await server.refusal('monitorAgent', { query }), error)
    if ('log_level' in query) return
    assert.deepEqual(await server.refusal('readAgentHost', { query }), error)
  })

test('host: the machine of the server, and of a node', async (t) => {
  const { server, agent } = await aLoggedWorld(t)
  const own = await server.ok('readAgentHost', { query: { server_id: 'test' } })
  assert.deepEqual([own.AgentID, own.HostData.OS], ['test', 'Linux'])
  const ofNode = await server.ok('readAgentHost', { query: { node_id: agent.nodeId } })
  assert.equal(ofNode.AgentID, agent.nodeId)
  assert.ok((ofNode.HostData.Disk['/']?.DiskMB ?? 0) > 0)
  assert.equal(ofNode.HostData.Environment['PATH'], process.env['PATH'])
})

test('monitor: ends when the token loses its right', async () => {
  const { server, as, root, client } = await aSecuredServer()
  const address = await server.listen()
  const token = await client('agent { policy = "read" }')
  const headers = { 'x-service-token': token.SecretID }
  const response = await fetch(`${address}/v1/agent/monitor?plain=true`, { headers })
  assert.equal(response.status, 200)
  const { AccessorID } = await server.ok('readOwnAclToken', as(token))
  const reading = response.text()
  await server.ok('deleteAclToken', { ...as(root), params: { accessor_id: AccessorID } })
  await assert.rejects(reading)
  await server.close()
})
