import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AGENT_LIMITS } from '../../limits.ts'
import {
  networkFromResult,
  parsePluginResult,
  parsePluginVersion,
  pluginErrorMessage,
} from './plugin.ts'

const PATH = '/run/netns/a'
const NONE = {
  namespacePath: PATH,
  address: '',
  addressIPv6: '',
  interfaceName: 'eth0',
  dns: undefined,
}
const interfaces = [
  { name: 'cni7' },
  { name: 'veth1', sandbox: '' },
  { name: 'net0', sandbox: PATH },
]

const results: readonly (readonly [string, object, object])[] = [
  ['nothing at all', {}, NONE],
  ['lists that are null', { interfaces: null, ips: null, dns: {} }, NONE],
  [
    'version 0.3.1, where addresses say their kind',
    {
      cniVersion: '0.3.1',
      interfaces,
      ips: [
        { version: '6', address: 'fd00::5/64', interface: 2 },
        { version: '4', address: '10.7.0.5/24', gateway: '10.7.0.1', interface: 2 },
      ],
      routes: [{ dst: '0.0.0.0/0' }],
      dns: {},
    },
    { ...NONE, address: '10.7.0.5', addressIPv6: 'fd00::5', interfaceName: 'net0' },
  ],
  [
    'version 1.0.0, and passes by addresses of devices outside',
    {
      cniVersion: '1.0.0',
      interfaces,
      ips: [
        { address: '10.7.0.1/24', interface: 0 },
        { address: '10.7.0.2/24', interface: 1 },
        { address: '10.7.0.5/24', interface: 2 },
        { address: '10.7.0.6/24', interface: 2 },
      ],
    },
    { ...NONE, address: '10.7.0.5', interfaceName: 'net0' },
  ],
  [
    'addresses without device',
    { ips: [{ address: '10.7.0.5/24' }] },
    { ...NONE, address: '10.7.0.5' },
  ],
  [
    'a device that is not listed',
    { interfaces, ips: [{ address: 'fd00::5/64', interface: 9 }] },
    { ...NONE, addressIPv6: 'fd00::5' },
  ],
  ['an address that is none', { ips: [{ address: 'dhcp' }] }, NONE],
  [
    'servers of names',
    {
      dns: { nameservers: ['10.7.0.1'], search: ['a.example'], options: ['ndots:2'], domain: 'b' },
    },
    { ...NONE, dns: { servers: ['10.7.0.1'], searches: ['a.example'], options: ['ndots:2'] } },
  ],
  [
    'the domain where no list is searched',
    { dns: { domain: 'b.example' } },
    { ...NONE, dns: { servers: [], searches: ['b.example'], options: [] } },
  ],
]

for (const [name, result, wanted] of results)
  test(`a result contains ${name}`, () => {
    const parsed = parsePluginResult(JSON.stringify(result))
    assert.ok(parsed.ok)
    assert.deepEqual(networkFromResult(parsed.value, PATH), wanted)
  })

for (const text of ['', 'bridge: ok', '[]', '{"ips":[{}]}', '{"ips":{}}', '{"dns":[]}'])
  test(`${JSON.stringify(text)} is no result`, () => {
    assert.deepEqual(parsePluginResult(text), { ok: false, error: 'printed no valid result' })
  })

const errors: readonly (readonly [string, string | undefined])[] = [
  ['{"code":11,"msg":"try again","details":"no lease"}', 'try again; no lease (code 11)'],
  ['{"cniVersion":"1.0.0","code":7,"msg":"no address"}', 'no address (code 7)'],
  ['{"code":"7","msg":"no address"}', undefined],
  ['panic: no address', undefined],
  ['', undefined],
]

for (const [output, wanted] of errors)
  test(`an error is read from ${JSON.stringify(output)}`, () => {
    assert.equal(pluginErrorMessage(output), wanted)
  })

test('an error without end is cut', () => {
  const max = AGENT_LIMITS.cniErrorCharsMax
  const text = (chars: number) =>
    pluginErrorMessage(JSON.stringify({ code: 1, msg: 'm'.repeat(chars) }))
  assert.equal(text(max), `${'m'.repeat(max)} (code 1)`)
  assert.equal(text(max + 1), `${'m'.repeat(max)}… (code 1)`)
})

for (const [text, wanted] of [
  ['CNI bridge plugin v1.5.1\nCNI protocol versions supported: 0.1.0', '1.5.1'],
  ['CNI bridge plugin version unknown\nCNI protocol versions supported: 0.1.0', 'unknown'],
  ['Azure CNI Version v1.4.44', '1.4.44'],
  ['Cilium CNI plugin 1.16.0-rc.1 a1b2c3 go version go1.22', '1.16.0-rc.1'],
  ['', 'unknown'],
] as const)
  test(`the version in ${JSON.stringify(text)} is ${wanted}`, () => {
    assert.equal(parsePluginVersion(text), wanted)
  })
