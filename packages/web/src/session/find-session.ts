import type { AclToken } from '@reeve/contract'
import { ApiError } from '@reeve/sdk'
import type { Api } from './api.ts'
import { NO_PERMISSIONS, ALL_PERMISSIONS, type AclPermissions } from './rights.ts'

/** Who the server says the workload token is. */
export interface Identity {
  /** False if the server accepts every request on `/v1`. */
  readonly isAclEnabled: boolean
  /** Undefined without a token or with an unknown one. */
  readonly token: AclToken | undefined
  readonly permissions: AclPermissions
  /** Why the server rejects the token; undefined if it accepts it. */
  readonly rejection: string | undefined
}

const ACL_DISABLED_IDENTITY: Identity = {
  isAclEnabled: false,
  token: undefined,
  permissions: ALL_PERMISSIONS,
  rejection: undefined,
}

interface IdentityOptions {
  /** Whether the tab has a workload token. */
  readonly hasToken: boolean
  readonly signal: AbortSignal
}

/** Reads the identity and the permissions of the token. */
export async function findIdentity(
  api: Api,
  { hasToken, signal }: IdentityOptions,
): Promise<Identity> {
  try {
    // The route requires a token, and with ACLs disabled it fails, which browsers log as an error
    // of the page.
    if (!hasToken) return await findAnonymousIdentity(api, signal)
    const { data: token } = await api.v1.readOwnAclToken({ signal })
    const isManagement = token.Type === 'management'
    const permissions = isManagement ? ALL_PERMISSIONS : await readPermissions(api, signal)
    return { isAclEnabled: true, token, permissions, rejection: undefined }
  } catch (error) {
    if (!(error instanceof ApiError) || error.status >= 500) throw error
    if (error.code === 'acl-disabled') return ACL_DISABLED_IDENTITY
    return anonymousIdentity(await readAnonymousPermissions(api, signal), error.text)
  }
}

/** Finds out without a token whether ACLs are disabled: the agent is readable then. */
async function findAnonymousIdentity(api: Api, signal: AbortSignal): Promise<Identity> {
  const { data } = await api.v1.readAgentSelf({ signal })
  const { acl } = data.config
  const isOff = typeof acl === 'object' && acl !== null && 'enabled' in acl && acl.enabled === false
  if (isOff) return ACL_DISABLED_IDENTITY
  return anonymousIdentity(await readAnonymousPermissions(api, signal), '')
}

function anonymousIdentity(permissions: AclPermissions, rejection: string): Identity {
  return { isAclEnabled: true, token: undefined, permissions, rejection }
}

async function readPermissions(api: Api, signal: AbortSignal): Promise<AclPermissions> {
  const { data: policies } = await api.v1.listOwnAclPolicies({ signal })
  const read = ({ Name }: { readonly Name: string }) =>
    api.v1.readAclPolicy({ params: { policy_name: Name }, signal })
  const replies = await Promise.all(policies.map(read))
  return { isUnlimited: false, rules: replies.map(({ data }) => data.RulesJSON) }
}

/** Reads the anonymous policy, which applies to callers without a token. */
async function readAnonymousPermissions(api: Api, signal: AbortSignal): Promise<AclPermissions> {
  try {
    const { data } = await api.v1.readAclPolicy({ params: { policy_name: 'anonymous' }, signal })
    return { isUnlimited: false, rules: [data.RulesJSON] }
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) return NO_PERMISSIONS
    throw error
  }
}
