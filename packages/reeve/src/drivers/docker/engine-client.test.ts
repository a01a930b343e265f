import assert from 'node:assert/strict'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { AUTHORITY_FILE, certificate, certificateFiles } from '../../../test/build/certificates.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { DEFAULT_CAPS } from '../capabilities.ts'
import { systemClock } from '../../../test/build/agent.ts'
import { DockerDriver } from './docker-driver.ts'
import { EngineClient, type EngineTls } from './engine-client.ts'

/** An engine behind TLS that lets only certificates of its authority in. */
async function aTlsEngine(t: TestContext): Promise<number> {
  const server = createServer(
    { ...certificate('server'), requestCert: true, rejectUnauthorized: true },
    (request, response) => {
      response.end(JSON.stringify({ Version: '27.0', Path: request.url }))
    },
  )
  server.on('upgrade', (_request, socket) => {
    socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\nraw')
  })
  server.listen(0, '127.0.0.1')
  await new Promise<void>((resolve) => server.once('listening', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  // A server that listens on TCP has an address with a port.
  return (server.address() as AddressInfo).port
}

const own: EngineTls = { caFile: AUTHORITY_FILE, ...certificateFiles('client') }

test('engine: over TLS with a certificate of the client', async (t) => {
  const port = await aTlsEngine(t)
  const engine = new EngineClient({ host: '127.0.0.1', port, tls: own })
  t.after(() => engine.close())
  const answer = await engine.call({ method: 'GET', path: '/version' })
  assert.deepEqual(JSON.parse(answer.body), { Version: '27.0', Path: '/v1.41/version' })
  const socket = await engine.hijack({ method: 'POST', path: '/exec/x/start' })
  assert.ok('write' in socket)
  socket.destroy()
})

test('engine: the driver finds it there', async (t) => {
  const port = await aTlsEngine(t)
  const policy = {
    allowPrivileged: false,
    allowVolumes: false,
    allowHostNamespaces: false,
    allowCaps: DEFAULT_CAPS,
    pidsMax: 10,
  }
  const tcp = { host: '127.0.0.1', port, tls: own }
  const health = await new DockerDriver({ clock: systemClock, tcp, policy }).fingerprint()
  assert.equal(health.attributes['driver.docker.version'], '27.0')
})

const strangers = [
  { name: 'no certificate', tls: { ...own, certFile: undefined, keyFile: undefined } },
  { name: 'a foreign certificate', tls: { ...own, ...certificateFiles('foreign-client') } },
  {
    name: 'another authority',
    tls: { ...own, caFile: certificateFiles('foreign-server').certFile },
  },
]
for (const { name, tls } of strangers) {
  test(`engine: ${name} is refused`, async (t) => {
    const port = await aTlsEngine(t)
    const engine = new EngineClient({ host: '127.0.0.1', port, tls })
    t.after(() => engine.close())
    await assert.rejects(engine.call({ method: 'GET', path: '/version' }), {
      kind: 'engine',
      message: new RegExp(`^the container engine at 127\\.0\\.0\\.1:${port} does not answer: `),
    })
  })
}

test('engine: certificates that cannot be read are named', async (t) => {
  const caFile = join(await temporaryDirectory(t), 'none.pem')
  const engine = new EngineClient({ host: '127.0.0.1', port: 1, tls: { ...own, caFile } })
  await assert.rejects(engine.call({ method: 'GET', path: '/version' }), {
    kind: 'engine',
    message: /does not answer: ENOENT/,
  })
})
