import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { PageGuard } from './page-guard.ts'

interface Asked {
  readonly method?: string
  readonly host?: string
  readonly origin?: string
  readonly localAddress?: string
}

function asked({ method = 'POST', localAddress = '127.0.0.1', ...headers }: Asked) {
  // All that the guard reads.
  return { method, headers, socket: { localAddress } } as unknown as IncomingMessage
}

const guard = new PageGuard({
  corsOrigins: ['https://ui.example.com'],
  externalUrl: 'https://reeve.example.com/x',
})

const OWN = 'localhost:4646'
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
  // Others reach it by whatever name it has.
  { host: 'reeve.internal:4646', localAddress: '10.0.0.7' },
]
for (const request of passing)
  test(`page guard: ${JSON.stringify(request)} passes`, () => {
    assert.equal(guard.problemOf(asked(request)), undefined)
  })

const refused: readonly (readonly [Asked, RegExp])[] = [
  [{ host: OWN, origin: 'https://evil.example' }, /page of https:\/\/evil\.example may not write/],
  [{ host: OWN, origin: 'null' }, /page of null may not write/],
  [{ host: OWN, origin: 'http://localhost:8080' }, /may not write/],
  [{ host: OWN, origin: 'https://evil.example', method: 'DELETE' }, /may not write/],
  [{ host: OWN, origin: 'https://evil.example', localAddress: '10.0.0.7' }, /may not write/],
  [{ host: 'evil.example', origin: 'http://evil.example' }, /"evil\.example" is no name/],
  [{ host: 'evil.example:4646', method: 'GET' }, /"evil\.example" is no name/],
  [{ host: 'localhost.evil.example', method: 'GET' }, /is no name/],
  [{ host: 'evil.example', localAddress: '::ffff:127.0.0.1' }, /is no name/],
  [{ host: '127.0.0.1.evil.example', localAddress: '::1' }, /is no name/],
]
for (const [request, text] of refused)
  test(`page guard: ${JSON.stringify(request)} is refused`, () => {
    assert.match(guard.problemOf(asked(request)) ?? '', text)
  })

test('page guard: * lets every page write', () => {
  const open = new PageGuard({ corsOrigins: ['*'], externalUrl: '' })
  assert.equal(open.problemOf(asked({ host: OWN, origin: 'https://a.example' })), undefined)
})
