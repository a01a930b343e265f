import type { v2 } from '@reeve/contract'
import { teamCan } from '../../actions/governance-can.ts'
import { useRead } from '../../data/use-read.ts'
import { QueryView } from '../../parts/query-view.tsx'
import { AuthTokens } from './auth-tokens.tsx'

interface TeamTokensProps {
  readonly organization: string
  readonly team: v2.Team
}

/** The tokens that act as the team. */
export function TeamTokens({ organization, team }: TeamTokensProps) {
  const refusal = teamCan.manageTokens(team)
  const tokens = useRead(['team-tokens', organization, team.id], (api, signal) =>
    api.v2.listTeamTokens({
      params: { organization_name: organization },
      // The API finds tokens by a part of the name of their team.
      query: { q: team.attributes.name, 'page[size]': 100 },
      signal,
    }),
  )
  return (
    <QueryView query={tokens} what="the tokens">
      {({ data }) => (
        <AuthTokens
          title="Tokens"
          tokens={data.filter(({ relationships }) => relationships.team?.data.id === team.id)}
          none={refusal ?? 'None. A program that works for the team gets one.'}
          refusal={refusal}
          create={(api, body) => api.v2.createTeamToken({ params: { team_id: team.id }, body })}
        />
      )}
    </QueryView>
  )
}
