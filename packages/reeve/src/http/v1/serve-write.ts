import { INDEX_HEADER, type DecodedRequest, type V1Deps } from './exchange.ts'
import { sendResponse, sendV1Error } from './send.ts'
import { auditEntry, recordRejection, withJobFromBody } from './write-audit.ts'

/** Runs the use case, whose commit carries the audit entry, and responds with its index. */
export async function serveWrite(host: V1Deps, write: DecodedRequest<'write'>): Promise<void> {
  const { reply } = write.exchange
  const written = await runWrite(host, write)
  // A refusal depends on the state too: for example on the existence or index of a job.
  if (!written.ok) await host.store.whenDurable()
  if (!written.ok) return void sendV1Error(reply, written.error)
  sendResponse(reply, written.value.response, {
    query: write.parsed.query,
    headers: { [INDEX_HEADER]: String(written.value.index) },
    fastWriter: host.fastWriter,
    settled: () => host.store.whenDurable(),
  })
}

async function runWrite(
  host: V1Deps,
  { endpoint, handling, parsed, exchange }: DecodedRequest<'write'>,
) {
  const { audit } = host
  const entry = auditEntry(host, endpoint.route, exchange, parsed)
  const written = await endpoint.run({ ...parsed, caller: { ...parsed.caller, by: entry } })
  if (!written.ok) recordRejection(audit, withJobFromBody(entry, parsed.body), written.error)
  else if (handling.audit === 'always') audit.recordDeferred(entry, { status: 200 })
  return written
}
