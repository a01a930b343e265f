import { v2 } from '@reeve/contract'
import {
  queueCounts,
  findRun,
  findOrganization,
  queuedRuns,
  type GovernanceContext,
} from '../../governance/index.ts'
import { mapResult, pageDocument, resourceDocument, offsetAndLimit } from './documents.ts'
import { endpoint, type V2Endpoint } from './endpoint.ts'
import { runResource } from './resources/run.ts'

const { v2Routes } = v2

/** Returns the routes of an organization's run queue. */
export function runQueueEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const { tables } = context.store
  return [
    endpoint(v2Routes.listQueuedRuns, (request) => {
      const { caller, params, page } = request
      return mapResult(
        findOrganization(context, caller, params.organization_name),
        ({ organization }) => {
          const visible = queuedRuns(tables, organization.id).flatMap(({ id }) => {
            const found = findRun(context, caller, { runId: id, right: 'read' })
            return found.ok ? [found.value] : []
          })
          const { offset, limit } = offsetAndLimit(page)
          const items = visible
            .slice(offset, offset + limit)
            .map((run) => runResource(context, run, caller.userId))
          return pageDocument(request, { items, total: visible.length })
        },
      )
    }),
    endpoint(v2Routes.readOrganizationCapacity, ({ caller, params }) =>
      mapResult(findOrganization(context, caller, params.organization_name), ({ organization }) =>
        resourceDocument({
          id: organization.name,
          type: 'organization-capacity',
          attributes: queueCounts(tables, organization.id),
        }),
      ),
    ),
  ]
}
