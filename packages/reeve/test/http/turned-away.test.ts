import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get } from 'node:http'
import { createServer, get as getSecurely } from 'node:https'
import { connect } from 'node:net'
import { test, type TestContext } from 'node:test'
import { RejectedConnectionLog } from '../../src/http/transport/rejected-connections.ts'
import { atEnd } from '../build/at-end.ts'
import { certificate } from '../build/certificates.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'

/** A port that takes only callers with a certificate of the authority, and what its log says. */
async function aPickyPort(t: TestContext) {
  const options = { ...certificate('server'), requestCert: true, rejectUnauthorized: true }
  const server = createServer(options, (_request, response) => response.end())
  const clock = new SimulatedClock()
  const told: string[] = []
  const log = {
    error: () => assert.fail('nothing has failed'),
    debug: () => assert.fail('it is told to everybody'),
    warn: () => assert.fail('it needs nobody'),
    info: (fields: object) => void told.push(String(Reflect.get(fields, 'why'))),
  }
  new RejectedConnectionLog({ log, clock }).logTlsErrors(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  atEnd(t, () => void server.close())
  const at = server.address()
  assert.ok(typeof at === 'object' && at !== null)
  return { server, clock, told, port: at.port }
}

const HTTP = 'it sent plain HTTP to an HTTPS port'
const UNSIGNED = 'its certificate is not signed by an authority of tls.ca_file'
const PURPOSE = 'its certificate has an extended key usage without clientAuth'

test('turned away: who speaks HTTP, and whose certificate nobody known has signed', async (t) => {
  const { server, clock, told, port } = await aPickyPort(t)
  const knock = async (asked: ReturnType<typeof get>): Promise<void> => {
    const turned = once(server, 'tlsClientError')
    asked.on('error', () => undefined)
    await turned
  }
  const plainly = () => knock(get({ port, host: '127.0.0.1', agent: false }))
  const foreign = { ...certificate('foreign-server'), agent: false, host: '127.0.0.1', port }
  await plainly()
  await knock(getSecurely(foreign))
  await knock(getSecurely({ ...foreign, ...certificate('server-auth-only') }))
  assert.deepEqual(told, [HTTP, UNSIGNED, PURPOSE])
  // Once a minute: whoever knocks all the time must not fill the log.
  await plainly()
  assert.equal(told.length, 3)
  clock.advance(60_000)
  await plainly()
  assert.deepEqual(told.slice(3), [HTTP])
})

test('turned away: who leaves by itself is not told of', async (t) => {
  const { server, told, port } = await aPickyPort(t)
  const connected = once(server, 'connection')
  const socket = connect(port, '127.0.0.1')
  await connected
  const turned = once(server, 'tlsClientError')
  socket.destroy()
  await turned
  assert.deepEqual(told, [])
})

test('turned away: who shows a certificate that is known is served', async (t) => {
  const { told, port } = await aPickyPort(t)
  const asked = getSecurely({ ...certificate('client'), agent: false, host: '127.0.0.1', port })
  const [answer] = await once(asked, 'response')
  answer.resume()
  assert.equal(answer.statusCode, 200)
  assert.deepEqual(told, [])
})
