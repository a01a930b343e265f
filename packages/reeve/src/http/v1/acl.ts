import { err } from '@reeve/kit/result.ts'
import { refusal, type Refusal } from '../../model/index.ts'
import type { WorkloadContext } from '../../workload/index.ts'
import { aclAccessEndpoints } from './acl-access.ts'
import { aclPolicyEndpoints } from './acl-policies.ts'
import { aclRoleEndpoints } from './acl-roles.ts'
import { aclTokenEndpoints } from './acl-tokens.ts'
import type { Endpoint } from './endpoint.ts'

const ACL_DISABLED: Refusal = refusal('acl-disabled', 'ACL support disabled')

export function aclEndpoints(context: WorkloadContext): readonly Endpoint[] {
  const endpoints = [
    ...aclTokenEndpoints(context),
    ...aclPolicyEndpoints(context),
    ...aclRoleEndpoints(context),
  ]
  const access = aclAccessEndpoints(context)
  return [...access, ...(context.aclEnabled ? endpoints : endpoints.map(withAclDisabled))]
}

/** Keeps the routes, so that a caller learns the reason instead of a 404. */
function withAclDisabled({ resolveRegion: _, ...endpoint }: Endpoint): Endpoint {
  return endpoint.kind === 'read'
    ? { ...endpoint, plan: () => err(ACL_DISABLED) }
    : { ...endpoint, run: async () => err(ACL_DISABLED) }
}
