import {
  QueryClientProvider,
  useQuery,
  useQueryClient,
  type QueryClient,
} from '@tanstack/react-query'
import { createContext, use, useCallback, useMemo, useState, type ReactNode } from 'react'
import { createApi, type Api } from './api.ts'
import { findIdentity, type Identity } from './find-session.ts'
import { NO_PERMISSIONS, type AclPermissions } from './rights.ts'
import { readTokens, writeTokens, type Tokens } from './tokens.ts'

export interface Session {
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
