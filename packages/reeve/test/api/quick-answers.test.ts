import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { register } from './cluster.ts'
import { createTestServer } from './harness.ts'

const READS = [
  '/v1/job/web',
  '/v1/jobs',
  '/v1/jobs?per_page=1',
  '/v1/jobs?pretty',
  '/v1/status/leader',
  '/v1/job/web/evaluations',
  '/v1/job/gone',
  '/v1/jobs?index=x',
]

interface Answered {
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

for (const path of READS)
  test(`answers: ${path} says the same on both ways that an answer may go`, async (t) => {
    const responseHeaders = { 'X-Team': 'platform', 'Cache-Control': 'private' }
    const server = await createTestServer({ aclEnabled: false, responseHeaders })
    t.after(() => server.close())
    for (const ID of ['web', 'zoo']) await server.ok('registerJob', register({ ID }))
    const address = await server.listen()
    const agent = new Agent({ keepAlive: true })
    t.after(() => agent.destroy())
    const ask = (headers: Readonly<Record<string, string>>): Promise<Answered> =>
      answerOf(new URL(path, address), { agent, headers: { 'x-request-id': 'mine', ...headers } })
    const plain = await ask({})
    // Who names what it takes is answered by way of what would compress the answer.
    const long = await ask({ 'accept-encoding': 'identity', origin: 'http://elsewhere' })
    assert.deepEqual(plain, long)
    assert.equal(plain.headers['x-team'], 'platform')
    assert.equal(plain.headers['cache-control'], 'private')
  })

async function answerOf(
  url: URL,
  options: { readonly agent: Agent; readonly headers: Readonly<Record<string, string>> },
): Promise<Answered> {
  const asked = request(url, options)
  asked.end()
  // Node's documentation: this event has one argument, the answer.
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  const parts = await response.setEncoding('utf8').toArray()
  const { date, ...headers } = response.headers
  assert.match(String(date), / GMT$/)
  return { status: response.statusCode, headers, body: parts.join('') }
}
