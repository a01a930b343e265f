import assert from 'node:assert/strict'
import { request as ask } from 'node:http'
import { once } from 'node:events'
import { describe, test, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { aMuteProxy, type MuteProxy } from '../build/mute-proxy.ts'
import { aGroup } from '../build/index.ts'
import { until } from '../build/until.ts'
import { aRegionWorld, type RegionWorldOptions } from './region-world.ts'

const JOB = JSON.stringify({ Job: { ID: 'web', TaskGroups: [aGroup()] } })
/** Long enough that only what a test is about can end a request. */
const NEVER = 600_000
const QUIET = { responseMsMax: NEVER, attemptMsMax: NEVER, silenceMs: NEVER, probeMsMax: NEVER }

/** A region `down` whose server accepts connections and says nothing. */
async function aSilentRegion(t: TestContext, scheme: string, limits = {}) {
  const { port } = await aMuteProxy(t)
  const options = { aclEnabled: false, downAt: `${scheme}://127.0.0.1:${port}` }
  const { us } = await aRegionWorld(t, ['us', 'down'], { ...options, limits })
  return us
}

const requests = [
  { name: 'a read', path: '/v1/jobs?region=down', init: {} },
  { name: 'a blocking query', path: '/v1/jobs?region=down&index=5&wait=5m', init: {} },
  { name: 'a write', path: '/v1/jobs?region=down', init: { method: 'POST', body: JOB } },
]

// Side by side: each waits for the time that a handshake has.
describe('silent regions: a TLS handshake', { concurrency: true }, () => {
  for (const { name, path, init } of requests)
    test(`silent regions: ${name} does not wait for a TLS handshake`, async (t) => {
      const us = await aSilentRegion(t, 'https', QUIET)
      const answer = await us.fetch(path, init)
      assert.equal(answer.status, 503)
      // Nothing has been sent, so there is no doubt.
      assert.equal(
        await answer.text(),
        'region "down" did not answer (no TLS handshake within 5 s); try again.',
      )
    })
})

for (const { name, path, init } of requests)
  test(`silent regions: ${name} ends when the server does not answer a probe`, async (t) => {
    const us = await aSilentRegion(t, 'http', { ...QUIET, silenceMs: 100, probeMsMax: 200 })
    const answer = await us.fetch(path, init)
    const doubt = 'method' in init ? ' The request may or may not have happened.' : ''
    assert.deepEqual(
      [answer.status, await answer.text()],
      [503, `region "down" did not answer (silent for 0.3 s); try again.${doubt}`],
    )
  })

test('silent regions: a write has no more time than a read', async (t) => {
  const us = await aSilentRegion(t, 'http', { ...QUIET, responseMsMax: 300 })
  const answer = await us.fetch('/v1/jobs?region=down', { method: 'POST', body: JOB })
  assert.equal(answer.status, 503)
  assert.match(await answer.text(), /\(no response in time\)/)
})

test('silent regions: a body may be sent slowly', async (t) => {
  const limits = { ...QUIET, responseMsMax: 1_000 }
  const { us } = await aRegionWorld(t, ['us', 'eu'], { aclEnabled: false, limits })
  const asked = ask(`${us.address}/v1/jobs?region=eu`, { method: 'POST' })
  const answered = once(asked, 'response')
  const size = Math.ceil(JOB.length / 8)
  for (let at = 0; at < JOB.length; at += size) {
    asked.write(JOB.slice(at, at + size))
    await delay(250)
  }
  asked.end()
  const [answer] = await answered
  answer.resume()
  assert.equal(answer.statusCode, 200)
})

/** Regions of which `us` reaches `eu` by a proxy that can be made mute. */
async function aMutableRegion(t: TestContext, limits: RegionWorldOptions['limits']) {
  let proxy: MuteProxy | undefined
  const { us, eu } = await aRegionWorld(t, ['us', 'eu'], {
    aclEnabled: false,
    ...(limits && { limits }),
    through: async (address) => {
      proxy = await aMuteProxy(t, Number(new URL(address).port))
      return `http://127.0.0.1:${proxy.port}`
    },
  })
  assert.ok(proxy !== undefined)
  return { us, eu, proxy }
}

test('silent regions: a stream ends when its server becomes silent', async (t) => {
  const limits = { ...QUIET, silenceMs: 100, probeMsMax: 200 }
  const { us, eu, proxy } = await aMutableRegion(t, limits)
  await eu.server.ok('registerJob', { body: JSON.parse(JOB) })
  const answer = await us.fetch('/v1/event/stream?topic=Job&region=eu&index=1')
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  assert.ok(reader !== undefined)
  let text = ''
  while (!text.includes('"JobRegistered"')) text += (await reader.read()).value ?? ''
  proxy.isMute = true
  const drained = async (): Promise<void> => {
    while (!(await reader.read()).done);
  }
  await assert.rejects(drained(), 'it is cut, not ended')
})

test('silent regions: a stream with nothing to say goes on', async (t) => {
  const limits = { ...QUIET, silenceMs: 50, probeMsMax: 5_000 }
  const { us, eu, proxy } = await aMutableRegion(t, limits)
  const answer = await us.fetch('/v1/event/stream?topic=Job&region=eu')
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  assert.ok(reader !== undefined)
  const before = proxy.accepted
  // Several probes have been answered meanwhile.
  await until('the probes', () => proxy.accepted >= before + 4 || undefined)
  await eu.server.ok('registerJob', { body: JSON.parse(JOB) })
  let text = ''
  while (!text.includes('"JobRegistered"')) text += (await reader.read()).value ?? ''
  await reader.cancel()
})
