import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RouteHandling } from '@reeve/contract'
import { chooseRegion, type ForwardReason, type KnownRegions } from './region-routing.ts'

const eu: KnownRegions = {
  localRegion: 'eu',
  authoritative: 'us',
  isRemote: (region) => region === 'us' || region === 'asia',
}

const cases: readonly {
  name: string
  rule?: RouteHandling['region']
  named?: string
  forwarded?: ForwardReason
  want: string
}[] = [
  { name: 'without a region is local', want: 'local' },
  { name: 'for the own region is local', named: 'eu', want: 'local' },
  { name: 'for another region is forwarded', named: 'us', want: 'us named' },
  { name: 'for an unknown region is rejected', named: 'mars', want: 'unknown' },
  { name: 'for `global` means the own region', named: 'global', want: 'local' },
  {
    name: 'that was forwarded for yet another region is rejected',
    named: 'us',
    forwarded: 'named',
    want: 'unknown',
  },
  { name: 'of a local route ignores the region', rule: 'local', named: 'us', want: 'local' },
  {
    name: 'of an authoritative route goes to the authoritative region',
    rule: 'authoritative',
    want: 'us authority',
  },
  {
    name: 'of an authoritative route goes to another region that it names',
    rule: 'authoritative',
    named: 'asia',
    want: 'asia named',
  },
  { name: 'whose body names the region waits for it', rule: 'body', want: 'local' },
  { name: 'that names the region in its query too', rule: 'body', named: 'us', want: 'us named' },
  {
    name: 'that was forwarded here is forwarded once more to the authoritative region',
    rule: 'authoritative',
    named: 'eu',
    forwarded: 'named',
    want: 'us authority',
  },
  {
    name: 'that reached the wrong authoritative region is rejected',
    rule: 'authoritative',
    named: 'eu',
    forwarded: 'authority',
    want: 'reject',
  },
]
for (const { name, rule = 'requested', named = '', forwarded, want } of cases)
  test(`region routing: a request ${name}`, () => {
    const route = chooseRegion(rule, named, forwarded, eu)
    assert.equal(route.kind === 'forward' ? `${route.region} ${route.reason}` : route.kind, want)
  })

test('region routing: a remote region called `global` can be named', () => {
  const regions = {
    localRegion: 'eu',
    authoritative: 'eu',
    isRemote: (name: string) => name === 'global',
  }
  const route = chooseRegion('requested', 'global', undefined, regions)
  assert.deepEqual(route, { kind: 'forward', region: 'global', reason: 'named' })
})
