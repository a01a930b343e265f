import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test, type TestContext } from 'node:test'
import fastify from 'fastify'
import { FastResponseWriter, type FastResponseOptions } from './fast-response.ts'

interface Said {
  readonly isQuick: boolean
  readonly head: readonly string[]
  readonly body: string
}

interface Asked {
  readonly request?: string
  readonly status?: number
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly options?: Partial<FastResponseOptions>
}

const PLAIN = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'

/** Asks a server that answers quickly where it can, and with `the long way` where it cannot. */
async function ask(t: TestContext, asked: Asked): Promise<Said> {
  const quick = new FastResponseWriter({
    headers: { 'x-frame-options': 'DENY' },
    aliases: {},
    isEnabled: true,
    isDraining: () => false,
    isStillLeader: () => true,
    ...asked.options,
  })
  const app = fastify({ genReqId: () => 'id-1' })
  let isQuick = false
  app.get('/', (_request, reply) => {
    if (asked.status !== undefined) void reply.code(asked.status)
    isQuick = quick.send(reply, { headers: asked.headers ?? {}, body: asked.body ?? '{}' })
    if (!isQuick) void reply.send('the long way')
  })
  t.after(() => app.close())
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
  const socket = connect({ host: '127.0.0.1', port: Number(port) }).setEncoding('utf8')
  // Twice on one connection: nothing of the first answer may be taken for the second.
  socket.write(asked.request ?? PLAIN)
  const text = await answerText(socket)
  if (isQuick) {
    socket.write(asked.request ?? PLAIN)
    assert.equal(await answerText(socket), text)
  }
  socket.destroy()
  const [head = '', body = ''] = text.split('\r\n\r\n')
  return { isQuick, head: head.split('\r\n'), body }
}

async function answerText(socket: ReturnType<typeof connect>): Promise<string> {
  let text = ''
  for (;;) {
    const [chunk] = await once(socket, 'data')
    text += String(chunk)
    const [head = '', body] = text.split('\r\n\r\n')
    const length = Number(/content-length: (\d+)/.exec(head)?.[1] ?? 0)
    const isWhole = isHead(text) || Buffer.byteLength(body ?? '') === length
    if (body !== undefined && isWhole) return text.replace(/Date: .*/i, 'Date: now')
  }
}

/** The long way of this server is a text; headers alone tell its length and do not bring it. */
function isHead(text: string): boolean {
  return text.includes('content-length: 12\r\n')
}

test('fast response: its head has the default headers, those of the response and those of Node', async (t) => {
  const said = await ask(t, { body: '{"a":"é"}', headers: { 'x-service-index': '7' } })
  assert.deepEqual(said, {
    isQuick: true,
    head: [
      'HTTP/1.1 200 OK',
      'x-frame-options: DENY',
      'content-type: application/json',
      'x-request-id: id-1',
      'x-service-index: 7',
      'content-length: 10',
      'Date: now',
      'Connection: keep-alive',
      'Keep-Alive: timeout=72',
    ],
    body: '{"a":"é"}',
  })
})

const WHOLE = [
  { name: 'a short text', body: '"é"' },
  { name: 'a text beyond what the runtime writes at once', body: `"${'é'.repeat(40_000)}"` },
  { name: 'a text of ASCII that is just written at once', body: `"${'x'.repeat(16_000)}"` },
]

for (const { name, body } of WHOLE)
  test(`fast response: ${name} arrives complete`, async (t) => {
    const said = await ask(t, { body })
    assert.equal(said.isQuick, true)
    assert.ok(said.body === body)
  })

const LONG_WAY: readonly (Asked & { readonly name: string })[] = [
  { name: 'headers without a body', request: PLAIN.replace('GET', 'HEAD') },
  { name: 'an old protocol', request: PLAIN.replace('1.1', '1.0') },
  { name: 'a connection that ends', request: `${PLAIN.slice(0, -2)}connection: close\r\n\r\n` },
  { name: 'a page of another origin', request: `${PLAIN.slice(0, -2)}origin: http://b\r\n\r\n` },
  {
    name: 'a long text for who takes compression',
    request: `${PLAIN.slice(0, -2)}accept-encoding: gzip\r\n\r\n`,
    body: 'x'.repeat(2_000),
  },
  { name: 'another status', status: 202 },
  { name: 'a header that would end its line', headers: { 'x-a': 'b\r\nx-c: d' } },
  { name: 'a header beyond ASCII', headers: { 'x-a': 'é' } },
  { name: 'a server that stops', options: { isDraining: () => true } },
  { name: 'an answer that does not stand', options: { isStillLeader: () => false } },
  { name: 'a header of the runtime', options: { headers: { connection: 'close' } } },
  { name: "an operator's header that is none", options: { headers: { 'x-a': 'b\nc' } } },
]

for (const { name, ...asked } of LONG_WAY)
  test(`fast response: ${name} is sent by Fastify`, async (t) => {
    assert.equal((await ask(t, asked)).isQuick, false)
  })

test('fast response: a short text is not compressed, whatever the client accepts', async (t) => {
  const request = `${PLAIN.slice(0, -2)}accept-encoding: gzip\r\n\r\n`
  assert.equal((await ask(t, { request })).isQuick, true)
})
