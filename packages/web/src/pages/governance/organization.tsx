import type { v2 } from '@reeve/contract'
import type { ComponentType } from 'react'
import { organizationDisabledReason } from '../../permissions/governance.ts'
import type { DisabledReason } from '../../permissions/disabled-reason.ts'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { quoteShellArg } from '../../commands.ts'
import { PageHeader, Tabs } from '../../components/page.tsx'
import { NotFound, PermissionNotice } from '../../components/notices.tsx'
import { ORGANIZATION_TABS, paths, type OrganizationTab } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'
import { PoliciesTab } from '../policies/tab-policies.tsx'
import { PolicySetsTab } from '../policies/tab-policy-sets.tsx'
import { OrganizationPageFrame, type OrganizationView } from './in-organization.tsx'
import { AuditTab } from './tab-audit.tsx'
import { MembersTab } from './tab-members.tsx'
import { ProjectsTab } from './tab-projects.tsx'
import { SettingsTab } from './tab-settings.tsx'
import { TagKeysTab } from './tab-tag-keys.tsx'
import { TeamsTab } from './tab-teams.tsx'
import { TokensTab } from './tab-tokens.tsx'
import { WorkspacesTab } from './tab-workspaces.tsx'

export function OrganizationPage({ params, search }: PageProps<'/organizations/:organization'>) {
  return <OrganizationTabs name={params.organization} tab="projects" search={search} />
}

export function OrganizationTabPage({
  params,
  search,
}: PageProps<'/organizations/:organization/:tab'>) {
  const tab = ORGANIZATION_TABS.find((one) => one === params.tab)
  if (tab === undefined) return <NotFound path={`…/${params.tab}`} />
  return <OrganizationTabs name={params.organization} tab={tab} search={search} />
}

interface OrganizationTabsProps {
  readonly name: string
  readonly tab: OrganizationTab
  readonly search: URLSearchParams
}

function OrganizationTabs({ name, tab, search }: OrganizationTabsProps) {
  const { View } = TABS[tab]
  return (
    <OrganizationPageFrame name={name}>
      {(organization) => {
        const disabledReason = tabDisabledReason(tab, organization)
        return (
          <>
            <PageHeader
              title={organization.id}
              crumbs={[{ text: 'Organizations', href: paths.organizations() }]}
            />
            <Tabs label="Parts of the organization" current={tab} tabs={tabsOf(organization)} />
            {disabledReason === undefined ? (
              <View organization={organization} search={search} />
            ) : (
              <PermissionNotice reason={disabledReason} />
            )}
            <CliAndApiPanel {...commandOf(tab, name)} />
          </>
        )
      }}
    </OrganizationPageFrame>
  )
}

interface TabSpec {
  readonly text: string
  readonly View: ComponentType<OrganizationView>
  /** Why the tab is disabled; absent for tabs that every member can read. */
  readonly disabledReason?: (organization: v2.Organization) => DisabledReason
  /** Returns the equivalent command; absent without one. */
  readonly cli?: (name: string) => string
  readonly apiPath: string
}

/** Builds a command with the organization as a flag. */
function organizationCommand(command: string) {
  return (name: string) => `reeve ${command} --organization ${quoteShellArg(name)}`
}

const TABS: Readonly<Record<OrganizationTab, TabSpec>> = {
  projects: {
    text: 'Projects',
    View: ProjectsTab,
    cli: organizationCommand('project list'),
    apiPath: '/projects',
  },
  workspaces: {
    text: 'Workspaces',
    View: WorkspacesTab,
    cli: organizationCommand('workspace list'),
    apiPath: '/workspaces',
  },
  policies: {
    text: 'Policies',
    View: PoliciesTab,
    disabledReason: organizationDisabledReason.readPolicies,
    cli: organizationCommand('policy list'),
    apiPath: '/policies',
  },
  'policy-sets': {
    text: 'Policy sets',
    View: PolicySetsTab,
    disabledReason: organizationDisabledReason.readPolicies,
    cli: organizationCommand('policy-set list'),
    apiPath: '/policy-sets',
  },
  teams: {
    text: 'Teams',
    View: TeamsTab,
    cli: organizationCommand('team list'),
    apiPath: '/teams',
  },
  members: {
    text: 'Members',
    View: MembersTab,
    cli: organizationCommand('org member list'),
    apiPath: '/organization-memberships',
  },
  tokens: {
    text: 'Tokens',
    View: TokensTab,
    cli: (name) => `${organizationCommand('token list')(name)} --teams`,
    apiPath: '/team-tokens',
  },
  'tag-keys': { text: 'Tag keys', View: TagKeysTab, apiPath: '/reserved-tag-keys' },
  audit: {
    text: 'Audit trail',
    View: AuditTab,
    disabledReason: organizationDisabledReason.readAudit,
    cli: (name) => `reeve org audit ${quoteShellArg(name)}`,
    apiPath: '/audit-trail',
  },
  settings: {
    text: 'Settings',
    View: SettingsTab,
    cli: (name) => `reeve org show ${quoteShellArg(name)}`,
    apiPath: '',
  },
}

function tabDisabledReason(tab: OrganizationTab, organization: v2.Organization): DisabledReason {
  return TABS[tab].disabledReason?.(organization)
}

function tabsOf(organization: v2.Organization) {
  return ORGANIZATION_TABS.map((id) => ({
    id,
    text: TABS[id].text,
    href: paths.organization(organization.id, id),
    disabledReason: tabDisabledReason(id, organization),
  }))
}

function commandOf(tab: OrganizationTab, name: string) {
  const { cli, apiPath } = TABS[tab]
  return {
    cli: cli?.(name),
    call: { path: `/api/v2/organizations/${encodeURIComponent(name)}${apiPath}` },
  }
}
