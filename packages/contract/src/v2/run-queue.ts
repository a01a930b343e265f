import { Type } from 'typebox'
import { routes } from '../route.ts'
import { list, read } from './define.ts'
import type { Infer } from '../schema.ts'
import { DocumentOf, ResourceWithId } from './json-api.ts'
import { RunPage } from './run.ts'

/** How many runs of an organization wait and execute. Its id is the organization's name. */
export const OrganizationCapacity = ResourceWithId(
  'OrganizationCapacity',
  'organization-capacity',
  {
    id: Type.String(),
    attributes: Type.Object({
      pending: Type.Integer({ minimum: 0 }),
      running: Type.Integer({ minimum: 0 }),
    }),
  },
)
export type OrganizationCapacity = Infer<typeof OrganizationCapacity>

const members =
  'Membership in the organization; runs of workspaces that are not readable are left out.'

export const runQueueRoutes = routes('Runs', {
  listQueuedRuns: list('/organizations/:organization_name/runs/queue', {
    summary: 'List the runs of an organization that wait or execute, oldest first.',
    returns: RunPage,
    needs: members,
  }),
  readOrganizationCapacity: read('/organizations/:organization_name/capacity', {
    summary: 'Show how many runs of an organization wait and execute.',
    returns: DocumentOf(OrganizationCapacity),
    needs: 'Membership in the organization.',
  }),
})
