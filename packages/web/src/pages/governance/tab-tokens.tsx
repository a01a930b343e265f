import type { v2 } from '@reeve/contract'
import { organizationCan } from '../../actions/governance-can.ts'
import { usePages } from '../../data/use-pages.ts'
import { useOptional, useRead } from '../../data/use-read.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Failure } from '../../parts/failure.tsx'
import { Loading } from '../../parts/loading.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { Refused } from '../../parts/refused.tsx'
import { AuthTokens } from './auth-tokens.tsx'
import type { OrganizationView } from './organization-view.ts'

/** The tokens of an organization: its own two, and those of its teams. */
export function TokensTab({ organization }: OrganizationView) {
  const refusal = organizationCan.manageTokens(organization)
  return (
    <>
      {refusal === undefined ? (
        <>
          <OwnToken organization={organization.id} title="Token of the organization" />
          <OwnToken
            organization={organization.id}
            title="Token for the audit trail"
            kind="audit-trails"
          />
        </>
      ) : (
        <Refused reason={`Tokens of the organization: ${refusal}`} />
      )}
      <TeamTokens organization={organization.id} />
    </>
  )
}

interface OwnTokenProps {
  readonly organization: string
  readonly title: string
  readonly kind?: 'audit-trails'
}

function OwnToken({ organization, title, kind }: OwnTokenProps) {
  const params = { organization_name: organization }
  const query = kind === undefined ? {} : { token: kind }
  const token = useOptional(['organization-token', organization, kind ?? ''], (api, signal) =>
    api.v2.readOrganizationToken({ params, query, signal }),
  )
  return (
    <QueryView query={token} what="the token">
      {(found) => (
        <AuthTokens
          title={title}
          tokens={found === null ? [] : [found.data]}
          none="There is none."
          refusal={undefined}
          hasDescription={false}
          create={(api, body) => api.v2.createOrganizationToken({ params, query, body })}
        />
      )}
    </QueryView>
  )
}

/** Those that the caller may manage; each team makes its own. */
function TeamTokens({ organization }: { readonly organization: string }) {
  const params = { organization_name: organization }
  const list = usePages(['team-tokens', organization], ({ api, signal, page }) =>
    api.v2.listTeamTokens({ params, query: page, signal }),
  )
  const teams = useRead(['teams', organization, 'names'], (api, signal) =>
    api.v2.listTeams({ params, query: { 'page[size]': 100 }, signal }),
  )
  if (list.error !== null) return <Failure error={list.error} retry={list.retry} />
  if (list.isPending) return <Loading what="the tokens" />
  const nameOf = ({ relationships }: v2.AuthenticationToken): string => {
    const id = relationships.team?.data.id ?? ''
    return teams.data?.data.find((team) => team.id === id)?.attributes.name ?? id
  }
  return (
    <>
      <AuthTokens
        title="Tokens of teams"
        tokens={list.items}
        none="None that you may manage. The page of a team makes them."
        refusal={undefined}
        holderOf={nameOf}
      />
      {list.hasMore && <ActionButton onAct={list.loadMore}>More</ActionButton>}
    </>
  )
}
