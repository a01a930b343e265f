import { v2 } from '@reeve/contract'
import {
  capacityOf,
  findRun,
  findSeat,
  queuedRuns,
  type GovernanceContext,
} from '../../governance/index.ts'
import { answer, paged, single, windowOf } from './documents.ts'
import { endpoint, type V2Endpoint } from './endpoint.ts'
import { runResource } from './resources/run.ts'

const { v2Routes } = v2

/** Returns the routes of an organization's run queue. */
export function runQueueEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const { tables } = context.store
  return [
    endpoint(v2Routes.listQueuedRuns, (request) => {
      const { caller, params, page } = request
      return answer(findSeat(context, caller, params.organization_name), ({ organization }) => {
        const seen = queuedRuns(tables, organization.id).flatMap(({ id }) => {
          const found = findRun(context, caller, { runId: id, right: 'read' })
          return found.ok ? [found.value] : []
        })
        const { skip, take } = windowOf(page)
        const items = seen
          .slice(skip, skip + take)
          .map((run) => runResource(context, run, caller.userId))
        return paged(request, { items, total: seen.length })
      })
    }),
    endpoint(v2Routes.readOrganizationCapacity, ({ caller, params }) =>
      answer(findSeat(context, caller, params.organization_name), ({ organization }) =>
        single({
          id: organization.name,
          type: 'organization-capacity',
          attributes: capacityOf(tables, organization.id),
        }),
      ),
    ),
  ]
}
