import {
  QueryClientProvider,
  useQuery,
  useQueryClient,
  type QueryClient,
} from '@tanstack/react-query'
import { createContext, use, useCallback, useMemo, useState, type ReactNode } from 'react'
import { createApi, type Api } from './api.ts'
import { findIdentity, type Identity } from './find-session.ts'
import { NO_RIGHTS, type Rights } from './rights.ts'
import { readTokens, writeTokens, type Tokens } from './tokens.ts'

export interface Session {
  readonly api: Api
  readonly tokens: Tokens
  /** Puts other tokens in place and forgets everything that was read with the old ones. */
  readonly setTokens: (tokens: Tokens) => void
  /** Undefined until the server has said it, and when it could not be asked. */
  readonly identity: Identity | undefined
  /** The server is being asked, and nothing is known yet. */
  readonly isIdentifying: boolean
  readonly rights: Rights
  /**
   * Whether there is a token that the governance API takes: its own, or a management token.
   * Undefined until the server has said whose the token is.
   */
  readonly mayGovern: boolean | undefined
}

const SessionContext = createContext<Session | undefined>(undefined)

interface SessionProviderProps {
  readonly queryClient: QueryClient
  readonly children: ReactNode
}

export function SessionProvider({ queryClient, children }: SessionProviderProps) {
  return (
    <QueryClientProvider client={queryClient}>
      <WithTokens>{children}</WithTokens>
    </QueryClientProvider>
  )
}

function WithTokens({ children }: { readonly children: ReactNode }) {
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
  const { data: identity, isPending: isIdentifying } = useQuery({
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
      isIdentifying,
      rights: identity?.rights ?? NO_RIGHTS,
      mayGovern: mayGovern(tokens, identity),
    }),
    [api, tokens, setTokens, identity, isIdentifying],
  )
  return <SessionContext value={session}>{children}</SessionContext>
}

function mayGovern(tokens: Tokens, identity: Identity | undefined): boolean | undefined {
  if (tokens.governance !== undefined) return true
  if (tokens.workload === undefined) return false
  return identity === undefined ? undefined : identity.token?.Type === 'management'
}

export function useSession(): Session {
  const session = use(SessionContext)
  if (session === undefined) throw new Error('a page is drawn outside of the session')
  return session
}
