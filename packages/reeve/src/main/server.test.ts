import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { CHANNEL_VERSION, NODE_CHANNEL_PATH } from '@reeve/contract'
import { WebSocket } from 'ws'
import { MemoryDisk, openMemoryEngine } from '../storage/index.ts'
import { anAgentConfig } from '../../test/build/agent-config.ts'
import { aNode } from '../../test/build/index.ts'
import { until } from '../../test/build/until.ts'
import { createAgentStatus } from './agent-status.ts'
import { Server } from './server.ts'

/** A node that is not heard for this long is down: sooner than a stop cuts callers off. */
const SILENT_MS = 600

const silent = (): void => undefined

/** Nodes of it are soon given up, and what is asked of `/slow` is never answered. */
async function aServer() {
  const config = anAgentConfig()
  const presence = { ...config.server.presence, heartbeatMsMin: 1, graceMs: SILENT_MS }
  const server = await Server.open({
    config: { ...config, server: { ...config.server, presence } },
    log: { debug: silent, info: silent, warn: silent, error: silent },
    engine: openMemoryEngine({ disk: new MemoryDisk() }),
    secrets: { sealingKey: Buffer.alloc(32, 7), joinToken: 'join' },
    version: '0.0.0',
    agent: createAgentStatus(config, '0.0.0'),
  })
  server.app.app.get('/slow', () => new Promise(silent))
  return { server, address: await server.listen('127.0.0.1', 0) }
}

test('server: one that stops while a caller hangs gives up none of the nodes it hung up on', async () => {
  const { server, address } = await aServer()
  const node = aNode()
  const channel = new WebSocket(`${address.replace('http', 'ws')}${NODE_CHANNEL_PATH}`)
  await once(channel, 'open')
  const secret = '00000000-0000-4000-8000-0000000000bb'
  const hello = { kind: 'hello', version: CHANNEL_VERSION, node, secret, joinToken: 'join' }
  channel.send(JSON.stringify(hello))
  const { nodes } = server.store.tables
  await until('the node to be ready', () => nodes.find(node.ID)?.Status === 'ready' || undefined)
  const asked = once(server.app.app.server, 'request')
  const answer = fetch(`${address}/slow`)
  await asked
  await Promise.all([server.stop(), assert.rejects(answer)])
  assert.equal(nodes.find(node.ID)?.Status, 'ready')
})
