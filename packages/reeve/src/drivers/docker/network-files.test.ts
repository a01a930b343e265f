import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aLaunch } from '../../../test/build/launch.ts'
import { HOST_NETWORK, type TaskNetwork } from '../../agent/index.ts'
import { readDockerConfig } from './docker-config.ts'
import { detectNetworkAccess } from './engine-client.ts'
import {
  buildNetworkFiles,
  networkHostnameOf,
  rejectContainerNetworkSettings,
} from './network-files.ts'

const dns = { servers: ['10.0.0.53'], searches: ['own.example'], options: ['ndots:2'] }
const BRIDGE = { ...HOST_NETWORK, mode: 'bridge', namespacePath: '/run/netns/x' }

function filesOf(
  network: Partial<TaskNetwork>,
  config: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, string>> {
  const launch = aLaunch({ network: { ...BRIDGE, ...network } })
  const files = buildNetworkFiles(launch, readDockerConfig({ image: 'box:1', ...config }))
  return Object.fromEntries(files.map(({ target, text }) => [target, text]))
}

const RESOLV = '/etc/resolv.conf'
const OWN = 'nameserver 10.0.0.53\nsearch own.example\noptions ndots:2\n'

const resolvCases: readonly {
  readonly name: string
  readonly network?: Partial<TaskNetwork>
  readonly config?: Readonly<Record<string, unknown>>
  readonly want: string | undefined
}[] = [
  { name: 'left to the engine where nobody says', want: undefined },
  { name: 'that of the group', network: { dns }, want: OWN },
  {
    name: 'that of the task before that of the group',
    network: { dns },
    config: { dns_servers: ['10.9.9.9'] },
    want: 'nameserver 10.9.9.9\nsearch own.example\noptions ndots:2\n',
  },
  {
    name: 'a file that the task mounts itself',
    network: { dns },
    config: { volumes: [`local/own:${RESOLV}`] },
    want: undefined,
  },
]
for (const { name, network = {}, config = {}, want } of resolvCases) {
  test(`names in a shared network: servers are ${name}`, () => {
    assert.equal(filesOf(network, config)[RESOLV], want)
  })
}

test('names in a shared network: hosts of the group and of the task, under one hostname', () => {
  const hosts = [{ address: '172.30.64.2', names: ['web'] }]
  const config = { extra_hosts: ['db:10.0.0.5', 'six:[fd00::5]'] }
  const text = filesOf({ hostname: 'web', hosts }, config)['/etc/hosts'] ?? ''
  assert.match(text, /^127\.0\.0\.1 localhost\n/)
  assert.match(text, /^127\.0\.1\.1 web\n172\.30\.64\.2 web\n10\.0\.0\.5 db\nfd00::5 six\n$/m)
  const launch = aLaunch({ network: BRIDGE })
  assert.equal(networkHostnameOf(launch), launch.handle.allocationId.slice(0, 8))
})

test('names in a shared network: an address that only the engine knows is rejected', () => {
  const config = { extra_hosts: ['gate:host-gateway'] }
  assert.throws(() => filesOf({}, config), { kind: 'task-config', message: /gate:host-gateway/ })
})

const OWN_SETTINGS = {
  hostname: 'mine',
  mac_address: '02:42:ac:11:00:02',
  ipv4_address: '10.0.0.9',
  ipv6_address: 'fd00::9',
  network_aliases: ['web'],
}
for (const [field, value] of Object.entries(OWN_SETTINGS)) {
  test(`shared network: ${field} of a task is rejected`, () => {
    const config = readDockerConfig({ image: 'box:1', [field]: value })
    assert.throws(() => rejectContainerNetworkSettings(config), {
      kind: 'task-config',
      message: new RegExp(`^${field}: `),
    })
  })
}

const PODMAN = { Components: [{ Name: 'Podman Engine' }] }
const DOCKER = { Components: [{ Name: 'Engine' }] }
const accessCases: readonly (Parameters<typeof detectNetworkAccess>[0] & {
  readonly want: string
})[] = [
  { version: PODMAN, info: {}, hasHelper: false, want: 'path' },
  { version: DOCKER, info: {}, hasHelper: true, want: 'pause' },
  { version: DOCKER, info: {}, hasHelper: false, want: 'none' },
  {
    version: DOCKER,
    info: { SecurityOptions: ['name=seccomp,profile=builtin', 'name=userns'] },
    hasHelper: true,
    want: 'none',
  },
  {
    version: DOCKER,
    info: { SecurityOptions: ['name=rootless'] },
    hasHelper: true,
    want: 'none',
  },
]
for (const { want, ...given } of accessCases) {
  test(`network of an allocation: ${JSON.stringify(given)} gives ${want}`, () => {
    assert.equal(detectNetworkAccess(given).kind, want)
  })
}
