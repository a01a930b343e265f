import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RegionDirectory } from './region-directory.ts'
import { readRegionHop, withRegion } from './region-hop.ts'

const others = { us: ['http://us'], eu: ['http://eu'], asia: ['http://asia'] }
const random = { next: () => 0 }
const eu = new RegionDirectory({ own: 'eu', authoritative: 'us', others, random })

test('regions: names are sorted, and the own one is one of them once', () => {
  assert.deepEqual(eu.names, ['asia', 'eu', 'us'])
  assert.equal(eu.isRemote('eu'), false)
})

test('regions: the address that answered last is asked first, until it fails', () => {
  const addresses = ['http://a', 'http://b', 'http://c']
  const directory = new RegionDirectory({
    own: 'eu',
    authoritative: undefined,
    others: { us: addresses },
    random: { next: () => 0.5 },
  })
  assert.deepEqual(directory.addressesOf('us'), ['http://b', 'http://c', 'http://a'])
  directory.answered('us', 'http://a')
  assert.deepEqual(directory.addressesOf('us'), ['http://a', 'http://b', 'http://c'])
  directory.failed('us', 'http://a')
  assert.equal(directory.addressesOf('us')[0], 'http://b')
  assert.deepEqual(directory.addressesOf('mars'), [])
})

const rewritten = [
  { url: '/v1/jobs', want: '/v1/jobs?region=us' },
  { url: '/v1/jobs?prefix=a%20b', want: '/v1/jobs?prefix=a%20b&region=us' },
  { url: '/v1/jobs?region=eu&x=1&region=a', want: '/v1/jobs?x=1&region=us' },
  { url: '/v1/jobs?%72egion=eu', want: '/v1/jobs?region=us' },
]
for (const { url, want } of rewritten)
  test(`regions: ${url} is asked elsewhere as ${want}`, () =>
    assert.equal(withRegion(url, 'us'), want))

test('regions: a hop of an unknown kind is a hop', () => {
  assert.equal(readRegionHop(undefined), undefined)
  assert.equal(readRegionHop('named'), 'named')
  assert.equal(readRegionHop('from a newer version'), 'authority')
  assert.equal(readRegionHop(['named', 'named']), 'authority')
})
