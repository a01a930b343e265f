import assert from 'node:assert/strict'
import { join } from 'node:path'
import { readFile } from 'node:fs/promises'
import { test, type TestContext } from 'node:test'
import { outerAddress, serveFiles } from '../../../test/build/artifact-bench.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { isLocalAddress, type AddressPolicy } from './address-policy.ts'
import { DiskBudget } from './disk-budget.ts'
import { fetchHttp } from './fetch-http.ts'

const addresses: readonly (readonly [string, boolean])[] = [
  ['127.0.0.1', true],
  ['127.255.255.254', true],
  ['0.0.0.0', true],
  ['0.1.2.3', true],
  ['169.254.169.254', true],
  ['169.253.255.255', false],
  ['169.255.0.0', false],
  ['100.100.100.200', true],
  ['168.63.129.16', true],
  ['::', true],
  ['::1', true],
  ['::127.0.0.1', true],
  ['::ffff:127.0.0.1', true],
  ['::ffff:a9fe:a9fe', true],
  ['::ffff:10.0.0.1', false],
  ['fe80::1', true],
  ['fe80::1%eth0', true],
  ['febf::1', true],
  ['fec0::1', false],
  ['fd00:ec2::254', true],
  ['fd00::1', false],
  ['64:ff9b::7f00:1', true],
  ['64:ff9b::a9fe:a9fe', true],
  ['64:ff9b::808:808', false],
  ['10.0.0.1', false],
  ['192.168.1.1', false],
  ['8.8.8.8', false],
  ['2001:db8::1', false],
  ['example.com', false],
]
for (const [address, isLocal] of addresses) {
  test(`isLocalAddress: ${address} is ${isLocal ? '' : 'not '}local`, () => {
    assert.equal(isLocalAddress(address), isLocal)
  })
}

async function download(t: TestContext, address: string, policy: AddressPolicy): Promise<string> {
  const path = join(await temporaryDirectory(t), 'download')
  const budget = new DiskBudget({ bytesMax: 2 ** 20, totalBytes: 2 ** 20, entriesMax: 1 })
  const { signal } = new AbortController()
  await fetchHttp({
    address,
    headers: {},
    skipsTlsVerification: false,
    policy,
    path,
    budget,
    signal,
  })
  return readFile(path, 'utf8')
}

const FILES = { '/file': Buffer.from('text') }

const hosts = ['127.0.0.1', '2130706433', '0x7f.1', '0', '[::ffff:7f00:1]', 'localhost']
for (const host of hosts) {
  test(`fetchHttp: ${host} is rejected unless local addresses are allowed`, async (t) => {
    const server = await serveFiles(t, FILES)
    const address = `${server.urlAt(host)}/file`
    await assert.rejects(download(t, address, { allowsLocal: false }), {
      kind: 'task-artifact',
      message:
        /^Artifact source http:\/\/.+\/file resolves to \S+, which this node does not allow \(client\.artifact\.allow_local = true permits it\)$/,
    })
    assert.equal(server.headers.length, 0, 'no request was sent')
    if (host.startsWith('[')) return
    assert.equal(await download(t, address, { allowsLocal: true }), 'text')
  })
}

test('fetchHttp: a name of several addresses is rejected when one of them is local', async (t) => {
  const server = await serveFiles(t, FILES)
  const resolve = (): Promise<{ address: string; family: number }[]> =>
    Promise.resolve([
      { address: '192.0.2.1', family: 4 },
      { address: '::1', family: 6 },
    ])
  const address = `${server.urlAt('files.example')}/file`
  await assert.rejects(download(t, address, { allowsLocal: false, resolve }), {
    message: `Artifact source ${address} resolves to ::1, which this node does not allow (client.artifact.allow_local = true permits it)`,
  })
})

test('fetchHttp: a redirect to a local address is rejected, with both addresses', async (t) => {
  const outer = outerAddress()
  if (outer === undefined) {
    t.skip('this machine has no address that others reach')
    return
  }
  const server = await serveFiles(t, FILES)
  const target = `${server.url}/file`
  const address = `${server.urlAt(outer)}/to?${target}`
  await assert.rejects(download(t, address, { allowsLocal: false }), {
    message: `Artifact source ${server.urlAt(outer)}/to redirects to ${target}, which resolves to 127.0.0.1, which this node does not allow (client.artifact.allow_local = true permits it)`,
  })
  assert.equal(server.headers.length, 1, 'the second request was not sent')
  assert.equal(await download(t, address, { allowsLocal: true }), 'text')
})

test('fetchHttp: a name that changes its address is resolved once, and that address used', async (t) => {
  const outer = outerAddress()
  if (outer === undefined) {
    t.skip('this machine has no address that others reach')
    return
  }
  const server = await serveFiles(t, FILES)
  let calls = 0
  const resolve = (): Promise<{ address: string; family: number }[]> => {
    calls += 1
    return Promise.resolve([{ address: calls === 1 ? outer : '127.0.0.1', family: 4 }])
  }
  const address = `${server.urlAt('rebinding.example')}/file`
  assert.equal(await download(t, address, { allowsLocal: false, resolve }), 'text')
  assert.equal(calls, 1)
})
