import { CommandLine } from '../../parts/command-line.tsx'
import { quoted } from '../../parts/curl-line.ts'
import { PageHead } from '../../parts/page-head.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { ORGANIZATION_TABS, paths, type OrganizationTab } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'
import { NotFound } from '../../shell/not-found.tsx'
import { PoliciesTab } from '../policies/tab-policies.tsx'
import { PolicySetsTab } from '../policies/tab-policy-sets.tsx'
import { InOrganization } from './in-organization.tsx'
import { AuditTab } from './tab-audit.tsx'
import { MembersTab } from './tab-members.tsx'
import { ProjectsTab } from './tab-projects.tsx'
import { SettingsTab } from './tab-settings.tsx'
import { TeamsTab } from './tab-teams.tsx'
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
      {(organization) => (
        <>
          <PageHead
            title={organization.id}
            crumbs={[{ text: 'Organizations', href: paths.organizations() }]}
          />
          <Tabs label="Parts of the organization" current={tab} tabs={tabsOf(name)} />
          <View organization={organization} search={search} />
          <CommandLine {...commandOf(tab, name)} />
        </>
      )}
    </InOrganization>
  )
}

const TABS = {
  projects: { text: 'Projects', View: ProjectsTab, cli: 'project list', read: '/projects' },
  workspaces: {
    text: 'Workspaces',
    View: WorkspacesTab,
    cli: 'workspace list',
    read: '/workspaces',
  },
  policies: { text: 'Policies', View: PoliciesTab, cli: 'policy list', read: '/policies' },
  'policy-sets': {
    text: 'Policy sets',
    View: PolicySetsTab,
    cli: 'policy-set list',
    read: '/policy-sets',
  },
  teams: { text: 'Teams', View: TeamsTab, cli: 'team list', read: '/teams' },
  members: {
    text: 'Members',
    View: MembersTab,
    cli: undefined,
    read: '/organization-memberships',
  },
  audit: { text: 'Audit trail', View: AuditTab, cli: undefined, read: '/audit-trail' },
  settings: { text: 'Settings', View: SettingsTab, cli: 'org show', read: '' },
} as const

function tabsOf(name: string) {
  return ORGANIZATION_TABS.map((id) => ({
    id,
    text: TABS[id].text,
    href: paths.organization(name, id),
  }))
}

function commandOf(tab: OrganizationTab, name: string) {
  const { cli, read } = TABS[tab]
  return {
    cli: tab === 'settings' ? `reeve org show ${quoted(name)}` : lineOf(cli, name),
    call: { path: `/api/v2/organizations/${encodeURIComponent(name)}${read}` },
  }
}

function lineOf(cli: string | undefined, name: string): string | undefined {
  return cli === undefined ? undefined : `reeve ${cli} --organization ${quoted(name)}`
}
