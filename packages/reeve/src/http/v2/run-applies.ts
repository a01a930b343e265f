import { v2 } from '@reeve/contract'
import {
  findApply,
  findLog,
  logLength,
  readLog,
  readRunFile,
  type GovernanceContext,
} from '../../governance/index.ts'
import { err, ok } from '@reeve/kit/result.ts'
import { UNSEEN } from '../../model/index.ts'
import { answer, single } from './documents.ts'
import { endpoint, type Outcome, type V2Endpoint, type V2Request } from './endpoint.ts'
import { waitForRow, type WaitHost } from './row-waits.ts'
import { applyResource } from './resources/run.ts'

const { v2Routes } = v2

/** Applies, and the logs of both halves of a run. */
export function runApplyEndpoints(host: WaitHost): readonly V2Endpoint[] {
  const { context } = host
  return [
    endpoint(v2Routes.readApply, ({ caller, params, address }) =>
      answer(findApply(context, caller, { applyId: params.apply_id, right: 'read' }), (seen) => {
        const apply = applyResource({ context, origin: address.origin }, seen)
        return apply === undefined ? err(UNSEEN) : single(apply)
      }),
    ),
    endpoint(v2Routes.readErroredState, (request) => readErroredState(context, request)),
    endpoint(v2Routes.readRunLog, (request) => readRange(host, request), {
      isOpen: true,
      isUnlimited: true,
    }),
  ]
}

async function readErroredState(
  context: GovernanceContext,
  { caller, params }: V2Request<typeof v2Routes.readErroredState>,
): Promise<Outcome> {
  const seen = findApply(context, caller, { applyId: params.apply_id, right: 'readState' })
  if (!seen.ok) return seen
  const bytes = await readRunFile(context, seen.value.run.id, 'errored-state')
  if (bytes === undefined) return err(UNSEEN)
  return ok({ kind: 'bytes', status: 200, bytes, headers: { 'content-type': v2.OCTETS_TYPE } })
}

const LIMIT_DEFAULT = 65_536
/** Clients poll: one that is held back until something is written polls less. */
const WAIT_SECONDS = 5

async function readRange(
  host: WaitHost,
  { params, query, tenant }: V2Request<typeof v2Routes.readRunLog>,
): Promise<Outcome> {
  const { context } = host
  const found = findLog(context, params.upload_key)
  if (!found.ok) return found
  const { offset = 0, limit = LIMIT_DEFAULT } = query
  const hasMore = (): boolean => logLength(context, found.value) > offset
  const isOver = (): boolean => hasMore() || isLogComplete(context, found.value)
  await waitForRow(
    host,
    { table: 'run_phases', key: found.value },
    {
      tenant,
      seconds: WAIT_SECONDS,
      isOver,
    },
  )
  const bytes = await readLog(context, found.value, { offset, limit })
  return ok({ kind: 'bytes', status: 200, bytes, headers: LOG_HEADERS })
}

const LOG_HEADERS = {
  'content-type': 'text/plain; charset=utf-8',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
}

function isLogComplete({ store }: GovernanceContext, phaseId: string): boolean {
  const phase = store.tables.run_phases.find(phaseId)
  return phase !== undefined && phase.status !== 'queued' && phase.status !== 'running'
}
