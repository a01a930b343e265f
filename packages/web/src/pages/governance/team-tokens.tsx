import type { v2 } from '@reeve/contract'
import { teamDisabledReason } from '../../actions/governance-can.ts'
import { useApiQuery } from '../../data/use-read.ts'
import { QueryView } from '../../parts/query-view.tsx'
import { AuthTokensPanel } from './auth-tokens.tsx'

interface TeamTokensProps {
  readonly organization: string
  readonly team: v2.Team
}

/** The API tokens of a team. */
export function TeamTokens({ organization, team }: TeamTokensProps) {
  const disabledReason = teamDisabledReason.manageTokens(team)
  const tokens = useApiQuery(['team-tokens', organization, team.id], (api, signal) =>
    api.v2.listTeamTokens({
      params: { organization_name: organization },
      // The API filters by a part of the team name, so other teams may match too.
      query: { q: team.attributes.name, 'page[size]': 100 },
      signal,
    }),
  )
  return (
    <QueryView query={tokens} what="the tokens">
      {({ data }) => (
        <AuthTokensPanel
          title="Tokens"
          tokens={data.filter(({ relationships }) => relationships.team?.data.id === team.id)}
          emptyText={
            disabledReason ?? 'No tokens. Create one for a program that acts for the team.'
          }
          disabledReason={disabledReason}
          create={(api, body) => api.v2.createTeamToken({ params: { team_id: team.id }, body })}
        />
      )}
    </QueryView>
  )
}
