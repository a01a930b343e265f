import { aboutJob } from '../audit/about-job.ts'
import { INDEX_HEADER, type Asked, type V1Host } from './exchange.ts'
import { sendAnswer, sendRefusal } from './send.ts'
import { auditedWrite, noteRefusal } from './write-audit.ts'

/** Runs the use case in the sight of the audit log, and answers with its index. */
export async function serveWrite(host: V1Host, write: Asked<'write'>): Promise<void> {
  const { reply } = write.exchange
  const written = await runWrite(host, write)
  // A refusal tells of the state too: of a job that exists, or has another index.
  if (!written.ok) await host.store.settled()
  if (!written.ok) return void sendRefusal(reply, written.error)
  sendAnswer(reply, written.value.answer, {
    query: write.parsed.query,
    headers: { [INDEX_HEADER]: String(written.value.index) },
    quick: host.quick,
  })
}

async function runWrite(host: V1Host, { endpoint, parsed, exchange }: Asked<'write'>) {
  const { audit } = host
  const write = auditedWrite(host, { endpoint, exchange, parsed })
  const written = await audit.run(write, () => endpoint.run(parsed))
  if (!written.ok) noteRefusal(audit, aboutJob(write, parsed.body), written.error)
  else if (endpoint.isAct === true) audit.note(write, { status: 200 })
  return written
}
