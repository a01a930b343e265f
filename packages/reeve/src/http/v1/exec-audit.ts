import type { IncomingMessage } from 'node:http'
import { v1Routes, type AuditVia } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import type { PreparedExec } from '../../workload/index.ts'
import type { AuditEntry, Store } from '../../state/index.ts'
import { workloadActor } from '../audit/actors.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import { requestId } from '../request-id.ts'
import type { CloseFrame } from './exec-closing.ts'
import type { ExecTarget } from './exec-target.ts'

/** The parts of a session's audit record. */
export interface ExecAuditInput {
  readonly audit: AuditLog
  readonly store: Store
  readonly caller: Caller
  readonly target: ExecTarget
  readonly request: IncomingMessage
  /** Client address. */
  readonly address: string
  readonly via: AuditVia | undefined
}

/** HTTP status of every session that was opened. */
const SWITCHING_PROTOCOLS = 101

/** Records the caller, command and task of a session. Resolves when the record is durable. */
export async function recordSession(
  input: ExecAuditInput,
  { request: { allocation, command } }: PreparedExec,
): Promise<void> {
  await input.audit.recordNow(sessionEntry(input, allocation), {
    status: SWITCHING_PROTOCOLS,
    command,
  })
}

/** Records a rejected session of a caller with a token. Invalid requests leave no record. */
export function recordRejectedSession(input: ExecAuditInput, { status }: CloseFrame): void {
  if (status === undefined || input.caller.type === 'anonymous') return
  const { subject } = input.target
  const allocation = subject.kind === 'allocation' ? subject.allocId : ''
  input.audit.recordDeferred(sessionEntry(input, allocation), { status })
}

function sessionEntry(
  { store, caller, target, request, address, via }: ExecAuditInput,
  allocId: string,
): AuditEntry {
  const { subject, query } = target
  const row = store.tables.allocations.find(allocId)
  const job = subject.kind === 'action' ? subject.jobId : (row?.JobID ?? '')
  const queryNamespace = subject.kind === 'action' ? query.get('namespace') || 'default' : ''
  const route = subject.kind === 'action' ? v1Routes.runJobAction : v1Routes.execAllocation
  const resources = [allocId, job, query.get('task') ?? '']
  return {
    actor: workloadActor(caller),
    address,
    requestId: requestId(request.headers['x-request-id']),
    method: request.method ?? '',
    route: route.path,
    action: route.id,
    successStatus: SWITCHING_PROTOCOLS,
    via,
    namespace: row?.Namespace ?? queryNamespace,
    pathResources: resources.filter((one) => one !== ''),
  }
}
