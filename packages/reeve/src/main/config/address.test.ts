import assert from 'node:assert/strict'
import test from 'node:test'
import { formatAddress, isAnyAddress, isLoopback, parseAddress } from './address.ts'

const readable = [
  ['10.0.0.5', { host: '10.0.0.5', port: undefined }],
  ['10.0.0.5:80', { host: '10.0.0.5', port: 80 }],
  ['node-1.example.com:4646', { host: 'node-1.example.com', port: 4646 }],
  ['localhost', { host: 'localhost', port: undefined }],
  ['::1', { host: '::1', port: undefined }],
  ['[::1]', { host: '::1', port: undefined }],
  ['[::1]:4646', { host: '::1', port: 4646 }],
] as const

for (const [text, want] of readable)
  test(`address: ${text} is understood`, () => {
    assert.deepEqual(parseAddress(text), want)
  })

const unreadable = [
  '',
  ':80',
  'a:0',
  'a:65536',
  'a:b',
  'http://a',
  'a/b',
  '[a]:1',
  '[::1',
  'a b',
  '-a',
  'a..b',
  'a:1:2',
  'x'.repeat(300),
]
for (const text of unreadable)
  test(`address: ${JSON.stringify(text.slice(0, 20))} is refused`, () => {
    assert.equal(parseAddress(text), undefined)
  })

test('address: an IPv6 address is written in brackets', () => {
  assert.equal(formatAddress('::1', 4646), '[::1]:4646')
  assert.equal(formatAddress('10.0.0.1', 4646), '10.0.0.1:4646')
})

const reach = [
  { host: '127.0.0.1', loopback: true, any: false },
  { host: '127.255.0.1', loopback: true, any: false },
  { host: '::1', loopback: true, any: false },
  { host: 'LOCALHOST', loopback: true, any: false },
  { host: 'localhost.example.com', loopback: false, any: false },
  { host: '128.0.0.1', loopback: false, any: false },
  { host: '::2', loopback: false, any: false },
  { host: '0.0.0.0', loopback: false, any: true },
  { host: '::', loopback: false, any: true },
  { host: '0:0:0:0:0:0:0:0', loopback: false, any: true },
]
for (const { host, loopback, any } of reach)
  test(`address: ${host} is ${loopback ? 'loopback' : any ? 'every address' : 'out there'}`, () => {
    assert.equal(isLoopback(host), loopback)
    assert.equal(isAnyAddress(host), any)
  })
