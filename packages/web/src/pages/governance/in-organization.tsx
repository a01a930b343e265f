import type { v2 } from '@reeve/contract'
import type { ReactNode } from 'react'
import { useApiQuery } from '../../data/api-query.ts'
import { EmptyState, Loading } from '../../components/notices.tsx'
import { PageHeader } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { paths } from '../../paths.ts'
import type { DisabledReason } from '../../permissions/disabled-reason.ts'
import { attachNamespaceDisabledReason } from '../../permissions/governance.ts'
import { Link } from '../../routing/link.tsx'
import { currentAddress } from '../../routing/location.ts'
import { useSession } from '../../session/session.tsx'
import '../../style/governance.css'

/** Shows its children with a governance token, and a link to the sign-in page otherwise. */
export function GovernanceTokenGuard({ children }: { readonly children: ReactNode }) {
  const { hasGovernanceToken } = useSession()
  if (hasGovernanceToken === undefined) return <Loading what="your session" />
  if (hasGovernanceToken) return children
  return (
    <>
      <PageHeader title="Governance" />
      <EmptyState
        title="Sign-in required"
        command="reeve ui"
        action={
          <Link className="button primary" href={paths.signIn({ next: currentAddress() })}>
            Sign in with a token
          </Link>
        }
      >
        <p>
          Governance pages require a token even if ACLs are disabled. A development server (
          <code>--dev</code>) prints a link that signs you in as administrator; otherwise use a
          management, user, team or organization token.
        </p>
      </EmptyState>
    </>
  )
}

function useOrganization(name: string) {
  return useApiQuery(
    ['organization', name],
    (api, signal) => api.v2.readOrganization({ params: { organization_name: name }, signal }),
    { watches: [{ topic: 'Organization' }] },
  )
}

interface OrganizationPageFrameProps {
  readonly name: string
  readonly children: (organization: v2.Organization) => ReactNode
}

/** Loads the organization of a page, with the permissions of the caller. */
export function OrganizationPageFrame({ name, children }: OrganizationPageFrameProps) {
  return (
    <GovernanceTokenGuard>
      <LoadedOrganization name={name}>{children}</LoadedOrganization>
    </GovernanceTokenGuard>
  )
}

function LoadedOrganization({ name, children }: OrganizationPageFrameProps) {
  const organization = useOrganization(name)
  return (
    <QueryView
      query={organization}
      what="the organization"
      page={{ title: name, crumbs: [{ text: 'Organizations', href: paths.organizations() }] }}
    >
      {({ data }) => children(data)}
    </QueryView>
  )
}

interface OrganizationGuardProps {
  /** The organization in the URL. */
  readonly name: string
  /** The organization of the record; undefined if unknown. */
  readonly owner: string | undefined
  readonly hrefIn: (organization: string) => string
  readonly children: ReactNode
}

/** Shows its children only under the URL of the right organization: IDs are global. */
export function OrganizationGuard({
  name,
  owner = name,
  hrefIn,
  children,
}: OrganizationGuardProps) {
  if (owner === name) return children
  return (
    <>
      <PageHeader title="Wrong organization" crumbs={organizationCrumbs(name)} />
      <EmptyState
        title={`Not found in ${name}`}
        action={
          <Link className="button" href={hrefIn(owner)}>
            Open it in {owner}
          </Link>
        }
      >
        <p>It belongs to another organization.</p>
      </EmptyState>
    </>
  )
}

/** Breadcrumbs of the pages inside an organization. */
export function organizationCrumbs(organization: string) {
  return [
    { text: 'Organizations', href: paths.organizations() },
    { text: organization, href: paths.organization(organization) },
  ]
}

/** Props of every tab of the organization page. */
export interface OrganizationView {
  readonly organization: v2.Organization
  readonly search: URLSearchParams
}

/** Returns why the caller cannot attach namespaces to projects and policy sets. */
export function useAttachNamespaceDisabledReason(): DisabledReason {
  const { identity } = useSession()
  const account = useApiQuery(['account'], (api, signal) => api.v2.readAccount({ signal }))
  return attachNamespaceDisabledReason({
    isAclEnabled: identity?.isAclEnabled,
    isSiteAdministrator: account.data?.data.attributes['is-admin'],
  })
}
