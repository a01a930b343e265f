import * as t from './json-api.ts'
import { list, read, routes } from './define.ts'
import { Run } from './run.ts'

/** How many runs of an organization wait and execute. Its id is the organization's name. */
export const OrganizationCapacity = t.ResourceWithId(
  'OrganizationCapacity',
  'organization-capacity',
  {
    id: t.String(),
    attributes: t.Object({
      pending: t.Integer({ minimum: 0 }),
      running: t.Integer({ minimum: 0 }),
    }),
  },
)

const members =
  'Membership in the organization; runs of workspaces that are not readable are left out.'

export const runQueueRoutes = routes('Runs', {
  listQueuedRuns: list('/organizations/:organization_name/runs/queue', {
    summary: 'List the runs of an organization that wait or execute, oldest first.',
    returns: Run,
    needs: members,
  }),
  readOrganizationCapacity: read('/organizations/:organization_name/capacity', {
    summary: 'Show how many runs of an organization wait and execute.',
    returns: t.DocumentOf(OrganizationCapacity),
    needs: 'Membership in the organization.',
  }),
})
