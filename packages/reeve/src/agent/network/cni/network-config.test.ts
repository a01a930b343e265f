import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AGENT_LIMITS } from '../../limits.ts'
import { networkNameOf, parseNetworkConfig, requiredPrograms } from './network-config.ts'

const LIST = {
  cniVersion: '1.0.0',
  name: 'own',
  plugins: [
    { type: 'bridge', bridge: 'cni7', ipam: { type: 'host-local', subnet: '10.7.0.0/24' } },
    { type: 'portmap', capabilities: { portMappings: true }, snat: true },
  ],
}

function errorOf(value: unknown): string {
  const parsed = parseNetworkConfig(typeof value === 'string' ? value : JSON.stringify(value))
  return parsed.ok ? '' : parsed.error
}

test('a list keeps every setting of its plug-ins', () => {
  const parsed = parseNetworkConfig(JSON.stringify({ ...LIST, disableCheck: true }))
  assert.deepEqual(parsed, { ok: true, value: LIST })
})

test('a single plug-in is a list of one', () => {
  const single = { cniVersion: '0.3.1', name: 'lan', type: 'macvlan', master: 'eth0' }
  assert.deepEqual(parseNetworkConfig(JSON.stringify(single)), {
    ok: true,
    value: { cniVersion: '0.3.1', name: 'lan', plugins: [single] },
  })
})

test('the programs of a network are its plug-ins and those that give out addresses', () => {
  const plugins = [
    ...LIST.plugins,
    { type: 'bridge', ipam: {} },
    { type: 'tuning', ipam: 'none' },
    { type: 'ptp', ipam: { type: '' } },
  ]
  const programs = requiredPrograms({ ...LIST, plugins })
  assert.deepEqual(programs, ['bridge', 'host-local', 'portmap', 'tuning', 'ptp'])
})

const many = (count: number): object[] => Array.from({ length: count }, () => ({ type: 'tuning' }))
const { cniPluginsMax } = AGENT_LIMITS

const cases: readonly (readonly [string, unknown, RegExp])[] = [
  ['text that is no JSON', '{"name":', /is not valid JSON/],
  ['a value that is no object', '[1]', /is not a JSON object/],
  ['no name', { ...LIST, name: undefined }, /needs a "name"/],
  ['a name that is a path', { ...LIST, name: '../etc' }, /needs a "name"/],
  ['a name of 129 letters', { ...LIST, name: 'n'.repeat(129) }, /needs a "name"/],
  ['no version', { ...LIST, cniVersion: undefined }, /"cniVersion" of 0\.3\.0, .*1\.1\.0$/],
  ['a version without chains', { ...LIST, cniVersion: '0.2.0' }, /needs a "cniVersion"/],
  ['no plug-ins', { ...LIST, plugins: [] }, /"plugins" of 1 to 16/],
  ['plug-ins that are no list', { ...LIST, plugins: {} }, /"plugins" of 1 to 16/],
  ['too many plug-ins', { ...LIST, plugins: many(cniPluginsMax + 1) }, /"plugins" of 1 to 16/],
  ['a plug-in without type', { ...LIST, plugins: [{}] }, /needs a "type"/],
  ['a type that is a path', { ...LIST, plugins: [{ type: '../sh' }] }, /needs a "type"/],
  ['neither plug-ins nor type', { cniVersion: '1.0.0', name: 'x' }, /needs a "type"/],
  ['capabilities of no form', { ...LIST, plugins: [{ type: 'x', capabilities: 1 }] }, /"type"/],
]

for (const [name, value, wanted] of cases)
  test(`${name} is a problem of the file`, () => assert.match(errorOf(value), wanted))

test('names and lists may be as long as the limits say', () => {
  const network = { ...LIST, name: 'n'.repeat(128), plugins: many(cniPluginsMax) }
  assert.equal(errorOf(network), '')
})

test('only modes of plug-ins name a network', () => {
  assert.deepEqual(['cni/own', 'bridge', 'cni'].map(networkNameOf), ['own', undefined, undefined])
})
