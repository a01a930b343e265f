import type { Route } from '@reeve/contract'
import type { Refusal } from '../../model/index.ts'
import { workloadActor } from '../audit/actors.ts'
import type { AuditedWrite, AuditLog } from '../audit/audit-log.ts'
import type { Endpoint, RequestOf } from './endpoint.ts'
import type { Exchange, V1Host } from './exchange.ts'
import { STATUS_OF } from './statuses.ts'

interface Audited {
  readonly endpoint: Endpoint
  readonly exchange: Exchange
  readonly parsed: Pick<RequestOf<Route>, 'caller' | 'namespace'>
}

/** A write as the audit log is told of it. */
export function auditedWrite(
  { regions }: V1Host,
  { endpoint: { route }, exchange: { request, params }, parsed: { caller, namespace } }: Audited,
): AuditedWrite {
  const actor = workloadActor(caller)
  const via = regions?.forwardedBy(request.raw)
  return { actor, request, via, route, namespace, named: Object.values(params) }
}

/** Nobody fills the audit log without a token. */
export function noteRefusal(audit: AuditLog, write: AuditedWrite, { code }: Refusal): void {
  if (write.actor.Type !== 'anonymous') audit.note(write, { status: STATUS_OF[code] })
}
