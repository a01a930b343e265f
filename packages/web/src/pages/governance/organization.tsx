import type { v2 } from '@reeve/contract'
import type { ComponentType } from 'react'
import { organizationCan } from '../../actions/governance-can.ts'
import type { Verdict } from '../../actions/verdict.ts'
import { CommandLine } from '../../parts/command-line.tsx'
import { quoted } from '../../parts/curl-line.ts'
import { PageHead } from '../../parts/page-head.tsx'
import { Refused } from '../../parts/refused.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { ORGANIZATION_TABS, paths, type OrganizationTab } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'
import { NotFound } from '../../shell/not-found.tsx'
import { PoliciesTab } from '../policies/tab-policies.tsx'
import { PolicySetsTab } from '../policies/tab-policy-sets.tsx'
import { InOrganization } from './in-organization.tsx'
import type { OrganizationView } from './organization-view.ts'
import { AuditTab } from './tab-audit.tsx'
import { MembersTab } from './tab-members.tsx'
import { ProjectsTab } from './tab-projects.tsx'
import { SettingsTab } from './tab-settings.tsx'
import { TagKeysTab } from './tab-tag-keys.tsx'
import { TeamsTab } from './tab-teams.tsx'
import { TokensTab } from './tab-tokens.tsx'
import { WorkspacesTab } from './tab-workspaces.tsx'

export function OrganizationPage({ params, search }: PageProps<'/organizations/:organization'>) {
  return <InTab name={params.organization} tab="projects" search={search} />
}

export function OrganizationTabPage({
  params,
  search,
}: PageProps<'/organizations/:organization/:tab'>) {
  const tab = ORGANIZATION_TABS.find((one) => one === params.tab)
  if (tab === undefined) return <NotFound path={`…/${params.tab}`} />
  return <InTab name={params.organization} tab={tab} search={search} />
}

interface InTabProps {
  readonly name: string
  readonly tab: OrganizationTab
  readonly search: URLSearchParams
}

function InTab({ name, tab, search }: InTabProps) {
  const { View } = TABS[tab]
  return (
    <InOrganization name={name}>
      {(organization) => {
        const refusal = refusalOf(tab, organization)
        return (
          <>
            <PageHead
              title={organization.id}
              crumbs={[{ text: 'Organizations', href: paths.organizations() }]}
            />
            <Tabs label="Parts of the organization" current={tab} tabs={tabsOf(organization)} />
            {refusal === undefined ? (
              <View organization={organization} search={search} />
            ) : (
              <Refused reason={refusal} />
            )}
            <CommandLine {...commandOf(tab, name)} />
          </>
        )
      }}
    </InOrganization>
  )
}

interface TabSpec {
  readonly text: string
  readonly View: ComponentType<OrganizationView>
  /** Whether the token may see it; who is a member sees the rest. */
  readonly can?: (organization: v2.Organization) => Verdict
  /** The command for the organization of this name; absent where there is none. */
  readonly cli?: (name: string) => string
  readonly read: string
}

/** A command that takes the organization as a flag. */
function within(command: string) {
  return (name: string) => `reeve ${command} --organization ${quoted(name)}`
}

const TABS: Readonly<Record<OrganizationTab, TabSpec>> = {
  projects: { text: 'Projects', View: ProjectsTab, cli: within('project list'), read: '/projects' },
  workspaces: {
    text: 'Workspaces',
    View: WorkspacesTab,
    cli: within('workspace list'),
    read: '/workspaces',
  },
  policies: {
    text: 'Policies',
    View: PoliciesTab,
    can: organizationCan.readPolicies,
    cli: within('policy list'),
    read: '/policies',
  },
  'policy-sets': {
    text: 'Policy sets',
    View: PolicySetsTab,
    can: organizationCan.readPolicies,
    cli: within('policy-set list'),
    read: '/policy-sets',
  },
  teams: { text: 'Teams', View: TeamsTab, cli: within('team list'), read: '/teams' },
  members: {
    text: 'Members',
    View: MembersTab,
    cli: within('org member list'),
    read: '/organization-memberships',
  },
  tokens: {
    text: 'Tokens',
    View: TokensTab,
    cli: (name) => `${within('token list')(name)} --teams`,
    read: '/team-tokens',
  },
  'tag-keys': { text: 'Tag keys', View: TagKeysTab, read: '/reserved-tag-keys' },
  audit: {
    text: 'Audit trail',
    View: AuditTab,
    can: organizationCan.readAudit,
    cli: (name) => `reeve org audit ${quoted(name)}`,
    read: '/audit-trail',
  },
  settings: {
    text: 'Settings',
    View: SettingsTab,
    cli: (name) => `reeve org show ${quoted(name)}`,
    read: '',
  },
}

function refusalOf(tab: OrganizationTab, organization: v2.Organization): Verdict {
  return TABS[tab].can?.(organization)
}

function tabsOf(organization: v2.Organization) {
  return ORGANIZATION_TABS.map((id) => ({
    id,
    text: TABS[id].text,
    href: paths.organization(organization.id, id),
    refusal: refusalOf(id, organization),
  }))
}

function commandOf(tab: OrganizationTab, name: string) {
  const { cli, read } = TABS[tab]
  return {
    cli: cli?.(name),
    call: { path: `/api/v2/organizations/${encodeURIComponent(name)}${read}` },
  }
}
