import type { GovernanceContext } from '../../governance/index.ts'
import { accountEndpoints } from './account.ts'
import type { V2Endpoint } from './endpoint.ts'
import { membershipEndpoints } from './memberships.ts'
import { organizationEndpoints } from './organizations.ts'
import { projectTagEndpoints } from './project-tags.ts'
import { projectEndpoints } from './projects.ts'
import { teamEndpoints } from './teams.ts'
import { tokenEndpoints } from './tokens.ts'

/** Everything that `/api/v2` answers. A new resource adds its line. */
export function governanceEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    ...accountEndpoints(context),
    ...organizationEndpoints(context),
    ...membershipEndpoints(context),
    ...teamEndpoints(context),
    ...tokenEndpoints(context),
    ...projectEndpoints(context),
    ...projectTagEndpoints(context),
  ]
}
