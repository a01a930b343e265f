import type { v2 } from '@reeve/contract'
import type { ReactNode } from 'react'
import { useRead } from '../../data/use-read.ts'
import { EmptyState } from '../../parts/empty-state.tsx'
import { Loading } from '../../parts/loading.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { currentAddress } from '../../routing/location.ts'
import { useSession } from '../../session/session.tsx'
import '../../style/governance.css'

/** Draws what needs a token of the governance API, or the way to get one. */
export function SignedIn({ children }: { readonly children: ReactNode }) {
  const { mayGovern } = useSession()
  if (mayGovern === undefined) return <Loading what="your session" />
  if (mayGovern) return children
  return (
    <>
      <PageHead title="Governance" />
      <EmptyState
        title="Sign in to see this"
        command="reeve ui"
        action={
          <Link className="button primary" href={paths.signIn({ next: currentAddress() })}>
            Sign in with a token
          </Link>
        }
      >
        <p>
          Organizations, projects and policies always ask who you are, also where the workload pages
          do not. A server started for trying things out (<code>--dev</code>) prints a link that
          signs you in as the administrator; elsewhere a management, user, team or organization
          token does.
        </p>
      </EmptyState>
    </>
  )
}

function useOrganization(name: string) {
  return useRead(
    ['organization', name],
    (api, signal) => api.v2.readOrganization({ params: { organization_name: name }, signal }),
    { watches: [{ topic: 'Organization' }] },
  )
}

interface InOrganizationProps {
  readonly name: string
  readonly children: (organization: v2.Organization) => ReactNode
}

/** A page inside of an organization, whose permissions say what may be done there. */
export function InOrganization({ name, children }: InOrganizationProps) {
  return (
    <SignedIn>
      <Loaded name={name}>{children}</Loaded>
    </SignedIn>
  )
}

function Loaded({ name, children }: InOrganizationProps) {
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

interface OfOrganizationProps {
  /** The organization that the address names. */
  readonly name: string
  /** The organization of what is drawn; undefined when the server does not say. */
  readonly owner: string | undefined
  readonly hrefIn: (organization: string) => string
  readonly children: ReactNode
}

/** An id is known in every organization: what has one is drawn only where it belongs. */
export function OfOrganization({ name, owner = name, hrefIn, children }: OfOrganizationProps) {
  if (owner === name) return children
  return (
    <>
      <PageHead title="Not here" crumbs={crumbsOf(name)} />
      <EmptyState
        title={`There is no such thing in ${name}`}
        action={
          <Link className="button" href={hrefIn(owner)}>
            Open it in {owner}
          </Link>
        }
      >
        <p>It is of another organization.</p>
      </EmptyState>
    </>
  )
}

/** The pages above one inside of an organization. */
export function crumbsOf(organization: string) {
  return [
    { text: 'Organizations', href: paths.organizations() },
    { text: organization, href: paths.organization(organization) },
  ]
}
