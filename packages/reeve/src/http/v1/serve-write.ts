import { INDEX_HEADER, type Asked, type V1Host } from './exchange.ts'
import { sendAnswer, sendRefusal } from './send.ts'
import { auditEntry, recordRejection, withJobFromBody } from './write-audit.ts'

/** Runs the use case with the audit entry that its commit carries, and answers with its index. */
export async function serveWrite(host: V1Host, write: Asked<'write'>): Promise<void> {
  const { reply } = write.exchange
  const written = await runWrite(host, write)
  // A refusal depends on the state too: on a job that exists, or has another index.
  if (!written.ok) await host.store.settled()
  if (!written.ok) return void sendRefusal(reply, written.error)
  sendAnswer(reply, written.value.answer, {
    query: write.parsed.query,
    headers: { [INDEX_HEADER]: String(written.value.index) },
    quick: host.quick,
    settled: () => host.store.settled(),
  })
}

async function runWrite(host: V1Host, { endpoint, handling, parsed, exchange }: Asked<'write'>) {
  const { audit } = host
  const entry = auditEntry(host, endpoint.route, exchange, parsed)
  const written = await endpoint.run({ ...parsed, caller: { ...parsed.caller, by: entry } })
  if (!written.ok) recordRejection(audit, withJobFromBody(entry, parsed.body), written.error)
  else if (handling.audit === 'always') audit.recordDeferred(entry, { status: 200 })
  return written
}
