import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as ask, type IncomingHttpHeaders } from 'node:http'
import { test, type TestContext } from 'node:test'
import { FORWARDED_HEADER, ClusterRequestRouter } from '../../src/cluster/index.ts'
import { NODE_ROUTE } from '../../src/http/pipeline/upgrades.ts'
import { createHttpServer } from '../../src/http/server.ts'
import { atEnd } from '../build/at-end.ts'
import { SILENT_LOG } from '../build/agent.ts'
import { aPipeline } from '../build/pipeline.ts'

/** Any address of loopback is this machine's, and unlike the one that servers use. */
const FAR = '127.0.0.9'

test('the leader sees who asked the follower', async (t) => {
  const { leader, follower } = await twoServers(t)
  assert.equal(await tell(follower.address), FAR)
  assert.equal(await tell(leader.address), FAR, 'whom it is asked by itself')
  assert.equal(leader.seen.at(-2)?.[FORWARDED_HEADER] !== undefined, true)
})

test('a header that no server signed is ignored', async (t) => {
  const { leader, follower } = await twoServers(t)
  const forged = { [FORWARDED_HEADER]: `${Date.now()}.abc.${b64('10.9.9.9')}.${b64('x:1')}.mac` }
  assert.equal(await tell(leader.address, forged), FAR)
  assert.equal(await tell(follower.address, forged), FAR, 'nor is it passed on')
})

test('a header that was overheard says nothing on another connection', async (t) => {
  const { leader, follower } = await twoServers(t)
  const headers = { 'x-service-token': 'secret' }
  await tell(follower.address, headers, '127.0.0.8')
  const overheard = leader.seen.at(-1)?.[FORWARDED_HEADER]
  assert.ok(typeof overheard === 'string')
  assert.equal(await tell(leader.address, { ...headers, [FORWARDED_HEADER]: overheard }), FAR)
})

test('a header that was meant for another server says nothing', async (t) => {
  const { leader, follower } = await twoServers(t, { leaderCallsItself: () => 'other:1' })
  assert.notEqual(await tell(follower.address), FAR)
  assert.equal(leader.seen.length, 1, 'it is a hop all the same')
})

test('an upgrade that was passed on tells who asked, too', async (t) => {
  const { leader, follower } = await twoServers(t)
  const asked = ask(`${follower.address}/v1/x`, {
    localAddress: FAR,
    headers: { connection: 'upgrade', upgrade: 'websocket' },
  }).end()
  await once(asked, 'response')
  asked.destroy()
  assert.deepEqual(leader.upgrades, [FAR])
})

function b64(text: string): string {
  return Buffer.from(text).toString('base64url')
}

/** What `/v1/echo` says of the caller's address. */
async function tell(
  address: string,
  headers: Record<string, string> = {},
  localAddress = FAR,
): Promise<string> {
  const asked = ask(`${address}/v1/echo`, { headers, localAddress, agent: false }).end()
  const [answer] = await once(asked, 'response')
  let text = ''
  for await (const chunk of answer) text += String(chunk)
  return text
}

async function twoServers(t: TestContext, { leaderCallsItself }: Names = {}) {
  let host = ''
  const leader = await aServer(t, {
    leadership: () => ({ isLeading: true, leaderAddress: host }),
    selfAddress: leaderCallsItself ?? (() => host),
  })
  host = new URL(leader.address).host
  const follower = await aServer(t, {
    leadership: () => ({ isLeading: false, leaderAddress: host }),
    selfAddress: () => 'follower:1',
  })
  return { leader, follower }
}

interface Names {
  readonly leaderCallsItself?: () => string
}

async function aServer(
  t: TestContext,
  names: Pick<ConstructorParameters<typeof ClusterRequestRouter>[0], 'leadership' | 'selfAddress'>,
) {
  const gate = new ClusterRequestRouter({
    ...names,
    confirm: async () => true,
    staleness: () => ({ lastContactMs: 0, knownLeader: true }),
    key: Buffer.alloc(32, 3),
    nowMs: () => Date.now(),
  })
  const { pipeline, routing } = aPipeline(gate)
  const app = createHttpServer({
    pipeline,
    log: SILENT_LOG,
    responseHeaders: {},
    usesPlainHttp: false,
    isDraining: () => false,
    observerOf: () => () => undefined,
    isUpgrade: () => true,
    leader: gate,
  })
  const seen: IncomingHttpHeaders[] = []
  const upgrades: (string | undefined)[] = []
  const onRequest = pipeline.stages(() => NODE_ROUTE)
  app.get('/v1/echo', { onRequest }, (request, reply) => {
    seen.push(request.headers)
    return reply.send(request.clientAddress)
  })
  app.server.on('upgrade', (request, socket, head) => {
    if (routing.routeUpgrade(request, socket, head, NODE_ROUTE)) return
    upgrades.push(gate.clientAddressOf(request))
    socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n')
  })
  atEnd(t, async () => {
    gate.close()
    app.server.closeAllConnections()
    await app.close()
  })
  return { address: await app.listen({ host: '127.0.0.1', port: 0 }), seen, upgrades }
}
