import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test, type TestContext } from 'node:test'
import { CHANNEL_VERSIONS, NODE_CHANNEL_PATH, type ServerMessage } from '@reeve/contract'
import { WebSocket } from 'ws'
import { aNode } from '../build/index.ts'
import { createTestServer } from './harness.ts'

const SECRET = '00000000-0000-4000-8000-0000000000bb'

async function answerTo(t: TestContext, versions: object): Promise<ServerMessage> {
  const server = await createTestServer({ aclEnabled: false })
  const address = (await server.listen()).replace('http', 'ws')
  const socket = new WebSocket(`${address}${NODE_CHANNEL_PATH}`)
  t.after(async () => {
    socket.terminate()
    await server.close()
  })
  await once(socket, 'open')
  const hello = { kind: 'hello', node: aNode(), secret: SECRET, joinToken: 'join', ...versions }
  socket.send(JSON.stringify(hello))
  const [data]: unknown[] = await once(socket, 'message')
  return JSON.parse(String(data))
}

const { oldest, newest } = CHANNEL_VERSIONS

test('a node that is a version ahead is welcomed in the version of the server', async (t) => {
  const answer = await answerTo(t, { version: newest + 1, oldestVersion: newest })
  assert.ok(answer.kind === 'welcome')
  assert.equal(answer.version, newest)
})

test('a node that does not name its oldest version speaks only one', async (t) => {
  const answer = await answerTo(t, { version: newest })
  assert.ok(answer.kind === 'welcome')
  assert.equal(answer.version, newest)
})

const refused = [
  {
    name: 'newer',
    versions: { version: newest + 2, oldestVersion: newest + 1 },
    upgrade: 'servers',
  },
  { name: 'older', versions: { version: oldest - 1 }, upgrade: 'node' },
]

for (const { name, versions, upgrade } of refused)
  test(`a node that is too much ${name} is told which side to upgrade`, async (t) => {
    const answer = await answerTo(t, versions)
    assert.ok(answer.kind === 'refuse')
    assert.match(
      answer.message,
      new RegExp(`; upgrade the ${upgrade}, one minor version at a time$`),
    )
  })
