import type { DisabledReason } from '../../actions/verdict.ts'
import { useApiQuery } from '../../data/use-read.ts'
import { QueryView } from '../../parts/query-view.tsx'
import { AuthTokensPanel } from './auth-tokens.tsx'

interface UserTokensProps {
  /** ID of the user. */
  readonly userId: string
  readonly disabledReason: DisabledReason
}

/** The governance tokens of a user. */
export function UserTokens({ userId, disabledReason }: UserTokensProps) {
  const params = { user_id: userId }
  const tokens = useApiQuery(['user-tokens', userId], (api, signal) =>
    api.v2.listUserTokens({ params, signal }),
  )
  return (
    <QueryView query={tokens} what="your tokens">
      {({ data }) => (
        <AuthTokensPanel
          title="Your tokens of the governance API"
          tokens={data}
          emptyText="No tokens. Create one for each machine or script."
          disabledReason={disabledReason}
          create={(api, body) => api.v2.createUserToken({ params, body })}
        />
      )}
    </QueryView>
  )
}
