import type { v2 } from '@reeve/contract'
import { findIncluded } from '@reeve/sdk'
import { useState } from 'react'
import { workspaceCan } from '../../actions/governance-can.ts'
import { useAct } from '../../data/use-act.ts'
import { useRead } from '../../data/use-read.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { CommandLine } from '../../parts/command-line.tsx'
import { quoted } from '../../parts/curl-line.ts'
import { FormDialog, TextField } from '../../parts/form.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { paths, WORKSPACE_TABS, type WorkspaceTab } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'
import { crumbsOf, InOrganization } from './in-organization.tsx'
import { RunsTab } from './workspace-runs.tsx'
import { StatesTab } from './workspace-states.tsx'
import { WorkspaceAccessTab } from './workspace-access.tsx'
import { WorkspaceSettingsTab, WorkspaceTagsTab } from './workspace-tabs.tsx'

/** A workspace: its runs, tags, teams and lock. */
export function WorkspacePage({
  params,
  search,
}: PageProps<'/organizations/:organization/workspaces/:workspaceName'>) {
  const tab = WORKSPACE_TABS.find((one) => one === search.get('tab')) ?? 'runs'
  return (
    <InOrganization name={params.organization}>
      {() => <LoadedWorkspace {...params} tab={tab} />}
    </InOrganization>
  )
}

interface LoadedWorkspaceProps {
  readonly organization: string
  readonly workspaceName: string
  readonly tab: WorkspaceTab
}

function LoadedWorkspace({ organization, workspaceName, tab }: LoadedWorkspaceProps) {
  const { View } = TABS[tab]
  const workspace = useRead(
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
          ...crumbsOf(organization),
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
          <CommandLine
            cli={`reeve ${TABS[tab].cli} --organization ${quoted(organization)} ${quoted(workspaceName)}`}
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
  const act = useAct()
  const { id, attributes, relationships } = document.data
  const params = { workspace_id: id }
  const project = relationships.project.data
  const projectName = findIncluded(document, project)?.attributes.name ?? project.id
  const unlock = async (call: 'unlockWorkspace' | 'forceUnlockWorkspace') => {
    await act({ call: (api) => api.v2[call]({ params }), done: 'The workspace is open again.' })
  }
  return (
    <>
      <PageHead
        title={attributes.name}
        crumbs={[
          ...crumbsOf(organization),
          { text: projectName, href: paths.project(organization, project.id) },
        ]}
        aside={attributes.locked ? <StateBadge state="locked" /> : undefined}
        lead={attributes['locked-reason'] ?? attributes.description ?? undefined}
        actions={
          attributes.locked ? (
            <>
              <ActionButton
                refusal={workspaceCan.unlock(document.data)}
                onAct={() => unlock('unlockWorkspace')}
              >
                Unlock
              </ActionButton>
              <ActionButton
                kind="danger"
                refusal={workspaceCan.forceUnlock(document.data)}
                onAct={() => unlock('forceUnlockWorkspace')}
              >
                Force unlock
              </ActionButton>
            </>
          ) : (
            <ActionButton refusal={workspaceCan.lock(document.data)} onAct={() => setLocking(true)}>
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
  const act = useAct()
  const [reason, setReason] = useState('')
  const lock = async () => {
    const done = await act({
      call: (api) => api.v2.lockWorkspace({ params: { workspace_id: id }, body: { reason } }),
      done: 'The workspace is locked.',
    })
    return done !== undefined
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

/** What happens to the workspace by itself, and what has happened outside of runs. */
function WorkspaceNotices({ workspace }: { readonly workspace: v2.Workspace }) {
  const { attributes } = workspace
  const destroyedAt = attributes['auto-destroy-at']
  const duration = attributes['auto-destroy-activity-duration']
  const notices = [
    ...(destroyedAt === null
      ? []
      : [
          `A run will destroy everything here at ${destroyedAt}` +
            (duration === null ? '.' : `, unless something is applied before (${duration}).`),
        ]),
    ...(attributes['drift-status'] === 'drifted'
      ? ['The latest drift check found changes that no run has made.']
      : []),
  ]
  return notices.map((text) => (
    <p key={text} className="quiet">
      {text}
    </p>
  ))
}
