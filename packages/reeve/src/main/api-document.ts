import { openApiDocument } from '../http/index.ts'
import { openMemoryEngine } from '../storage/index.ts'
import { describeAgent } from './self.ts'
import { Server } from './server.ts'
import type { AgentConfig } from './config/agent-config.ts'

/** The OpenAPI document of exactly the routes that a server mounts, made without listening. */
export async function apiDocument(config: AgentConfig, version: string): Promise<object> {
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const server = await Server.open({
    config,
    log,
    engine: openMemoryEngine(),
    secrets: { sealingKey: Buffer.alloc(32), joinToken: '' },
    version,
    agent: describeAgent(config, version),
  })
  const document = openApiDocument(server.app.routes, version)
  await server.stop()
  return document
}
