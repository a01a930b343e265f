import assert from 'node:assert/strict'
import test from 'node:test'
import { anAgentConfig, loadSources } from '../../../test/build/agent-config.ts'

const flags = { dev: true } as const

/** What is said of a file whose block `client` holds this. */
function complaint(inside: string): string {
  const loaded = loadSources({ flags, files: { 'a.hcl': `client {\n${inside}\n}` } })
  return loaded.ok ? '' : loaded.error.map(({ message }) => message).join('; ')
}

const refused = [
  ['a volume without path', 'host_volume "data" {}', 'look at "data"'],
  ['a volume with a relative path', 'host_volume "data" { path = "srv" }', 'an absolute path'],
  ['a volume with a field nobody knows', 'host_volume "d" {\npath = "/d"\nro = true\n}', '"d"'],
  ['a volume that is neither', 'host_volume "d" {\npath = "/d"\nread_only = "x"\n}', '"d"'],
  ['a name that is a path', 'host_volume "../d" { path = "/d" }', 'look at "../d"'],
  ['a volume without label', 'host_volume { path = "/d" }', 'name'],
  [
    'the same volume twice',
    'host_volume "d" { path = "/d" }\nhost_volume "d" { path = "/e" }',
    'already there',
  ],
  ['a device name that is too long', 'bridge_network_name = "abcdefghijklmnop"', 'network device'],
  ['a device name that is a rule', 'bridge_network_name = "a\\" drop"', 'network device'],
  ['a network of no addresses', 'bridge_network_subnet = "10.0.0.0/30"', 'IPv4'],
  ['a network that is none', 'bridge_network_subnet = "10.0.0.256/24"', 'IPv4'],
  ['a relative directory of networks', 'cni_config_dir = "cni"', 'an absolute path'],
  ['a relative directory of plug-ins', 'cni_path = "/opt/cni/bin:bin"', 'absolute paths'],
  ['an empty directory of plug-ins', 'cni_path = "/opt/cni/bin:"', 'absolute paths'],
  [
    'more directories of plug-ins than a path has',
    `cni_path = "${Array.from({ length: 17 }, () => '/a').join(':')}"`,
    'at most 16',
  ],
  ['more than everything', 'gc_disk_usage_threshold = 101', 'from 1 to 100'],
  ['no time at all', 'max_kill_timeout = "0s"', 'max_kill_timeout must be a duration'],
] as const

for (const [name, inside, want] of refused)
  test(`client options: ${name} is refused`, () => {
    assert.ok(complaint(inside).includes(want), complaint(inside))
  })

test('client options: volumes of several files are joined, the later one wins', () => {
  const files = {
    'a.hcl': 'client {\n host_volume "a" { path = "/a" }\n host_volume "b" { path = "/b" }\n}',
    'b.json': '{"client": {"host_volume": {"b": {"path": "/c", "read_only": true}}}}',
  }
  assert.deepEqual(anAgentConfig({ flags, files }).client.hostVolumes, {
    a: { path: '/a', readOnly: false },
    b: { path: '/c', readOnly: true },
  })
})

test('client options: plug-ins may be in as many as 16 directories', () => {
  const directories = Array.from({ length: 16 }, (_, index) => `/d${index}`)
  const files = { 'a.hcl': `client { cni_path = "${directories.join(':')}" }` }
  assert.deepEqual(anAgentConfig({ flags, files }).client.cni.pluginDirectories, directories)
})

test('client options: secrets stay in memory unless it is only a trial', () => {
  const real = { server: true, client: true, dataDirectory: '/d' } as const
  assert.equal(anAgentConfig({ flags: real }).client.secretsInMemory, true)
  assert.equal(anAgentConfig({ flags }).client.secretsInMemory, false)
})
