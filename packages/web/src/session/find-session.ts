import type { AclToken } from '@reeve/contract'
import { ApiError } from '@reeve/sdk'
import type { Api } from './api.ts'
import { NO_RIGHTS, UNLIMITED, type Rights } from './rights.ts'

/** Who the server says the workload token is. */
export interface Identity {
  /** False where the server does whatever it is asked on `/v1`. */
  readonly isAclEnabled: boolean
  /** Undefined without a token, or with one that the server does not know. */
  readonly token: AclToken | undefined
  readonly rights: Rights
  /** Why the token does not count; undefined when it does. */
  readonly refusal: string | undefined
}

const WITHOUT_ACCESS_CONTROL: Identity = {
  isAclEnabled: false,
  token: undefined,
  rights: UNLIMITED,
  refusal: undefined,
}

interface Asked {
  /** Whether there is a token to ask about. */
  readonly hasToken: boolean
  readonly signal: AbortSignal
}

/** Asks the server who the token is and what it may do. */
export async function findIdentity(api: Api, { hasToken, signal }: Asked): Promise<Identity> {
  try {
    // Without a token there is nobody to ask about, and where access control is off the question
    // itself is refused, which browsers report as a fault of the page.
    if (!hasToken) return await findAnybody(api, signal)
    const { data: token } = await api.v1.readOwnAclToken({ signal })
    const isManagement = token.Type === 'management'
    const rights = isManagement ? UNLIMITED : await readRights(api, signal)
    return { isAclEnabled: true, token, rights, refusal: undefined }
  } catch (error) {
    if (!(error instanceof ApiError) || error.status >= 500) throw error
    if (error.code === 'acl-disabled') return WITHOUT_ACCESS_CONTROL
    return withoutToken(await readAnonymousRights(api, signal), error.text)
  }
}

/** Where access control is off, anybody may read how the agent is set up. */
async function findAnybody(api: Api, signal: AbortSignal): Promise<Identity> {
  const { data } = await api.v1.readAgentSelf({ signal })
  const { acl } = data.config
  const isOff = typeof acl === 'object' && acl !== null && 'enabled' in acl && acl.enabled === false
  if (isOff) return WITHOUT_ACCESS_CONTROL
  return withoutToken(await readAnonymousRights(api, signal), '')
}

function withoutToken(rights: Rights, refusal: string): Identity {
  return { isAclEnabled: true, token: undefined, rights, refusal }
}

async function readRights(api: Api, signal: AbortSignal): Promise<Rights> {
  const { data: policies } = await api.v1.listOwnAclPolicies({ signal })
  const read = ({ Name }: { readonly Name: string }) =>
    api.v1.readAclPolicy({ params: { policy_name: Name }, signal })
  const replies = await Promise.all(policies.map(read))
  return { isUnlimited: false, rules: replies.map(({ data }) => data.RulesJSON) }
}

/** The anonymous policy speaks for callers without a token, where there is one. */
async function readAnonymousRights(api: Api, signal: AbortSignal): Promise<Rights> {
  try {
    const { data } = await api.v1.readAclPolicy({ params: { policy_name: 'anonymous' }, signal })
    return { isUnlimited: false, rules: [data.RulesJSON] }
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) return NO_RIGHTS
    throw error
  }
}
