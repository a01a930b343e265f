import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { CrossOriginGuard } from './cross-origin.ts'

interface Asked {
  readonly method?: string
  readonly host?: string
  readonly origin?: string
  readonly 'sec-fetch-site'?: string
  readonly localAddress?: string
  readonly url?: string
}

function asked({ method = 'POST', localAddress = '127.0.0.1', url = '/', ...headers }: Asked) {
  // All that the guard reads.
  return { method, url, headers, socket: { localAddress } } as unknown as IncomingMessage
}

const guard = new CrossOriginGuard({
  corsOrigins: ['https://ui.example.com'],
  externalUrl: 'https://reeve.example.com/x',
})

const OWN = 'localhost:4646'
const GC = '/v1/client/gc'
const passing: readonly Asked[] = [
  { host: OWN },
  { host: OWN, origin: `http://${OWN}` },
  { host: 'reeve.localhost:4646' },
  { host: 'LOCALHOST.:4646' },
  { host: '127.0.0.1:4646', origin: 'http://127.0.0.1:4646' },
  { host: '[::1]:4646', origin: 'http://[::1]:4646', localAddress: '::1' },
  { host: '10.0.0.7', origin: 'http://10.0.0.7' },
  {},
  { host: 'reeve.example.com', origin: 'https://reeve.example.com' },
  // A proxy that asks by the address.
  { host: OWN, origin: 'https://reeve.example.com' },
  { host: OWN, origin: 'https://ui.example.com' },
  { host: OWN, origin: 'https://evil.example', method: 'GET' },
  { host: OWN, origin: 'https://evil.example', method: 'OPTIONS' },
  { host: OWN, url: GC, method: 'GET' },
  { host: OWN, url: GC, method: 'GET', 'sec-fetch-site': 'none' },
  { host: OWN, url: GC, method: 'GET', 'sec-fetch-site': 'same-origin' },
  { host: OWN, url: '/v1/jobs', method: 'GET', 'sec-fetch-site': 'cross-site' },
  { host: OWN, url: '/v1/client/stats', method: 'GET', 'sec-fetch-site': 'cross-site' },
  // Others reach it by whatever name it has.
  { host: 'reeve.internal:4646', localAddress: '10.0.0.7' },
]
for (const request of passing)
  test(`cross-origin guard: ${JSON.stringify(request)} is accepted`, () => {
    assert.equal(guard.rejectionOf(asked(request)), undefined)
  })

const refused: readonly (readonly [Asked, RegExp])[] = [
  [{ host: OWN, origin: 'https://evil.example' }, /page of https:\/\/evil\.example may not write/],
  [{ host: OWN, origin: 'null' }, /page of null may not write/],
  [{ host: OWN, origin: 'http://localhost:8080' }, /may not write/],
  [{ host: OWN, origin: 'https://evil.example', method: 'DELETE' }, /may not write/],
  [{ host: OWN, origin: 'https://evil.example', localAddress: '10.0.0.7' }, /may not write/],
  [{ host: 'evil.example', origin: 'http://evil.example' }, /"evil\.example" is not a name/],
  [{ host: 'evil.example:4646', method: 'GET' }, /"evil\.example" is not a name/],
  [{ host: 'localhost.evil.example', method: 'GET' }, /is not a name/],
  [{ host: 'evil.example', localAddress: '::ffff:127.0.0.1' }, /is not a name/],
  [{ host: '127.0.0.1.evil.example', localAddress: '::1' }, /is not a name/],
  [{ host: '[::1]evil.example', method: 'GET' }, /is not a name/],
  [{ host: '[::1].evil.example:80', method: 'GET' }, /is not a name/],
  [{ host: '[::1', method: 'GET' }, /is not a name/],
  ...[GC, `${GC}?node_id=x`, '/v1/client/%67c', '/v1/client/allocation/x/gc'].flatMap((url) =>
    [{ 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }, { origin: 'null' }].map(
      (headers) => [{ host: OWN, url, method: 'GET', ...headers }, /may not write/] as const,
    ),
  ),
  [{ host: OWN, 'sec-fetch-site': 'cross-site' }, /page of another website may not write/],
]
for (const [request, text] of refused)
  test(`cross-origin guard: ${JSON.stringify(request)} is rejected`, () => {
    assert.match(guard.rejectionOf(asked(request)) ?? '', text)
  })

test('cross-origin guard: * allows writes from every page', () => {
  const open = new CrossOriginGuard({ corsOrigins: ['*'], externalUrl: '' })
  assert.equal(open.rejectionOf(asked({ host: OWN, origin: 'https://a.example' })), undefined)
  const image = { host: OWN, url: GC, method: 'GET', 'sec-fetch-site': 'cross-site' }
  assert.equal(open.rejectionOf(asked(image)), undefined)
})
