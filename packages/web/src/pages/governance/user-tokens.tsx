import type { Verdict } from '../../actions/verdict.ts'
import { useRead } from '../../data/use-read.ts'
import { QueryView } from '../../parts/query-view.tsx'
import { AuthTokens } from './auth-tokens.tsx'

interface UserTokensProps {
  /** Its id. */
  readonly user: string
  readonly refusal: Verdict
}

/** The tokens with which a user speaks to the governance API. */
export function UserTokens({ user, refusal }: UserTokensProps) {
  const params = { user_id: user }
  const tokens = useRead(['user-tokens', user], (api, signal) =>
    api.v2.listUserTokens({ params, signal }),
  )
  return (
    <QueryView query={tokens} what="your tokens">
      {({ data }) => (
        <AuthTokens
          title="Your tokens of the governance API"
          tokens={data}
          none="None. A laptop or a script gets one of its own."
          refusal={refusal}
          create={(api, body) => api.v2.createUserToken({ params, body })}
        />
      )}
    </QueryView>
  )
}
