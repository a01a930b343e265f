import assert from 'node:assert/strict'
import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { SILENT_LOG } from '../../../../test/build/agent.ts'
import { temporaryDirectory } from '../../../../test/build/temporary-directory.ts'
import { AGENT_LIMITS } from '../../limits.ts'
import { CniNetworks } from './cni-networks.ts'
import { readPluginVersions } from './plugin.ts'

const ID = 'alloc-1'
const PORT = { label: 'http', hostIp: '10.0.0.1', hostPort: 20_001, to: 8_080 }
const REQUEST = { allocationId: ID, mode: 'cni/own', ports: [PORT], cniArgs: { POD: 'a' } }
const NETWORK = {
  cniVersion: '1.0.0',
  name: 'own',
  plugins: [
    { type: 'first', mtu: 1_400 },
    { type: 'second', capabilities: { portMappings: true } },
  ],
}
const FIRST_RESULT = { cniVersion: '1.0.0', ips: [{ address: '10.7.0.5/24' }], routes: [] }
const SECOND_RESULT = { ...FIRST_RESULT, dns: { nameservers: ['10.7.0.1'] } }

/**
 * A plug-in that remembers its calls in the directory above, prints the result that is there for
 * it, and fails where there is an error for it.
 */
const PLUGIN = `#!/bin/sh
type=\${0##*/}
dir=\${0%/bin/*}
call=$CNI_COMMAND-$type
echo "$call" >> "$dir/calls"
env | grep '^CNI_' | sort > "$dir/$call.env"
cat > "$dir/$call.input"
cp "$dir/records/$CNI_CONTAINERID.json" "$dir/$call.record"
if [ -e "$dir/$call.error" ]; then cat "$dir/$call.error"; exit 1; fi
if [ "$CNI_COMMAND" = ADD ]; then cat "$dir/$type.result"; fi
`

interface Machine {
  readonly dir: string
  /** An agent that has just been started. */
  readonly agent: () => Promise<CniNetworks>
  /** The calls of plug-ins since it was last asked. */
  readonly calls: () => Promise<readonly string[]>
  readonly write: (name: string, value: unknown) => Promise<void>
  readonly read: (name: string) => Promise<string>
}

async function aMachine(t: TestContext, network: object = NETWORK): Promise<Machine> {
  const dir = await temporaryDirectory(t)
  for (const name of ['bin', 'config', 'namespaces']) await mkdir(join(dir, name))
  const write = async (name: string, value: unknown): Promise<void> => {
    await writeFile(join(dir, name), typeof value === 'string' ? value : JSON.stringify(value))
  }
  const read = (name: string): Promise<string> => readFile(join(dir, name), 'utf8')
  for (const name of ['bin/first', 'bin/second']) {
    await write(name, PLUGIN)
    await chmod(join(dir, name), 0o755)
  }
  await write('config/own.conflist', network)
  await write('first.result', FIRST_RESULT)
  await write('second.result', SECOND_RESULT)
  return {
    dir,
    write,
    read,
    agent: async () => {
      const networks = aCni(dir)
      await networks.loadState()
      return networks
    },
    calls: async () => {
      const text = await read('calls').catch(() => '')
      await rm(join(dir, 'calls'), { force: true })
      return text.split('\n').filter((line) => line !== '')
    },
  }
}

/** The command `ip` only makes files here. */
function aCni(dir: string, fields: { readonly isRoot?: boolean } = {}): CniNetworks {
  const namespacesDir = join(dir, 'namespaces')
  return new CniNetworks({
    settings: {
      configDirectory: join(dir, 'config'),
      pluginDirectories: [join(dir, 'none'), join(dir, 'bin')],
    },
    recordsDir: join(dir, 'records'),
    namespacesDir,
    log: SILENT_LOG,
    isRoot: true,
    ...fields,
    run: async (_program, [object, verb, name = '']) => {
      if (object !== 'netns') return ''
      if (verb === 'delete') await rm(join(namespacesDir, name), { force: true })
      else await writeFile(join(namespacesDir, name), '', { flag: 'wx' })
      return ''
    },
  })
}

test('plug-ins add in order, each with the result before it, and delete in reverse', async (t) => {
  const { dir, agent, calls, read } = await aMachine(t)
  const networks = await agent()
  const network = await networks.setUp(REQUEST)
  const namespacePath = join(dir, 'namespaces', ID)
  assert.deepEqual(network, {
    namespacePath,
    address: '10.7.0.5',
    addressIPv6: '',
    interfaceName: 'eth0',
    dns: { servers: ['10.7.0.1'], searches: [], options: [] },
  })
  assert.deepEqual(networks.find(ID), network)
  assert.deepEqual(await calls(), ['ADD-first', 'ADD-second'])
  const own = { name: 'own', cniVersion: '1.0.0' }
  const first = { type: 'first', mtu: 1_400, ...own }
  const second = { type: 'second', ...own }
  const place = { containerPort: 8_080, hostIP: '10.0.0.1', hostPort: 20_001 }
  const portMappings = [
    { ...place, protocol: 'tcp' },
    { ...place, protocol: 'udp' },
  ]
  const runtimeConfig = { portMappings }
  assert.deepEqual(JSON.parse(await read('ADD-first.input')), first)
  assert.deepEqual(JSON.parse(await read('ADD-second.input')), {
    ...second,
    runtimeConfig,
    prevResult: FIRST_RESULT,
  })
  assert.deepEqual((await read('ADD-first.env')).trim().split('\n'), [
    'CNI_ARGS=IgnoreUnknown=true;POD=a',
    'CNI_COMMAND=ADD',
    `CNI_CONTAINERID=${ID}`,
    'CNI_IFNAME=eth0',
    `CNI_NETNS=${namespacePath}`,
    `CNI_PATH=${join(dir, 'none')}:${join(dir, 'bin')}`,
  ])

  assert.deepEqual(await networks.setUp(REQUEST), network)
  assert.deepEqual(await calls(), [], 'what is there stays')

  await networks.tearDown(ID)
  assert.deepEqual(await calls(), ['DEL-second', 'DEL-first'])
  const prevResult = SECOND_RESULT
  assert.deepEqual(JSON.parse(await read('DEL-second.input')), {
    ...second,
    runtimeConfig,
    prevResult,
  })
  assert.deepEqual(JSON.parse(await read('DEL-first.input')), { ...first, prevResult })
  assert.match(await read('DEL-first.env'), new RegExp(`CNI_NETNS=${namespacePath}\n`))
  assert.equal(networks.find(ID), undefined)
  assert.deepEqual(await readdir(join(dir, 'namespaces')), [])
  assert.deepEqual(await readdir(join(dir, 'records')), [])
  await networks.tearDown(ID)
  assert.deepEqual(await calls(), [], 'nothing is removed twice')
})

test('a failing plug-in ends the set-up: every plug-in gets DEL, its message is the error', async (t) => {
  const { dir, agent, calls, write } = await aMachine(t)
  await write('ADD-second.error', { code: 11, msg: 'try again', details: 'port is taken' })
  const networks = await agent()
  await assert.rejects(networks.setUp(REQUEST), {
    kind: 'network',
    message: 'cni/own: ADD of the plug-in "second": try again; port is taken (code 11)',
  })
  assert.deepEqual(await calls(), ['ADD-first', 'ADD-second', 'DEL-second', 'DEL-first'])
  assert.equal(networks.find(ID), undefined)
  assert.deepEqual(await readdir(join(dir, 'namespaces')), [])
  assert.deepEqual(await readdir(join(dir, 'records')), [])
})

const failures = [
  ['no address', { 'second.result': {} }, /cni\/own: no plug-in assigned an address/],
  ['no result', { 'second.result': '' }, /"second": printed no valid result/],
  ['no JSON', { 'ADD-first.error': 'panic' }, /"first": exit code 1/],
] as const

for (const [name, files, message] of failures)
  test(`a plug-in that prints ${name} fails the set-up, and nothing stays`, async (t) => {
    const { dir, agent, calls, write } = await aMachine(t)
    for (const [file, value] of Object.entries(files)) await write(file, value)
    await assert.rejects((await agent()).setUp(REQUEST), { kind: 'network', message })
    assert.deepEqual((await calls()).slice(-2), ['DEL-second', 'DEL-first'])
    assert.deepEqual(await readdir(join(dir, 'records')), [])
  })

test('a changed configuration file does not change what is deleted', async (t) => {
  const { agent, calls, read, write } = await aMachine(t)
  await (await agent()).setUp(REQUEST)
  await write('config/own.conflist', { ...NETWORK, plugins: [{ type: 'second', mtu: 9_000 }] })
  await (await agent()).tearDown(ID)
  assert.deepEqual(await calls(), ['ADD-first', 'ADD-second', 'DEL-second', 'DEL-first'])
  assert.equal(JSON.parse(await read('DEL-first.input')).mtu, 1_400)
})

test('an attachment without a saved result is removed and created again', async (t) => {
  const { agent, calls, read, write } = await aMachine(t)
  await (await agent()).setUp(REQUEST)
  await calls()
  // The record as it was when the last plug-in ran.
  await write(`records/${ID}.json`, await read('ADD-second.record'))
  const next = await agent()
  assert.equal(next.find(ID), undefined)
  const network = await next.setUp(REQUEST)
  assert.equal(network.address, '10.7.0.5')
  assert.deepEqual(await calls(), ['DEL-second', 'DEL-first', 'ADD-first', 'ADD-second'])
  assert.equal(JSON.parse(await read('DEL-first.input')).prevResult, undefined)
})

test('an allocation that ends after such a kill is removed as well', async (t) => {
  const { dir, agent, calls, read, write } = await aMachine(t)
  await (await agent()).setUp(REQUEST)
  await calls()
  await write(`records/${ID}.json`, await read('ADD-first.record'))
  await (await agent()).tearDown(ID)
  assert.deepEqual(await calls(), ['DEL-second', 'DEL-first'])
  assert.deepEqual(await readdir(join(dir, 'namespaces')), [])
})

test('after a restart of the machine plug-ins delete without a namespace and add anew', async (t) => {
  const { dir, agent, calls, read } = await aMachine(t)
  await (await agent()).setUp(REQUEST)
  await calls()
  await rm(join(dir, 'namespaces', ID))
  await (await agent()).setUp(REQUEST)
  assert.deepEqual(await calls(), ['DEL-second', 'DEL-first', 'ADD-first', 'ADD-second'])
  assert.match(await read('DEL-first.env'), /^CNI_NETNS=$/m)
})

test('a plug-in that fails to delete does not block the others, and is retried', async (t) => {
  const { dir, agent, calls, write } = await aMachine(t)
  const networks = await agent()
  await networks.setUp(REQUEST)
  await calls()
  await write('DEL-second.error', { code: 1, msg: 'iptables is busy' })
  await assert.rejects(networks.tearDown(ID), { kind: 'network', message: /iptables is busy/ })
  assert.deepEqual(await calls(), ['DEL-second', 'DEL-first'])
  await rm(join(dir, 'DEL-second.error'))
  await (await agent()).tearDown(ID)
  assert.deepEqual(await calls(), ['DEL-second', 'DEL-first'])
  assert.deepEqual(await readdir(join(dir, 'records')), [])
})

test('changes of one allocation are made one after the other', async (t) => {
  const { agent, calls } = await aMachine(t)
  const networks = await agent()
  const both = Promise.all([
    networks.setUp(REQUEST),
    networks.setUp(REQUEST),
    networks.tearDown(ID),
  ])
  const [first, second] = await both
  assert.deepEqual(first, second)
  assert.deepEqual(await calls(), ['ADD-first', 'ADD-second', 'DEL-second', 'DEL-first'])
})

test('version 0.3.1 has no result in DEL', async (t) => {
  const { agent, read } = await aMachine(t, { ...NETWORK, cniVersion: '0.3.1' })
  const networks = await agent()
  await networks.setUp(REQUEST)
  await networks.tearDown(ID)
  assert.equal(JSON.parse(await read('DEL-first.input')).prevResult, undefined)
})

const requests = [
  [
    'a network without file',
    { mode: 'cni/other' },
    /no network of the mode "cni\/other": no valid/,
  ],
  ['an allocation that is a path', { allocationId: '../x' }, /"\.\.\/x" is no name for a network/],
  ['an argument that no environment holds', { cniArgs: { a: '\0' } }, /ADD of the plug-in "first"/],
] as const

for (const [name, fields, message] of requests)
  test(`${name} is refused`, async (t) => {
    const { agent } = await aMachine(t)
    const setUp = (await agent()).setUp({ ...REQUEST, ...fields })
    await assert.rejects(setUp, { kind: 'network', message })
  })

test('a damaged record stops the agent', async (t) => {
  const { agent, write, dir } = await aMachine(t)
  await mkdir(join(dir, 'records'))
  await write(`records/${ID}.json`, { network: NETWORK, args: {}, ports: [], result: 7 })
  await assert.rejects(agent(), { kind: 'agent-state', message: /is not what the agent writes/ })
})

test('a node offers networks with installed plug-ins, and the problems of others', async (t) => {
  const { dir, write } = await aMachine(t)
  const single = { cniVersion: '1.0.0', type: 'first' }
  await write('config/10-lan.conf', { ...single, name: 'lan' })
  await write('config/20-dhcp.json', { ...single, name: 'dhcp', ipam: { type: 'dhcp' } })
  await write('config/30-gone.conf', { ...single, name: 'gone', type: 'macvlan' })
  await write('config/40-broken.conflist', '{')
  await write('config/50-again.conf', { ...single, name: 'own' })
  await write('config/README', 'no network')
  await write('bin/macvlan', 'not executable')
  const offers = await aCni(dir).probeModes()
  assert.deepEqual(
    offers.map(({ mode, problem }) => [mode, problem?.replaceAll(dir, '') ?? 'offered']),
    [
      ['cni/40-broken', offers[0]?.problem?.replaceAll(dir, '')],
      ['cni/own', 'offered'],
      ['cni/lan', 'offered'],
      ['cni/gone', 'the plug-in "macvlan" is in no directory of client.cni_path on this node'],
      ['cni/50-again', '/config/50-again.conf describes the same network as /config/own.conflist'],
      ['cni/dhcp', 'the plug-in "dhcp" is in no directory of client.cni_path on this node'],
    ],
  )
  assert.match(offers[0]?.problem ?? '', /40-broken\.conflist is not valid JSON/)
  const asUser = await aCni(dir, { isRoot: false }).probeModes()
  assert.equal(asUser[1]?.problem, 'the agent does not run as root')
})

test('a node without the directory offers nothing', async (t) => {
  assert.deepEqual(await aCni(await temporaryDirectory(t)).probeModes(), [])
})

test('files are read up to a size and a number', async (t) => {
  const { dir, write } = await aMachine(t)
  const text = JSON.stringify({ ...NETWORK, name: 'large' })
  const { cniConfigBytesMax: bytesMax, cniConfigFilesMax: filesMax } = AGENT_LIMITS
  await write('config/own.conflist', text.padEnd(bytesMax))
  assert.deepEqual(await aCni(dir).probeModes(), [{ mode: 'cni/large', problem: undefined }])
  await write('config/own.conflist', text.padEnd(bytesMax + 1))
  assert.match((await aCni(dir).probeModes())[0]?.problem ?? '', /is larger than 256 KiB/)
  for (let index = 0; index < filesMax; index += 1)
    await write(`config/n${index}.conflist`, { ...NETWORK, name: `n${index}` })
  await rm(join(dir, 'config/own.conflist'))
  const problems = async (): Promise<readonly string[]> =>
    (await aCni(dir).probeModes()).flatMap(({ problem }) => problem ?? [])
  assert.deepEqual(await problems(), [])
  await write('config/z.conflist', { ...NETWORK, name: 'z' })
  assert.deepEqual(await problems(), [
    `${dir}/config/z.conflist is not read: the directory has more than 64 files`,
  ])
})

test('each plug-in that answers has its version among the attributes', async (t) => {
  const { dir, write } = await aMachine(t)
  const plugins = {
    bridge: 'echo "CNI bridge plugin v1.5.1" >&2',
    azure: 'echo "Azure CNI Version v1.4.44"',
    distribution: 'echo "CNI distribution plugin version unknown"',
    broken: 'exit 1',
    'no.attribute': 'echo v1.0.0',
  }
  await mkdir(join(dir, 'other'))
  for (const [name, script] of Object.entries(plugins)) {
    await write(`other/${name}`, `#!/bin/sh\n${script}\n`)
    await chmod(join(dir, 'other', name), 0o755)
  }
  await write('other/LICENSE', 'not executable')
  assert.deepEqual(await readPluginVersions([join(dir, 'none'), join(dir, 'other')]), {
    'plugins.cni.version.azure': '1.4.44',
    'plugins.cni.version.bridge': '1.5.1',
    'plugins.cni.version.distribution': 'unknown',
  })
})
