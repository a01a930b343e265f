import { openApiDocument, routeSignatures } from '../http/index.ts'
import { openMemoryEngine } from '../storage/index.ts'
import { createAgentStatus } from './agent-status.ts'
import { Server } from './server.ts'
import type { AgentConfig } from './config/agent-config.ts'

interface ApiDescription {
  /** OpenAPI. */
  readonly document: object
  readonly signatures: string
  /** All metrics in the text format of Prometheus. */
  readonly metrics: string
}

/** Describes the routes that a server mounts and its metrics, without listening. */
export async function describeApi(config: AgentConfig, version: string): Promise<ApiDescription> {
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const server = await Server.open({
    config,
    log,
    engine: openMemoryEngine(),
    secrets: { sealingKey: Buffer.alloc(32), joinToken: '' },
    version,
    agent: createAgentStatus(config, version),
  })
  const { routes } = server.app
  const { body: metrics } = await server.app.app.inject('/v1/metrics?format=prometheus')
  await server.stop()
  return {
    document: openApiDocument(routes, version),
    signatures: routeSignatures(routes),
    metrics,
  }
}
