import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { atEnd } from './at-end.ts'

/** A span as OTLP's JSON has it. */
export interface CollectedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly { key: string; value: Readonly<Record<string, unknown>> }[]
  readonly status: { readonly code?: number; readonly message?: string }
}

interface ExportRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: CollectedSpan['attributes'] }
    readonly scopeSpans: readonly { readonly spans: readonly CollectedSpan[] }[]
  }[]
}

/** A collector that takes OTLP over HTTP in JSON and keeps what it gets. */
export interface TraceCollector {
  readonly address: string
  readonly spans: CollectedSpan[]
  /** Of each request. */
  readonly services: string[]
  readonly requests: { path: string; headers: Readonly<Record<string, unknown>> }[]
  /** What it answers from now on. */
  respond(status: number, body?: string): void
}

export async function aTraceCollector(t: TestContext): Promise<TraceCollector> {
  const spans: CollectedSpan[] = []
  const services: string[] = []
  const requests: TraceCollector['requests'] = []
  let answer = { status: 200, body: '{}' }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      requests.push({ path: request.url ?? '', headers: request.headers })
      if (answer.status === 200) {
        const sent: ExportRequest = JSON.parse(Buffer.concat(chunks).toString('utf8'))
        for (const { resource, scopeSpans } of sent.resourceSpans) {
          services.push(String(attributeOf(resource, 'service.name')))
          for (const scope of scopeSpans) spans.push(...scope.spans)
        }
      }
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(t, () => {
    server.closeAllConnections()
    server.close()
  })
  // A server that listens on a port has one.
  const { port } = server.address() as AddressInfo
  return {
    address: `http://127.0.0.1:${port}`,
    spans,
    services,
    requests,
    respond: (status, body = '{}') => {
      answer = { status, body }
    },
  }
}

/** The value of an attribute, whatever its type. */
export function attributeOf(
  { attributes }: Pick<CollectedSpan, 'attributes'>,
  name: string,
): unknown {
  const found = attributes.find(({ key }) => key === name)
  return found === undefined ? undefined : Object.values(found.value)[0]
}
