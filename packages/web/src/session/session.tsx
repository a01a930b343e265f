import {
  QueryClientProvider,
  useQuery,
  useQueryClient,
  type QueryClient,
} from '@tanstack/react-query'
import { createContext, use, useCallback, useMemo, useState, type ReactNode } from 'react'
import type { AclToken } from '@reeve/contract'
import { ApiError } from '@reeve/sdk'
import { createApi, type Api, readTokens, writeTokens, type Tokens } from './api.ts'
import { NO_PERMISSIONS, type AclPermissions, ALL_PERMISSIONS } from './acl-permissions.ts'

interface Session {
  readonly api: Api
  readonly tokens: Tokens
  /** Replaces the tokens and clears the cache. */
  readonly setTokens: (tokens: Tokens) => void
  /** Undefined until the server has responded. */
  readonly identity: Identity | undefined
  /** The identity is being loaded. */
  readonly isIdentityPending: boolean
  readonly permissions: AclPermissions
  /**
   * Whether the tab has a token for the governance API: its own, or a management token. Undefined
   * until the identity is loaded.
   */
  readonly hasGovernanceToken: boolean | undefined
}

const SessionContext = createContext<Session | undefined>(undefined)

interface SessionProviderProps {
  readonly queryClient: QueryClient
  readonly children: ReactNode
}

export function SessionProvider({ queryClient, children }: SessionProviderProps) {
  return (
    <QueryClientProvider client={queryClient}>
      <TokenSession>{children}</TokenSession>
    </QueryClientProvider>
  )
}

function TokenSession({ children }: { readonly children: ReactNode }) {
  const queries = useQueryClient()
  const [tokens, setState] = useState(readTokens)
  const api = useMemo(() => createApi(tokens), [tokens])
  const setTokens = useCallback(
    (next: Tokens) => {
      writeTokens(next)
      queries.clear()
      setState(next)
    },
    [queries],
  )
  const { data: identity, isPending: isIdentityPending } = useQuery({
    queryKey: ['identity', tokens.workload ?? ''],
    queryFn: ({ signal }) => findIdentity(api, { hasToken: tokens.workload !== undefined, signal }),
    staleTime: 60_000,
  })
  const session = useMemo(
    () => ({
      api,
      tokens,
      setTokens,
      identity,
      isIdentityPending,
      permissions: identity?.permissions ?? NO_PERMISSIONS,
      hasGovernanceToken: hasGovernanceToken(tokens, identity),
    }),
    [api, tokens, setTokens, identity, isIdentityPending],
  )
  return <SessionContext value={session}>{children}</SessionContext>
}

function hasGovernanceToken(tokens: Tokens, identity: Identity | undefined): boolean | undefined {
  if (tokens.governance !== undefined) return true
  if (tokens.workload === undefined) return false
  return identity === undefined ? undefined : identity.token?.Type === 'management'
}

export function useSession(): Session {
  const session = use(SessionContext)
  if (session === undefined) throw new Error('a page is drawn outside of the session')
  return session
}

/** Who the server says the workload token is. */
interface Identity {
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
async function findIdentity(api: Api, { hasToken, signal }: IdentityOptions): Promise<Identity> {
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
