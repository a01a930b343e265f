import type { v2 } from '@reeve/contract'
import { organizationDisabledReason } from '../../permissions/governance.ts'
import { useNumberedList } from '../../data/lists.ts'
import { useOptionalQuery, useApiQuery } from '../../data/api-query.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { Loading, PermissionNotice } from '../../components/notices.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { AuthTokensPanel } from './auth-tokens.tsx'
import type { OrganizationView } from './in-organization.tsx'

/** The tab with the tokens of the organization and of its teams. */
export function TokensTab({ organization }: OrganizationView) {
  const disabledReason = organizationDisabledReason.manageTokens(organization)
  return (
    <>
      {disabledReason === undefined ? (
        <>
          <OrganizationToken organization={organization.id} title="Token of the organization" />
          <OrganizationToken
            organization={organization.id}
            title="Token for the audit trail"
            kind="audit-trails"
          />
        </>
      ) : (
        <PermissionNotice reason={`Tokens of the organization: ${disabledReason}`} />
      )}
      <TeamTokens organization={organization.id} />
    </>
  )
}

interface OrganizationTokenProps {
  readonly organization: string
  readonly title: string
  readonly kind?: 'audit-trails'
}

function OrganizationToken({ organization, title, kind }: OrganizationTokenProps) {
  const params = { organization_name: organization }
  const query = kind === undefined ? {} : { token: kind }
  const token = useOptionalQuery(['organization-token', organization, kind ?? ''], (api, signal) =>
    api.v2.readOrganizationToken({ params, query, signal }),
  )
  return (
    <QueryView query={token} what="the token">
      {(found) => (
        <AuthTokensPanel
          title={title}
          tokens={found === null ? [] : [found.data]}
          emptyText="No token."
          disabledReason={undefined}
          hasDescription={false}
          create={(api, body) => api.v2.createOrganizationToken({ params, query, body })}
        />
      )}
    </QueryView>
  )
}

/** The team tokens that the caller may manage; they are created on the page of the team. */
function TeamTokens({ organization }: { readonly organization: string }) {
  const params = { organization_name: organization }
  const list = useNumberedList(['team-tokens', organization], ({ api, signal, pageQuery }) =>
    api.v2.listTeamTokens({ params, query: pageQuery, signal }),
  )
  const teams = useApiQuery(['teams', organization, 'names'], (api, signal) =>
    api.v2.listTeams({ params, query: { 'page[size]': 100 }, signal }),
  )
  if (list.error !== null) return <ErrorMessage error={list.error} retry={list.retry} />
  if (list.isPending) return <Loading what="the tokens" />
  const teamNameOf = ({ relationships }: v2.AuthenticationToken): string => {
    const id = relationships.team?.data.id ?? ''
    return teams.data?.data.find((team) => team.id === id)?.attributes.name ?? id
  }
  return (
    <>
      <AuthTokensPanel
        title="Tokens of teams"
        tokens={list.items}
        emptyText="No tokens that you may manage. Team tokens are created on the page of the team."
        disabledReason={undefined}
        holderOf={teamNameOf}
      />
      {list.hasMore && <ActionButton onAction={list.loadMore}>Load more</ActionButton>}
    </>
  )
}
