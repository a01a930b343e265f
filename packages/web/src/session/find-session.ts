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

/** Asks the server who the token is and what it may do. */
export async function findIdentity(api: Api, signal: AbortSignal): Promise<Identity> {
  try {
    const { data: token } = await api.v1.readOwnAclToken({ signal })
    const isManagement = token.Type === 'management'
    const rights = isManagement ? UNLIMITED : await readRights(api, signal)
    return { isAclEnabled: true, token, rights, refusal: undefined }
  } catch (error) {
    if (!(error instanceof ApiError) || error.status >= 500) throw error
    // Reference §6.1: the text of every ACL route where access control is off.
    const isOff = error.status === 400 && /disabled/i.test(error.text)
    const rights = isOff ? UNLIMITED : await readAnonymousRights(api, signal)
    const refusal = isOff ? undefined : error.text
    return { isAclEnabled: !isOff, token: undefined, rights, refusal }
  }
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
