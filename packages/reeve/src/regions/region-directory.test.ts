import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RegionDirectory } from './region-directory.ts'
import { parseForwardReason, withRegion } from './forward-headers.ts'

const others = { us: ['http://us'], eu: ['http://eu'], asia: ['http://asia'] }
const random = { next: () => 0 }
const eu = new RegionDirectory({
  localRegion: 'eu',
  authoritative: 'us',
  remoteRegions: others,
  random,
})

test('regions: names are sorted and contain the local region once', () => {
  assert.deepEqual(eu.names, ['asia', 'eu', 'us'])
  assert.equal(eu.isRemote('eu'), false)
})

test('regions: the address that responded last is tried first, until it fails', () => {
  const addresses = ['http://a', 'http://b', 'http://c']
  const directory = new RegionDirectory({
    localRegion: 'eu',
    authoritative: undefined,
    remoteRegions: { us: addresses },
    random: { next: () => 0.5 },
  })
  assert.deepEqual(directory.addressesOf('us'), ['http://b', 'http://c', 'http://a'])
  directory.recordResponse('us', 'http://a')
  assert.deepEqual(directory.addressesOf('us'), ['http://a', 'http://b', 'http://c'])
  directory.recordFailure('us', 'http://a')
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
  test(`regions: ${url} is forwarded as ${want}`, () => assert.equal(withRegion(url, 'us'), want))

test('regions: an unknown forward reason marks a forwarded request', () => {
  assert.equal(parseForwardReason(undefined), undefined)
  assert.equal(parseForwardReason('named'), 'named')
  assert.equal(parseForwardReason('from a newer version'), 'authority')
  assert.equal(parseForwardReason(['named', 'named']), 'authority')
})
