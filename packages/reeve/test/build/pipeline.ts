import type { LeaderRouter } from '../../src/http/index.ts'
import { RequestPipeline } from '../../src/http/pipeline/pipeline.ts'
import { RequestRouting } from '../../src/http/pipeline/routing.ts'
import { setHeaders } from '../../src/http/server.ts'
import { anAdmission } from './admission.ts'

/** The stages of a server that limits nobody, alone or with a leader. */
export function aPipeline(leader?: LeaderRouter): {
  readonly pipeline: RequestPipeline
  readonly routing: RequestRouting
} {
  const forwardedAddressOf: LeaderRouter['clientAddressOf'] = (request) =>
    leader?.clientAddressOf(request)
  const routing = new RequestRouting({ region: 'global', leader, regions: undefined })
  const admission = anAdmission({ forwardedAddressOf })
  const pipeline = new RequestPipeline({
    admission,
    routing,
    corsOrigins: [],
    pageGuard: undefined,
    setHeaders: (request, reply) => setHeaders({ responseHeaders: {} }, request, reply),
  })
  return { pipeline, routing }
}
