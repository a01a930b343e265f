import { v2 } from '@reeve/contract'
import { resource, toOne } from '@reeve/sdk'
import { useState } from 'react'
import { workspaceDisabledReason } from '../../permissions/governance.ts'
import { useApiAction } from '../../data/api-action.ts'
import { useApiQuery } from '../../data/api-query.ts'
import { ActionButton, DeleteButton } from '../../components/action-button.tsx'
import { type Column, PagedTable } from '../../components/data-table.tsx'
import { CheckField, ChoiceField, FormDialog, TextField } from '../../components/form.tsx'
import { EmptyState } from '../../components/notices.tsx'
import { Panel } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { useNumberedList } from '../../data/lists.ts'
import { dateFromText } from '../../format.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { navigate } from '../../routing/location.ts'
import { runStatusText } from './labels.ts'
import { TagEditor, tagBindingsOf, type Tag } from './tag-editor.tsx'
import { CustomPermissionFields, TeamAccessPanel } from './team-access.tsx'

/** The tab with the tags of the workspace and the tags inherited from its project. */
export function WorkspaceTagsTab({ organization, workspace }: WorkspaceView) {
  const callApi = useApiAction()
  const params = { workspace_id: workspace.id }
  const tags = useApiQuery(
    ['workspace-tags', workspace.id],
    (api, signal) => api.v2.listWorkspaceEffectiveTagBindings({ params, signal }),
    { watches: [{ topic: 'Workspace' }, { topic: 'Project' }] },
  )
  const save = async (next: readonly Tag[], replace: boolean) => {
    const body = tagBindingsOf(next)
    const result = await callApi({
      call: async (api) => {
        if (replace) await api.v2.replaceWorkspaceTagBindings({ params, body })
        else await api.v2.updateWorkspaceTagBindings({ params, body })
        return true
      },
      successMessage: 'The tags are saved.',
    })
    return result !== undefined
  }
  return (
    <QueryView query={tags} what="the tags">
      {({ data }) => (
        <>
          <Panel title="Tags of the workspace">
            <TagEditor
              organization={organization}
              tags={data.filter((tag) => !isInherited(tag)).map(({ attributes }) => attributes)}
              disabledReason={workspaceDisabledReason.manageTags(workspace)}
              removeDisabledReason={workspaceDisabledReason.removeTags(workspace)}
              onSave={save}
            />
          </Panel>
          <InheritedTags organization={organization} tags={data.filter(isInherited)} />
        </>
      )}
    </QueryView>
  )
}

function isInherited(tag: v2.EffectiveTagBinding): boolean {
  return tag.relationships !== undefined
}

interface InheritedTagsProps {
  readonly organization: string
  readonly tags: readonly v2.EffectiveTagBinding[]
}

function InheritedTags({ organization, tags }: InheritedTagsProps) {
  if (tags.length === 0) return null
  return (
    <Panel title="Inherited from the project">
      <ul className="row tags">
        {tags.map(({ id, attributes, relationships }) => (
          <li key={id}>
            <Link
              className="tag"
              href={paths.project(organization, relationships?.['inherited-from'].data.id ?? '')}
            >
              {attributes.value === '' ? attributes.key : `${attributes.key}: ${attributes.value}`}
            </Link>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

export function WorkspaceSettingsTab({ organization, workspace }: WorkspaceView) {
  const callApi = useApiAction()
  const { attributes } = workspace
  const [name, setName] = useState(attributes.name)
  const [description, setDescription] = useState(attributes.description ?? '')
  const [autoApply, setAutoApply] = useState(attributes['auto-apply'])
  const [driftInterval, setDriftInterval] = useState(attributes['drift-check-interval'] ?? '')
  const [sharing, setSharing] = useState(sharingOf(attributes))
  const save = async () => {
    const result = await callApi({
      call: (api) =>
        api.v2.updateWorkspace({
          params: { workspace_id: workspace.id },
          body: resource('workspaces', {
            name,
            description,
            'auto-apply': autoApply,
            'drift-check-interval': driftInterval === '' ? null : driftInterval,
            'global-remote-state': sharing === 'organization',
            'project-remote-state': sharing === 'project',
          }),
        }),
      successMessage: 'The settings are saved.',
    })
    // The name is part of the URL.
    if (result !== undefined)
      navigate(paths.workspace(organization, name, 'settings'), { replace: true })
  }
  return (
    <div className="narrow">
      <Panel title="Settings">
        <form className="stack" onSubmit={(event) => event.preventDefault()}>
          <TextField label="Name" value={name} onChange={setName} />
          <TextField label="Description" isOptional value={description} onChange={setDescription} />
          <CheckField label="Auto apply" value={autoApply} onChange={setAutoApply} />
          <TextField
            label="Time between drift checks"
            isOptional
            value={driftInterval}
            onChange={setDriftInterval}
            hint="Such as 24h or 7d. A refresh-only plan reports changes made outside of runs."
          />
          <SharingField value={sharing} onChange={setSharing} />
          <div>
            <ActionButton
              kind="primary"
              disabledReason={workspaceDisabledReason.update(workspace)}
              onAction={save}
              isSubmit
            >
              Save settings
            </ActionButton>
          </div>
        </form>
      </Panel>
      <Panel title="Delete">
        <DeleteButton
          what={`the workspace ${attributes.name}`}
          body={
            <p>Its runs are deleted too. The workspace must be unlocked and manage no resources.</p>
          }
          disabledReason={workspaceDisabledReason.destroy(workspace)}
          call={(api) => api.v2.safeDeleteWorkspace({ params: { workspace_id: workspace.id } })}
          returnTo={paths.organization(organization, 'workspaces')}
        />
      </Panel>
    </div>
  )
}

const SHARINGS = ['consumers', 'project', 'organization'] as const
type Sharing = (typeof SHARINGS)[number]

const SHARING_TEXTS: Readonly<Record<Sharing, string>> = {
  consumers: 'Its remote state consumers only',
  project: 'All workspaces of the project',
  organization: 'All workspaces of the organization',
}

interface SharingFieldProps {
  readonly value: Sharing
  readonly onChange: (value: Sharing) => void
}

function SharingField(props: SharingFieldProps) {
  return (
    <ChoiceField
      label="Outputs shared with"
      choices={SHARINGS}
      textOf={(one) => SHARING_TEXTS[one]}
      hint="Runs of these workspaces may read the outputs, sensitive ones included."
      {...props}
    />
  )
}

function sharingOf(attributes: v2.Workspace['attributes']): Sharing {
  if (attributes['global-remote-state']) return 'organization'
  return attributes['project-remote-state'] ? 'project' : 'consumers'
}

export interface WorkspaceView {
  readonly organization: string
  readonly workspace: v2.Workspace
}

const COLUMNS: readonly Column<v2.Run>[] = [
  { id: 'run', head: 'Run', cell: ({ id, attributes }) => attributes.message ?? id },
  {
    id: 'state',
    head: 'State',
    width: '232px',
    cell: ({ attributes }) => (
      <StatusBadge state={attributes.status} text={runStatusText(attributes.status)} />
    ),
  },
  {
    id: 'source',
    head: 'Source',
    width: '160px',
    isExtra: true,
    cell: ({ attributes }) => attributes.source,
  },
  {
    id: 'made',
    head: 'Created',
    width: '112px',
    isExtra: true,
    cell: ({ attributes }) => <RelativeTime date={dateFromText(attributes['created-at'])} />,
  },
]

export function RunsTab({ organization, workspace }: WorkspaceView) {
  const list = useNumberedList(
    ['runs', workspace.id],
    ({ api, signal, pageQuery }) =>
      api.v2.listWorkspaceRuns({
        params: { workspace_id: workspace.id },
        query: pageQuery,
        signal,
      }),
    { watches: [{ topic: 'Run' }] },
  )
  return (
    <PagedTable
      list={list}
      what="the runs"
      label="Runs"
      columns={COLUMNS}
      keyOf={({ id }) => id}
      hrefOf={({ id }) => paths.run(organization, id)}
      empty={
        <EmptyState
          title="No runs yet"
          command={`reeve run create ${workspace.attributes.name} plan.json`}
        >
          <p>
            A run evaluates the policies for one plan, which is created by your tools and uploaded.
          </p>
        </EmptyState>
      }
    />
  )
}

/** The named access levels; `custom` is set permission by permission. */
const LEVELS = v2.WORKSPACE_ACCESS_LEVELS.filter((level) => level !== 'custom')

/** The tab with the teams that have access beyond that of the project. */
export function WorkspaceAccessTab({ organization, workspace }: WorkspaceView) {
  const accesses = useApiQuery(['team-workspaces', workspace.id], (api, signal) =>
    api.v2.listTeamWorkspaceAccesses({
      query: { 'filter[workspace][id]': workspace.id, 'page[size]': 100 },
      signal,
    }),
  )
  return (
    <TeamAccessPanel<v2.WorkspaceAccessLevel, v2.TeamWorkspaceAccess>
      organization={organization}
      accesses={accesses}
      emptyText="Only those with access to its project."
      levels={LEVELS}
      defaultLevel="read"
      disabledReason={workspaceDisabledReason.manageTeams(workspace)}
      calls={{
        grant: (api, team, access) => {
          const to = { team: toOne('teams', team), workspace: toOne('workspaces', workspace.id) }
          const body = resource('team-workspaces', { access }, to)
          return api.v2.createTeamWorkspaceAccess({ body })
        },
        change: (api, { id }, access) =>
          api.v2.updateTeamWorkspaceAccess({
            params: { team_workspace_id: id },
            body: resource('team-workspaces', { access }),
          }),
        revoke: (api, { id }) =>
          api.v2.deleteTeamWorkspaceAccess({ params: { team_workspace_id: id } }),
      }}
      renderCustomForm={(access, onClose) => <CustomAccess access={access} onClose={onClose} />}
    />
  )
}

interface CustomAccessProps {
  readonly access: v2.TeamWorkspaceAccess
  readonly onClose: () => void
}

function CustomAccess({ access, onClose }: CustomAccessProps) {
  const callApi = useApiAction()
  const { access: _level, ...granted } = access.attributes
  const [values, setValues] = useState(granted)
  const save = async () => {
    const result = await callApi({
      call: (api) =>
        api.v2.updateTeamWorkspaceAccess({
          params: { team_workspace_id: access.id },
          body: resource('team-workspaces', { access: 'custom', ...values }),
        }),
      successMessage: 'The permissions are saved.',
    })
    return result !== undefined
  }
  return (
    <FormDialog title="Permissions of the team" action="Save" onSubmit={save} onClose={onClose}>
      <CustomPermissionFields title="In the workspace" values={values} onChange={setValues} />
    </FormDialog>
  )
}
