import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RegionDirectory } from './region-directory.ts'
import { readRegionHop, withRegion, type RegionHop } from './region-hop.ts'
import { routeRequest } from './route-request.ts'

const others = { us: ['http://us'], eu: ['http://eu'], asia: ['http://asia'] }
const random = { next: () => 0 }
const eu = new RegionDirectory({ own: 'eu', authoritative: 'us', others, random })

const cases: readonly {
  name: string
  asked: string
  hop?: RegionHop
  want: string
}[] = [
  { name: 'without a region is answered here', asked: 'GET /v1/jobs', want: 'here' },
  { name: 'for the own region is answered here', asked: 'GET /v1/jobs?region=eu', want: 'here' },
  { name: 'for another region goes there', asked: 'GET /v1/jobs?region=us', want: 'us named' },
  {
    name: 'for another region goes there whatever it is',
    asked: 'DELETE /v1/job/a?purge=1&region=asia',
    want: 'asia named',
  },
  { name: 'for an encoded name goes there', asked: 'GET /v1/jobs?region=%75s', want: 'us named' },
  {
    name: 'with two names means the first',
    asked: 'GET /v1/x?region=us&region=eu',
    want: 'us named',
  },
  {
    name: 'for a region nobody knows is refused by its route',
    asked: 'GET /v1/x?region=mars',
    want: 'here',
  },
  { name: 'for `global` means the own region', asked: 'GET /v1/jobs?region=global', want: 'here' },
  {
    name: 'that came by a hop for yet another region is not passed on',
    asked: 'GET /v1/jobs?region=us',
    hop: 'named',
    want: 'here',
  },
  { name: 'of governance stays here', asked: 'GET /api/v2/x?region=us', want: 'here' },
  {
    name: 'that writes a policy goes to the authority',
    asked: 'PUT /v1/acl/policy/a',
    want: 'us authority',
  },
  { name: 'that deletes a role does', asked: 'DELETE /v1/acl/role/x?a=b', want: 'us authority' },
  { name: 'that makes a role does', asked: 'POST /v1/acl/role', want: 'us authority' },
  { name: 'that bootstraps does', asked: 'POST /v1/acl/bootstrap', want: 'us authority' },
  { name: 'that writes a namespace does', asked: 'PUT /v1/namespace', want: 'us authority' },
  { name: 'that writes a pool does', asked: 'POST /v1/node/pools', want: 'us authority' },
  { name: 'that reads a policy does not', asked: 'GET /v1/acl/policy/a', want: 'here' },
  { name: 'that writes a token is decided by its body', asked: 'POST /v1/acl/token', want: 'here' },
  { name: 'that drains a node does not', asked: 'POST /v1/node/x/drain', want: 'here' },
  {
    name: 'that names a region first and then the authority makes two hops',
    asked: 'PUT /v1/acl/policy/a?region=eu',
    hop: 'named',
    want: 'us authority',
  },
  {
    name: 'that reached the wrong authority is refused',
    asked: 'PUT /v1/acl/policy/a?region=eu',
    hop: 'authority',
    want: 'refuse',
  },
]
for (const { name, asked, hop, want } of cases)
  test(`regions: a request ${name}`, () => {
    const [method = '', url = ''] = asked.split(' ')
    const route = routeRequest({ method, url, hop }, eu)
    assert.equal(route.kind === 'pass' ? `${route.region} ${route.hop}` : route.kind, want)
  })

test('regions: a region that is called global can be reached from others', () => {
  const directory = new RegionDirectory({
    own: 'eu',
    authoritative: undefined,
    others: { global: ['http://g'] },
    random,
  })
  const route = routeRequest(
    { method: 'GET', url: '/v1/jobs?region=global', hop: undefined },
    directory,
  )
  assert.deepEqual(route, { kind: 'pass', region: 'global', hop: 'named' })
})

test('regions: names are sorted, and the own one is one of them once', () => {
  assert.deepEqual(eu.names, ['asia', 'eu', 'us'])
  assert.equal(eu.isOther('eu'), false)
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
