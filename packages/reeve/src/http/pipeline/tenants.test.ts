import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isAddressTenant, Tenants } from './tenants.ts'

const requests = [
  { name: 'a known token is its owner', headers: { 'x-service-token': 'known' }, tenant: 'owner' },
  { name: 'so is a bearer token', headers: { authorization: 'bearer known' }, tenant: 'owner' },
  {
    name: 'the token header wins',
    headers: { 'x-service-token': 'other', authorization: 'Bearer known' },
  },
  { name: 'an unknown token is its address', headers: { 'x-service-token': 'guessed' } },
  { name: 'no token is its address', headers: {} },
  {
    name: 'IPv4 in IPv6 is the IPv4 address',
    address: '::ffff:10.0.0.1',
    headers: {},
    tenant: 'address:10.0.0.1',
  },
  {
    name: 'IPv6 is its network',
    address: '2001:db8:1:2:3:4:5:6',
    headers: {},
    tenant: 'address:2001:db8:1:2',
  },
  { name: 'also a short one', address: '2001:db8::6', headers: {}, tenant: 'address:2001:db8:0:0' },
  { name: 'and loopback', address: '::1', headers: {}, tenant: 'address:0:0:0:0' },
]

for (const { name, headers, address = '10.0.0.9', tenant = 'address:10.0.0.9' } of requests)
  test(`tenants: ${name}`, () => {
    const tenants = new Tenants((secret) => (secret === 'known' ? 'owner' : undefined))
    assert.equal(tenants.tenantOf({ headers }, address), tenant)
    assert.equal(isAddressTenant(tenant), tenant !== 'owner')
  })

test('tenants: a known token is looked up once, an unknown one each time', () => {
  const looked: string[] = []
  const tenants = new Tenants((secret) => {
    looked.push(secret)
    return secret === 'known' ? 'owner' : undefined
  })
  for (const secret of ['known', 'known', 'guessed', 'guessed'])
    tenants.tenantOf({ headers: { 'x-service-token': secret } }, '10.0.0.9')
  assert.deepEqual(looked, ['known', 'guessed', 'guessed'])
})
