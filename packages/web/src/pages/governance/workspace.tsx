import type { v2 } from '@reeve/contract'
import { findIncluded } from '@reeve/sdk'
import { useState } from 'react'
import { workspaceDisabledReason } from '../../permissions/governance.ts'
import { useApiAction } from '../../data/api-action.ts'
import { useApiQuery } from '../../data/api-query.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { quoteShellArg } from '../../commands.ts'
import { FormDialog, TextField } from '../../components/form.tsx'
import { PageHeader, Tabs } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { paths, WORKSPACE_TABS, type WorkspaceTab } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'
import { organizationCrumbs, OrganizationPageFrame } from './in-organization.tsx'
import {
  RunsTab,
  WorkspaceAccessTab,
  WorkspaceSettingsTab,
  WorkspaceTagsTab,
} from './workspace-tabs.tsx'
import { StatesTab } from './workspace-states.tsx'

/** A workspace: its runs, tags, teams and lock. */
export function WorkspacePage({
  params,
  search,
}: PageProps<'/organizations/:organization/workspaces/:workspaceName'>) {
  const tab = WORKSPACE_TABS.find((one) => one === search.get('tab')) ?? 'runs'
  return (
    <OrganizationPageFrame name={params.organization}>
      {() => <LoadedWorkspace {...params} tab={tab} />}
    </OrganizationPageFrame>
  )
}

interface LoadedWorkspaceProps {
  readonly organization: string
  readonly workspaceName: string
  readonly tab: WorkspaceTab
}

function LoadedWorkspace({ organization, workspaceName, tab }: LoadedWorkspaceProps) {
  const { View } = TABS[tab]
  const workspace = useApiQuery(
    ['workspace', organization, workspaceName],
    (api, signal) =>
      api.v2.readNamedWorkspace({
        params: { organization_name: organization, workspace_name: workspaceName },
        query: { include: 'project' },
        signal,
      }),
    { watches: [{ topic: 'Workspace' }, { topic: 'Run' }] },
  )
  return (
    <QueryView
      query={workspace}
      what="the workspace"
      page={{
        title: workspaceName,
        crumbs: [
          ...organizationCrumbs(organization),
          { text: 'Workspaces', href: paths.organization(organization, 'workspaces') },
        ],
      }}
    >
      {(document) => (
        <>
          <WorkspaceHead organization={organization} document={document} />
          <Tabs
            label="Parts of the workspace"
            current={tab}
            tabs={WORKSPACE_TABS.map((id) => ({
              id,
              text: TABS[id].text,
              href: paths.workspace(organization, workspaceName, id),
            }))}
          />
          <View organization={organization} workspace={document.data} />
          <CliAndApiPanel
            cli={`reeve ${TABS[tab].cli} --organization ${quoteShellArg(organization)} ${quoteShellArg(workspaceName)}`}
            call={{ path: `/api/v2/workspaces/${document.data.id}${TABS[tab].read}` }}
          />
        </>
      )}
    </QueryView>
  )
}

const TABS = {
  runs: { text: 'Runs', View: RunsTab, cli: 'run list', read: '/runs' },
  states: {
    text: 'States',
    View: StatesTab,
    cli: 'state list',
    read: '/current-state-version',
  },
  tags: {
    text: 'Tags',
    View: WorkspaceTagsTab,
    cli: 'workspace show',
    read: '/effective-tag-bindings',
  },
  access: { text: 'Access', View: WorkspaceAccessTab, cli: 'workspace show', read: '' },
  settings: { text: 'Settings', View: WorkspaceSettingsTab, cli: 'workspace show', read: '' },
} as const

interface WorkspaceHeadProps {
  readonly organization: string
  readonly document: v2.WorkspaceDocument
}

function WorkspaceHead({ organization, document }: WorkspaceHeadProps) {
  const [isLocking, setLocking] = useState(false)
  const callApi = useApiAction()
  const { id, attributes, relationships } = document.data
  const params = { workspace_id: id }
  const project = relationships.project.data
  const projectName = findIncluded(document, project)?.attributes.name ?? project.id
  const unlock = async (call: 'unlockWorkspace' | 'forceUnlockWorkspace') => {
    await callApi({
      call: (api) => api.v2[call]({ params }),
      successMessage: 'The workspace is unlocked.',
    })
  }
  return (
    <>
      <PageHeader
        title={attributes.name}
        crumbs={[
          ...organizationCrumbs(organization),
          { text: projectName, href: paths.project(organization, project.id) },
        ]}
        aside={attributes.locked ? <StatusBadge state="locked" /> : undefined}
        lead={attributes['locked-reason'] ?? attributes.description ?? undefined}
        actions={
          attributes.locked ? (
            <>
              <ActionButton
                disabledReason={workspaceDisabledReason.unlock(document.data)}
                onAction={() => unlock('unlockWorkspace')}
              >
                Unlock
              </ActionButton>
              <ActionButton
                kind="danger"
                disabledReason={workspaceDisabledReason.forceUnlock(document.data)}
                onAction={() => unlock('forceUnlockWorkspace')}
              >
                Force unlock
              </ActionButton>
            </>
          ) : (
            <ActionButton
              disabledReason={workspaceDisabledReason.lock(document.data)}
              onAction={() => setLocking(true)}
            >
              Lock…
            </ActionButton>
          )
        }
      />
      <WorkspaceNotices workspace={document.data} />
      {isLocking && <LockForm id={id} onClose={() => setLocking(false)} />}
    </>
  )
}

interface LockFormProps {
  readonly id: string
  readonly onClose: () => void
}

function LockForm({ id, onClose }: LockFormProps) {
  const callApi = useApiAction()
  const [reason, setReason] = useState('')
  const lock = async () => {
    const result = await callApi({
      call: (api) => api.v2.lockWorkspace({ params: { workspace_id: id }, body: { reason } }),
      successMessage: 'The workspace is locked.',
    })
    return result !== undefined
  }
  return (
    <FormDialog title="Lock the workspace" action="Lock" onSubmit={lock} onClose={onClose}>
      <TextField
        label="Reason"
        isOptional
        value={reason}
        onChange={setReason}
        hint="Runs wait until it is unlocked."
      />
    </FormDialog>
  )
}

/** Notices about scheduled destruction and drift. */
function WorkspaceNotices({ workspace }: { readonly workspace: v2.Workspace }) {
  const { attributes } = workspace
  const destroyedAt = attributes['auto-destroy-at']
  const duration = attributes['auto-destroy-activity-duration']
  const notices = [
    ...(destroyedAt === null
      ? []
      : [
          `A run will destroy everything here at ${destroyedAt}` +
            (duration === null ? '.' : `, unless a run is applied before (${duration}).`),
        ]),
    ...(attributes['drift-status'] === 'drifted'
      ? ['The latest drift check found changes made outside of runs.']
      : []),
  ]
  return notices.map((text) => (
    <p key={text} className="quiet">
      {text}
    </p>
  ))
}
