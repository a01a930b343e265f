import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readVia, writeVia } from './region-hop.ts'

const ways = [
  { name: 'somebody', address: '192.0.2.7', header: 'us 192.0.2.7' },
  { name: 'somebody with a long address', address: '2001:db8::7', header: 'us 2001:db8::7' },
  { name: 'nobody', address: '', header: 'us' },
]
for (const { name, address, header } of ways)
  test(`region hop: for ${name}, and read again`, () => {
    assert.equal(writeVia('us', address), header)
    assert.deepEqual(readVia(header), { Region: 'us', Address: address })
  })

test('region hop: the zone of an address stays where it means something', () => {
  assert.equal(writeVia('us', 'fe80::1%eth0'), 'us fe80::1')
})

const hostile = [undefined, '', ' ', 'us ', 'us  1.2.3.4', 'us 1.2.3.4 x', '<b> 1.2.3.4', 'us host']
for (const header of [...hostile, ['us', 'eu'], `u${'s'.repeat(200)}`])
  test(`region hop: ${JSON.stringify(header)?.slice(0, 20)} says nothing`, () => {
    assert.equal(readVia(header), undefined)
  })
