import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseVia, formatVia } from './forward-headers.ts'

const ways = [
  { name: 'somebody', address: '192.0.2.7', header: 'us 192.0.2.7' },
  { name: 'somebody with a long address', address: '2001:db8::7', header: 'us 2001:db8::7' },
  { name: 'nobody', address: '', header: 'us' },
]
for (const { name, address, header } of ways)
  test(`via header: round trip for ${name}`, () => {
    assert.equal(formatVia('us', address), header)
    assert.deepEqual(parseVia(header), { Region: 'us', Address: address })
  })

test('via header: the zone of an address is removed', () => {
  assert.equal(formatVia('us', 'fe80::1%eth0'), 'us fe80::1')
})

const hostile = [undefined, '', ' ', 'us ', 'us  1.2.3.4', 'us 1.2.3.4 x', '<b> 1.2.3.4', 'us host']
for (const header of [...hostile, ['us', 'eu'], `u${'s'.repeat(200)}`])
  test(`region hop: ${JSON.stringify(header)?.slice(0, 20)} is ignored`, () => {
    assert.equal(parseVia(header), undefined)
  })
