import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type PluginCall,
  pluginEnvironment,
  pluginInput,
  supportsPrevResultInDelete,
} from './plugin.ts'

const portmap = { type: 'portmap', capabilities: { portMappings: true }, snat: true }
const network = { name: 'own', cniVersion: '1.0.0', plugins: [portmap] }

function aCall(fields: Partial<PluginCall> = {}, ports: PluginCall['attachment']['ports'] = []) {
  return {
    command: 'ADD',
    plugin: portmap,
    attachment: { network, args: { POD: 'a', 'x.y': 'b c' }, ports },
    allocationId: 'alloc-1',
    namespacePath: '/run/netns/alloc-1',
    directories: ['/opt/cni/bin', '/usr/lib/cni'],
    prevResult: undefined,
    ...fields,
  } satisfies PluginCall
}

test('a plug-in gets its command through the environment', () => {
  assert.deepEqual(pluginEnvironment(aCall()), {
    CNI_COMMAND: 'ADD',
    CNI_CONTAINERID: 'alloc-1',
    CNI_NETNS: '/run/netns/alloc-1',
    CNI_IFNAME: 'eth0',
    CNI_ARGS: 'IgnoreUnknown=true;POD=a;x.y=b c',
    CNI_PATH: '/opt/cni/bin:/usr/lib/cni',
  })
})

const port = { label: 'http', hostIp: '10.0.0.1', hostPort: 20_001, to: 8_080 }
const mapped = [
  { hostPort: 20_001, containerPort: 8_080, protocol: 'tcp', hostIP: '10.0.0.1' },
  { hostPort: 20_001, containerPort: 8_080, protocol: 'udp', hostIP: '10.0.0.1' },
]
const own = { type: 'portmap', snat: true, name: 'own', cniVersion: '1.0.0' }

const inputs: readonly (readonly [string, ReturnType<typeof aCall>, object])[] = [
  ['name and version of the network', aCall(), own],
  [
    'ports to a plug-in that maps them, for both protocols',
    aCall({}, [port]),
    { ...own, runtimeConfig: { portMappings: mapped } },
  ],
  [
    'ports of every address without one, to the same number where none is named',
    aCall({}, [
      { ...port, hostIp: '', to: 0 },
      { ...port, hostIp: '', hostPort: 1, to: -1 },
    ]),
    {
      ...own,
      runtimeConfig: {
        portMappings: [20_001, 1].flatMap((hostPort) =>
          ['tcp', 'udp'].map((protocol) => ({ hostPort, containerPort: hostPort, protocol })),
        ),
      },
    },
  ],
  [
    'no ports to a plug-in that does not ask for them',
    aCall({ plugin: { type: 'tuning', capabilities: { portMappings: false, mac: true } } }, [port]),
    { type: 'tuning', name: 'own', cniVersion: '1.0.0' },
  ],
  [
    'the result before it, whole',
    aCall({ prevResult: Object.assign({ ips: [] }, { routes: [{ dst: '0.0.0.0/0' }] }) }),
    { ...own, prevResult: { ips: [], routes: [{ dst: '0.0.0.0/0' }] } },
  ],
]

for (const [name, call, wanted] of inputs)
  test(`a plug-in reads its settings with ${name}`, () => {
    assert.deepEqual(JSON.parse(pluginInput(call)), wanted)
  })

test('DEL has a result since version 0.4.0', () => {
  const versions = ['0.3.0', '0.3.1', '0.4.0', '1.0.0', '1.1.0']
  const taking = versions.filter((cniVersion) =>
    supportsPrevResultInDelete({ ...network, cniVersion }),
  )
  assert.deepEqual(taking, ['0.4.0', '1.0.0', '1.1.0'])
})
