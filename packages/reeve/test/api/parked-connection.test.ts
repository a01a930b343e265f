import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { connect, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { put } from '../../src/state/index.ts'
import { aJob } from '../build/index.ts'
import { createTestServer, IS_PLAIN_HTTP, type TestServer, parkedQueries } from './harness.ts'
import { aSecuredServer } from './secured.ts'

/** Long enough for a busy machine; without it a lost answer would hang the run. */
const patience = { timeout: 300_000 }

/** One connection to a server that listens, written to by hand. */
class Line {
  readonly socket: Socket
  #bytes = Buffer.alloc(0)
  #closed = false

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1')
    this.socket.on('data', (bytes) => (this.#bytes = Buffer.concat([this.#bytes, bytes])))
    this.socket.on('close', () => (this.#closed = true))
    this.socket.on('error', () => undefined)
  }

  ask(url: string, headers = '', method = 'GET'): void {
    this.socket.write(requestText(url, headers, method))
  }

  /** The next answer, once all of it is here. */
  async answer({ hasBody = true } = {}): Promise<{ head: string; body: Buffer; index: number }> {
    for (;;) {
      const end = this.#bytes.indexOf('\r\n\r\n')
      const head = this.#bytes.subarray(0, Math.max(0, end)).toString()
      const length = hasBody ? Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0) : 0
      const total = end + 4 + length
      if (end >= 0 && this.#bytes.length >= total) {
        const body = this.#bytes.subarray(end + 4, total)
        this.#bytes = this.#bytes.subarray(total)
        return { head, body, index: Number(/^x-service-index: (\d+)$/im.exec(head)?.[1] ?? 0) }
      }
      assert.ok(!this.#closed, 'the connection was closed before the answer was complete')
      await setImmediate()
    }
  }
}

function requestText(url: string, headers = '', method = 'GET'): string {
  return `${method} ${url} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`
}

interface World {
  readonly server: TestServer
  readonly line: Line
  /** The server's end of the line. */
  readonly accepted: () => Socket & { readonly parser?: unknown }
}

async function aLine(t: TestContext): Promise<World> {
  const server = await createTestServer({ aclEnabled: false })
  await change(server)
  const port = Number(new URL(await server.listen()).port)
  let socket: Socket | undefined
  const onConnection = (message: unknown): void => {
    // The channel's documented message: the socket of a connection that was accepted.
    const accepted = (message as { readonly socket: Socket }).socket
    if (accepted.localPort === port) socket = accepted
  }
  subscribe('net.server.socket', onConnection)
  const line = new Line(port)
  t.after(async () => {
    unsubscribe('net.server.socket', onConnection)
    line.socket.destroy()
    await server.close()
  })
  return { server, line, accepted: () => socket ?? assert.fail('nothing was accepted') }
}

async function change(server: TestServer): Promise<number> {
  const { index, durable } = server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('jobs', aJob({ ID: 'web' }))],
  })
  await durable
  return index
}

async function untilParked(count = 1): Promise<void> {
  while (parkedQueries() !== count) await setImmediate()
}

test('parked connection: a query that waits has given its parser back', patience, async (t) => {
  const { server, line, accepted } = await aLine(t)
  line.ask('/v1/jobs?index=2')
  await untilParked()
  if (!IS_PLAIN_HTTP) assert.equal(accepted().parser, null)
  const index = await change(server)
  assert.equal((await line.answer()).index, index)
})

test('parked connection: it serves one waiting query after another', patience, async (t) => {
  const { server, line, accepted } = await aLine(t)
  const listeners: number[] = []
  for (let last = 2, round = 0; round < 15; round++) {
    line.ask(`/v1/jobs?index=${last}`)
    await untilParked()
    listeners.push(
      ['data', 'end', 'close', 'error'].reduce((n, e) => n + accepted().listenerCount(e), 0),
    )
    last = await change(server)
    assert.equal((await line.answer()).index, last)
    line.ask('/v1/status/leader')
    assert.match((await line.answer()).head, /^HTTP\/1\.1 200 /)
  }
  assert.equal(new Set(listeners).size, 1, 'nothing gathers on the socket')
})

test(
  'parked connection: the time is up, and it answers with what there is',
  patience,
  async (t) => {
    const { server, line } = await aLine(t)
    line.ask('/v1/jobs?index=99&wait=10s')
    await untilParked()
    server.clock.advance(10_000)
    assert.equal((await line.answer()).index, 2)
  },
)

test('parked connection: the answer keeps to the request', patience, async (t) => {
  const { server, line } = await aLine(t)
  line.ask('/v1/jobs?index=2', 'Accept-Encoding: gzip\r\nX-Request-Id: mine\r\n')
  await untilParked()
  await change(server)
  const zipped = await line.answer()
  assert.match(zipped.head, /^x-request-id: mine$/im)
  const text = /^content-encoding: gzip$/im.test(zipped.head)
    ? gunzipSync(zipped.body)
    : zipped.body
  assert.match(text.toString(), /"ID":"web"/)
  line.ask('/v1/jobs?index=3', '', 'HEAD')
  await untilParked()
  const index = await change(server)
  assert.equal((await line.answer({ hasBody: false })).index, index)
})

const BEHIND: readonly (readonly [what: string, behind: string, rest: string])[] = [
  ['a whole request', requestText('/v1/status/leader'), ''],
  ['half a request', 'GET /v1/status/le', 'ader HTTP/1.1\r\nHost: localhost\r\n\r\n'],
]

for (const [what, behind, rest] of BEHIND) {
  test(`parked connection: ${what} sent with it is answered after it`, patience, async (t) => {
    const { server, line } = await aLine(t)
    line.socket.write(requestText('/v1/jobs?index=2') + behind)
    await untilParked()
    line.socket.write(rest)
    const index = await change(server)
    assert.equal((await line.answer()).index, index)
    assert.match((await line.answer()).body.toString(), /^"/)
  })

  test(
    `parked connection: ${what} that comes while it waits is answered after it`,
    patience,
    async (t) => {
      const { server, line, accepted } = await aLine(t)
      line.ask('/v1/jobs?index=2')
      await untilParked()
      const before = accepted().bytesRead
      line.socket.write(behind)
      while (accepted().bytesRead === before) await setImmediate()
      const index = await change(server)
      line.socket.write(rest)
      assert.equal((await line.answer()).index, index)
      assert.match((await line.answer()).body.toString(), /^"/)
    },
  )
}

/** The runtime reads this much at once: what is longer comes in several pieces of one turn. */
const READ_BYTES = 65_536

test('parked connection: of two that came in one turn neither is lost', patience, async (t) => {
  const { server, line } = await aLine(t)
  const bare = requestText('/v1/jobs?index=2', 'X-Long: \r\n')
  const long = `X-Long: ${'a'.repeat(READ_BYTES - bare.length)}\r\n`
  line.socket.write(requestText('/v1/jobs?index=2', long).repeat(2))
  await untilParked(2)
  const index = await change(server)
  assert.equal((await line.answer()).index, index)
  assert.equal((await line.answer()).index, index)
})

test('parked connection: a flood behind a waiting query ends it', patience, async (t) => {
  const { server, line } = await aLine(t)
  line.ask('/v1/jobs?index=2')
  await untilParked()
  line.socket.write(Buffer.alloc(1024 * 1024, 'x'))
  await untilParked(0)
  assert.equal(server.context.store.watches.size, 0)
})

test(
  'parked connection: who hangs up, or ends their side, leaves nothing behind',
  patience,
  async (t) => {
    const { server, line } = await aLine(t)
    line.ask('/v1/jobs?index=2')
    await untilParked()
    line.socket.end()
    await untilParked(0)
    assert.equal(server.context.store.watches.size, 0)
  },
)

test('parked connection: a stop answers it and closes it', patience, async (t) => {
  const { server, line } = await aLine(t)
  line.ask('/v1/jobs?index=2')
  await untilParked()
  const closed = server.close()
  const { head, index } = await line.answer()
  assert.equal(index, 2)
  assert.match(head, /^connection: close$/im)
  await closed
})

test(
  'parked connection: a token that was deleted meanwhile is refused, and the next query waits',
  patience,
  async (t) => {
    const { server, root, as, client } = await aSecuredServer()
    const reader = await client('namespace "default" { policy = "read" }')
    const before = await change(server)
    const line = new Line(Number(new URL(await server.listen()).port))
    t.after(async () => {
      line.socket.destroy()
      await server.close()
    })
    line.ask(`/v1/jobs?index=${before}`, `X-Service-Token: ${reader.SecretID}\r\n`)
    await untilParked()
    const params = { accessor_id: reader.AccessorID }
    await server.ok('deleteAclToken', as(root, { params }))
    const after = await change(server)
    assert.match((await line.answer()).head, /^HTTP\/1\.1 403 /)
    line.ask(`/v1/jobs?index=${after}`, `X-Service-Token: ${root.SecretID}\r\n`)
    await untilParked()
    const last = await change(server)
    assert.equal((await line.answer()).index, last)
  },
)

/** Two requests: the second one must be `agent/self`, whatever its first header says. */
const SPLIT_REQUEST = [
  'GET /v1/agent/self HTTP/1.1\r\nX-Ignored: ',
  'GET /v1/agent/health HTTP/1.1\r\nHost: localhost\r\n\r\n',
] as const

const compactHeaders = Array.from({ length: 40 }, (_, at) => `X-${at}:b\r\n`).join('')

for (const headers of [compactHeaders, compactHeaders.replaceAll(':', ': ')])
  test(
    `parked connection: bytes behind a request are not lost (${headers.slice(0, 5)})`,
    patience,
    async (t) => {
      const { server, line } = await aLine(t)
      const [head, rest] = SPLIT_REQUEST
      line.socket.write(requestText('/v1/jobs?index=2', headers) + head)
      await untilParked()
      line.socket.write(rest)
      await change(server)
      assert.match((await line.answer()).head, /x-service-index/i)
      assert.match((await line.answer()).body.toString(), /"config"/)
    },
  )

test(
  'parked connection: a request without spaces after its colons is replayed as it came',
  patience,
  async (t) => {
    const { server, line, accepted } = await aLine(t)
    line.ask('/v1/jobs?index=2', compactHeaders)
    await untilParked()
    if (!IS_PLAIN_HTTP) assert.equal(accepted().parser, null)
    const index = await change(server)
    assert.equal((await line.answer()).index, index)
    line.ask('/v1/status/leader')
    assert.match((await line.answer()).head, /^HTTP\/1\.1 200 /)
  },
)

test(
  'parked connection: a client that expects it is told to continue once',
  patience,
  async (t) => {
    const { server, line } = await aLine(t)
    line.ask('/v1/jobs?index=2', 'Expect: 100-continue\r\n')
    await untilParked()
    await change(server)
    assert.match((await line.answer()).head, /^HTTP\/1\.1 100 /)
    assert.match((await line.answer()).head, /^HTTP\/1\.1 200 /)
  },
)
