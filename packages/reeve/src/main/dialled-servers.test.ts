import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DialedServers } from './create-node.ts'

function aNode({ usesTls = false, reachable = (): boolean => true } = {}) {
  const dialled: string[] = []
  const servers = new DialedServers([`${usesTls ? 'https' : 'http'}://10.0.0.1:4646`], {
    usesTls,
    canDial: async (url) => {
      dialled.push(url)
      return reachable()
    },
  })
  return { servers, dialled }
}

test('dialled servers: a request replaces the addresses of the configuration', async () => {
  const { servers, dialled } = aNode()
  assert.deepEqual([servers.list(), servers.urls], [['10.0.0.1:4646'], ['http://10.0.0.1:4646']])
  assert.equal(await servers.set(['10.0.0.2:5000']), undefined)
  assert.deepEqual([servers.list(), servers.urls], [['10.0.0.2:5000'], ['http://10.0.0.2:5000']])
  assert.deepEqual(dialled, ['http://10.0.0.2:5000'])
})

test('dialled servers: an address without a port gets that of servers', async () => {
  const { servers } = aNode()
  await servers.set(['server-1', '::1', '10.0.0.2:80'])
  assert.deepEqual(servers.list(), ['server-1:4646', '[::1]:4646', '10.0.0.2:80'])
  assert.deepEqual(servers.urls, [
    'http://server-1:4646',
    'http://[::1]:4646',
    'http://10.0.0.2:80',
  ])
})

test('dialled servers: an address cannot move a node off TLS', async () => {
  const { servers, dialled } = aNode({ usesTls: true })
  for (const address of ['http://10.0.0.2:4646', 'ftp://10.0.0.2', 'a b', '10.0.0.2:70000'])
    assert.equal(
      await servers.set(['10.0.0.3', address]),
      `invalid server address ${JSON.stringify(address)}: use host:port without a scheme`,
    )
  assert.deepEqual([dialled, servers.urls], [[], ['https://10.0.0.1:4646']])
  assert.equal(await servers.set(['10.0.0.2:4646']), undefined)
  assert.deepEqual(servers.urls, ['https://10.0.0.2:4646'])
})

test('dialled servers: nothing changes when none of the servers can be reached', async () => {
  const { servers } = aNode({ reachable: () => false })
  const problem = await servers.set(['10.0.0.2', '10.0.0.3:1'])
  assert.equal(problem, 'none of these servers can be reached: 10.0.0.2, 10.0.0.3:1')
  assert.deepEqual(servers.list(), ['10.0.0.1:4646'])
})
