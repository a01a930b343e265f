import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CHANNEL_VERSION, type HelloMessage } from '@reeve/contract'
import { registerNode } from '../../src/workload/index.ts'
import { createTestServer } from '../api/harness.ts'
import { aNode, anId } from '../build/index.ts'

function aHello(fields: Partial<HelloMessage> = {}): HelloMessage {
  return {
    kind: 'hello',
    version: CHANNEL_VERSION,
    node: aNode(),
    secret: anId('node', 99),
    joinToken: 'join',
    ...fields,
  }
}

const cases = [
  { name: 'one with the join token is let in', fields: {} },
  { name: 'one of this region is let in', fields: { region: 'us' } },
  {
    name: 'one without the join token is refused',
    fields: { joinToken: 'another' },
    says: /^this node is unknown and its join token is not valid: .*REEVE_JOIN_TOKEN /,
  },
  {
    name: 'one of another region is refused, whatever it has',
    fields: { region: 'eu' },
    says: /^this node is of region "eu" and these servers are of "us": .*region = "us"/,
  },
]
for (const { name, fields, says } of cases)
  test(`a node says hello: ${name}`, async () => {
    const server = await createTestServer({ region: 'us' })
    const registered = await registerNode(server.context, aHello(fields))
    if (says === undefined) assert.ok(registered.ok)
    else assert.match(registered.ok ? '' : registered.error.message, says)
    assert.equal(server.context.store.tables.nodes.size, registered.ok ? 1 : 0)
    await server.close()
  })

const clocks = [
  { skewMs: 5_000, says: undefined },
  { skewMs: -5_000, says: undefined },
  { skewMs: 60_000, says: 'The clock of this node is 60 s ahead of that of the servers' },
  { skewMs: -60_000, says: 'The clock of this node is 60 s behind that of the servers' },
]
for (const { skewMs, says } of clocks)
  test(`a node whose clock is ${skewMs} ms ahead has ${says === undefined ? 'no' : 'one'} event about it`, async () => {
    const server = await createTestServer({ region: 'us' })
    const hello = aHello({ timeMs: server.clock.nowMs() + skewMs })
    for (let connection = 0; connection < 3; connection++)
      assert.ok((await registerNode(server.context, hello)).ok)
    const { Events } = server.context.store.tables.nodes.get(hello.node.ID)
    const told = Events.map(({ Message }) => Message).filter((text) => text.includes('clock'))
    assert.deepEqual(told, says === undefined ? [] : [says])
    await server.close()
  })
