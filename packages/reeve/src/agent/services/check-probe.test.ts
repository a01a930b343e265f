import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import {
  createServer as createHttp2Server,
  createSecureServer as createSecureHttp2Server,
} from 'node:http2'
import { createServer as createHttpsServer } from 'node:https'
import { createServer as createTcpServer, type Server } from 'node:net'
import { PassThrough } from 'node:stream'
import { test, type TestContext } from 'node:test'
import { SELF_SIGNED } from '../../../test/build/self-signed.ts'
import { aCheck } from '../../../test/build/service.ts'
import type { AgentCheck } from '../assignment.ts'
import type { ExecRequest, ExecSession } from '../driver.ts'
import type { PlannedCheck } from './plan-services.ts'
import { CHECK_OUTPUT_CHARS_MAX, runCheck } from './check-probe.ts'

async function portOf(t: TestContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  return address.port
}

function planned(port: number, fields: Partial<AgentCheck>): PlannedCheck {
  const at = { address: '127.0.0.1', port }
  const check = aCheck(fields)
  return { id: 'c', name: 'alive', service: 'web', group: 'g', task: 'web', check, at }
}

async function noExec(): Promise<ExecSession> {
  await Promise.resolve()
  throw new Error('this check enters no task')
}

function look(one: PlannedCheck, signal = new AbortController().signal) {
  return runCheck(one, { signal, exec: noExec })
}

async function http(t: TestContext, listener: RequestListener, fields: Partial<AgentCheck> = {}) {
  const server = createServer(listener)
  const port = await portOf(t, server)
  return look(planned(port, { Type: 'http', Path: '/health', ...fields }))
}

const codes = [
  { code: 200, outcome: 'passing' },
  { code: 204, outcome: 'passing' },
  { code: 302, outcome: 'passing' },
  { code: 400, outcome: 'failing' },
  { code: 404, outcome: 'failing' },
  { code: 503, outcome: 'failing' },
]
for (const { code, outcome } of codes)
  test(`an http check that is answered ${code} is ${outcome}`, async (t) => {
    const found = await http(t, (_request, response) => {
      response.writeHead(code, { location: 'http://127.0.0.1:1/' }).end(code === 204 ? '' : 'text')
    })
    assert.deepEqual([found.outcome, found.statusCode], [outcome, code])
  })

test('an http check sends its method, headers, path and body', async (t) => {
  let asked: IncomingMessage | undefined
  let sent = ''
  const found = await http(
    t,
    (request, response) => {
      asked = request
      request.setEncoding('utf8').on('data', (text: string) => (sent += text))
      request.on('end', () => response.end(sent))
    },
    { Method: 'PUT', Header: { 'x-probe': ['a', 'b'] }, Path: '/a?b=c', Body: 'hello' },
  )
  assert.deepEqual(
    [asked?.method, asked?.url, asked?.headers['x-probe'], sent, found.output],
    ['PUT', '/a?b=c', 'a, b', 'hello', 'hello'],
  )
})

test('an http check keeps the beginning of an endless answer', async (t) => {
  const found = await http(t, (_request, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write('x'.repeat(16_384)));
    }
    response.on('drain', more)
    more()
  })
  assert.deepEqual([found.outcome, found.output.length], ['passing', CHECK_OUTPUT_CHARS_MAX])
})

test('an https check verifies the certificate unless tls_skip_verify is set', async (t) => {
  const server = createHttpsServer(SELF_SIGNED, (_request, response) => response.end('ok'))
  const port = await portOf(t, server)
  const https = { Type: 'http', Path: '/', Protocol: 'https' }
  const strict = await look(planned(port, https))
  assert.equal(strict.outcome, 'failing')
  assert.match(strict.output, /self-signed certificate/)
  const lax = await look(planned(port, { ...https, TLSSkipVerify: true }))
  assert.equal(lax.outcome, 'passing')
})

test('a tcp check passes if the port is open', async (t) => {
  const port = await portOf(
    t,
    createTcpServer((socket) => socket.destroy()),
  )
  assert.equal((await look(planned(port, {}))).outcome, 'passing')
})

test('a check of a closed port fails with the reason', async (t) => {
  const server = createTcpServer()
  const port = await portOf(t, server)
  server.close()
  await once(server, 'close')
  for (const Type of ['tcp', 'http']) {
    const found = await look(planned(port, { Type, Path: '/' }))
    assert.equal(found.outcome, 'failing')
    assert.match(found.output, /ECONNREFUSED/)
  }
})

test('a check that takes too long fails', async (t) => {
  const stop = new AbortController()
  const server = createServer(() => stop.abort())
  const port = await portOf(t, server)
  const found = await look(planned(port, { Type: 'http', Path: '/' }), stop.signal)
  assert.deepEqual([found.outcome, found.output], ['failing', 'the check took too long'])
})

test('a check of an unknown type fails', async () => {
  const found = await look(planned(1, { Type: 'ttl' }))
  assert.match(found.output, /no checks of type "ttl"/)
})

/** A server of grpc.health.v1 that knows the service `shop`; `asked` gets what it is asked for. */
async function healthServer(t: TestContext, status: number, asked: string[] = []) {
  const server = createHttp2Server((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const name = Buffer.concat(chunks).subarray(7).toString()
      asked.push(name)
      const isKnown = name === '' || name === 'shop'
      response.writeHead(200, { 'content-type': 'application/grpc' })
      if (isKnown) response.write(Buffer.from([0, 0, 0, 0, 2, 8, status]))
      response.addTrailers({
        'grpc-status': isKnown ? '0' : '5',
        'grpc-message': 'unknown service',
      })
      response.end()
    })
  })
  return portOf(t, server)
}

const grpcCases = [
  { name: 'serves', status: 1, service: 'shop', outcome: 'passing', output: /answers SERVING/ },
  { name: 'serves as a whole', status: 1, service: '', outcome: 'passing', output: /SERVING/ },
  { name: 'does not serve', status: 2, service: 'shop', outcome: 'failing', output: /NOT_SERVING/ },
  {
    name: 'is not known',
    status: 1,
    service: 'x',
    outcome: 'failing',
    output: /gRPC status 5: unknown service/,
  },
] as const
for (const { name, status, service, outcome, output } of grpcCases)
  test(`a grpc check of a service that ${name} is ${outcome}`, async (t) => {
    const asked: string[] = []
    const port = await healthServer(t, status, asked)
    const found = await look(planned(port, { Type: 'grpc', GRPCService: service }))
    assert.equal(found.outcome, outcome)
    assert.match(found.output, output)
    assert.deepEqual(asked, [service])
  })

test('a check over TLS names the server that it asks for', async (t) => {
  const names: string[] = []
  const server = createSecureHttp2Server({
    ...SELF_SIGNED,
    SNICallback: (name, done) => {
      names.push(name)
      done(null)
    },
  })
  const port = await portOf(t, server)
  const grpc = { Type: 'grpc', GRPCUseTLS: true, TLSSkipVerify: true }
  await look(planned(port, { ...grpc, TLSServerName: 'shop.example' }), AbortSignal.timeout(500))
  const https = { Type: 'http', Path: '/', Protocol: 'https', TLSSkipVerify: true }
  await look(planned(port, { ...https, TLSServerName: 'web.example' }), AbortSignal.timeout(500))
  assert.deepEqual(names, ['shop.example', 'web.example'])
})

test('a grpc check of a server without gRPC, or without a response, fails', async (t) => {
  const deaf = await portOf(
    t,
    createTcpServer(() => undefined),
  )
  const late = AbortSignal.timeout(100)
  assert.equal((await look(planned(deaf, { Type: 'grpc' }), late)).outcome, 'failing')
  assert.equal((await look(planned(1, { Type: 'grpc' }))).outcome, 'failing')
})

/** A command that says something and ends; undefined: it never does. */
function aSession(code: number | undefined) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const exit = Promise.withResolvers<number>()
  const session: ExecSession & { isHungUp: boolean } = {
    stdin,
    stdout,
    stderr,
    isHungUp: false,
    resize: () => undefined,
    hangUp() {
      session.isHungUp = true
    },
    exited: exit.promise,
  }
  stdin.resume()
  if (code !== undefined) {
    stdout.end('out')
    stderr.end('err')
    exit.resolve(code)
  }
  return session
}

const script = { Type: 'script', Command: '/bin/check', Args: ['-v'] }
for (const [code, outcome] of [
  [0, 'passing'],
  [1, 'warning'],
  [2, 'failing'],
  [137, 'failing'],
] as const)
  test(`a script check that ends with ${code} is ${outcome}`, async () => {
    const asked: ExecRequest[] = []
    const found = await runCheck(planned(0, script), {
      signal: new AbortController().signal,
      exec: (request) => {
        asked.push(request)
        return Promise.resolve(aSession(code))
      },
    })
    assert.deepEqual(asked, [{ command: ['/bin/check', '-v'], tty: undefined }])
    assert.deepEqual([found.outcome, found.output], [outcome, 'outerr'])
  })

test('a script that exceeds its timeout is hung up', async () => {
  const session = aSession(undefined)
  const stop = new AbortController()
  const looking = runCheck(planned(0, script), {
    signal: stop.signal,
    exec: () => Promise.resolve(session),
  })
  await Promise.resolve()
  stop.abort()
  assert.equal((await looking).outcome, 'failing')
  assert.equal(session.isHungUp, true)
})

test('a script of a task that does not run fails', async () => {
  const found = await look(planned(0, script))
  assert.deepEqual([found.outcome, found.output], ['failing', 'this check enters no task'])
})
